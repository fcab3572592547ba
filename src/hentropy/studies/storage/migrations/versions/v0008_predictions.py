"""Trials keep what was predicted of them; of those before, nothing is known."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column."""
    op.add_column("hentropy_trials", sa.Column("predictions", sa.JSON, nullable=False, server_default="{}"))
