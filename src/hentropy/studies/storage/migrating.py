"""A store is made, or brought to the newest version, in one transaction: it is then the old one or the new one."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, column, inspect, select, table
from sqlalchemy.exc import SQLAlchemyError

from hentropy.errors import NoStore, StorageError
from hentropy.studies.storage.backend import WRITES, Backend
from hentropy.studies.storage.tables import NEWEST, VERSION_TABLE

MIGRATIONS = Path(__file__).parent / "migrations"


def prepare(backend: Backend, make: bool) -> None:
    """Make the tables, or migrate those of an earlier version, unless all is there."""
    try:
        with backend.engine.connect() as connection:
            found = version(connection)
            if found == NEWEST:
                return
            if found is None and not make:
                raise NoStore(f"there is no store in {backend.place} yet")
        with backend.engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            backend.lock_for_migration(connection)
            found = version(connection)  # somebody may have been faster
            if found != NEWEST:
                _known(found, backend)
                upgrade(connection)
    except SQLAlchemyError as error:
        raise StorageError(backend.explained(error)) from error


def version(connection: Connection) -> str | None:
    """The last migration that the store has seen; None where there is no store."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))


def upgrade(connection: Connection, to: str = NEWEST) -> None:
    """Run the migrations up to one of them, within the connection's transaction."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def _known(found: str | None, backend: Backend) -> None:
    known = sorted(path.stem[1:5] for path in (MIGRATIONS / "versions").glob("v*.py"))
    if found is not None and found not in known:
        raise StorageError(
            f"{backend.place} was written by a newer version of hentropy (its tables are of version {found}, known are"
            f" up to {known[-1]}); upgrade hentropy"
        )
