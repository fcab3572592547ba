"""Trials keep what was predicted of them, and verdicts compare the recommended design with measured ones."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("hentropy_trials", sa.Column("predictions", sa.JSON, nullable=False, server_default="{}"))
    op.add_column("hentropy_verdicts", sa.Column("comparison", sa.JSON))
