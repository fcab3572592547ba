"""The vocabulary of pictures: panels of marks in the units of the user, free of any drawing library.

A picture is made once from information and drawn by matplotlib for files and by plotly for pages. A mark says what it
is (its role), not how it looks: colours and markers are the theme's. Arrays are NumPy's; g and h are lengths of axes.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

IN_WORDS = {"in words": True}
"""Marks a field of information that only words of a picture are made of: it is not among its values."""


class Role(Enum):
    """What a mark stands for."""

    MEAN = "mean"
    UNCERTAINTY = "uncertainty"
    FIRST = "first"
    DATA = "data"
    ATTACHED = "attached"
    FAILED = "failed"
    PENDING = "pending"
    DECIDED = "decided"
    SPREAD = "spread"
    PROPOSED = "proposed"
    GAIN = "gain"
    LOSS = "loss"
    TRUTH = "truth"
    LIMIT = "limit"
    LOW = "low"
    MIDDLE = "middle"
    HIGH = "high"


class OutcomeTitle(str):
    """A title that is about the outcome: as it stands where that has no name, else `named`, with the name for {}."""

    named: str

    def __new__(cls, text: str, named: str = "{}") -> "OutcomeTitle":
        """The title, in both forms."""
        made = super().__new__(cls, text)
        made.named = named
        return made


VALUE = OutcomeTitle("value")
DEVIATION = OutcomeTitle("standard deviation", "standard deviation of {}")


@dataclass(frozen=True)
class Axis:
    """An axis: its title, its range if it is given, a logarithmic scale, whole numbers, names in place of numbers.

    `ticks` are the only numbers that are written along it, where they are given: few levels.
    """

    title: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False
    names: tuple[str, ...] = ()
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line through points (g each); NaN breaks it. `dots` marks the points, `label` is for the legend.

    Of several lines of one role, one for each of some options, `option` is the place of its own: it has a colour and a
    dash for itself.
    """

    x: np.ndarray
    y: np.ndarray
    role: Role
    label: str = ""
    dashed: bool = False
    dots: bool = False
    option: int | None = None


@dataclass(frozen=True)
class Band:
    """What lies between two lines (g each)."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    role: Role
    label: str = ""


@dataclass(frozen=True)
class Dots:
    """Points (n each), and a text for each where one is wanted.

    `error` are bars of so much to both sides (n), or below and above (2 x n). Beside lines for options, `options` (n)
    says to which each point belongs.
    """

    x: np.ndarray
    y: np.ndarray
    role: Role
    label: str = ""
    error: np.ndarray | None = None
    texts: tuple[str, ...] = ()
    options: np.ndarray | None = None


@dataclass(frozen=True)
class Heat:
    """Values (h x g) over a plane: `z[j, i]` is at (x[i], y[j]); NaN is left blank.

    With `names`, the values are 0, 1, ... and stand for these, as on a map of labels. `low` and `high` fix the scale,
    so that panels can share it. `texts` (h x g) are written at the foot of the cells, of a matrix with few of them.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    label: str
    low: float | None = None
    high: float | None = None
    names: tuple[str, ...] = ()
    texts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Contour:
    """The lines on a plane where values (h x g) pass a level. Of one role, each label has its own dash."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    level: float
    role: Role
    label: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars between edges (n + 1), so high (n); a histogram, or a bar for each of an axis' names at edges k - 0.5."""

    edges: np.ndarray
    heights: np.ndarray
    role: Role
    label: str = ""


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel where the axis "x" or "y" has a value. Of one role, each label has its dash."""

    at: float
    axis: str
    role: Role
    label: str = ""
    dashed: bool = True


Mark = Line | Band | Dots | Heat | Contour | Bars | Rule


@dataclass(frozen=True)
class Panel:
    """Marks over two axes, the first drawn first. A panel has at most one `Heat`."""

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Table:
    """Rows of texts under named columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """Panels in rows, with a title, and a caption that says in plain words what is to be seen."""

    name: str
    title: str
    caption: str
    rows: tuple[tuple[Panel | Table, ...], ...]

    def __repr__(self) -> str:
        return f"Picture({self.name!r}, {self.title!r}); a notebook shows it, with_matplotlib.draw writes it to a file"

    def _repr_png_(self) -> bytes:
        """The picture as a notebook shows it."""
        from hentropy.views.plots.with_matplotlib import rendered  # noqa: PLC0415

        return rendered(self, dpi=100)


def in_rows(panels: Sequence[Panel | Table], across: int) -> tuple[tuple[Panel | Table, ...], ...]:
    """Panels in rows of at most this many, as even as can be: 4 in rows of 3 are 2 and 2."""
    rows = math.ceil(len(panels) / across)
    width = math.ceil(len(panels) / rows) if rows else 1
    return tuple(tuple(panels[start : start + width]) for start in range(0, len(panels), width))


def cell_edges(centres: np.ndarray, *, log: bool) -> np.ndarray:
    """The borders (g + 1) of the cells around centres (g): halfway between them, on the scale of the axis."""
    at = np.log(centres) if log else np.asarray(centres, float)
    if len(at) == 1:
        borders = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        half = np.diff(at) / 2
        borders = np.concatenate([[at[0] - half[0]], at[:-1] + half, [at[-1] + half[-1]]])
    return np.asarray(np.exp(borders) if log else borders)


def finite_range(values: Sequence[np.ndarray], widened: bool = True) -> tuple[float, float]:
    """The smallest and the largest number of all, 0 and 1 where there is none; at least 1 apart where `widened`."""
    together = np.concatenate([np.zeros(0), *map(np.ravel, values)])
    finite = together[np.isfinite(together)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return low, low + 1.0 if widened and not high > low else high


def extent(panel: Panel, axis: Axis, letter: str) -> tuple[float, float]:
    """The smallest and the largest value along an axis: as it is given, or that of the marks."""
    low, high = axis.low, axis.high
    if low is None or high is None:
        own = finite_range([values for mark in panel.marks for values in _values(mark, letter)], widened=False)
        low, high = own[0] if low is None else low, own[1] if high is None else high
    return float(low), float(high)


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
