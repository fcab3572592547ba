"""Values over a slice as marks: options side by side, a line for each option, a matrix, a line or a map.

g, h  values along the first and the second axis        n  points
"""

import math

import numpy as np

from hentropy.studies.records.numbers import span
from hentropy.views.plots.marks import Axis, Band, Dots, Heat, Line, Mark, Role
from hentropy.views.plots.views import SliceFrame

GOLDEN = (0.6180339887498949, 0.7548776662466927)
"""Multiples of these, whole parts left out, are spread evenly."""

WRITTEN = 60
"""Up to this many cells have their values written in them."""

BESIDE = (0.14, 0.36)
"""Points stand so far right of their option, in steps between options, so as not to cover what is drawn at it."""


def panel_axes(frame: SliceFrame, value: Axis) -> tuple[Axis, Axis]:
    """The axes of a panel over a slice: those of both fields, or that of a field and that of values."""
    return (frame.axes[0], frame.axes[1]) if frame.is_plane else (frame.axes[0], value)


def titled(frame: SliceFrame, title: str) -> str:
    """The title of a panel over a slice: with lines, of what each option has one."""
    return f"{title}, by {frame.axes[1].title}" if frame.has_lines else title


def beside(axis: Axis, places: np.ndarray) -> np.ndarray:
    """Places (n) along an axis; at names, points that would cover each other are spread out beside them."""
    return _spread(places, *BESIDE, GOLDEN[0]) if axis.names else places


def within(frame: SliceFrame, places: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Places (n each) on a map; in the cells of names, points are spread out above the text."""
    ends = ((-0.3, 0.3), (-0.1, 0.34))
    return tuple(
        _spread(own, *between, step) if axis.names else own
        for axis, own, between, step in zip(frame.axes, places, ends, GOLDEN, strict=True)
    )


def _spread(places: np.ndarray, low: float, high: float, step: float) -> np.ndarray:
    return places + low + (high - low) * ((np.arange(len(places)) + 0.5) * step % 1.0)


def side_by_side(across: Axis, places: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Places (n each) of few marks: those in one cell, or at one option, stand side by side in it."""
    if not across.names:
        return places
    together = np.stack(places, -1)
    x = places[0].copy()
    for own in np.unique(together, axis=0):
        same = np.flatnonzero((together == own).all(-1))
        x[same] += 0.24 * (np.arange(len(same)) - (len(same) - 1) / 2.0)
    return x, *places[1:]


def option_places(frame: SliceFrame, values: np.ndarray) -> np.ndarray | None:
    """To which line of a slice designs, given by all fields (n x F), belong (n); None where it has no such lines."""
    return frame.places(values)[1] if frame.has_lines else None


def option_lines(frame: SliceFrame, z: np.ndarray, role: Role) -> tuple[Line, ...]:
    """Values (h x g) over a number, a line for each option."""
    x, names = frame.grids[0], frame.axes[1].names
    return tuple(
        Line(x, row, role, f"{frame.names[1]}: {name}", dots=frame.listed[0], option=place)
        for place, (name, row) in enumerate(zip(names, z, strict=True))
    )


def intervals_at(x: np.ndarray, value: np.ndarray, quantiles: np.ndarray, label: str, role: Role) -> tuple[Mark, ...]:
    """Values (n) with their 95 % and 50 % intervals (quantiles 4 x n)."""
    low, lower, upper, high = quantiles
    wide, half = (np.stack([value - a, b - value]).clip(0.0) for a, b in ((low, high), (lower, upper)))
    return (
        Dots(x, value, Role.UNCERTAINTY, "95 % interval", error=wide),
        Dots(x, value, role, f"{label}, 50 % interval", error=half),
    )


def over_number(frame: SliceFrame, mean: np.ndarray, quantiles: np.ndarray, label: str) -> tuple[Mark, ...]:
    """The expected value over one field (g), with the intervals that the quantiles (4 x g) bound."""
    [x] = frame.grids
    if frame.has_options:
        return intervals_at(x, mean, quantiles, label, Role.MEAN)
    low95, low50, high50, high95 = quantiles
    return (
        Band(x, low95, high95, Role.UNCERTAINTY, "95 % interval"),
        Band(x, low50, high50, Role.UNCERTAINTY, "50 % interval"),
        Line(x, mean, Role.MEAN, label, dots=frame.listed[0]),
    )


def over_pair(
    frame: SliceFrame, z: np.ndarray, label: str, role: Role, scale: tuple[float | None, float | None] = (None, None)
) -> tuple[Mark, ...]:
    """Values (h x g) over two fields: a line for each option, a matrix with its numbers, or a map; NaN is blank."""
    if frame.has_lines:
        return option_lines(frame, z, role)
    x, y = frame.grids
    return (Heat(x, y, z, label, *scale, texts=_cells(z) if frame.is_matrix else ()),)


def _cells(z: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """The numbers in the cells of a matrix, where they are few; none in what is blank."""
    if z.size > WRITTEN:
        return ()
    spread = span(z[np.isfinite(z)].tolist()) or 1.0
    place = 1 - math.floor(math.log10(spread))  # two digits of the spread tell cells apart
    form = f".{max(place, 0)}f" if -4 < place < 5 else ".2g"
    rounded = [[round(v, place) if math.isfinite(v) else math.nan for v in row] for row in z.tolist()]
    return tuple(tuple("" if math.isnan(v) else f"{v:{form}}" if v else "0" for v in row) for row in rounded)
