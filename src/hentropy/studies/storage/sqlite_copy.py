"""A copy in memory of an SQLite store that may not be written or has an earlier format.

Even a reader of a file with a write-ahead log writes: SQLite creates the log and its index where they are missing, and
leaves them behind if it may not remove them. So such a store is copied: through its log while a program has it open,
otherwise as an immutable file. The copy is refreshed when the files have changed.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from hentropy.errors import ReadOnly, StorageError
from hentropy.studies.storage.tables import NEWEST, is_newer, other_format, upgrade, version

Stamp = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of the last change of the file, its log and its journal."""

SETTLED = 1.0
"""Seconds after which a further change of a file shows in its time, however coarse the clock of its file system is."""

PATIENCE = 10.0
"""Seconds to wait for a moment in which nobody changes the file while it is read."""


class CopyConnection(sqlite3.Connection):
    """A connection to a copy in memory, which knows what it is a copy of."""

    stamp: Stamp | None = None

    def refresh(self, path: Path, place: str) -> None:
        """Copy the store, in the newest format, unless it has not changed since."""
        if self.stamp is None or self.stamp != _stamp(path):
            stamp = copy_into(self, path)
            self._upgrade(place)
            self.stamp = stamp

    def _upgrade(self, place: str) -> None:
        with create_engine("sqlite://", creator=lambda: self, poolclass=StaticPool).connect() as connection:
            found = version(connection)
            if found is not None and is_newer(found):
                raise ReadOnly(other_format(found, place))
            if found not in (None, NEWEST):
                upgrade(connection)
                connection.commit()


def copy_into(copy: sqlite3.Connection, path: Path) -> Stamp | None:
    """Copy a file into a connection, without writing; None if a change just now might not show in the stamp."""
    deadline = time.monotonic() + PATIENCE
    while True:
        # with an index, a program has the file open, or was killed, and SQLite reads what is in the log as well
        before, live, start = _stamp(path), Path(f"{path}-shm").exists(), time.time_ns()
        with _unwritten(path, before, live) as source:
            source.backup(copy)
        if live or before == _stamp(path):
            settled = all(file is None or file[2] + SETTLED * 1e9 < start for file in before)
            return before if settled else None
        if time.monotonic() > deadline:
            raise StorageError(f"{path} changes all the time; try again, or read a backup")


@contextmanager
def _unwritten(path: Path, found: Stamp, live: bool) -> Iterator[sqlite3.Connection]:
    """A connection that writes nothing, neither to the file nor beside it."""
    if not live and any(file is not None and file[1] > 0 for file in found[1:]):
        raise StorageError(
            f"a program that was killed has left changes of {path} in {path.name}-wal or {path.name}-journal, which"
            " cannot be read without writing; copy these files to a folder where you may write, and open the copy"
        )
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro{'' if live else '&immutable=1'}", uri=True)) as source:
        yield source


def _stamp(path: Path) -> Stamp:
    def of(ending: str) -> tuple[int, int, int] | None:
        try:
            found = Path(f"{path}{ending}").stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    return of(""), of("-wal"), of("-journal")
