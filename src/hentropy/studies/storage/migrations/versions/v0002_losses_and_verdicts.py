"""Workers that were lost are counted apart from failures; verdicts are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("hentropy_trials", sa.Column("losses", sa.Integer, nullable=False, server_default="0"))
    op.create_table(
        "hentropy_verdicts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("study_id", sa.Integer, sa.ForeignKey("hentropy_studies.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("observations", sa.Integer, nullable=False),
        sa.Column("expected_loss", sa.Double, nullable=False),
        sa.Column("std_error", sa.Double, nullable=False),
        sa.Column("action", sa.JSON, nullable=False),
    )
    op.create_index("hentropy_verdicts_by_study", "hentropy_verdicts", ["study_id"])
