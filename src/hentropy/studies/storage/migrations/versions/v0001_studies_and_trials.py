"""Studies, trials and what was told of them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "hentropy_studies",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("definition", sa.JSON, nullable=False),
        sa.Column("versions", sa.JSON, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    study = sa.ForeignKey("hentropy_studies.id", ondelete="CASCADE")
    op.create_table(
        "hentropy_trials",
        sa.Column("study_id", sa.Integer, study, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("params", sa.JSON, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("std_error", sa.Double),
        sa.Column("gain", sa.Double),
        sa.Column("gain_error", sa.Double),
        sa.Column("entropy", sa.Double),
        sa.Column("origin", sa.String(20), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("asked_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("owner", sa.String(200)),
        sa.Column("lease_until", sa.Double),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
    op.create_index("hentropy_trials_by_revision", "hentropy_trials", ["study_id", "revision"])
    op.create_table(
        "hentropy_observations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("study_id", sa.Integer, sa.ForeignKey("hentropy_studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("by", sa.String(200), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("value", sa.Double),
        sa.Column("std_error", sa.Double),
        sa.Column("note", sa.Text, nullable=False),
    )
    op.create_index("hentropy_observations_by_trial", "hentropy_observations", ["study_id", "number"])
