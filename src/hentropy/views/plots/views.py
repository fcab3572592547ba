"""How a space of any dimension is looked at: a line, a plane, or slices through a reference design.

One parameter is a line, two are a plane. Of more parameters each is varied alone, and a few pairs together, while the
others are held at a reference design. A parameter that never varies (a constant column of a pool) is not looked at.

    d  parameters of a design        g, h  grid points along the first and the second axis
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.core.decisions import Identify, LevelSets
from hentropy.core.spaces import DesignSpace, Space
from hentropy.studies.records import State
from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis
from hentropy.views.plots.relevance import by_relevance
from hentropy.views.plots.scene import Scene

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


def reference_design(scene: Scene) -> Tensor:
    """The design that slices pass through (d): the first decided point, or the one that the decision is about.

    Where f is greatest, or how great it gets, is asked near the greatest value, and levels near a threshold; another
    decision about all of the space is looked at from the middle of the data.
    """
    # what an estimate states may have as many numbers as a design, and is none
    if scene.decision.actions.of_designs and isinstance(scene.action, Tensor):
        return scene.action.reshape(-1, scene.space.dim)[0].detach().cpu().to(torch.float64)
    if isinstance(scene.decision, Identify) and scene.decision.what == "argmax":
        return scene.decision.settled_points[int(scene.action.argmax())].detach().cpu().to(torch.float64)
    told = [trial for trial in scene.in_state(State.COMPLETE) if trial.value is not None]
    if not told:
        return scene.belief.X[-1].detach().cpu().to(torch.float64)
    if isinstance(scene.decision, Identify) and scene.decision.what == "max":
        return scene.space.encode(max(told, key=lambda trial: trial.value or 0.0).params)
    if isinstance(scene.decision, LevelSets):
        levels = scene.decision.thresholds
        nearest = min(told, key=lambda trial: min(abs((trial.value or 0.0) - level) for level in levels))
        return scene.space.encode(nearest.params)
    rows = torch.stack([scene.space.encode(trial.params) for trial in told])
    unit = scene.space.to_unit(rows)
    return rows[(unit - unit.median(0).values).square().sum(-1).argmin()].to(torch.float64)


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
    parameters from the most to the least relevant: by a scene's belief (`by_relevance`), unless it is given.
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
    return space.project(space.from_cube(torch.full((space.cube,), 0.5, dtype=torch.float64)))


def _slice(space: DesignSpace, reference: Tensor, axes: tuple[int, ...], count: int) -> Slice:
    grids = tuple(_grid(space, index, count) for index in axes)
    # "xy" over (g, h) gives h x g: the first axis runs fastest
    mesh = torch.meshgrid(*grids, indexing="xy") if len(grids) == 2 else grids
    designs = reference.to(torch.float64).repeat(mesh[0].numel(), 1)
    for index, values in zip(axes, mesh, strict=True):
        designs[:, index] = values.reshape(-1)
    return Slice(
        axes=axes,
        names=tuple(space.names[index] for index in axes),
        reference=reference,
        grids=grids,
        designs=designs,
    )


def _grid(space: DesignSpace, index: int, count: int) -> Tensor:
    """Values of one parameter from end to end: evenly spaced in the unit cube, whole ones each at most once."""
    whole = _is_whole(space, index)
    low, high = space.bounds[:, index]
    if whole and 0 < high - low < count:
        return torch.arange(int(low), int(high) + 1, dtype=torch.float64)
    unit = torch.full((max(count, 2), space.cube), 0.5, dtype=torch.float64)
    unit[:, index] = torch.linspace(0.0, 1.0, max(count, 2), dtype=torch.float64)
    values = space.from_cube(unit)[:, index]
    if not bool(high > low):
        return values - 0.5  # a constant column: the unit cube gives it a width of one
    values = values.clamp(float(low), float(high))
    return torch.unique(values.round()) if whole else values


def _is_whole(space: DesignSpace, index: int) -> bool:
    """Whether a parameter takes whole values only; of a pool, whether its column has no others."""
    if isinstance(space, Space):
        return space.fields[index].grid == 1.0
    listed = space.points
    return listed is not None and bool((listed[:, index] == listed[:, index].round()).all())


def parameter_axis(space: DesignSpace, index: int) -> Axis:
    """The axis of a parameter: its name, its bounds, whether it is logarithmic, whether it takes whole values."""
    low, high = (float(bound) for bound in space.bounds[:, index])
    name = space.names[index]
    if not high > low:
        return Axis(name, low - 0.5, high + 0.5)
    log = space.fields[index].log
    return Axis(name, low, high, log=log, whole=_is_whole(space, index))


def held(space: DesignSpace, view: Slice) -> str:
    """What a slice holds the other parameters at, in words; empty where there are no others."""
    return in_words(space, view.reference, without=view.names)


def in_words(space: DesignSpace, design: Tensor, without: Sequence[str] = ()) -> str:
    """A design (d), parameter by parameter, each as exact as its range calls for."""
    ranges = (space.bounds[1] - space.bounds[0]).tolist()
    values = space.decode(design)
    named = zip(space.names, ranges, strict=True)
    return ", ".join(f"{name} = {short(values[name], width)}" for name, width in named if name not in without)
