"""`open_store`: from a URL to a store; `back_up`: from a URL to a copy of all that is there."""

from pathlib import Path

from hentropy.errors import DocPage, InputError, MissingExtra, explained_in
from hentropy.studies.storage.base import BackupContents, Store
from hentropy.studies.storage.memory import MemoryStore


@explained_in(DocPage.STORES)
def open_store(where: str | Path | Store, *, make: bool = True) -> Store:
    """A store by its URL, made if it is not there yet; without `make`, that is a `NoStore` error.

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
    return open_database(where, make)


@explained_in(DocPage.BACKUP)
def back_up(where: str | Path, target: Path, *, overwrite: bool = False) -> BackupContents:
    """Write a copy of a store to a file, as it is at one moment, while others may write; says how much is in it.

    The store is an SQLite file, by its path or URL. For PostgreSQL, a `StorageError` names the program that does it.
    """
    if where == "memory://":
        raise InputError("a store in memory cannot be backed up: it ends with its process")
    try:
        from hentropy.studies.storage.urls import back_up_database  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(error.name or "sqlalchemy", "storage") from None
    return back_up_database(where, target, overwrite)
