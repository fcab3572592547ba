"""Records on disk: one interface, in memory, in an SQLite file or on a PostgreSQL server."""

from hentropy.studies.storage.base import Addition, BackupContents, Change, FormatChange, News, Store
from hentropy.studies.storage.memory import MemoryStore
from hentropy.studies.storage.opening import back_up, open_store, upgrade_store
from hentropy.studies.storage.turns import HeldTurn, Turn, TurnTerms

__all__ = [
    "Addition",
    "BackupContents",
    "Change",
    "FormatChange",
    "HeldTurn",
    "MemoryStore",
    "News",
    "Store",
    "Turn",
    "TurnTerms",
    "back_up",
    "open_store",
    "upgrade_store",
]
