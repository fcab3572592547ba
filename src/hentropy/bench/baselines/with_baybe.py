"""BayBE as a peer: asked for one experiment at a time, in a process of an interpreter that has it (`baybe_script`).

BayBE is never imported here, and never a dependency. `docs/baselines.md` says how to make an environment with it.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hentropy.core.spaces import DesignSpace, Params
from hentropy.core.spaces.parameters import Field
from hentropy.errors import InputError
from hentropy.studies.execution.piped import Piped

SCRIPT = Path(__file__).with_name("baybe_script.py")


def definition(space: DesignSpace, seed: int) -> dict[str, Any]:
    """A space in the words of the script."""
    words = [_words(space, field) for field in space.fields]
    listed = space.points
    rows = None if listed is None else [_design(words, space.decode(row)) for row in listed]
    return {"seed": seed, "parameters": words, "rows": rows}


def _words(space: DesignSpace, field: Field) -> dict[str, Any]:
    if field.options and not field.ordered:
        return {"name": field.name, "options": [str(option) for option in field.options]}
    if field.options:
        return {"name": field.name, "values": list(field.options)}
    if space.points is not None:
        return {"name": field.name, "values": space.points[:, space.places[field.name]].unique().tolist()}
    if field.grid:
        steps = round((field.high - field.low) / field.grid)
        return {"name": field.name, "values": [field.value(field.low + i * field.grid) for i in range(steps + 1)]}
    return {"name": field.name, "low": field.low, "high": field.high}


def _design(words: Sequence[dict[str, Any]], params: Params) -> list[Any]:
    """The values of a design in order, options as texts."""
    return [str(params[each["name"]]) if "options" in each else params[each["name"]] for each in words]


class Baybe:
    """A campaign of BayBE over a space, with its defaults; the value is maximised. Close it, or use it in a `with`."""

    def __init__(self, python: str | os.PathLike[str], space: DesignSpace, seed: int) -> None:
        self._python, self._space = str(python), space
        words = definition(space, seed)
        self._words = words["parameters"]
        self._options = {field.name: {str(each): each for each in field.options} for field in space.fields}
        # isolated, so that nothing of this interpreter's environment gets in; one thread, as other methods have
        arguments = [self._python, "-I", str(SCRIPT)]
        try:
            self._process = Piped(arguments, environment={**os.environ, "OMP_NUM_THREADS": "1"})
        except OSError as error:
            raise InputError(
                f"{self._python} does not run: {error}; give the Python of an environment with BayBE"
            ) from None
        try:
            self.version = str(self._said(words)["baybe"])
        except BaseException:
            self.close()
            raise

    def ask(self, measured: Sequence[tuple[Params, float]]) -> tuple[Params, float]:
        """The next design, and the seconds it took, after designs that were measured since the last time."""
        said = self._said({"measured": [[_design(self._words, params), value] for params, value in measured]})
        found = dict(zip([words["name"] for words in self._words], said["design"], strict=True))
        params = {name: self._options[name].get(str(value), value) for name, value in found.items()}
        return self._space.cleaned(params), float(said["seconds"])

    def _said(self, line: dict[str, Any]) -> dict[str, Any]:
        self._process.send(json.dumps(line).encode())
        try:
            said: dict[str, Any] = json.loads(self._process.receive())
        except EOFError:
            why = (self._process.log.strip().splitlines() or ["it ended"])[-1]
            raise InputError(f"BayBE, run by {self._python}, failed: {why}") from None
        return said

    def close(self) -> None:
        """End the process."""
        self._process.end()

    def __enter__(self) -> "Baybe":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
