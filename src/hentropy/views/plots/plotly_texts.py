"""Texts and numbers in figures of plotly: what is shown at a point, and ticks that tell close values apart."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Panel, extent

DIGITS = 7
"""Significant digits of numbers whose spread is as large as they are: more than can be seen."""

EXACT = 15
"""The digits of what stands alone: it may lie on an axis that is short against its distance from zero."""

FEW = 16
"""Few numbers are given exactly: they may lie closer together, or farther apart, than all that is shown with them."""


def shown(text: str, longest: int = 200) -> str:
    """A text that is shown as it is: plotly would take tags, and names within %{}, for its own."""
    line = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return html.escape(line, quote=False).replace("%{", "% {")


def wrapped(text: str, width: int, longest: int = 200) -> str:
    """A text as lines of about this many letters."""
    lines = [""]
    for word in text[:longest].split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(shown(line) for line in lines)


def numbers(values: Sequence[float] | np.ndarray) -> list[Any]:
    """Numbers of any shape as lists, rounded to what can be seen; those that are not finite are None."""
    array = np.asarray(values, dtype=float)
    digits = _digits(array)
    rounded = [_number(value, digits) for value in array.ravel().tolist()]
    width = array.shape[-1]
    return rounded if array.ndim == 1 else [rounded[at : at + width] for at in range(0, len(rounded), width)]


def number(value: float) -> float | None:
    """One number."""
    return _number(float(value), EXACT)


def _digits(array: np.ndarray) -> int:
    """Enough digits to tell apart values that lie close together, far from zero."""
    finite = array[np.isfinite(array)]
    if finite.size <= FEW:
        return EXACT
    largest, spread = float(np.abs(finite).max()), float(finite.max() - finite.min())
    if spread <= 0.0 or largest <= 0.0:
        return EXACT
    return min(EXACT, DIGITS + max(0, math.ceil(math.log10(largest / spread))))


def _number(value: float, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def hover(
    panel: Panel,
    label: str,
    *,
    texts: bool = False,
    value: str = "",
    ends: tuple[float, float] = (0.0, 1.0),
    named: bool = False,
) -> str:
    """What is said of a point; a value on a map lies between two ends. Where `named`, names are its customdata."""
    lines = ["%{text}"] if texts else []
    for place, (axis, letter) in enumerate(((panel.x, "x"), (panel.y, "y"))):
        name = f"{shown(axis.title, 40)}: %{{customdata[{place}]}}"
        lines.append(name if named and axis.names else _coordinate(panel, axis, letter))
    if value:
        lines.append(f"{shown(value, 40)}: %{{z:{_format(*ends)}}}")
    return f"{'<br>'.join(lines)}<extra>{shown(label, 40)}</extra>"


def name_at(axis: Axis, value: float) -> str:
    """The name at or beside which something stands along an axis; empty where there is none."""
    place = round(value) if math.isfinite(value) else -1
    return shown(axis.names[place], 60) if 0 <= place < len(axis.names) else ""


def _coordinate(panel: Panel, axis: Axis, letter: str) -> str:
    form = "" if axis.names else f":{_format(*extent(panel, axis, letter))}"
    return f"{shown(axis.title, 40)}: %{{{letter}{form}}}"


def _format(low: float, high: float) -> str:
    """How numbers between two ends are written: with all digits that tell them apart, in full where they are whole."""
    count = digits(low, high)
    whole = len(f"{max(abs(low), abs(high)):.0f}")
    return f".{count}~g" if whole > 12 else f".{max(count, whole)}~g"


NARROW = 1e4
"""An axis this many times farther from zero than it is long has its numbers written from a number near its middle."""

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
