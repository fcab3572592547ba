"""The files of an SQLite store: whether they are still those that were opened, and who may write to them.

Who deletes or replaces a file does not disturb a program that has it open: that goes on writing to a file without a
name, and all of it is lost. So every connection remembers its files by device and inode, and looks again around every
write. The log is part of it: what was committed is in FILE-wal until SQLite moves it into the file.
"""

import os
import sqlite3
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from hentropy.errors import StorageError

Identity = tuple[int, int] | None
"""The device and the inode of a file; None where there is none."""


@dataclass(frozen=True)
class OpenFiles:
    """The file of a store, its log, and the index of the log."""

    database: Identity
    log: Identity
    index: Identity


class WatchedConnection(sqlite3.Connection):
    """A connection that knows the files it has open."""

    files: OpenFiles
    closed: bool = False

    def close(self) -> None:
        """Close it; before that, say so: others are compared with it no longer.

        Without a lock: the collector may close a forgotten connection in the middle of what others do with the lock.
        """
        self.closed = True
        super().close()


_open: WeakSet[WatchedConnection] = WeakSet()
_lock = threading.Lock()


@dataclass(frozen=True)
class StoreFiles:
    """Where the files of a store are: the name that a person gave it, and the file that this leads to."""

    name: Path
    path: Path

    def identify(self) -> OpenFiles:
        """The files that are there now. The first is looked for by its name: a link may lead elsewhere by now."""
        return OpenFiles(_identity(self.name), _identity(f"{self.path}-wal"), _identity(f"{self.path}-shm"))

    def check_there(self, database: Identity) -> None:
        """A `StorageError` unless the store has this file, and the log that connections of this process have open.

        They share the index of the log: a new log beside it would be taken for the old one, and what is written to it
        would be lost.
        """
        with _lock:
            self._shared(database)

    def watch(self, connection: WatchedConnection, database: Identity) -> None:
        """Remember the files of a connection that has just begun to read; they must be those of the store."""
        with _lock:
            connection.files = self._shared(database)
            _open.add(connection)

    def _shared(self, database: Identity) -> OpenFiles:
        # within the lock: a connection that opens meanwhile may make the log
        now = self.identify()
        if now.database != database:
            raise StorageError(self._loss(now.database))
        # of a connection that has closed since, the log may be gone
        if any(other.files != now for other in _open if other.files.database == database and not other.closed):
            raise StorageError(self._loss_of_log())
        return now

    def check(self, files: OpenFiles) -> None:
        """A `StorageError` unless the store has still these files."""
        now = self.identify()
        if now.database != files.database:
            raise StorageError(self._loss(now.database))
        if now != files:
            raise StorageError(self._loss_of_log())

    def _loss(self, now: Identity) -> str:
        if now is None:
            return (
                f"{self.name} was deleted or moved while it was open; changes are no longer recorded, this one neither."
                " Put the file back in its place; or stop this program, restore a backup and start again"
            )
        return (
            f"{self.name} was replaced by another file while it was open; changes are no longer recorded, this one"
            " neither. Stop this program, and start it again to work with the file that is there now"
        )

    def _loss_of_log(self) -> str:
        return (
            f"{self.name}-wal or {self.name}-shm was deleted or replaced while {self.name} was open; the newest changes"
            " are in them, and this one is not recorded. Stop all programs that use this store, start again, and see"
            " whether results are missing; leave these files alone while the store is in use"
        )


def _identity(path: str | Path) -> Identity:
    try:
        found = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be looked at: {error.strerror}; nothing was recorded") from error
    return found.st_dev, found.st_ino


def denied(path: Path) -> str | None:
    """Why this user may not write to a file that is there, and who can change that; None if nothing is known."""
    try:
        found = path.stat()
    except OSError:
        return None
    if os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return None
    try:
        owner = path.owner()
    except KeyError:  # a user whom this machine does not know
        owner = f"the user {found.st_uid}"
    rights = stat.S_IMODE(found.st_mode) & 0o666
    return f"{path} belongs to {owner}, with the rights {rights:o}, and you may not write to it"
