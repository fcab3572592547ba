"""Trials have measurements by outcome, what was measured before that of "value"; verdicts have a headline."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

KEYS = {"hentropy_trials": ("study_id", "number"), "hentropy_observations": ("id",)}
"""What tells the rows of a table apart."""


def upgrade() -> None:
    """Move the values and their standard errors; earlier verdicts have no headline."""
    op.add_column("hentropy_verdicts", sa.Column("headline", sa.Text, nullable=False, server_default=""))
    for name, keys in KEYS.items():
        op.add_column(name, sa.Column("measurements", sa.JSON, nullable=False, server_default="{}"))
        _move(name, keys)
        op.drop_column(name, "value")
        op.drop_column(name, "std_error")


def _move(name: str, keys: tuple[str, ...]) -> None:
    names = (*keys, "value", "std_error")
    table = sa.table(name, *(sa.column(name) for name in names), sa.column("measurements", sa.JSON))
    connection = op.get_bind()
    query = sa.select(*(table.c[key] for key in keys), table.c.value, table.c.std_error)
    measured = [
        {**{f"of_{key}": row[key] for key in keys}, "measurements": {"value": _measurement(row)}}
        for row in connection.execute(query.where(table.c.value.is_not(None))).mappings()
    ]
    if measured:
        this = (table.c[key] == sa.bindparam(f"of_{key}") for key in keys)
        connection.execute(sa.update(table).where(*this), measured)


def _measurement(row: sa.RowMapping) -> dict[str, float | None]:
    return {"value": row["value"], "std_error": row["std_error"]}
