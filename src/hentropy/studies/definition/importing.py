"""Names in a study file: things in Python modules, such as "objective:measure", and which word was probably meant.

Errors say what went wrong in the module."""

import json
import keyword
import re
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from hentropy.core.given import closest
from hentropy.errors import InputError, last_line
from hentropy.loading import Shadowed, import_in, modules_of

SHOWN = 60
"""Letters of a value that are shown."""

Place = tuple[str | int, ...]
"""The keys that lead to a value."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that names the nearest known word, or nothing."""
    close = closest(word, known)
    return f"; did you mean {close}?" if close else ""


def dotted(path: Place) -> str:
    """Keys as they are written in a file: space.x1.low, decision.at[2][0]."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += "." * bool(text) + (part if re.fullmatch(r"[\w-]+", part) else json.dumps(part))
    return text


def shown(value: Any) -> str:
    """A value as it would stand in a file, cut if it is long."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def split(reference: str) -> tuple[str, str]:
    """The module and the name in "package.module:name"."""
    module, _, name = reference.partition(":")
    if name and module.endswith(".py"):
        raise InputError(f"{reference!r} names a file; write {module.removesuffix('.py')}:{name}, without .py")
    parts = [*module.split("."), name]
    if not all(part.isidentifier() for part in parts):
        raise InputError(f"{reference!r} is not of the form package.module:name")
    word = next((part for part in parts if keyword.iskeyword(part)), None)
    if word is not None:
        raise InputError(f"{reference!r} has {word!r}, which is a Python keyword; give it another name")
    return module, name


def imported(reference: str, folder: Path | None) -> Any:
    """What "package.module:name" names, in `folder` or among the installed modules."""
    module_name, name = split(reference)
    with modules_of(folder):
        module = _module(module_name, reference, folder)
    if name not in vars(module):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise InputError(f"{reference}: {_file(module)} has no {name}{nearest(name, public)}")
    return vars(module)[name]


def _module(name: str, reference: str, home: Path | None) -> ModuleType:
    try:
        return import_in(name, home)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"{reference}: {_last_line(error)}") from error
        beside = [] if home is None else [path.stem for path in home.glob("*.py")]
        place = "" if home is None else f" in {home.resolve()} or"
        raise InputError(
            f"{reference}: there is no module {error.name}{place} among the installed ones{nearest(error.name, beside)}"
        ) from None
    except Shadowed as error:
        raise InputError(f"{reference}: {error}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{reference}: {_last_line(error)}") from error


def _file(module: ModuleType) -> str:
    return module.__file__ or f"the module {module.__name__}"


def _last_line(error: BaseException) -> str:
    """What stopped the import of a module, and where."""
    what = last_line(error)
    if isinstance(error, SyntaxError):
        return f"the import failed with {what} ({error.filename}, line {error.lineno})"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"the import failed with {what} ({own[-1].filename}, line {own[-1].lineno})"
