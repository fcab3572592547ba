"""Data that come in with a request: checked row by row, and bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.studies.study.rules import checked_value
from hentropy.views.text.earlier_data import Data


@dataclass(frozen=True)
class EarlierMeasurement:
    """An earlier measurement: its design and its value."""

    params: Mapping[str, Any]
    value: float
    std_error: float | None = None


def rows_in(rows: Sequence[EarlierMeasurement], space: DesignSpace) -> Data:
    """Rows checked against the space."""
    good, bad = [], []
    for number, row in enumerate(rows):
        try:
            value, error = checked_value(row.value if row.std_error is None else (row.value, row.std_error))
            design = space.cleaned(row.params)
        except InputError as mistake:
            bad.append(f"row {number}: {mistake}")
        else:
            good.append((design, value if error is None else (value, error)))
    return Data(tuple(good), tuple(bad), ())


def usable(data: Data, where: str, skip_bad: bool) -> Data:
    """The data, if their bad rows may be left out; an `InputError` with what is wrong with them if not."""
    if not data.bad and not data.good:
        raise InputError(f"{where} has no rows below its header; nothing was attached")
    if not data.bad:
        return data
    if skip_bad and data.good:
        return replace(data, bad=data.shown_bad)
    raise InputError(f"{data.bad_rows(where)}\nNothing was attached. Fix the rows, or leave them out.")
