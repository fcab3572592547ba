"""The command line in this process, and small studies for it."""

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from hentropy.views.cli.app import main

STUDY = """
version = 1
name = "lab"
first = 2
[space.x]
type = "real"
low = -1.0
high = 3.0
[decision]
name = "maximize"
[model]
hyperparameters = "map"
[stop]
trials = 4
"""


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str


def hentropy(*arguments: str) -> Said:
    """Run a command in the current folder, without a terminal."""
    return said_by(main, *arguments)


def said_by(command: Callable[[Sequence[str]], int | None], *arguments: str) -> Said:
    """The same of any function that takes arguments as they are typed and ends with an exit code."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = command(arguments) or 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return Said(code, out.getvalue(), err.getvalue())


def done(*arguments: str) -> str:
    """What a command printed that went well."""
    said = hentropy(*arguments)
    assert said.code == 0, said
    return said.out


def refused(*arguments: str, code: int = 1) -> str:
    """What a command said that was refused; with exit code 1, in a message for people."""
    said = hentropy(*arguments)
    assert said.code == code, said
    assert code != 1 or (said.err.startswith("error: ") and "HENTROPY_TRACEBACK" not in said.err), said
    return said.err


def lab(folder: Path, objective: str = "", text: str = STUDY) -> Path:
    """A study file in a folder; a person runs its experiments, or the objective does."""
    file = folder / "lab.toml"
    file.write_text(text + (f"[objective]\n{objective}\n" if objective else ""), encoding="utf-8")
    return file


def function(folder: Path, module: str, body: str = "return -(x - 1.0) ** 2") -> str:
    """A module with a function, and the objective that names it."""
    (folder / f"{module}.py").write_text(f"import time\n\n\ndef measure(x):\n    {body}\n", encoding="utf-8")
    return f'type = "python"\nfunction = "{module}:measure"'
