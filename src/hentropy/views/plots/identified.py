"""A property of f that is to be identified: the density of its maximum, or how probable each place of it is."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch

from hentropy.core.decisions import Identify
from hentropy.core.decisions.max_value import log_density
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.studies.records.numbers import short
from hentropy.views.plots.fields import (
    bin_edges,
    by_relevance,
    design_table,
    field_axes,
    grid_of,
    option_places,
    relevant_fields,
    seen,
    shares,
    shown_bins,
)
from hentropy.views.plots.marks import Axis, Bars, Dots, Heat, Line, Panel, Picture, Role, Rule, Table, in_rows
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import side_by_side
from hentropy.views.plots.slices import PAIRED

GRID = 201
PLACE_BINS = 20
SHOWN = 5
MAX_MARGINALS = 8
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROOM = (0.16, 0.07)
"""Of the width and the height of a map, so much is taken by the text of a place."""


@dataclass(frozen=True)
class MaximumInfo:
    """The stated density of the largest value (g) over values (g), with quantiles at `QUANTILES` (5)."""

    values: np.ndarray
    density: np.ndarray
    quantiles: np.ndarray


@dataclass(frozen=True)
class PlaceMap:
    """Probabilities summed over the bins of two fields (by their indices): h x g."""

    across: int
    up: int
    z: np.ndarray


@dataclass(frozen=True)
class PlacesInfo:
    """How probable it is that f is largest at each candidate: designs m x F, by field, and probabilities m.

    `parameters` are the axes of the fields, `relevant` the indices of those that vary, the most relevant first; `edges`
    the ends and `centres` the values of each one's bins. In `marginals` (one for each field) and `maps` probabilities
    are summed over the bins.
    """

    parameters: tuple[Axis, ...]
    relevant: tuple[int, ...]
    edges: tuple[np.ndarray, ...]
    centres: tuple[np.ndarray, ...]
    designs: np.ndarray
    probabilities: np.ndarray
    marginals: tuple[np.ndarray, ...]
    maps: tuple[PlaceMap, ...]

    @property
    def likeliest(self) -> np.ndarray:
        """The indices of the likeliest candidates, at most five."""
        order = np.argsort(-self.probabilities, kind="stable")[:SHOWN]
        return np.asarray(order[self.probabilities[order] > 0])


def maximum_info(scene: Scene, grid: int = GRID) -> MaximumInfo:
    """The density that the decision states of the largest value."""
    draws = scene.action.detach().cpu()
    margin = 0.25 * float(draws.max() - draws.min()) or 1e-6
    around = np.array([-margin, margin])
    ends = scene.within_bounds(np.array([float(draws.min()), float(draws.max())]) + around)
    if ends[0] == ends[1]:  # all of it lies beyond a bound
        ends = scene.within_bounds(ends + around)
    low, high = ends.tolist()
    values = torch.linspace(low, high, grid, dtype=torch.float64)
    density = log_density(values, draws).exp()
    quantiles = scene.within_bounds(np.quantile(draws.numpy(), QUANTILES))
    return MaximumInfo(values.numpy(), density.numpy(), quantiles)


def places_info(scene: Scene, bins: int = PLACE_BINS, order: tuple[int, ...] | None = None) -> PlacesInfo:
    """The probability that the decision states for each candidate; `order` are the fields by relevance."""
    decision = scene.decision
    if not isinstance(decision, Identify):
        raise InputError(f"{decision!r} does not identify a place")
    order = by_relevance(scene.belief, scene.space) if order is None else order
    relevant = relevant_fields(scene.space, order)
    edges, parameters = bin_edges(scene.space, bins), field_axes(scene.space)
    designs, chances = seen(scene.space, decision.settled_points), scene.action.detach().cpu().numpy()
    # numbers across, names up: they are read along their lines
    pairs = [sorted(pair, key=lambda i: (bool(parameters[i].names), i)) for pair in combinations(relevant[:PAIRED], 2)]
    return PlacesInfo(
        parameters=parameters,
        relevant=relevant,
        edges=edges,
        centres=tuple(_bin_centres(scene.space, index, own) for index, own in enumerate(edges)),
        designs=designs,
        probabilities=chances,
        marginals=tuple(shares(designs[:, index], own, chances) for index, own in enumerate(edges)),
        maps=tuple(PlaceMap(a, b, _joint_shares(designs[:, [a, b]], (edges[a], edges[b]), chances)) for a, b in pairs),
    )


def _bin_centres(space: DesignSpace, index: int, edges: np.ndarray) -> np.ndarray:
    """The value of each bin (b) of a field: its own where each has a bin, else the middle on the field's scale."""
    field = space.fields[index]
    values = grid_of(space, index, len(edges))
    if field.options and len(values) == len(edges) - 1:
        return values.numpy()
    return np.sqrt(edges[:-1] * edges[1:]) if field.log else 0.5 * (edges[:-1] + edges[1:])


def _joint_shares(pairs: np.ndarray, edges: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> np.ndarray:
    """The weight of pairs (n x 2) in each cell: rows along the second axis, columns along the first."""
    across, up = (np.clip(pairs[:, i], edges[i][0], edges[i][-1]) for i in (0, 1))
    return np.histogram2d(up, across, (edges[1], edges[0]), weights=weights)[0]


def maximum_panels(info: MaximumInfo) -> tuple[Panel | Table, ...]:
    """One panel: the density with its median and the middle 90 %."""
    line = Line(info.values, info.density, Role.DECIDED, "density")
    low, _, middle, _, high = info.quantiles.tolist()
    rules = (
        Rule(low, "x", Role.UNCERTAINTY, "5 and 95 %"),
        Rule(middle, "x", Role.MEAN, "median", dashed=False),
        Rule(high, "x", Role.UNCERTAINTY),
    )
    return (Panel("", Axis("maximum"), Axis("density", low=0.0), (line, *rules)),)


def maximum_picture(info: MaximumInfo) -> Picture:
    """The density and its quantiles."""
    spread = float(info.quantiles[-1] - info.quantiles[0])
    texts = [short(float(quantile), spread) for quantile in info.quantiles]
    rows = tuple((f"{100 * share:.0f} %", text) for share, text in zip(QUANTILES, texts, strict=True))
    table = Table("quantiles of the maximum", ("quantile", "maximum"), rows)
    low, _, middle, _, high = texts
    caption = f"The median of the maximum is {middle}; it is between {low} and {high} with 90 % probability."
    return Picture("decided", "Current belief: the maximum of f", caption, ((*maximum_panels(info), table),))


def places_panels(info: PlacesInfo) -> tuple[Panel | Table, ...]:
    """One panel: bars along a line, or the map over the two most relevant fields."""
    if len(info.relevant) == 1:
        return (_marginal(info, info.relevant[0]),)
    return (_map(info, info.maps[0]),)


def places_picture(info: PlacesInfo) -> Picture:
    """Where f is likely to be largest."""
    probable = [f"{chance:.3g}" for chance in info.probabilities[info.likeliest]]
    designs = info.designs[info.likeliest]
    table = design_table("the most probable locations", info.parameters, designs, {"probability": probable})
    panels: tuple[Panel | Table, ...] = places_panels(info)
    more: tuple[Panel, ...] = ()
    if len(info.relevant) > 2:
        panels = tuple(_map(info, each) for each in info.maps)
        more = tuple(_marginal(info, index) for index in info.relevant[:MAX_MARGINALS])
    best = info.probabilities.max(initial=0.0)
    caption = (
        "The probability that f is largest there, summed over the candidates in each cell. The most probable of"
        f" {len(info.designs)} candidates has a probability of {best:.2g}."
    )
    title = "Current belief: where f is largest"
    return Picture("decided", title, caption, (panels, *in_rows(more, 4), (table,)))


def _marginal(info: PlacesInfo, index: int) -> Panel:
    axis, kept, edges = shown_bins(info.parameters[index], info.edges[index], info.marginals[index])
    bars = Bars(edges, info.marginals[index][kept], Role.DECIDED, "probability")
    title = f"{'by' if axis.names else 'along'} {info.parameters[index].title}" if len(info.relevant) > 1 else ""
    return Panel(title, axis, Axis("probability", low=0.0), (bars,))


def _map(info: PlacesInfo, pair: PlaceMap) -> Panel:
    axes, bins, centres, places = [], [], [], []
    for index in (pair.across, pair.up):
        axis, kept, edges = shown_bins(info.parameters[index], info.edges[index], info.marginals[index])
        values, few = info.designs[info.likeliest, index], len(kept) < len(info.centres[index])
        axes.append(axis)
        bins.append(kept)
        centres.append(edges[:-1] + 0.5 if few else info.centres[index])
        places.append(option_places(values, kept.tolist()) if axis.names else values)
    (x, y), (columns, rows) = axes, bins
    heat = Heat(centres[0], centres[1], pair.z[np.ix_(rows, columns)], "probability", low=0.0)
    at = side_by_side(x, tuple(places))
    free = _apart(_along(x, at[0]), _along(y, at[1]))
    chances = info.probabilities[info.likeliest]
    texts = tuple(f"{chance:.2g}" if alone else "" for chance, alone in zip(chances, free, strict=True))
    dots = Dots(at[0], at[1], Role.DECIDED, "most probable locations", texts=texts)
    return Panel("", x, y, (heat, dots))


def _along(axis: Axis, values: np.ndarray) -> np.ndarray:
    """Where values lie along an axis, from 0 to 1."""
    low, high = axis.low or 0.0, axis.high or 0.0
    if axis.log:
        return np.log(values / low) / math.log(high / low)
    return np.asarray((values - low) / (high - low))


def _apart(x: np.ndarray, y: np.ndarray) -> list[bool]:
    """Which of some places can have a text without covering that of an earlier one."""
    free: list[int] = []
    for place in range(len(x)):
        if all(abs(x[place] - x[i]) > ROOM[0] or abs(y[place] - y[i]) > ROOM[1] for i in free):
            free.append(place)
    return [place in free for place in range(len(x))]
