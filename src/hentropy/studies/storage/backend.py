"""What differs between databases: how to connect, to lock, to tell the time, and what their errors mean."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from hentropy.studies.storage.base import BackupContents

WRITES = "hentropy_writes"
"""The execution option of a connection that is going to write."""


class Backend(ABC):
    """One kind of database."""

    engine: Engine
    place: str

    @contextmanager
    def transaction(self, writes: bool = False) -> Iterator[Connection]:
        """One transaction; what it wrote is recorded when this ends without an error."""
        with self.engine.connect().execution_options(**{WRITES: writes}) as connection:
            with connection.begin():
                yield connection
            if writes:
                self.check_recorded(connection)

    @abstractmethod
    def check_recorded(self, connection: Connection) -> None:
        """A `StorageError` if what the connection has just committed is not where others will look for it."""

    @abstractmethod
    def lock_for_migration(self, connection: Connection) -> None:
        """Let nobody else migrate until this transaction ends."""

    @abstractmethod
    def now(self, connection: Connection) -> float:
        """Seconds since 1970 by a clock that all users of the database share."""

    @abstractmethod
    def back_up(self, target: Path, overwrite: bool) -> BackupContents:
        """Write a copy of everything to a file; one that is there is written over only if `overwrite` says so."""

    @abstractmethod
    def explain(self, error: DBAPIError) -> str:
        """What an error of the driver means, and what to do."""

    def explained(self, error: SQLAlchemyError) -> str:
        """What an error means; those that do not come from the driver speak for themselves."""
        return self.explain(error) if isinstance(error, DBAPIError) else f"{self.place}: {' '.join(str(error).split())}"


def shown(url: URL) -> str:
    """A URL for a person: without the password, wherever it stands in it."""
    return url.set(query={}).render_as_string(hide_password=True)


def plain(value: Any) -> Any:
    """A value as every database keeps it: numbers that are finite, text, lists, and mappings with keys of text."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def as_json(value: Any) -> str:
    """JSON of plain values."""
    return json.dumps(value, allow_nan=False)
