"""The tables of a store, and the migrations that make them or bring them to their newest version."""

from pathlib import Path
from typing import Any

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
    Select,
    String,
    Table,
    Text,
    column,
    inspect,
    select,
    table,
)

metadata = MetaData()

VERSION_TABLE = "hentropy_version"
"""Where a store says which migration made it."""

NEWEST = "0008"
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
    Column("measurements", JSON, nullable=False),
    Column("gain", Double),
    Column("gain_error", Double),
    Column("entropy", Double),
    Column("origin", String(20), nullable=False),
    Column("note", Text, nullable=False),
    Column("expected_cost", Double),
    Column("cost", Double),
    Column("measures", JSON, nullable=False, server_default="[]"),
    Column("predictions", JSON, nullable=False, server_default="{}"),
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
    Column("measurements", JSON, nullable=False),
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
    Column("headline", Text, nullable=False, server_default=""),
    Column("worth", Text, nullable=False, server_default=""),
    Column("failed", Integer, nullable=False, server_default="0"),
    Column("comparison", JSON),
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

RECORDED_VERSION: Select[Any] = select(column("version_num")).select_from(table(VERSION_TABLE))
"""The query for the last migration that a store has seen."""

MIGRATIONS = Path(__file__).parent / "migrations"


def version(connection: Connection) -> str | None:
    """The last migration that the store has seen: its format. None where there is no store."""
    return connection.scalar(RECORDED_VERSION) if inspect(connection).has_table(VERSION_TABLE) else None


def upgrade(connection: Connection, to: str = NEWEST) -> None:
    """Run the migrations up to one of them, within the connection's transaction."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = connection
    command.upgrade(config, to)


def is_newer(found: str) -> bool:
    """Whether a store has seen a migration that is not among ours."""
    return found not in {path.stem[1:5] for path in (MIGRATIONS / "versions").glob("v*.py")}


def other_format(found: str, place: str) -> str:
    """What to say of a store with a format that this program does not write."""
    formats = f"{place} has format {int(found)}, this program writes {int(NEWEST)}"
    if is_newer(found):
        return f"{formats}: a newer version of hentropy has upgraded it; upgrade hentropy, then start again"
    return (
        f"{formats}; stop all programs that use it, then `hentropy upgrade {place}` makes a backup and brings it up to"
        " date"
    )
