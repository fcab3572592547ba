"""Records on disk: one interface, in memory, in an SQLite file or on a PostgreSQL server."""

from hentropy.studies.storage.base import Change, News, Store
from hentropy.studies.storage.memory import MemoryStore
from hentropy.studies.storage.opening import open_store

__all__ = ["Change", "MemoryStore", "News", "Store", "open_store"]
