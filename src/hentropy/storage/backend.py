"""What differs between databases: how to connect, to lock, to tell the time, and what their errors mean."""

import json
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

WRITES = "hentropy_writes"
"""The execution option of a connection that is going to write."""


class Backend(ABC):
    """One kind of database."""

    engine: Engine
    place: str

    @abstractmethod
    def lock_for_migration(self, connection: Connection) -> None:
        """Let nobody else migrate until this transaction ends."""

    @abstractmethod
    def asking(self, study_id: int) -> AbstractContextManager[None]:
        """The right to propose for a study; it ends with the process at the latest."""

    @abstractmethod
    def now(self) -> float:
        """Seconds since 1970 by a clock that all users of the database share."""

    @abstractmethod
    def explain(self, error: DBAPIError) -> str:
        """What an error of the driver means, and what to do."""


def as_json(value: Any) -> str:
    """JSON; what an action of one's own may hold beside numbers and text is kept as text."""
    return json.dumps(value, default=str)
