"""A verdict in a few words, and how often to ask for one."""

import time
from collections import Counter

from hentropy.cli.printing import number
from hentropy.errors import HentropyError
from hentropy.records import Verdict
from hentropy.study import Study

SHARE = 0.1
"""The most of the time that goes into decisions which are only looked at, while workers wait."""


def in_short(verdict: Verdict) -> str:
    """What would be decided, on one line."""
    rows = verdict.action
    if not rows:
        return "nothing"
    if len(rows) == 1:
        return ", ".join(f"{name} {_value(value)}" for name, value in rows[0].items())
    stated = "mean" if "mean" in rows[0] else verdict.columns[-1]
    values = [row[stated] for row in rows]
    if all(isinstance(value, float) for value in values):
        what = "designs, means" if stated == "mean" else f"rows, {stated} from"
        return f"{len(rows)} {what} {number(min(values))} to {number(max(values))}"
    counts = sorted(Counter(map(str, values)).items())
    return f"{stated} {', '.join(f'{label} at {count}' for label, count in counts)}"


def _value(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


class Glances:
    """Verdicts to look at while a study runs; `rarely` skips those for which there is no time."""

    def __init__(self, study: Study, rarely: bool) -> None:
        self._study = study
        self._rarely = rarely
        self._next = 0.0

    def verdict(self) -> Verdict | None:
        """What would be decided now, if there is time and there are values."""
        began = time.monotonic()
        if self._rarely and began < self._next:
            return None
        try:
            return self._study.decide()
        except HentropyError:  # nothing can be decided yet; a line of progress is no place to end a run
            return None
        finally:
            ended = time.monotonic()
            self._next = ended + (ended - began) / SHARE
