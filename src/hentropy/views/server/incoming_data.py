"""Data that come in with a request: checked row by row, and bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hentropy.errors import InputError
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Failed, Values
from hentropy.views.text.earlier_data import Data


@dataclass(frozen=True)
class EarlierExperiment:
    """An earlier experiment: its design, and what was measured or why it failed."""

    params: Mapping[str, Any]
    outcome: Values | Failed


def rows_in(rows: Sequence[EarlierExperiment], outcomes: Outcomes) -> Data:
    """Rows checked against the space and the outcomes."""
    good, bad = [], []
    for number, row in enumerate(rows):
        try:
            if not isinstance(row.outcome, Failed):
                outcomes.given(row.outcome)
            design = outcomes.space.cleaned(row.params)
        except InputError as mistake:
            bad.append(f"row {number}: {mistake}")
        else:
            good.append((design, row.outcome))
    return Data(tuple(good), ("",) * len(good), tuple(bad), ())


def usable(data: Data, where: str, skip_bad: bool) -> Data:
    """The data, if their bad rows may be left out; an `InputError` with what is wrong with them if not."""
    if not data.bad and not data.good:
        raise InputError(f"{where} has no rows below its header; nothing was attached")
    if not data.bad:
        return data
    if skip_bad and data.good:
        return replace(data, bad=data.shown_bad)
    raise InputError(f"{data.bad_rows(where)}\nNothing was attached. Fix the rows, or leave them out.")
