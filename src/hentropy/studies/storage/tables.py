"""The tables of a store, as the newest migration leaves them; a test compares the two."""

from sqlalchemy import JSON, Column, Double, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()

VERSION_TABLE = "hentropy_version"
"""Where a store says which migration made it."""

NEWEST = "0002"
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
