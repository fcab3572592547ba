"""Trials say which outcomes they are to measure; those before, none of them: all outcomes."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column."""
    op.add_column("hentropy_trials", sa.Column("measures", sa.JSON, nullable=False, server_default="[]"))
