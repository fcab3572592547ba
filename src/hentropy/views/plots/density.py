"""A property of f that is to be identified: the density of its maximum, or how probable each place of it is."""

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch

from hentropy.core.decisions import Identify
from hentropy.core.decisions.max_value import log_density
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Bars, Dots, Heat, Line, Panel, Picture, Role, Rule, Table, in_rows
from hentropy.views.plots.relevance import by_relevance
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.views import PAIRED, parameter_axis


def bin_edges(space: DesignSpace, bins: int) -> tuple[np.ndarray, ...]:
    """For each parameter edges of so many bins, evenly spaced on its own scale; few whole values have a bin each."""
    made = []
    for index in range(space.dim):
        axis = parameter_axis(space, index)
        low, high = float(axis.low or 0.0), float(axis.high or 0.0)
        if axis.whole and not axis.log and high - low < bins:
            made.append(np.arange(low, high + 2.0) - 0.5)
        else:
            made.append(np.geomspace(low, high, bins + 1) if axis.log else np.linspace(low, high, bins + 1))
    return tuple(made)


def over_bins(axis: Axis, edges: np.ndarray) -> Axis:
    """The axis from the first to the last edge: the bins of whole values reach half a step beyond its ends."""
    return replace(axis, low=float(edges[0]), high=float(edges[-1]))


def centres(edges: np.ndarray, log: bool) -> np.ndarray:
    """The middle of each bin, on its own scale: b + 1 to b."""
    return np.sqrt(edges[:-1] * edges[1:]) if log else 0.5 * (edges[:-1] + edges[1:])


def shares(values: np.ndarray, edges: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Which share of values (n, each of weight 1 / n unless given) lies in each bin (b + 1 edges): b.

    What is beyond the ends counts for the bins at the ends.
    """
    if not len(values):
        return np.zeros(len(edges) - 1)
    inside = np.clip(values, edges[0], edges[-1])
    given = np.full(len(values), 1.0 / len(values)) if weights is None else weights
    return np.histogram(inside, edges, weights=given)[0]


def joint_shares(pairs: np.ndarray, edges: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> np.ndarray:
    """The weight of pairs (n x 2) in each cell: rows along the second axis, columns along the first."""
    across, up = (np.clip(pairs[:, i], edges[i][0], edges[i][-1]) for i in (0, 1))
    return np.histogram2d(up, across, (edges[1], edges[0]), weights=weights)[0]


GRID = 201
BINS = 20
SHOWN = 5
MOST_MARGINALS = 8
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ROOM = (0.16, 0.07)
"""Of the width and the height of a map, so much is taken by the text of a place."""


@dataclass(frozen=True)
class MaximumInfo:
    """The stated density of the greatest value (g) over values (g), with quantiles at `QUANTILES` (5)."""

    values: np.ndarray
    density: np.ndarray
    quantiles: np.ndarray


@dataclass(frozen=True)
class PlaceMap:
    """Probabilities summed over the bins of two parameters (by their indices): h x g."""

    across: int
    up: int
    z: np.ndarray


@dataclass(frozen=True)
class PlacesInfo:
    """How probable it is that f is greatest at each candidate: designs m x d and probabilities m.

    `parameters` are the axes, `relevant` their indices, the most relevant first; `edges` each one's bins. In
    `marginals` (one for each parameter) and `maps` probabilities are summed over the bins.
    """

    parameters: tuple[Axis, ...]
    relevant: tuple[int, ...]
    edges: tuple[np.ndarray, ...]
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
    """The density that the decision states of the greatest value."""
    draws = scene.action.detach().cpu()
    margin = 0.25 * float(draws.max() - draws.min()) or 1e-6
    values = torch.linspace(float(draws.min()) - margin, float(draws.max()) + margin, grid, dtype=torch.float64)
    density = log_density(values, draws).exp()
    return MaximumInfo(values.numpy(), density.numpy(), np.quantile(draws.numpy(), QUANTILES))


def places_info(scene: Scene, bins: int = BINS, order: tuple[int, ...] | None = None) -> PlacesInfo:
    """The probability that the decision states for each candidate; `order` are the parameters by relevance."""
    decision = scene.decision
    if not isinstance(decision, Identify):
        raise InputError(f"{decision!r} does not identify a place")
    order = by_relevance(scene.belief, scene.space) if order is None else order
    edges, dim = bin_edges(scene.space, bins), scene.space.dim
    designs, chances = decision.settled_points.cpu().numpy(), scene.action.detach().cpu().numpy()
    pairs = [sorted(pair) for pair in combinations(order[:PAIRED], 2)]
    return PlacesInfo(
        parameters=tuple(parameter_axis(scene.space, index) for index in range(dim)),
        relevant=order,
        edges=edges,
        designs=designs,
        probabilities=chances,
        marginals=tuple(shares(designs[:, index], edges[index], chances) for index in range(dim)),
        maps=tuple(PlaceMap(a, b, joint_shares(designs[:, [a, b]], (edges[a], edges[b]), chances)) for a, b in pairs),
    )


def maximum_panels(info: MaximumInfo) -> tuple[Panel | Table, ...]:
    """One panel: the density with its median and the middle 90 %."""
    line = Line(info.values, info.density, Role.DECIDED, "density")
    low, _, middle, _, high = info.quantiles.tolist()
    rules = (
        Rule(low, "x", Role.UNCERTAINTY, "5 and 95 %"),
        Rule(middle, "x", Role.MEAN, "as likely above as below", dashed=False),
        Rule(high, "x", Role.UNCERTAINTY),
    )
    return (Panel("", Axis("greatest value"), Axis("density", low=0.0), (line, *rules)),)


def maximum_picture(info: MaximumInfo) -> Picture:
    """The density and its quantiles."""
    spread = float(info.quantiles[-1] - info.quantiles[0])
    texts = [short(float(quantile), spread) for quantile in info.quantiles]
    rows = tuple((f"{100 * share:.0f} %", text) for share, text in zip(QUANTILES, texts, strict=True))
    table = Table("quantiles of the greatest value", ("quantile", "greatest value"), rows)
    low, _, middle, _, high = texts
    caption = f"The greatest value is as likely above as below {middle}, and in 9 of 10 cases between {low} and {high}."
    return Picture("decided", "What would be stated now: how great f gets", caption, ((*maximum_panels(info), table),))


def places_panels(info: PlacesInfo) -> tuple[Panel | Table, ...]:
    """One panel: bars along a line, or the map over the two most relevant parameters."""
    if len(info.parameters) == 1:
        return (_marginal(info, 0),)
    return (_map(info, info.maps[0]),)


def places_picture(info: PlacesInfo) -> Picture:
    """Where f is likely to be greatest."""
    columns = (*(axis.title for axis in info.parameters), "probability")
    widths = [(axis.high or 0.0) - (axis.low or 0.0) for axis in info.parameters]
    rows = tuple(
        (
            *(short(value, width) for value, width in zip(info.designs[i].tolist(), widths, strict=True)),
            f"{info.probabilities[i]:.3g}",
        )
        for i in info.likeliest
    )
    table = Table("the likeliest places", columns, rows)
    panels: tuple[Panel | Table, ...] = places_panels(info)
    more: tuple[Panel, ...] = ()
    if len(info.parameters) > 2:
        panels = tuple(_map(info, each) for each in info.maps)
        more = tuple(_marginal(info, index) for index in info.relevant[:MOST_MARGINALS])
    best = info.probabilities.max(initial=0.0)
    caption = (
        f"How probable it is that f is greatest there, summed over the candidates in each cell. The likeliest of"
        f" {len(info.designs)} candidates has a probability of {best:.2g}."
    )
    title = "What would be stated now: where f is greatest"
    return Picture("decided", title, caption, (panels, *in_rows(more, 4), (table,)))


def _marginal(info: PlacesInfo, index: int) -> Panel:
    edges = info.edges[index]
    axis = over_bins(info.parameters[index], edges)
    bars = Bars(edges, info.marginals[index], Role.DECIDED, "probability")
    return Panel(f"along {axis.title}" if len(info.parameters) > 1 else "", axis, Axis("probability", low=0.0), (bars,))


def _map(info: PlacesInfo, pair: PlaceMap) -> Panel:
    across, up = pair.across, pair.up
    edges = info.edges[across], info.edges[up]
    x, y = over_bins(info.parameters[across], edges[0]), over_bins(info.parameters[up], edges[1])
    heat = Heat(centres(edges[0], x.log), centres(edges[1], y.log), pair.z, "probability", low=0.0)
    best = info.likeliest
    at = info.designs[best, across], info.designs[best, up]
    free = _apart(_along(x, at[0]), _along(y, at[1]))
    texts = tuple(
        f"{chance:.2g}" if alone else "" for chance, alone in zip(info.probabilities[best], free, strict=True)
    )
    dots = Dots(*at, Role.DECIDED, "likeliest places", texts=texts)
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
