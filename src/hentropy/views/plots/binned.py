"""Designs counted in bins: along a parameter, or over two."""

from dataclasses import replace

import numpy as np

from hentropy.core.spaces import DesignSpace
from hentropy.views.plots.marks import Axis
from hentropy.views.plots.views import parameter_axis


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
