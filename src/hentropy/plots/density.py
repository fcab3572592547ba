"""A property of f that is to be identified: the density of its maximum, or how probable each place of it is."""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.decisions import Identify
from hentropy.decisions.max_value import log_density
from hentropy.errors import InputError
from hentropy.plots.binned import bin_edges, centres, joint_shares, over_bins, shares
from hentropy.plots.marks import Axis, Bars, Dots, Heat, Line, Panel, Picture, Role, Rule, Table
from hentropy.plots.rows import in_rows
from hentropy.plots.scene import Scene
from hentropy.plots.views import PAIRED, by_relevance, parameter_axis

GRID = 201
BINS = 20
SHOWN = 5
MOST_MARGINALS = 8
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class MaximumInfo:
    """The stated density of the greatest value (g) over values (g), with quantiles at `QUANTILES` (5)."""

    values: np.ndarray
    density: np.ndarray
    quantiles: np.ndarray


@dataclass(frozen=True)
class PlacesInfo:
    """How probable it is that f is greatest at each candidate: designs m x d and probabilities m.

    `parameters` are the axes, `relevant` their indices, the most relevant first; `edges` each one's bins.
    """

    parameters: tuple[Axis, ...]
    relevant: tuple[int, ...]
    edges: tuple[np.ndarray, ...]
    designs: np.ndarray
    probabilities: np.ndarray

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


def places_info(scene: Scene, bins: int = BINS) -> PlacesInfo:
    """The probability that the decision states for each candidate."""
    decision = scene.decision
    if not isinstance(decision, Identify):
        raise InputError(f"{decision!r} does not identify a place")
    return PlacesInfo(
        parameters=tuple(parameter_axis(scene.space, index) for index in range(scene.space.dim)),
        relevant=by_relevance(scene.belief, scene.space),
        edges=bin_edges(scene.space, bins),
        designs=decision.settled_points.cpu().numpy(),
        probabilities=scene.action.detach().cpu().numpy(),
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
    return (Panel("how great f gets", Axis("greatest value"), Axis("density", low=0.0), (line, *rules)),)


def maximum_picture(info: MaximumInfo) -> Picture:
    """The density and its quantiles."""
    rows = tuple((f"{100 * p:.0f} %", f"{q + 0.0:.5g}") for p, q in zip(QUANTILES, info.quantiles, strict=True))
    table = Table("quantiles of the greatest value", ("quantile", "greatest value"), rows)
    low, _, middle, _, high = (f"{q + 0.0:.4g}" for q in info.quantiles)
    caption = f"The greatest value is as likely above as below {middle}, and in 9 of 10 cases between {low} and {high}."
    return Picture("decided", "What would be stated now: how great f gets", caption, ((*maximum_panels(info), table),))


def places_panels(info: PlacesInfo) -> tuple[Panel | Table, ...]:
    """One panel: bars along a line, or the map over the two most relevant parameters."""
    if len(info.parameters) == 1:
        return (_marginal(info, 0),)
    across, up = sorted(info.relevant[:2])
    return (_map(info, across, up),)


def places_picture(info: PlacesInfo) -> Picture:
    """Where f is likely to be greatest."""
    columns = (*(axis.title for axis in info.parameters), "probability")
    rows = tuple(
        (*(f"{value + 0.0:.4g}" for value in info.designs[i]), f"{info.probabilities[i]:.3g}") for i in info.likeliest
    )
    table = Table("the likeliest places", columns, rows)
    panels: tuple[Panel | Table, ...] = places_panels(info)
    more: tuple[Panel, ...] = ()
    if len(info.parameters) > 2:
        first = sorted(info.relevant[:PAIRED])
        panels = tuple(_map(info, a, b) for i, a in enumerate(first) for b in first[i + 1 :])
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
    bars = Bars(edges, shares(info.designs[:, index], edges, info.probabilities), Role.DECIDED, "probability")
    return Panel(f"where f is greatest: {axis.title}", axis, Axis("probability", low=0.0), (bars,))


def _map(info: PlacesInfo, across: int, up: int) -> Panel:
    edges = info.edges[across], info.edges[up]
    x, y = over_bins(info.parameters[across], edges[0]), over_bins(info.parameters[up], edges[1])
    z = joint_shares(info.designs[:, [across, up]], edges, info.probabilities)
    heat = Heat(centres(edges[0], x.log), centres(edges[1], y.log), z, "probability", low=0.0)
    best = info.likeliest
    texts = tuple(f"{chance:.2g}" for chance in info.probabilities[best])
    dots = Dots(info.designs[best, across], info.designs[best, up], Role.DECIDED, "likeliest places", texts=texts)
    return Panel("where f is greatest", x, y, (heat, dots))
