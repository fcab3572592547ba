"""Tables as people have them, read into columns with names."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hentropy.core.given import real_array
from hentropy.errors import InputError
from hentropy.lazy import Tensor


@runtime_checkable
class DataFrameLike(Protocol):
    """Columns with names, such as a DataFrame."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    @property
    def index(self) -> Any:
        """The names of the rows."""

    def __getitem__(self, name: Any) -> Any:
        """A column."""

    def to_numpy(self) -> Any:
        """The values: m x d."""


def columns_of(rows: Any, names: Sequence[str] | None) -> dict[str, np.ndarray]:
    """The columns of a tensor, an array, nested lists, a DataFrame, a dict of columns, or dicts, by name."""
    rows = _by_column(rows)
    if isinstance(rows, Mapping):
        titles = [str(title) for title in rows]
        values = [np.asarray(column, dtype=object) for column in rows.values()]
        if any(column.ndim != 1 or len(column) != len(values[0]) for column in values):
            raise InputError("the columns of a pool must be lists of the same length")
    elif isinstance(rows, DataFrameLike):
        titles = [str(title) for title in rows.columns]
        values = [np.asarray(rows[title]) for title in rows.columns] if len(set(titles)) == len(titles) else []
    else:
        values = _columns(rows)
        titles = [f"x{i + 1}" for i in range(len(values))]
    if names is not None:
        if len(names) != len(values):
            raise InputError(f"the pool has {len(values)} columns but {len(names)} names: {list(names)}")
        titles = [str(name) for name in names]
    if len(set(titles)) != len(titles):
        raise InputError(f"the names of a pool's columns must differ, got {titles}")
    if not values or not len(values[0]):
        raise InputError(
            f"a pool needs a table of designs (m x d, at least one row), got {len(values)} columns of"
            f" {len(values[0]) if values else 0} rows"
        )
    return dict(zip(titles, values, strict=True))


def _by_column(rows: Any) -> Any:
    """A list of dicts as a dict of columns; other tables as they are."""
    if not (isinstance(rows, list | tuple) and rows and isinstance(rows[0], Mapping)):
        return rows
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping) or set(row) != set(rows[0]):
            raise InputError(f"row {i} of the pool does not have the names of row 0: {', '.join(map(str, rows[0]))}")
    return {name: [row[name] for row in rows] for name in rows[0]}


def _columns(rows: Any) -> list[np.ndarray]:
    if isinstance(rows, Tensor):
        rows = rows.detach().cpu().numpy()
    try:
        values = rows if isinstance(rows, np.ndarray) and rows.dtype.kind != "O" else np.array(rows, dtype=object)
        if values.dtype.kind == "O" and not any(isinstance(value, str | bool) for value in values.flat):
            values = real_array(rows)
    except (TypeError, ValueError) as error:
        raise InputError(f"a pool needs a table of numbers and texts (m x d); these rows are not: {error}") from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise InputError(f"a pool needs a table of designs (m x d, at least one row), got shape {values.shape}")
    return [values[:, i] for i in range(values.shape[1])]
