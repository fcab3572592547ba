"""`open_store`: from a URL to a store."""

from pathlib import Path

from hentropy.errors import InputError, MissingExtra
from hentropy.studies.storage.base import Store
from hentropy.studies.storage.memory import MemoryStore


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
        from hentropy.studies.storage.database import open_database  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(error.name or "sqlalchemy", "storage") from None
    return open_database(where, make)
