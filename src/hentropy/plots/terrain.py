"""What is known over the slices of a space, as the ground on which other things are shown."""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.beliefs import Belief, Needs
from hentropy.beliefs.quantiles import mixture_quantiles
from hentropy.plots.marks import Axis, Band, Heat, Line, Mark, Role
from hentropy.plots.scene import Scene
from hentropy.plots.views import LINE_POINTS, PLANE_POINTS, Slice, held, parameter_axis, slices

SHARES = (0.025, 0.25, 0.75, 0.975)
"""The quantiles that bound the 95 % and the 50 % interval."""

WIDE = 1.959963984540054
"""So many standard deviations to both sides hold 95 % of a normal distribution."""


@dataclass(frozen=True)
class Terrain:
    """Mean and 95 % interval over one slice: g along a line, h x g over a plane.

    `axes` are the indices of the parameters that vary, `across` and `up` their axes (`up` is None on a line), `grids`
    their values, `held` what the others are held at, in words.
    """

    axes: tuple[int, ...]
    across: Axis
    up: Axis | None
    grids: tuple[np.ndarray, ...]
    held: str
    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def is_plane(self) -> bool:
        """Whether two parameters vary."""
        return self.up is not None


def terrains(scene: Scene, points: int = LINE_POINTS, plane: int = PLANE_POINTS) -> tuple[Terrain, ...]:
    """What is known over each slice of the space; lines come before planes."""
    return tuple(terrain_of(scene, view) for view in slices(scene, points=points, plane=plane))


def terrain_of(scene: Scene, view: Slice) -> Terrain:
    """What is known over one slice."""
    described = [parameter_axis(scene.space, index) for index in view.axes]
    mean, sd = mean_and_sd(scene.belief, view.designs)
    low, _, _, high = intervals(scene.belief, view.designs)
    return Terrain(
        axes=view.axes,
        across=described[0],
        up=described[1] if view.is_plane else None,
        grids=view.values_along(),
        held=held(scene.space, view),
        mean=mean.reshape(view.shape),
        sd=sd.reshape(view.shape),
        low=low.reshape(view.shape),
        high=high.reshape(view.shape),
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
        Band(x, ground.low, ground.high, Role.UNCERTAINTY, "95 % of what is plausible"),
        Line(x, ground.mean, Role.MEAN, "mean"),
    )


def ground_title(ground: Terrain, title: str) -> str:
    """A title with what is held, where something is."""
    return f"{title} ({ground.held})" if ground.held else title


def value_axis() -> Axis:
    """The axis of values of f."""
    return Axis("value")
