"""How marks look, in files and on pages: for each role a colour and a marker or dash, as colour never speaks alone.

The colours of marks are those of Okabe and Ito, which all eyes tell apart; maps of numbers are in cividis, which reads
the same without colour. Greys are of middle lightness: they show on white and on black."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt

from hentropy.views.plots.marks import (
    Band,
    Bars,
    Contour,
    Dots,
    Heat,
    Line,
    Mark,
    Panel,
    Picture,
    Role,
    Rule,
    finite_range,
)

BLUE, SKY, GREEN = "#0072b2", "#56b4e9", "#009e73"
ORANGE, VERMILION, PURPLE, YELLOW = "#e69f00", "#d55e00", "#cc79a7", "#f0e442"
BAND = 0.3
"""How much of a band's colour covers what is under it."""

GREY, WHITE, BLACK = "#767676", "#ffffff", "#222222"

MAP = "cividis"
"""The colours of a map of numbers, by the name that matplotlib has for them."""

MAP_STOPS = (
    (0.0, "#00224e"),
    (0.125, "#1a386f"),
    (0.25, "#434e6c"),
    (0.375, "#61656f"),
    (0.5, "#7d7c78"),
    (0.625, "#9b9476"),
    (0.75, "#bcae6c"),
    (0.875, "#dec958"),
    (1.0, "#fee838"),
)
"""The same colours for pages: the colour at each share of the scale."""

LABELS = (SKY, ORANGE, GREEN, PURPLE, YELLOW, BLUE, VERMILION, GREY)
"""Colours of a map of labels, in the order of the labels; where there are more labels they repeat."""

OPTIONS = ("#aa3377", VERMILION, GREEN, ORANGE, PURPLE, "#8c510a", SKY, GREY)
"""Colours of options that have a line each, none of them that of the mean; the first six have a dash each too.

Of two options with the same dash, the colours are far apart to all eyes. The first is of Tol's bright scheme.
"""

HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "||")
"""The same labels without colour, in files; pages write the names on the map."""


@dataclass(frozen=True)
class RoleStyle:
    """The colour of a role, its marker by matplotlib's and by plotly's name, its size in points, its dash, its place.

    A `filled` marker has the colour inside and a black border; another is all border. Of two marks at one place, the
    one with the higher `order` is seen.
    """

    colour: str
    marker: str = "o"
    symbol: str = "circle"
    size: float = 6.0
    filled: bool = True
    dash: str = "solid"
    order: int = 30


LOOKS = {
    Role.MEAN: RoleStyle(BLUE),
    Role.UNCERTAINTY: RoleStyle(SKY),
    Role.FIRST: RoleStyle(WHITE, "X", "x", 7.0),
    Role.DATA: RoleStyle(WHITE, "o", "circle", 6.0),
    Role.ATTACHED: RoleStyle(WHITE, "s", "square", 6.0),
    Role.FAILED: RoleStyle(VERMILION, "x", "x-thin", 7.0, filled=False),
    Role.PENDING: RoleStyle(SKY, "D", "diamond", 7.0, order=31),
    Role.DECIDED: RoleStyle(VERMILION, "*", "star", 14.0, order=33),
    Role.SPREAD: RoleStyle(ORANGE, "h", "hexagon", 4.5, order=29),
    Role.PROPOSED: RoleStyle(PURPLE, "^", "triangle-up", 10.0, order=32),
    Role.GAIN: RoleStyle(GREEN, "o", "circle", 6.0),
    Role.LOSS: RoleStyle(PURPLE, "s", "square", 5.5),
    Role.TRUTH: RoleStyle(GREY, "P", "cross", 8.0, dash="dotted"),
    Role.LIMIT: RoleStyle(GREY, "d", "diamond-tall", 7.0, dash="dashed"),
    Role.LOW: RoleStyle(BLUE, "v", "triangle-down", 8.0, dash="dashed"),
    Role.MIDDLE: RoleStyle(GREEN, "o", "circle", 7.0),
    Role.HIGH: RoleStyle(VERMILION, "^", "triangle-up", 8.0, dash="dashdot"),
}

LIGHT = {Role.FIRST, Role.DATA, Role.ATTACHED}
"""Roles whose markers are white: their lines, bars and bands are grey."""

LAYERS: dict[type, int] = {Heat: 0, Band: 5, Bars: 10, Contour: 15, Rule: 18, Line: 20}

MANY_POINTS = 40
"""From this many points on, markers let each other through and get smaller."""

MIN_SIZE = 3.5
"""Points: how small markers get at most."""

DASHES: dict[str, tuple[Any, str]] = {
    "solid": ("solid", "solid"),
    "dashed": ((0, (5, 3)), "dash"),
    "dashdot": ("dashdot", "dashdot"),
    "dotted": ((0, (1.5, 1.5)), "dot"),
    "long": ((0, (9, 3)), "longdash"),
    "long and dotted": ((0, (9, 2, 1.5, 2)), "longdashdot"),
}
"""Dashes by the names that matplotlib and plotly have for them."""


def option_colour(option: float) -> str:
    """The colour of an option by its place among those shown."""
    return OPTIONS[int(option) % len(OPTIONS)]


def stroke(role: Role) -> str:
    """The colour of what a role draws as a line or an area."""
    return GREY if role in LIGHT else LOOKS[role].colour


def line_colour(line: Line) -> str:
    """The colour of a line: that of its option where it is one of several."""
    return stroke(line.role) if line.option is None else option_colour(line.option)


def bands_below(panel: Panel, band: Band) -> int:
    """How many bands of a panel come before one: where bands lie on each other they are darker."""
    bands = [mark for mark in panel.marks if isinstance(mark, Band)]
    return next(place for place, each in enumerate(bands) if each is band)  # arrays have no truth value to compare by


Dashes = Mapping[tuple[type, Role, str], str]
"""The dashes of rules and contours by their kind, role and label."""


def dashes(picture: Picture) -> Dashes:
    """A dash for every rule and contour: of one role, each label has another one, the same in all panels."""
    found: dict[tuple[type, Role, str], str] = {}
    marks = [mark for row in picture.rows for panel in row if isinstance(panel, Panel) for mark in panel.marks]
    lines = {(mark.role, mark.label): dash_of(mark) for mark in marks if isinstance(mark, Line)}
    for mark in marks:
        if not isinstance(mark, Rule | Contour) or (type(mark), mark.role, mark.label) in found:
            continue
        taken = [dash for (role, label), dash in lines.items() if role is mark.role and label != mark.label]
        taken += [dash for (kind, role, _), dash in found.items() if (kind, role) == (type(mark), mark.role)]
        usual = dash_of(mark)
        found[type(mark), mark.role, mark.label] = next((d for d in (usual, *DASHES) if d not in taken), usual)
    return found


def dash_of(mark: Line | Contour | Rule, given: Dashes = MappingProxyType({})) -> str:
    """The dash of a line: that of its role, or dashed where the mark says so; of rules and contours, as given."""
    if isinstance(mark, Line) and mark.option is not None:
        return list(DASHES)[mark.option % len(DASHES)]
    usual = LOOKS[mark.role].dash
    usual = "dashed" if mark.dashed and usual == "solid" else usual
    return usual if isinstance(mark, Line) else given.get((type(mark), mark.role, mark.label), usual)


def marker_size(dots: Dots) -> float:
    """The size of markers in points: many are smaller, so that what is under them can be seen."""
    usual, count = LOOKS[dots.role].size, max(len(dots.x), 1)
    return usual if count <= MANY_POINTS else max(min(usual, MIN_SIZE), usual * float((MANY_POINTS / count) ** 0.5))


def abbreviated(name: str, longest: int) -> str:
    """A name of at most this many letters: without its middle, as names that are alike differ at their ends."""
    if len(name) <= longest:
        return name
    tail = (longest - 1) // 2
    return f"{name[: longest - 1 - tail]}…{name[-tail:]}"


MANY_NAMES = 10


def name_angle(names: tuple[str, ...]) -> int:
    """By how many degrees names below an axis are turned: many stand upright, long ones end below their places."""
    if len(names) > MANY_NAMES:
        return 90
    return 35 if len(names) > 5 or any(len(name) > 12 for name in names) else 0


def passes(contour: Contour) -> bool:
    """Whether the values pass the level at all, so that there is a line."""
    finite = contour.z[np.isfinite(contour.z)]
    return bool(min(contour.z.shape) > 1 and finite.size and finite.min() < contour.level < finite.max())


def place_of(mark: Mark) -> int:
    """Where a mark lies among the others: of two, the one with the higher number is seen."""
    return LOOKS[mark.role].order if isinstance(mark, Dots) else LAYERS[type(mark)]


def from_below(marks: tuple[Mark, ...]) -> list[Mark]:
    """Marks in the order of drawing: those of one place as they are given."""
    return sorted(marks, key=place_of)


def shows_texts(dots: Dots) -> bool:
    """Whether the texts of points are written beside them: where they are short and few; pages tell all on hovering."""
    return 0 < len(dots.texts) <= 40 and max(map(len, dots.texts)) <= 8


def label_colours(count: int) -> list[str]:
    """The colours of this many labels."""
    return [LABELS[position % len(LABELS)] for position in range(count)]


def scale_of(heat: Heat) -> tuple[float, float]:
    """The ends of the scale of a map of numbers: as they are given, or those of its values."""
    low, high = finite_range([heat.z], widened=False)
    return low if heat.low is None else heat.low, high if heat.high is None else heat.high


def ink_on(heat: Heat, value: float) -> str:
    """The colour of a text on a map of numbers that is read on the colour of a value: white on the dark half."""
    low, high = scale_of(heat)
    return WHITE if high > low and (value - low) / (high - low) < 0.5 else BLACK


CELL_FOOT = 0.36
"""Texts in the cells of a matrix stand so far below their middle, in cells: the middle is free for marks."""

MIN_DEPTH = 0.05
"""How deep an area must be for a name to be written in it, as a share of the sides of the map."""


def label_places(heat: Heat) -> list[tuple[str, float, float]]:
    """For each label with an area wide enough, its name and the place of the area that is farthest from its border."""
    places = []
    cell = tuple(1.0 / length for length in heat.z.shape)
    for label, name in enumerate(heat.names):
        inside = heat.z == label
        if inside.any():
            depth = np.asarray(distance_transform_edt(np.pad(inside, 1), sampling=cell))[1:-1, 1:-1]
            # along a strip many places are as deep: the one in their middle
            deepest = np.argwhere(depth >= 0.98 * depth.max())
            j, i = deepest[np.abs((deepest - deepest.mean(0)) * cell).sum(1).argmin()]
            if depth[j, i] > MIN_DEPTH:
                places.append((name, float(heat.x[i]), float(heat.y[j])))
    return places
