"""PostgreSQL: a server that many machines share."""

import shlex
from pathlib import Path

from sqlalchemy import Connection, create_engine, event, func, select, text
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from hentropy.errors import MissingExtra, StorageError
from hentropy.studies.storage.base import BackupContents
from hentropy.studies.storage.database import Backend, as_json, shown
from hentropy.studies.storage.tables import trials

LOCKS = 0x48E7
"""The first number of our advisory lock; the second is 0, for migrations."""

CONNECTION = {
    "connect_timeout": 10,
    "application_name": "hentropy",
    "keepalives": 1,
    "keepalives_idle": 20,  # seconds
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50_000,  # milliseconds
}
"""A server that is gone without a word is noticed within a minute. What the URL says comes first."""

SESSION = {
    # a process that was stopped in the middle of a transaction must not keep the others out
    "idle_in_transaction_session_timeout": "30s",
    "lock_timeout": "60s",
    "statement_timeout": "300s",
}
"""For how long the server lets one user wait, or make others wait."""


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
                connect_args={name: value for name, value in CONNECTION.items() if name not in url.query},
            )
            event.listen(self.engine, "connect", _set_timeouts)
        except ModuleNotFoundError as error:
            raise MissingExtra(error.name or "psycopg", "postgres") from None

    def check_recorded(self, connection: Connection) -> None:
        """The server has said so, and nobody can take its files away unseen."""

    def lock_for_migration(self, connection: Connection, alone: bool = True) -> None:
        """An advisory lock until the end of the transaction, which writers share; a migration may take its time."""
        if alone:
            connection.execute(text("SET LOCAL statement_timeout = 0"))
        lock = func.pg_advisory_xact_lock if alone else func.pg_advisory_xact_lock_shared
        connection.execute(select(lock(LOCKS, 0)))

    def lacks_rights(self, connection: Connection) -> str:
        """By the server's mode, and by the user's rights on the tables."""
        written = [func.has_table_privilege(trials.name, right) for right in ("INSERT", "UPDATE")]
        setting, user, *may = connection.execute(
            select(func.current_setting("transaction_read_only"), func.current_user(), *written)
        ).one()
        if setting == "on":
            return f"{self.place} is read-only (default_transaction_read_only, or a standby server)"
        return "" if all(may) else f"{self.place} is read-only for {user}: GRANT the right to write to its tables"

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
        if "too many clients" in said or "remaining connection slots" in said:
            return (
                f"{self.place} has no connection left ({said}): every worker needs one or two; raise max_connections"
                " on the server, or start fewer workers"
            )
        if error.connection_invalidated or "connection" in said.lower():
            return f"{self.place} does not answer: {said}"
        return f"{self.place}: {said}"


def _set_timeouts(connection: DBAPIConnection, record: ConnectionPoolEntry) -> None:
    """Not as options of the connection: poolers refuse those."""
    cursor = connection.cursor()
    cursor.execute("; ".join(f"SET {name} = '{value}'" for name, value in SESSION.items()))
    cursor.close()
    connection.commit()


def _without_password(url: URL) -> str:
    """The URL for PostgreSQL's own programs; of its options only those that say where the server is."""
    kept = {name: value for name, value in url.query.items() if name in ("host", "port", "user", "dbname", "sslmode")}
    place = URL.create("postgresql", url.username, None, url.host, url.port, url.database, kept)
    return place.render_as_string()
