"""PostgreSQL: a server that many machines share."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, create_engine, func, select, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from hentropy.errors import MissingExtra, StorageError
from hentropy.studies.storage.backend import Backend, as_json, shown
from hentropy.studies.storage.base import BackupContents

LOCKS = 0x48E7
"""The first number of our advisory locks; the second is the study's, or 0 for migrations."""


class Postgres(Backend):
    """A database on a server; tables have names that begin with hentropy_."""

    def __init__(self, url: URL) -> None:
        driver = url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url
        self.place = shown(url)
        self._without_password = _without_password(url)
        try:
            self.engine = create_engine(
                driver,
                json_serializer=as_json,
                isolation_level="READ COMMITTED",  # whoever waited for a row must see what the one before has written
                pool_pre_ping=True,  # a connection that died in the pool is replaced unseen
                connect_args={"connect_timeout": 10, "application_name": "hentropy"},
            )
        except ModuleNotFoundError as error:
            raise MissingExtra(error.name or "psycopg", "postgres") from None

    def check_recorded(self, connection: Connection) -> None:
        """The server has said so, and nobody can take its files away unseen."""

    def lock_for_migration(self, connection: Connection) -> None:
        """An advisory lock until the end of the transaction."""
        connection.execute(select(func.pg_advisory_xact_lock(LOCKS, 0)))

    @contextmanager
    def asking(self, study_id: int) -> Iterator[None]:
        """An advisory lock of a connection, which the server lets go of when that ends."""
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(select(func.pg_advisory_lock(LOCKS, study_id)))
            try:
                yield
            finally:
                with suppress(DBAPIError):  # without the connection there is no lock either
                    connection.execute(select(func.pg_advisory_unlock(LOCKS, study_id)))

    def now(self, connection: Connection) -> float:
        """The server's clock."""
        return float(connection.scalar(text("SELECT extract(epoch FROM clock_timestamp())::float8")))

    def back_up(self, target: Path, overwrite: bool) -> BackupContents:
        """The server's own program does that; here is only said how."""
        command = shlex.join(["pg_dump", "--format=custom", f"--file={target}", self._without_password])
        raise StorageError(
            f"{self.place} is on a PostgreSQL server, which has its own program for backups: {command} (the password"
            " goes into ~/.pgpass or PGPASSWORD); pg_restore brings them back"
        )

    def explain(self, error: DBAPIError) -> str:
        """The server's own words, with what usually helps."""
        said = " ".join(str(error.orig).split())
        if error.connection_invalidated or "connection" in said.lower():
            return f"{self.place} does not answer: {said}"
        return f"{self.place}: {said}"


def _without_password(url: URL) -> str:
    """The URL for PostgreSQL's own programs; of its options only those that say where the server is."""
    kept = {name: value for name, value in url.query.items() if name in ("host", "port", "user", "dbname", "sslmode")}
    place = URL.create("postgresql", url.username, None, url.host, url.port, url.database, kept)
    return place.render_as_string()
