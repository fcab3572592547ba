"""SQLite: a file beside the study, with a write-ahead log, so that readers do not wait for a writer.

A commit has reached the disk when it returns (synchronous = FULL): what was acknowledged survives a loss of power.

Who deletes or replaces a file does not disturb a program that has it open: that goes on writing to a file without a
name, and all of it is lost. So every connection remembers its files by device and inode, and looks again around every
write. The log is part of it: what was committed is in FILE-wal until SQLite moves it into the file.
"""

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from weakref import WeakSet

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from hentropy.errors import NoStore, StorageError
from hentropy.studies.files import PRIVATE, beside, special_kind, take_name
from hentropy.studies.storage.base import BackupContents
from hentropy.studies.storage.database import WRITES, Backend, as_json
from hentropy.studies.storage.sqlite_backup import copy_store
from hentropy.studies.storage.sqlite_copy import CopyConnection, copy_into
from hentropy.studies.storage.tables import VERSION_TABLE

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
        others = [other.files for other in _open if other.files.database == database and not other.closed]
        if any(files.log is not None and files != now for files in others):
            raise StorageError(self._loss_of_log())
        return now

    def check(self, files: OpenFiles) -> None:
        """A `StorageError` unless the store has still these files; who had no log has none to lose."""
        now = self.identify()
        if now.database != files.database:
            raise StorageError(self._loss(now.database))
        if files.log is not None and now != files:
            raise StorageError(self._loss_of_log())

    def _loss(self, now: Identity) -> str:
        if now is None:
            return (
                f"{self.name} was deleted or moved while it was open; changes are no longer recorded, nor is this"
                " one. Put the file back in its place; or stop this program, restore a backup and start again"
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


READ, CHANGE = os.R_OK, os.R_OK | os.W_OK


def denied(path: Path, wanted: int = CHANGE) -> str | None:
    """Why this user may not use a file that is there, and who can change that; None if nothing is known."""
    try:
        found = path.stat()
    except OSError:
        return None
    if os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids):
        return None
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return f"{path} is on a file system that is mounted read-only"
    try:
        owner = path.owner()
    except KeyError:  # a user whom this machine does not know
        owner = f"the user {found.st_uid}"
    rights = stat.S_IMODE(found.st_mode) & 0o666
    verb = "read" if wanted == READ else "write to"
    return f"{path} belongs to {owner}, with the rights {rights:o}, and you may not {verb} it"


PATIENCE = 60.0
"""Seconds to wait for another process's transaction."""


class Sqlite(Backend):
    """One file."""

    def __init__(self, path: Path, make: bool = True) -> None:
        self.path = path.resolve()
        self.place = str(path)
        self._files = StoreFiles(path.absolute(), self.path)
        self.read_only = self._denied_writing()
        self._copied = bool(self.read_only)
        self._check_file(make)
        self._database = self._files.identify().database
        self.engine = create_engine(
            URL.create("sqlite", database=str(self.path)), creator=self._connect, json_serializer=as_json
        )
        event.listen(self.engine, "begin", self._begin)

    def _denied_writing(self) -> str:
        """Why this user may not write to the file, or make the log beside it; nothing if that is allowed."""
        if not self.path.is_file():
            return ""
        folder = None if Path(f"{self.path}-wal").exists() else denied(self.path.parent)
        why = denied(self.path) or folder
        return f"{self.place} is read-only: {why}; nothing was changed" if why else ""

    def read_copy(self) -> None:
        """From now on, connections are to copies in memory."""
        self._copied = True
        self.engine.dispose()

    def _connect(self) -> sqlite3.Connection:
        """A connection to the file that this store was opened with; no other is opened, and none is made."""
        if self._copied:
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=CopyConnection)
        self._files.check_there(self._database)
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,  # transactions begin where we say so, not where the driver guesses
            check_same_thread=False,  # the pool hands it from one thread to another
            factory=WatchedConnection,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            self._watch(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _watch(self, connection: WatchedConnection) -> None:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the first to read opens the log
        self._files.watch(connection, self._database)

    def _begin(self, connection: Connection) -> None:
        raw = connection.connection.dbapi_connection
        writes = connection.get_execution_options().get(WRITES, False)
        try:
            if isinstance(raw, CopyConnection):
                raw.refresh(self.path, self.place)
                raw.execute("BEGIN")
            else:
                self._begin_watched(cast(WatchedConnection, raw), writes)
        except sqlite3.Error as error:
            raise StorageError(self._meaning(error)) from error

    def _begin_watched(self, connection: WatchedConnection, writes: bool) -> None:
        if writes and connection.files.log is None:  # a new file and a backup have no log; reading makes them none
            _write_ahead(connection)
        # a writer takes the lock at once: one that read first could not get it any more once another has written
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        if connection.files.log is None:
            self._watch(connection)
        self._files.check(connection.files)

    def check_recorded(self, connection: Connection) -> None:
        """The files must be those that the connection has open; it has written, so it is not to a copy."""
        self._files.check(cast(WatchedConnection, connection.connection.dbapi_connection).files)

    def _check_file(self, make: bool) -> None:
        """Say early and plainly what SQLite would say late and darkly; look without changing what is not a store.

        The file is looked at through SQLite alone. If this process opened and closed it in any other way, the system
        would drop the locks that other connections of this process have on it: another process would then take the
        write-ahead log for its own, and what is told here would be lost.
        """
        if not self.path.parent.is_dir():
            raise StorageError(f"there is no folder {self.path.parent} for the store {self.place}; make it first")
        if self.path.exists() and (kind := special_kind(self.path)) is not None:
            such = f", such as {self.path / 'hentropy.db'}" if self.path.is_dir() else ""
            raise StorageError(f"{self.place} is a {kind}; a store is a file{such}")
        if not self.path.exists():
            if not make:
                raise NoStore(f"there is no store in {self.place} yet")
            self._make_file()
        self._files.check_there(self._files.identify().database)
        try:
            with closing(self._source()) as connection:
                names = _tables(connection)
        except sqlite3.Error as error:
            raise StorageError(self._meaning(error)) from error
        if names and VERSION_TABLE not in names:
            raise StorageError(
                f"{self.place} is a database of something else, not a store: it has the tables"
                f" {', '.join(sorted(names)[:3])}; give another path"
            )

    def _source(self) -> sqlite3.Connection:
        """A connection to what is in the file, in whatever format."""
        if self._copied:
            copy = sqlite3.connect(":memory:")
            copy_into(copy, self.path)
            return copy
        # not mode=ro: SQLite may have to roll back what a killed process has left half written
        return sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE)

    def _make_file(self) -> None:
        """An empty file that only its owner may read; SQLite gives what it makes beside it the same rights."""
        try:
            with beside(self.path, PRIVATE) as made:
                take_name(made, self.path)
        except FileExistsError:
            pass  # somebody was faster
        except OSError as error:
            raise StorageError(
                f"{self.place}: the file cannot be made: {error.strerror}; check the permissions of its folder"
            ) from error

    def lock_for_migration(self, connection: Connection, alone: bool = True) -> None:
        """The transaction began as a writer's: it has the only write lock."""

    def now(self, connection: Connection) -> float:
        """The clock of this machine, on which all users of the file are."""
        return time.time()

    def back_up(self, target: Path, overwrite: bool) -> BackupContents:
        """By SQLite's own means, as the store is at one moment; nobody who writes has to wait."""
        try:
            with closing(self._source()) as connection:
                if VERSION_TABLE not in _tables(connection):
                    raise NoStore(f"there is no store in {self.place} yet")
                return copy_store(connection, self.path, target, overwrite)
        except sqlite3.Error as error:
            raise StorageError(f"{target} was not written: {self._meaning(error)}") from error
        except OSError as error:
            raise StorageError(f"{target} was not written: {error.strerror}") from error

    def explain(self, error: DBAPIError) -> str:
        """By SQLite's own names of errors."""
        return self._meaning(error.orig)

    def _meaning(self, error: BaseException | None) -> str:
        name = (error.sqlite_errorname if isinstance(error, sqlite3.Error) else None) or "SQLITE_ERROR"
        for start, meaning in _MEANINGS.items():
            if name.startswith(start):
                return f"{self.place}: {meaning}{self._denied() if start in _RIGHTS else ''}"
        return f"{self.place}: {error} ({name})"

    def _denied(self) -> str:
        """Which of the files this user may not use, if it is that."""
        files = [Path(f"{self.path}{end}") for end in ("", "-wal", "-shm")]
        reasons = (denied(file, wanted) for wanted in (READ, CHANGE) for file in files)
        return next((f" ({why})" for why in reasons if why is not None), "")


_RIGHTS = ("SQLITE_READONLY", "SQLITE_CANTOPEN")
"""Errors that may come from the rights of a file."""

_MEANINGS = {
    "SQLITE_FULL": "the disk is full; nothing was changed: make room and try again",
    "SQLITE_IOERR_SHORT_READ": "the file or its log (-wal) is not whole; was one of them deleted or replaced while the"
    " store was in use? Stop all programs that use it and start again; if that does not help, restore a backup",
    "SQLITE_IOERR": "the disk could not be read or written (is it full?); nothing was changed",
    "SQLITE_READONLY": "the file or its folder is read-only; nothing was changed: allow writing",
    "SQLITE_CANTOPEN": "the file cannot be opened or made; check the permissions of its folder",
    "SQLITE_BUSY": f"another process has kept it locked for {PATIENCE:g} s; nothing was changed: try again",
    "SQLITE_CORRUPT": "the file is damaged; restore a backup (sqlite3 FILE .recover may save the rest)",
    "SQLITE_NOTADB": "this is not an SQLite database, so not a store; give another path, or move that file away",
}


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch on the log; the switch itself does not wait for others who do the same, so it is tried again."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
