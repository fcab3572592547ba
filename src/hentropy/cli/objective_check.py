"""Whether the function or the program of a study is there."""

import inspect
import os
import shutil

from hentropy.description import imported, space_of
from hentropy.description.objectives import Command, PythonFunction
from hentropy.errors import InputError
from hentropy.study.words import Words


def objective_mistakes(words: Words) -> list[str]:
    """What would keep experiments from being run here."""
    said = words.description.objective
    if isinstance(said, PythonFunction):
        return _function(words, said.function)
    return _program(words, said.command[0]) if isinstance(said, Command) else []


def _function(words: Words, reference: str) -> list[str]:
    try:
        function = imported(reference, words.folder)
    except InputError as error:
        return [f"objective.function: {error}"]
    if not callable(function):
        return [f"objective.function: {reference} is {function!r}, which cannot be called"]
    names = space_of(words.description).names
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except ValueError:  # a function of C, which does not tell
        return []
    except TypeError as error:
        return [f"objective.function: {reference} cannot be called with {', '.join(names)} by name: {error}"]
    return []


def _program(words: Words, program: str) -> list[str]:
    if os.sep not in program:
        return [] if shutil.which(program) else [f"objective.command: there is no program {program} on the PATH"]
    path = words.folder / program
    if not path.is_file():
        return [f"objective.command: there is no program {path}"]
    if not os.access(path, os.X_OK):
        return [f"objective.command: {path} may not be run; chmod +x {program} allows it"]
    return []
