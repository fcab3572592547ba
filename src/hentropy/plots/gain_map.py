"""The gain of observing, over the slices of a space: as fine as the time allows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.beliefs import Nodes
from hentropy.clock import Clock
from hentropy.gain import Appraisal
from hentropy.plots.marks import Axis
from hentropy.plots.scene import Scene
from hentropy.plots.shown_trials import near
from hentropy.plots.views import LINE_POINTS, PLANE_POINTS, Slice, held, parameter_axis, slices

GRIDS = ((LINE_POINTS, PLANE_POINTS), (61, 31), (41, 21), (31, 15), (21, 11), (15, 9), (11, 7))
"""Points along a line and along each axis of a plane, from fine to coarse."""

OUTCOMES, MIXTURE_OUTCOMES = 12, 16
"""Outcomes that each design is valued by, as proposals do when they screen designs."""

OVERRUN = 1.5
"""A grid that turns out slower than its trial may take so many times the seconds before the rest is left out."""

TRIED = 16
"""So many designs are timed to choose the grid; so many or more are valued between looks at the clock."""


@dataclass(frozen=True)
class GainSlice:
    """Quick gains along one or two parameters: g or h x g, NaN where time ran out.

    `indices` say which parameters, `grids` their values, `held` what the others are held at, in words. `near` (n) are
    the trials that bear on the slice.
    """

    indices: tuple[int, ...]
    axes: tuple[Axis, ...]
    grids: tuple[np.ndarray, ...]
    held: str
    gains: np.ndarray
    near: np.ndarray


def gain_slices(
    scene: Scene, appraisal: Appraisal, reference: Tensor, designs: np.ndarray, seconds: float
) -> tuple[GainSlice, ...]:
    """The gain over slices through a reference design (d), within about so many seconds; `designs` are the trials'."""
    clock = Clock(OVERRUN * seconds)
    timeless = replace(appraisal, clock=Clock())  # screening would leave out what its own clock forbids
    few = appraisal.belief.components == 1
    nodes = timeless.nodes(OUTCOMES if few else MIXTURE_OUTCOMES, 1)
    views, step = _affordable(scene, timeless, nodes, reference, seconds)
    made = []
    for view in views:
        gains = _screened(timeless, view.designs, nodes, clock, step)
        made.append(
            GainSlice(
                indices=view.axes,
                axes=tuple(parameter_axis(scene.space, index) for index in view.axes),
                grids=view.values_along(),
                held=held(scene.space, view),
                gains=view.shaped(gains),
                near=near(scene, view, designs),
            )
        )
    return tuple(made)


def _affordable(
    scene: Scene, appraisal: Appraisal, nodes: Nodes, reference: Tensor, seconds: float
) -> tuple[tuple[Slice, ...], int]:
    """The finest slices that the time seems to allow for, and how many designs to value between looks at the clock."""
    clock = Clock(seconds)
    finest = slices(scene, reference, points=GRIDS[0][0], plane=GRIDS[0][1])
    everything = torch.cat([view.designs for view in finest])
    spread = everything[torch.linspace(0, len(everything) - 1, TRIED).long()]
    _screened(appraisal, spread[:1], nodes, clock, 1)  # what is made once only, at the first call
    before = clock.spent
    _screened(appraisal, spread, nodes, clock, TRIED)
    each = max((clock.spent - before) / TRIED, 1e-6)
    step = max(TRIED, int(0.1 * seconds / each))
    return _finest(scene, reference, (seconds - clock.spent) / each, finest), step


def _finest(scene: Scene, reference: Tensor, designs: float, finest: Sequence[Slice]) -> tuple[Slice, ...]:
    """The finest slices of at most so many designs in all, or the coarsest."""
    views = tuple(finest)
    for points, plane in GRIDS[1:]:
        if sum(len(view.designs) for view in views) <= designs:
            break
        views = slices(scene, reference, points=points, plane=plane)
    return views


def _screened(appraisal: Appraisal, designs: Tensor, nodes: Nodes, clock: Clock, step: int) -> Tensor:
    """Quick gains of designs (b x d) one by one, NaN from where time ran out: b."""
    x = designs.to(appraisal.belief.X).unsqueeze(-2)
    gains = x.new_full((x.shape[0],), torch.nan)
    for start in range(0, x.shape[0], step):
        if clock.expired:
            break
        gains[start : start + step] = appraisal.screen(x[start : start + step], nodes)
    return gains
