"""How a space of any dimension is looked at: a line, a plane, or slices through a reference design.

One parameter is a line, two are a plane. Of more parameters each is varied alone, and a few pairs together, while the
others are held at a reference design. A parameter that never varies (a constant column of a pool) is not looked at.

    d  parameters of a design        g, h  grid points along the first and the second axis        H  components
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.beliefs import Belief, Gaussian
from hentropy.beliefs.kernels import Stationary
from hentropy.decisions import Listed, Points
from hentropy.plots.marks import Axis
from hentropy.plots.scene import Scene
from hentropy.records import State
from hentropy.spaces import DesignSpace, Integer, Space

LINE_POINTS = 101
PLANE_POINTS = 41
MOST_LINES = 8
"""Of many parameters, so many are shown alone: the most relevant ones."""

PAIRED = 3
"""Every two of so many most relevant parameters are shown as a plane."""


@dataclass(frozen=True)
class Slice:
    """One or two parameters varied over a grid, the others held at a reference design.

    `axes` are their indices, `grids` their values (g, and h), `reference` the design (d). `designs` are all designs of
    the slice: g x d along a line, and h g x d over a plane, the first axis running fastest.
    """

    axes: tuple[int, ...]
    names: tuple[str, ...]
    logs: tuple[bool, ...]
    wholes: tuple[bool, ...]
    reference: Tensor
    grids: tuple[Tensor, ...]
    designs: Tensor

    @property
    def is_plane(self) -> bool:
        """Whether two parameters vary."""
        return len(self.axes) == 2

    @property
    def shape(self) -> tuple[int, ...]:
        """g of a line, (h, g) of a plane."""
        return tuple(len(grid) for grid in reversed(self.grids))

    def shaped(self, values: Tensor) -> np.ndarray:
        """Values at all designs (g or h g) as marks take them: g along a line, h x g over a plane."""
        return values.detach().cpu().reshape(self.shape).numpy()

    def values_along(self) -> tuple[np.ndarray, ...]:
        """The values along the axes as arrays: g, or g and h."""
        return tuple(grid.numpy() for grid in self.grids)

    def seen(self, rows: Tensor) -> np.ndarray:
        """Designs (n x d) as this slice sees them, the other parameters left out: n x 1 or n x 2."""
        return rows.detach().cpu()[:, list(self.axes)].numpy()


@dataclass(frozen=True)
class LengthScales:
    """How far a change of each parameter reaches, as a share of its range (H x d), and the components' weights (H)."""

    shares: np.ndarray
    weights: np.ndarray

    @property
    def median(self) -> np.ndarray:
        """The weighted median over components: d."""
        order = np.argsort(self.shares, axis=0)
        below = np.cumsum(self.weights[order], axis=0)
        middle = np.argmax(below >= 0.5 - 1e-12, axis=0)
        columns = np.arange(self.shares.shape[1])
        return np.asarray(self.shares[order[middle, columns], columns])


def length_scales(belief: Belief, space: DesignSpace) -> LengthScales | None:
    """Each parameter's length scale as a share of its range (on a log scale where it is logarithmic).

    None where the belief is no Gaussian process whose kernel has length scales along the parameters.
    """
    if not isinstance(belief, Gaussian) or not isinstance(belief.kernel, Stationary):
        return None
    low, high = belief.frame.transform(space.bounds.to(belief.X))
    own = belief.kernel.lengthscale
    if low.shape[-1] != space.dim or own.shape[-1] not in (1, space.dim):
        return None
    width = (high - low).abs()
    shares = own.expand(own.shape[0], space.dim) / width  # infinite where a parameter never varies
    return LengthScales(shares.detach().cpu().numpy(), belief.weights.detach().cpu().numpy())


def by_relevance(belief: Belief, space: DesignSpace) -> tuple[int, ...]:
    """All parameters, those with the shortest length scales first; in their own order where there are none.

    The order stays the same after further observations with the same hyperparameters, so that pictures of beliefs
    before and after can be compared: components count equally, whatever their weights.
    """
    scales = length_scales(belief, space)
    if scales is None:
        return tuple(range(space.dim))
    return tuple(int(index) for index in np.argsort(np.median(scales.shares, axis=0), kind="stable"))


def reference_design(scene: Scene) -> Tensor:
    """The design that slices pass through (d): the first decided point, else the best observed."""
    # what an estimate states may have as many numbers as a design, and is none
    if isinstance(scene.decision.actions, Points | Listed) and isinstance(scene.action, Tensor):
        return scene.action.reshape(-1, scene.space.dim)[0].detach().cpu().to(torch.float64)
    told = [(trial.value, trial) for trial in scene.in_state(State.COMPLETE) if trial.value is not None]
    if not told:
        return scene.belief.X[-1].detach().cpu().to(torch.float64)
    _, best = max(told, key=lambda pair: pair[0])
    return scene.space.encode(best.params)


def slices(
    where: Scene | DesignSpace,
    reference: Tensor | None = None,
    *,
    order: Sequence[int] | None = None,
    points: int = LINE_POINTS,
    plane: int = PLANE_POINTS,
) -> tuple[Slice, ...]:
    """How a space is looked at, with `points` along a line and `plane` along each axis of a plane; lines come first.

    The reference is a scene's `reference_design`, or the middle of a space, unless it is given. `order` names the
    parameters from the most to the least relevant: by the length scales of a scene's belief, unless it is given.
    """
    space = where.space if isinstance(where, Scene) else where
    if reference is None:
        reference = reference_design(where) if isinstance(where, Scene) else _middle(space)
    if order is None:
        order = by_relevance(where.belief, space) if isinstance(where, Scene) else range(space.dim)
    low, high = space.bounds
    shown = [index for index in order if bool(high[index] > low[index])] or [order[0]]
    if len(shown) == 1:
        return (_slice(space, reference, (shown[0],), points),)
    if len(shown) == 2:
        return (_slice(space, reference, (min(shown), max(shown)), plane),)
    lines = [(index,) for index in shown[:MOST_LINES]]
    leading = shown[:PAIRED]
    pairs = [(first, second) for k, first in enumerate(leading) for second in leading[k + 1 :]]
    alone = tuple(_slice(space, reference, axes, points) for axes in lines)
    return alone + tuple(_slice(space, reference, axes, plane) for axes in pairs)


def _middle(space: DesignSpace) -> Tensor:
    return space.project(space.from_unit(torch.full((space.dim,), 0.5, dtype=torch.float64)))


def _slice(space: DesignSpace, reference: Tensor, axes: tuple[int, ...], count: int) -> Slice:
    grids = tuple(_grid(space, index, count) for index in axes)
    # "xy" over (g, h) gives h x g: the first axis runs fastest
    mesh = torch.meshgrid(*grids, indexing="xy") if len(grids) == 2 else grids
    designs = reference.to(torch.float64).repeat(mesh[0].numel(), 1)
    for index, values in zip(axes, mesh, strict=True):
        designs[:, index] = values.reshape(-1)
    described = [parameter_axis(space, index) for index in axes]
    return Slice(
        axes=axes,
        names=tuple(space.names[index] for index in axes),
        logs=tuple(axis.log for axis in described),
        wholes=tuple(axis.whole for axis in described),
        reference=reference,
        grids=grids,
        designs=designs,
    )


def _grid(space: DesignSpace, index: int, count: int) -> Tensor:
    """Values of one parameter from end to end: evenly spaced in the unit cube, whole ones each at most once."""
    parameter = space.parameters[space.names[index]] if isinstance(space, Space) else None
    if isinstance(parameter, Integer) and parameter.high - parameter.low < count:
        return torch.arange(parameter.low, parameter.high + 1, dtype=torch.float64)
    unit = torch.full((max(count, 2), space.dim), 0.5, dtype=torch.float64)
    unit[:, index] = torch.linspace(0.0, 1.0, max(count, 2), dtype=torch.float64)
    values = space.from_unit(unit)[:, index]
    low, high = space.bounds[:, index]
    if not bool(high > low):
        return values - 0.5  # a constant column: the unit cube gives it a width of one
    values = values.clamp(float(low), float(high))
    return torch.unique(values.round()) if isinstance(parameter, Integer) else values


def parameter_axis(space: DesignSpace, index: int) -> Axis:
    """The axis of a parameter: its name, its bounds, whether it is logarithmic, whether it takes whole values."""
    low, high = (float(bound) for bound in space.bounds[:, index])
    name = space.names[index]
    if not isinstance(space, Space):
        return Axis(name, low, high) if high > low else Axis(name, low - 0.5, high + 0.5)
    parameter = space.parameters[name]
    whole = isinstance(parameter, Integer)
    return Axis(name, low, high, log=parameter.log, whole=whole)


def held(space: DesignSpace, view: Slice) -> str:
    """What a slice holds the other parameters at, in words; empty where there are no others."""
    values = space.decode(view.reference)
    return ", ".join(f"{name} = {values[name]:.4g}" for name in space.names if name not in view.names)
