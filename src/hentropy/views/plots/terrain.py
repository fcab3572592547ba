"""What is known over the slices of a space, as the ground on which other things are shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.views.plots.by_option import intervals_at, over_pair
from hentropy.views.plots.marks import VALUE, Axis, Band, Line, Mark, Role
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS, Slice, SliceFrame, slices

SHARES = (0.025, 0.25, 0.75, 0.975)
"""The quantiles that bound the 95 % and the 50 % interval."""


@dataclass(frozen=True)
class Terrain(SliceFrame):
    """Mean and sd over one slice (g along a line, h x g over a pair), and quantiles by `SHARES` (4 x these).

    NaN where nothing can be run.
    """

    mean: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray


def terrains(
    scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS, order: Sequence[int] | None = None
) -> tuple[Terrain, ...]:
    """What is known over each slice of the space; lines come before pairs."""
    return tuple(terrain_of(scene, view) for view in slices(scene, order=order, points=points, plane=plane))


def terrain_of(scene: Scene, view: Slice) -> Terrain:
    """What is known over one slice."""
    mean, sd = mean_and_sd(scene.belief, view.runnable)
    return Terrain(
        **vars(view.frame()),
        mean=view.filled(scene.within_bounds(mean)),
        sd=view.filled(sd),
        quantiles=view.filled(scene.within_bounds(intervals(scene.belief, view.runnable))),
    )


@torch.no_grad()
def mean_and_sd(belief: Belief, designs: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of f at designs ... x d, all components together: ... each."""
    if not len(designs):
        return np.zeros(0), np.zeros(0)
    mean, var = belief.moments(designs.to(belief.X), Needs.VARIANCE).total()
    return mean.cpu().numpy(), var.clamp_min(0.0).sqrt().cpu().numpy()


@torch.no_grad()
def intervals(belief: Belief, designs: torch.Tensor) -> np.ndarray:
    """The quantiles of f by `SHARES` at designs m x d, all components together: 4 x m."""
    if not len(designs):
        return np.zeros((len(SHARES), 0))
    moments = belief.scores.moments(designs.to(belief.X), Needs.VARIANCE)
    weights = moments.weights.unsqueeze(-1).expand_as(moments.mean)
    sd = moments.variance.clamp_min(0.0).sqrt()
    quantiles = mixture_quantiles(SHARES, weights, moments.mean, sd)
    return (torch.special.ndtr(quantiles) if belief.graded else quantiles).cpu().numpy()


def bars_to(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far bars reach from values (n) to the ends of their intervals (n each): below and above, 2 x n."""
    return np.maximum(np.stack([values - low, high - values]), 0.0)


def leading(grounds: tuple[Terrain, ...]) -> Terrain:
    """The one that shows most where only one has room: the first pair, else the line."""
    pairs = [ground for ground in grounds if ground.is_pair]
    return pairs[0] if pairs else grounds[0]


def ground_marks(ground: Terrain) -> tuple[Mark, ...]:
    """The mean with its band along a line, or by option; the map of the mean over a plane."""
    if ground.is_pair:
        return over_pair(ground, ground.mean, "mean", Role.MEAN)
    [x] = ground.grids
    if ground.has_options:
        return intervals_at(x, ground.mean, ground.quantiles, "mean", Role.MEAN)
    return (
        Band(x, ground.quantiles[0], ground.quantiles[3], Role.UNCERTAINTY, "95 % of what is plausible"),
        Line(x, ground.mean, Role.MEAN, "mean"),
    )


def value_axis() -> Axis:
    """The axis of values of f."""
    return Axis(VALUE)
