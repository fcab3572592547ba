"""Modules in the folder of a study: found while they are used, after all others, and never in the way of others.

The one loader for decisions, models and objectives. It needs the standard library alone: the processes that evaluate
experiments start with it.
"""

import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType


class Shadowed(ImportError):  # noqa: N818 (it reads better where it is caught)
    """Another module has the name of one in the folder."""


@dataclass
class _Folder:
    """A folder of modules: how many use it now, and its modules while nobody does."""

    path: str
    users: int = 0
    on_path: bool = False
    present: frozenset[str] = frozenset()
    modules: dict[str, ModuleType] = field(default_factory=dict)


_folders: dict[str, _Folder] = {}
_lock = threading.RLock()


@contextmanager
def modules_of(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Within, modules of this folder can be imported; none of them takes the place of another module.

    The folder is the last entry of `sys.path`, so that processes that are started meanwhile find the modules too. At
    the end `sys.path` and `sys.modules` are as before; the modules come back with the next use. A folder where Python
    looks anyway stays as it is.
    """
    if folder is None:
        yield
        return
    path = os.path.realpath(folder)
    with _lock:
        used = _folders.setdefault(path, _Folder(path))
        if not used.users:
            _begin(used)
        used.users += 1
    try:
        yield
    finally:
        with _lock:
            used.users -= 1
            if not used.users:
                _end(used)


def import_in(name: str, folder: str | os.PathLike[str] | None) -> ModuleType:
    """Import a module within `modules_of(folder)`; `Shadowed` if another one takes the place of the folder's own."""
    importlib.invalidate_caches()  # the file may have been written a moment ago
    module = importlib.import_module(name)
    top = name.partition(".")[0]
    for file in () if folder is None else _files(os.path.realpath(folder), top):
        if os.path.isfile(file):
            found = sys.modules[top].__file__ or f"the module {top}"
            if os.path.realpath(found) != os.path.realpath(file):
                raise Shadowed(
                    f"another module {top} is loaded already, from {found}, not {file}; rename the file", name=top
                )
            break
    return module


def loaded(name: str) -> list[ModuleType]:
    """The modules of this name that are loaded: one at most that everybody imports, and those of folders."""
    with _lock:
        known = [sys.modules, *(folder.modules for folder in _folders.values())]
        return [modules[name] for modules in known if name in modules]


def _files(folder: str, top: str) -> tuple[str, str]:
    return os.path.join(folder, top, "__init__.py"), os.path.join(folder, f"{top}.py")


def _begin(used: _Folder) -> None:
    used.on_path = used.path in map(os.path.realpath, sys.path)
    if used.on_path:
        return
    used.present = frozenset(sys.modules)
    for name, module in used.modules.items():
        sys.modules.setdefault(name, module)
    sys.path.append(used.path)


def _end(used: _Folder) -> None:
    if used.on_path:
        return
    if used.path in sys.path:
        sys.path.remove(used.path)
    sys.path_importer_cache.pop(used.path, None)
    new = [name for name in sys.modules if name not in used.present]
    own = {name for name in new if "." not in name and used.path in _homes(sys.modules[name])}
    used.modules = {name: sys.modules.pop(name) for name in new if name.partition(".")[0] in own}


def _homes(module: ModuleType) -> set[str]:
    """The folders in which a module was found: several for a package without a file, none for what is built in."""
    known = vars(module)
    places = list(known.get("__path__") or ()) or ([known["__file__"]] if known.get("__file__") else [])
    return {os.path.dirname(os.path.realpath(place)) for place in places}
