"""Verdicts say what another experiment is worth, and how many had failed; those before, nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("hentropy_verdicts", sa.Column("worth", sa.Text, nullable=False, server_default=""))
    op.add_column("hentropy_verdicts", sa.Column("failed", sa.Integer, nullable=False, server_default="0"))
