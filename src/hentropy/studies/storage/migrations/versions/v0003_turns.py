"""The right to ask is kept in the store."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table."""
    study = sa.ForeignKey("hentropy_studies.id", ondelete="CASCADE")
    op.create_table(
        "hentropy_turns",
        sa.Column("study_id", sa.Integer, study, primary_key=True),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("holder", sa.String(200)),
        sa.Column("since", sa.Double, nullable=False),
        sa.Column("renewals", sa.Integer, nullable=False),
        sa.Column("drawn", sa.Integer, nullable=False),
    )
