"""A copy of an SQLite store as it is at one moment, while others go on writing.

SQLite makes it: a copy of the file alone lacks what is still in the log. It is made beside its place and gets its name
when it is whole.
"""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from hentropy.errors import InputError, StorageError
from hentropy.studies.files import PRIVATE, beside, take_name
from hentropy.studies.storage.base import BackupContents
from hentropy.studies.storage.tables import studies, trials

BESIDE = ("-wal", "-shm", "-journal")
"""The endings of what SQLite keeps beside a file. It would take what is left there for a part of a new file."""


def copy_store(source: sqlite3.Connection, path: Path, target: Path, overwrite: bool) -> BackupContents:
    """Write what a connection to the file at `path` reads to `target`, with the same rights; and say what it is.

    The copy is a file of its own, without a log, that can be moved and opened like any other.
    """
    target = target.resolve()
    _check_target(path, target, overwrite)
    with beside(target, PRIVATE) as made:
        with closing(sqlite3.connect(made)) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            contents = _contents(copy)
        made.chmod(stat.S_IMODE(path.stat().st_mode))
        if overwrite:
            _make_way(target)
            made.replace(target)
        else:
            try:
                take_name(made, target)
            except FileExistsError:
                _check_target(path, target, overwrite)
    return contents


def _check_target(path: Path, target: Path, overwrite: bool) -> None:
    if target.exists() and target.samefile(path):
        raise InputError(f"{target} is the store itself; name another file")
    if target.name.endswith(BESIDE):  # SQLite would take it for its own, write into it, and remove it
        raise InputError(f"{target} ends like the files that SQLite keeps beside a store; name another file")
    there = [file for ending in ("", *BESIDE) if (file := Path(f"{target}{ending}")).exists()]
    if there and not overwrite:
        raise InputError(f"{there[0]} already exists; remove it, or choose another file")


def _contents(copy: sqlite3.Connection) -> BackupContents:
    """What is in a copy, which must be sound."""
    [said] = copy.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise StorageError(f"the store is damaged, and so would be its copy, which was not kept: {said}")
    counts = [copy.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0] for table in (studies, trials)]
    return BackupContents(*counts)


def _make_way(target: Path) -> None:
    """Remove what would spoil the new file, unless somebody works with the old one."""
    if target.exists():
        try:
            with closing(sqlite3.connect(f"{target.resolve().as_uri()}?mode=rw", uri=True, timeout=0.0)) as old:
                # only who is alone with a file may do without its log
                old.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            if (error.sqlite_errorname or "").startswith("SQLITE_BUSY"):
                raise StorageError(f"{target} is in use; stop the programs that use it, then try again") from None
            # what is damaged, or no database at all, is written over
    for ending in BESIDE:
        Path(f"{target}{ending}").unlink(missing_ok=True)
