"""Objectives: how one experiment is evaluated, here or in a process of its own, as values that can be sent away."""

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hentropy.errors import InputError
from hentropy.loading import modules_of
from hentropy.studies.execution.call import load, returned, said
from hentropy.studies.execution.child import Child
from hentropy.studies.execution.executor import TAIL, Evaluation, Evaluator, failure
from hentropy.studies.execution.reading import from_command, from_function
from hentropy.studies.study.failures import signals_heard


class Here(Evaluator):
    """Evaluates in this process and thread: quick, good to debug, and nothing can end it but an interrupt."""

    def __init__(self, function: str, folder: Path) -> None:
        self._name = function
        self._folder = folder
        self._function: Callable[..., Any] | None = None

    def evaluate(self, params: Mapping[str, Any]) -> Evaluation:
        """The outcome of one experiment."""
        began = time.monotonic()
        with modules_of(self._folder):
            outcome = self._evaluate(params)
        return replace(outcome, seconds=time.monotonic() - began)

    def close(self) -> None:
        """Nothing is kept."""

    def _evaluate(self, params: Mapping[str, Any]) -> Evaluation:
        loading = ""
        with signals_heard() as heard:
            try:
                if self._function is None:
                    loading = f"{self._name} could not be loaded: "
                    self._function = load(self._name, self._folder)
                    loading = ""
                return from_function(returned(self._function(**params)), "")
            except BaseException as error:  # whatever an experiment raises is its outcome
                if heard and not isinstance(error, Exception):
                    raise
                return replace(failure(f"{loading}{said(error)}"), log=_shown(error))


def _shown(error: BaseException) -> str:
    """The end of a traceback, without the frames of this file."""
    trace = error.__traceback__
    return "".join(traceback.format_exception(type(error), error, trace.tb_next if trace else None))[-TAIL:]


@dataclass(frozen=True)
class Objective(ABC):
    """How an experiment is evaluated: in which folder, and within how many seconds."""

    @abstractmethod
    def here(self) -> Evaluator:
        """An evaluator in this process where that can be; what has to be killed when it is late runs apart."""

    @abstractmethod
    def apart(self) -> Evaluator:
        """An evaluator with a process of its own, which can be killed at any moment."""

    def evaluate(self, params: Mapping[str, Any]) -> Evaluation:
        """The outcome of one experiment; only a signal that ends this process is raised."""
        with self.here() as evaluator:
            return evaluator.evaluate(params)


@dataclass(frozen=True)
class PythonObjective(Objective):
    """A Python function, named `module:function`, which is called with the parameters by name.

    It returns a number, or (value, standard error). Its module is looked for in `folder` first (without one, in the
    working directory), then as usual. The working directory stays what it is.
    """

    function: str
    folder: Path | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        """Check the name and the timeout."""
        module, _, name = self.function.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), *name.split(".")]):
            raise InputError(f"the function is {self.function!r}; name it as module:function, such as 'growth:measure'")
        object.__setattr__(self, "folder", _absolute(self.folder))
        _check_timeout(self.timeout)

    def here(self) -> Evaluator:
        """This process, unless there is a timeout."""
        return Here(self.function, self.folder or Path.cwd()) if self.timeout is None else self.apart()

    def apart(self) -> Evaluator:
        """A child process, which imports the module once and then serves many calls."""
        arguments = ("function", str(self.folder or Path.cwd()), self.function)
        return Child(arguments, from_function, self.timeout, lasting=True)


@dataclass(frozen=True)
class CommandObjective(Objective):
    """A program: it runs in `folder`, reads the parameters as JSON from standard input, and prints the outcome.

    The last line that it prints is JSON: a number, [value, standard error], {"value": v, "std_error": s}, or
    {"failed": "why"}. All that it has started ends with it.
    """

    command: tuple[str, ...]
    folder: Path | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        """Check the command and the timeout."""
        parts = self.command
        if isinstance(parts, str) or not parts or not all(isinstance(part, str) for part in parts) or not parts[0]:
            raise InputError(
                f"the command is {parts!r}; give the program and its arguments, as ('./measure', '--fast')"
            )
        object.__setattr__(self, "command", tuple(parts))
        object.__setattr__(self, "folder", _absolute(self.folder))
        _check_timeout(self.timeout)

    def here(self) -> Evaluator:
        """The same as `apart`: a program is a process of its own anyway."""
        return self.apart()

    def apart(self) -> Evaluator:
        """A child process that starts the program, and ends with it."""
        arguments = ("command", str(self.folder or Path.cwd()), *self.command)
        return Child(arguments, from_command, self.timeout, lasting=False)


def _absolute(folder: Path | None) -> Path | None:
    return None if folder is None else Path(folder).absolute()


def _check_timeout(timeout: float | None) -> None:
    if timeout is not None and not timeout > 0:
        raise InputError(f"the timeout is {timeout!r}; it must be a number of seconds above 0, or left out")
