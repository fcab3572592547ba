"""Trials have costs."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("hentropy_trials", sa.Column("expected_cost", sa.Double))
    op.add_column("hentropy_trials", sa.Column("cost", sa.Double))
    op.add_column("hentropy_observations", sa.Column("cost", sa.Double))
