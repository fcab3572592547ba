"""`open_store`: from a URL to a store; `back_up`: to a copy of all that is there; `upgrade_store`: to a new format."""

from pathlib import Path

from hentropy.errors import DocPage, InputError, MissingExtra, explained_in
from hentropy.studies.storage.base import BackupContents, FormatChange, Store
from hentropy.studies.storage.memory import MemoryStore


@explained_in(DocPage.STORES)
def open_store(where: str | Path | Store, *, make: bool = True, read_only: bool = False) -> Store:
    """A store by its URL, made if it is not there yet; without `make`, that is a `NoStore` error.

    One that may not be written, or has the format of an earlier version, is opened for reading: its `read_only` says
    why, and every write is a `ReadOnly` error. With `read_only`, any store is opened so, and none is made.

    "sqlite:///lab.db" (a path relative to the current folder; four slashes for an absolute one) or a `Path`;
    "postgresql://user@host/database"; "memory://". A `Store` is returned as it is.
    """
    if isinstance(where, Store):
        return where
    if not isinstance(where, str | Path):
        raise InputError(f"a store is named by a URL such as 'sqlite:///lab.db' or by a path, not by {where!r}")
    if where == "memory://":
        return MemoryStore()
    try:
        # SQLAlchemy is not needed, and takes its time to load, while everything stays in memory
        from hentropy.studies.storage.urls import open_database  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(error.name or "sqlalchemy", "storage") from None
    return open_database(where, make, read_only)


@explained_in(DocPage.BACKUP)
def back_up(where: str | Path, target: Path, *, overwrite: bool = False) -> BackupContents:
    """Write a copy of a store to a file, as it is at one moment, while others may write; says how much is in it.

    The store is an SQLite file, by its path or URL. For PostgreSQL, a `StorageError` names the program that does it.
    """
    _check_lasting(where)
    try:
        from hentropy.studies.storage.urls import back_up_database  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(error.name or "sqlalchemy", "storage") from None
    return back_up_database(where, target, overwrite)


@explained_in(DocPage.BACKUP)
def upgrade_store(where: str | Path, *, backup: bool = True) -> FormatChange:
    """Bring a store of an earlier version to the format that this version writes; says what was done.

    Stop all programs that use it first. A `backup` is made beside an SQLite file, with the earlier format in its name.
    For PostgreSQL, a `StorageError` names the program that makes one; then upgrade with `backup=False`.
    """
    _check_lasting(where)
    try:
        from hentropy.studies.storage.urls import upgrade_database  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(error.name or "sqlalchemy", "storage") from None
    return upgrade_database(where, backup)


def _check_lasting(where: str | Path) -> None:
    if where == "memory://":
        raise InputError("a store in memory cannot be backed up or upgraded: it ends with its process")
