"""Whether the function or the program of a study is there; else the first lines of one."""

import ast
import importlib.util
import inspect
import keyword
import os
import shutil
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hentropy.errors import InputError
from hentropy.studies.definition import imported, space_of
from hentropy.studies.definition.parts import Command, PythonFunction
from hentropy.studies.files import EXECUTABLE
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.cli.files import write_new
from hentropy.views.cli.plan import FilePlan

FUNCTION = '''\
"""The experiment."""


def {name}({parameters}):
    """The value of one experiment, or (value, standard error)."""
    raise NotImplementedError("write here how an experiment is run")
'''

MARK = 'print(json.dumps({"failed": "write here how an experiment is run"}))'
"""The last line of a program that is still to be written."""

PROGRAM = f'''\
#!/usr/bin/env python3
"""One experiment: reads the parameters as JSON, prints its value on the last line."""

import json
import sys

params = json.load(sys.stdin)
# on success: print(json.dumps({{"value": 1.5, "std_error": 0.1}})), or the value alone
{MARK}
'''


def starter(plan: FilePlan, folder: Path) -> Path | None:
    """Write the file of a function or program that is not there; None if there is nothing to write."""
    if plan.objective == "python" and plan.function:
        module, _, name = plan.function.partition(":")
        path = folder / f"{module}.py"
        there = path.exists() or (folder / module).exists()
        if "." in module or there or importlib.util.find_spec(module) is not None:
            return None
        names = list(plan.parameters)
        by_name = names and all(known.isidentifier() and not keyword.iskeyword(known) for known in names)
        parameters = ", ".join(["*", *names]) if by_name else "**params"
        write_new(path, FUNCTION.format(name=name, parameters=parameters), force=False)
        return path
    if plan.objective == "command" and plan.command:
        path = folder / plan.command[0]
        if os.sep not in plan.command[0] or path.is_absolute() or path.exists() or not path.parent.is_dir():
            return None
        write_new(path, PROGRAM, force=False, rights=EXECUTABLE)
        return path
    return None


LOOKED_AT = 10_000
"""Bytes at the start of a program in which a stub is looked for."""


def objective_mistakes(words: LocatedDescription) -> list[str]:
    """What would keep experiments from being run here."""
    said = words.description.objective
    if isinstance(said, PythonFunction):
        return _function(words, said.function)
    return _program(words, said.command[0]) if isinstance(said, Command) else []


def _function(words: LocatedDescription, reference: str) -> list[str]:
    try:
        function = imported(reference, words.folder)
    except InputError as error:
        return [f"objective.function: {error}"]
    if not callable(function):
        return [f"objective.function: {reference} is {function!r}, which cannot be called"]
    if _is_stub(function):
        return [f"objective.function: {reference} is still the stub; write there how an experiment is run"]
    names = space_of(words.description).names
    try:
        inspect.signature(function).bind(**dict.fromkeys(names))
    except ValueError:  # a function of C, which does not tell
        return []
    except TypeError as error:
        return [f"objective.function: {reference} cannot be called with {', '.join(names)} by name: {error}"]
    return []


def _program(words: LocatedDescription, program: str) -> list[str]:
    if os.sep not in program:
        return [] if shutil.which(program) else [f"objective.command: there is no program {program} on the PATH"]
    path = words.folder / program
    if not path.is_file():
        return [f"objective.command: there is no program {path}"]
    if not os.access(path, os.X_OK):
        return [f"objective.command: {path} may not be run; chmod +x {program} allows it"]
    if _is_stub_file(path):
        return [f"objective.command: {path} is still the stub; write there how an experiment is run"]
    return []


def _is_stub(function: Callable[..., Any]) -> bool:
    """Whether a function does nothing but raise a `NotImplementedError`, as its text says."""
    try:
        [defined] = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    except (OSError, TypeError, SyntaxError, ValueError):  # made elsewhere than in a file, or not by def
        return False
    if not isinstance(defined, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = [line for line in defined.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
    return isinstance(raised, ast.Name) and raised.id == NotImplementedError.__name__


def _is_stub_file(path: Path) -> bool:
    """Whether a program has the line that every starter has."""
    with path.open("rb") as file:
        return MARK.encode() in file.read(LOOKED_AT).splitlines()
