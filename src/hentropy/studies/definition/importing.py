"""Names in a study file: things in Python modules, such as "objective:measure", and which word was probably meant.

Errors say what went wrong in the module."""

import importlib
import json
import keyword
import re
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from hentropy.core.given import closest
from hentropy.errors import InputError, last_line

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
    """What "package.module:name" names; modules in `folder` are found first.

    The folder stays at the front of `sys.path`: the module may import its neighbours later, and processes that are
    started from here have to find it too.
    """
    module_name, name = split(reference)
    home = None if folder is None else folder.resolve()
    if home is not None and str(home) not in sys.path:
        sys.path.insert(0, str(home))
    module = _module(module_name, reference, home)
    if name not in vars(module):
        public = [known for known in vars(module) if not known.startswith("_")]
        raise InputError(f"{reference}: {_file(module)} has no {name}{nearest(name, public)}")
    return vars(module)[name]


def _module(name: str, reference: str, home: Path | None) -> ModuleType:
    importlib.invalidate_caches()  # the file may have been written a moment ago
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise InputError(f"{reference}: {_last_line(error)}") from error
        beside = [] if home is None else [path.stem for path in home.glob("*.py")]
        place = "" if home is None else f" in {home} or"
        raise InputError(
            f"{reference}: there is no module {error.name}{place} among the installed ones{nearest(error.name, beside)}"
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{reference}: {_last_line(error)}") from error
    _check_home(name.partition(".")[0], reference, home)
    return module


def _check_home(top: str, reference: str, home: Path | None) -> None:
    """Refuse a module from elsewhere that hides the one in the folder: another code would run, unseen."""
    if home is None:
        return
    loaded = sys.modules[top]
    for candidate in (home / top / "__init__.py", home / f"{top}.py"):
        if candidate.is_file() and not (loaded.__file__ and Path(loaded.__file__).resolve() == candidate.resolve()):
            raise InputError(
                f"{reference}: another module {top} is loaded already, from {_file(loaded)}, not {candidate}; rename"
                " the file"
            )
        if candidate.is_file():
            return


def _file(module: ModuleType) -> str:
    return module.__file__ or f"the module {module.__name__}"


def _last_line(error: BaseException) -> str:
    """What stopped the import of a module, and where."""
    what = last_line(error)
    if isinstance(error, SyntaxError):
        return f"the import failed with {what} ({error.filename}, line {error.lineno})"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"the import failed with {what} ({own[-1].filename}, line {own[-1].lineno})"
