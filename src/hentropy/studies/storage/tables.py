"""The tables of a store, and how one is made or brought to their newest version in one transaction."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    column,
    inspect,
    select,
    table,
)
from sqlalchemy.exc import SQLAlchemyError

from hentropy.errors import NoStore, StorageError
from hentropy.studies.storage.backend import Backend

metadata = MetaData()

VERSION_TABLE = "hentropy_version"
"""Where a store says which migration made it."""

NEWEST = "0004"
"""The last migration."""

studies = Table(
    "hentropy_studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("definition", JSON, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("revision", Integer, nullable=False),
)

trials = Table(
    "hentropy_trials",
    metadata,
    Column("study_id", Integer, ForeignKey("hentropy_studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("params", JSON, nullable=False),
    Column("state", String(20), nullable=False),
    Column("value", Double),
    Column("std_error", Double),
    Column("gain", Double),
    Column("gain_error", Double),
    Column("entropy", Double),
    Column("origin", String(20), nullable=False),
    Column("note", Text, nullable=False),
    Column("expected_cost", Double),
    Column("cost", Double),
    Column("asked_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("owner", String(200)),
    Column("lease_until", Double),
    Column("tries", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Index("hentropy_trials_by_revision", "study_id", "revision"),
)

observations = Table(
    "hentropy_observations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("hentropy_studies.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("at", Double, nullable=False),
    Column("by", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("value", Double),
    Column("std_error", Double),
    Column("note", Text, nullable=False),
    Column("cost", Double),
    Index("hentropy_observations_by_trial", "study_id", "number"),
)

verdicts = Table(
    "hentropy_verdicts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("hentropy_studies.id", ondelete="CASCADE"), nullable=False),
    Column("at", Double, nullable=False),
    Column("decision", Text, nullable=False),
    Column("observations", Integer, nullable=False),
    Column("expected_loss", Double, nullable=False),
    Column("std_error", Double, nullable=False),
    Column("action", JSON, nullable=False),
    Index("hentropy_verdicts_by_study", "study_id"),
)

turns = Table(
    "hentropy_turns",
    metadata,
    Column("study_id", Integer, ForeignKey("hentropy_studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, nullable=False),
    Column("holder", String(200)),
    Column("since", Double, nullable=False),
    Column("renewals", Integer, nullable=False),
    Column("drawn", Integer, nullable=False),
)

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
        with backend.transaction(writes=True) as connection:
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
