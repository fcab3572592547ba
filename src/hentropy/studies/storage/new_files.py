"""New files: each gets its name when it is whole and closed, and never that of a file which is there already."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def unnamed(path: Path) -> Iterator[Path]:
    """An empty file in the folder of `path`, which only this user may read; what is left of it is removed in the end.

    It is closed: for a process that has a file open by SQLite, to close it once more is to lose its locks on it.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    made = Path(name)
    try:
        yield made
    finally:
        made.unlink(missing_ok=True)


def take_name(made: Path, path: Path) -> None:
    """Call a file `path`; a `FileExistsError` if there is one of this name."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: the name is taken by an empty file first
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        made.replace(path)
    else:
        made.unlink()
