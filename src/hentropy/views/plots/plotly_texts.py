"""Texts and numbers as plotly takes them: plain values that JSON knows, short, and no text taken for markup."""

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

DIGITS = 7
"""Significant digits of numbers whose spread is as large as they are: more than can be seen."""

EXACT = 15
"""The digits of what stands alone: it may lie on an axis that is short against its distance from zero."""

FEW = 16
"""Few numbers are given exactly: they may lie closer together, or farther apart, than all that is shown with them."""


def nth(name: str, position: int) -> str:
    """The name of an axis by its place, from 1: x, x2, x3."""
    return name if position == 1 else f"{name}{position}"


def shown(text: str, longest: int = 200) -> str:
    """A text that is shown as it is: plotly would take tags, and names within %{}, for its own."""
    line = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return html.escape(line, quote=False).replace("%{", "% {")


def wrapped(text: str, width: int, longest: int = 200) -> str:
    """A text as lines of about so many letters."""
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
    if array.ndim > 1:
        return [[_number(value, digits) for value in row] for row in array.tolist()]
    return [_number(value, digits) for value in array.tolist()]


def number(value: float) -> float | None:
    """One number."""
    return _number(float(value), EXACT)


def _digits(array: np.ndarray) -> int:
    """So many that values that lie close together, far from zero, stay apart."""
    finite = array[np.isfinite(array)]
    if finite.size <= FEW:
        return EXACT
    largest, spread = float(np.abs(finite).max()), float(finite.max() - finite.min())
    if spread <= 0.0 or largest <= 0.0:
        return EXACT
    return min(EXACT, DIGITS + max(0, math.ceil(math.log10(largest / spread))))


def _number(value: float, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
