"""Records on disk: one interface, in memory, in an SQLite file or on a PostgreSQL server."""

from hentropy.studies.storage.base import BackupContents, Change, News, Store
from hentropy.studies.storage.memory import MemoryStore
from hentropy.studies.storage.opening import back_up, open_store
from hentropy.studies.storage.turns import Turn, TurnTerms

__all__ = ["BackupContents", "Change", "MemoryStore", "News", "Store", "Turn", "TurnTerms", "back_up", "open_store"]
