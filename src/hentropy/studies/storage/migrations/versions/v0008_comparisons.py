"""Verdicts compare the recommended design with the measured ones; those before do not."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column."""
    op.add_column("hentropy_verdicts", sa.Column("comparison", sa.JSON))
