"""How far axes reach, and the numbers along them where they are short against their distance from zero."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Band, Bars, Contour, Dots, Heat, Line, Mark, Panel

NARROW = 1e4
"""An axis so many times farther from zero than it is long has its numbers written from a number near its middle."""

MINUS = "\N{MINUS SIGN}"
TICKS = 5
HOVER = 4
"""Significant digits of what is said of a point, where an axis begins at zero."""


@dataclass(frozen=True)
class Offset:
    """Places along an axis (t), and what is written there: how far each is from `base`."""

    base: float
    places: tuple[float, ...]
    texts: tuple[str, ...]

    def titled(self, title: str) -> str:
        """The title of the axis, which says what the numbers leave out."""
        return f"{title} {MINUS if self.base > 0 else '+'} {short(abs(self.base))}"


def offset(low: float, high: float) -> Offset | None:
    """Numbers along a narrow range; None where the usual ones are short enough."""
    length = high - low
    if not (length > 0.0 and max(abs(low), abs(high)) > NARROW * length):
        return None
    unit = 10.0 ** math.ceil(math.log10(length))
    base = round(0.5 * (low + high) / unit) * unit
    step = _round_step(length / TICKS)
    first, last = math.ceil((low - base) / step - 1e-9), math.floor((high - base) / step + 1e-9)
    away = [count * step for count in range(first, last + 1)]
    return Offset(base, tuple(base + each for each in away), tuple(f"{each + 0.0:.6g}" for each in away))


def _round_step(least: float) -> float:
    """The first of 1, 2, 5, 10, ... (times a power of ten) that is at least so long."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in (1.0, 2.0, 5.0) if factor * power >= least * (1 - 1e-9)), 10.0 * power)


def digits(low: float, high: float) -> int:
    """How many significant digits tell places between two ends apart."""
    length, largest = high - low, max(abs(low), abs(high))
    if not (length > 0.0 and math.isfinite(largest)):
        return HOVER
    return min(15, HOVER + max(0, math.ceil(math.log10(largest / length))))


def extent(panel: Panel, axis: Axis, letter: str) -> tuple[float, float]:
    """The least and the greatest value along an axis: as it is given, or that of the marks."""
    found = [axis.low, axis.high]
    if axis.low is None or axis.high is None:
        parts = [np.ravel(values) for mark in panel.marks for values in _values(mark, letter)]
        together = np.concatenate([np.zeros(0), *parts])
        finite = together[np.isfinite(together)]
        ends = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        found = [end if given is None else given for given, end in zip(found, ends, strict=True)]
    low, high = (float(value or 0.0) for value in found)
    return low, high


def _values(mark: Mark, letter: str) -> Iterator[np.ndarray]:
    """All that a mark has along an axis."""
    if isinstance(mark, Line | Dots | Heat | Contour):
        values = mark.x if letter == "x" else mark.y
        yield values
        if isinstance(mark, Dots) and mark.error is not None and letter == "y":
            below, above = np.broadcast_to(mark.error, (2, len(values)))
            yield from (values - below, values + above)
    elif isinstance(mark, Band):
        yield from (mark.x,) if letter == "x" else (mark.low, mark.high)
    elif isinstance(mark, Bars):
        yield mark.edges if letter == "x" else np.append(mark.heights, 0.0)
    elif mark.axis == letter:
        yield np.array([mark.at])
