"""What is known over the slices of a space, as the ground on which other things are shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.views.plots.marks import Axis, Band, Heat, Line, Mark, Role
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS, Slice, held, parameter_axis, slices

SHARES = (0.025, 0.25, 0.75, 0.975)
"""The quantiles that bound the 95 % and the 50 % interval."""


@dataclass(frozen=True)
class Terrain:
    """Mean and sd over one slice (g along a line, h x g over a plane), and quantiles by `SHARES` (4 x these).

    `indices` are those of the parameters that vary, `axes` and `grids` their axes and values, `held` what the others
    are held at, in words.
    """

    indices: tuple[int, ...]
    axes: tuple[Axis, ...]
    grids: tuple[np.ndarray, ...]
    held: str
    mean: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray

    @property
    def is_plane(self) -> bool:
        """Whether two parameters vary."""
        return len(self.axes) == 2

    @property
    def across(self) -> Axis:
        """The axis of the first parameter."""
        return self.axes[0]

    @property
    def up(self) -> Axis:
        """The axis of the second parameter, or that of values over a line."""
        return self.axes[1] if self.is_plane else value_axis()


def terrains(
    scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS, order: Sequence[int] | None = None
) -> tuple[Terrain, ...]:
    """What is known over each slice of the space; lines come before planes."""
    return tuple(terrain_of(scene, view) for view in slices(scene, order=order, points=points, plane=plane))


def terrain_of(scene: Scene, view: Slice) -> Terrain:
    """What is known over one slice."""
    mean, sd = mean_and_sd(scene.belief, view.designs)
    return Terrain(
        indices=view.axes,
        axes=tuple(parameter_axis(scene.space, index) for index in view.axes),
        grids=view.values_along(),
        held=held(scene.space, view),
        mean=mean.reshape(view.shape),
        sd=sd.reshape(view.shape),
        quantiles=intervals(scene.belief, view.designs).reshape(len(SHARES), *view.shape),
    )


@torch.no_grad()
def mean_and_sd(belief: Belief, designs: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of f at designs ... x d, all components together: ... each."""
    mean, var = belief.moments(designs.to(belief.X), Needs.VARIANCE).total()
    return mean.cpu().numpy(), var.clamp_min(0.0).sqrt().cpu().numpy()


@torch.no_grad()
def intervals(belief: Belief, designs: torch.Tensor) -> np.ndarray:
    """The quantiles of f by `SHARES` at designs m x d, all components together: 4 x m."""
    moments = belief.moments(designs.to(belief.X), Needs.VARIANCE)
    weights = moments.weights.unsqueeze(-1).expand_as(moments.mean)
    sd = moments.variance.clamp_min(0.0).sqrt()
    return mixture_quantiles(SHARES, weights, moments.mean, sd).cpu().numpy()


def bars_to(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How far bars reach from values (n) to the ends of their intervals (n each): below and above, 2 x n."""
    return np.maximum(np.stack([values - low, high - values]), 0.0)


def leading(grounds: tuple[Terrain, ...]) -> Terrain:
    """The one that shows most where only one has room: the first plane, else the line."""
    planes = [ground for ground in grounds if ground.is_plane]
    return planes[0] if planes else grounds[0]


def ground_marks(ground: Terrain) -> tuple[Mark, ...]:
    """The mean with its band along a line, the map of the mean over a plane."""
    if ground.is_plane:
        return (Heat(ground.grids[0], ground.grids[1], ground.mean, "mean"),)
    [x] = ground.grids
    return (
        Band(x, ground.quantiles[0], ground.quantiles[3], Role.UNCERTAINTY, "95 % of what is plausible"),
        Line(x, ground.mean, Role.MEAN, "mean"),
    )


def value_axis() -> Axis:
    """The axis of values of f."""
    return Axis("value")
