"""Calls a function in this process."""

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from hentropy.studies.execution.call import load, returned, said
from hentropy.studies.execution.evaluator import Evaluator
from hentropy.studies.execution.outcome import TAIL, Outcome, failure
from hentropy.studies.execution.reading import from_function


class Here(Evaluator):
    """Evaluates in this process and thread: quick, good to debug, and nothing can end it but an interrupt."""

    def __init__(self, function: str, folder: Path) -> None:
        self._name = function
        self._folder = folder
        self._function: Callable[..., Any] | None = None

    def evaluate(self, params: Mapping[str, Any]) -> Outcome:
        """The outcome of one experiment."""
        began = time.monotonic()
        with _first(self._folder):
            outcome = self._evaluate(params)
        return replace(outcome, seconds=time.monotonic() - began)

    def close(self) -> None:
        """Nothing is kept."""

    def _evaluate(self, params: Mapping[str, Any]) -> Outcome:
        try:
            if self._function is None:
                self._function = load(self._name)
        except (Exception, SystemExit) as error:
            return replace(failure(f"{self._name} could not be loaded: {said(error)}"), log=_shown(error))
        try:
            return from_function(returned(self._function(**params)), "")
        except (Exception, SystemExit) as error:
            return replace(failure(said(error)), log=_shown(error))


def _shown(error: BaseException) -> str:
    """The end of a traceback, without the frames of this file."""
    trace = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, trace.tb_next if trace else None))[-TAIL:]


@contextmanager
def _first(folder: Path) -> Iterator[None]:
    """Modules are looked for in this folder first; one of the same name from another study's folder is forgotten."""
    path = str(folder)
    for file in folder.glob("*.py"):
        _forget(file.stem, folder)
    for file in folder.glob("*/__init__.py"):
        _forget(file.parent.name, folder)
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)


def _forget(name: str, folder: Path) -> None:
    """Forget a module that comes from a folder where it would no longer be looked for."""
    module = sys.modules.get(name)
    home = _home(module) if module and name != "__main__" else None
    if home is None or home == folder.resolve() or home in {Path(path).resolve() for path in sys.path}:
        return
    for loaded in [key for key in sys.modules if key == name or key.startswith(f"{name}.")]:
        del sys.modules[loaded]


def _home(module: ModuleType) -> Path | None:
    """The folder in which a module was found; None if it comes from no file."""
    file = vars(module).get("__file__")
    if not file:
        return None
    path = Path(file).resolve()
    return path.parent.parent if path.name == "__init__.py" else path.parent
