"""The gain of observing, over the slices of a space: as careful and as fine as the time allows.

The quick gain of screening takes the best of few actions after each outcome, so it is often too low. An audit improves
those actions, as when the proposed experiment itself is valued, and takes 5 to 50 times longer. The most careful of the
ways is taken that leaves time for a grid fine enough to be read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.clock import Clock
from hentropy.gain import Appraisal, Effort
from hentropy.plots.marks import Axis
from hentropy.plots.scene import Scene
from hentropy.plots.shown_trials import near
from hentropy.plots.views import LINE_POINTS, PLANE_POINTS, Slice, held, parameter_axis, slices
from hentropy.solvers.propose import AUDIT_SEED

GRIDS = ((LINE_POINTS, PLANE_POINTS), (61, 31), (41, 21), (31, 15), (21, 11), (15, 9), (11, 7))
"""Points along a line and along each axis of a plane, from fine to coarse."""

READABLE = 2
"""The place of the coarsest grid that more care is worth: to a quick gain, the grids after it are left."""

TRIED = 16
TRIED_WITH_CARE = 4
"""So many designs are timed, to choose the way and the grid."""

OVERRUN = 1.5
"""A grid that turns out slower than its trial may take so many times the seconds before the rest is left out."""

Gains = Callable[[Tensor], Tensor]
"""The gains of designs taken one at a time: b x 1 x d to b."""


@dataclass(frozen=True)
class GainSlice:
    """Gains along one or two parameters: g or h x g, NaN where time ran out.

    `indices` say which parameters, `grids` their values, `held` what the others are held at, in words. `near` (n) are
    the trials that bear on the slice.
    """

    indices: tuple[int, ...]
    axes: tuple[Axis, ...]
    grids: tuple[np.ndarray, ...]
    held: str
    gains: np.ndarray
    near: np.ndarray


@dataclass(frozen=True)
class GainMap:
    """The gain over all slices; `quick` where there was no time for more than a quick estimate."""

    slices: tuple[GainSlice, ...]
    quick: bool


def gain_map(scene: Scene, appraisal: Appraisal, reference: Tensor, designs: np.ndarray, seconds: float) -> GainMap:
    """The gain over slices through a reference design (d), within about so many seconds; `designs` are the trials'."""
    clock = Clock(OVERRUN * seconds)
    timeless = replace(appraisal, clock=Clock())  # screening would leave out what its own clock forbids
    ways = gain_ways(timeless)
    finest = slices(scene, reference, points=LINE_POINTS, plane=PLANE_POINTS)
    all_designs = torch.cat([view.designs for view in finest])
    spread = all_designs[torch.linspace(0, len(all_designs) - 1, TRIED).long()].to(scene.belief.X).unsqueeze(-2)
    each = _seconds_each(ways[0], spread)
    chosen, views = 0, _finest(scene, reference, (seconds - clock.spent) / each, GRIDS)
    fewest = sum(len(view.designs) for view in _finest(scene, reference, 0.0, GRIDS[: READABLE + 1]))
    for place, way in enumerate(ways[1:], start=1):
        if 2.0 * each * fewest > seconds - clock.spent:  # more care takes at least twice the time
            break
        slower = _seconds_each(way, spread[:TRIED_WITH_CARE])
        if slower * fewest > seconds - clock.spent:
            break
        each, chosen = slower, place
        views = _finest(scene, reference, (seconds - clock.spent) / each, GRIDS[: READABLE + 1])
    step = max(TRIED_WITH_CARE, int(0.1 * seconds / each))
    made = tuple(_valued(scene, view, ways[chosen], designs, clock, step) for view in views)
    return GainMap(made, quick=chosen == 0 and len(ways) > 1)


def gain_ways(appraisal: Appraisal) -> tuple[Gains, ...]:
    """Ways to value designs, from quick to careful; the last is that of the proposed experiment itself.

    A formula needs no search for actions: then there is one way.
    """
    waiting, mixed = len(appraisal.pending) > 0, appraisal.belief.components > 1
    # outcomes of several experiments at once fill more dimensions
    nodes = appraisal.nodes(64 if waiting else 16 if mixed else 12, 1)
    seed = appraisal.seed + AUDIT_SEED

    def quick(x: Tensor) -> Tensor:
        return appraisal.screen(x, nodes)

    def better(x: Tensor) -> Tensor:
        effort = Effort(replicates=4, outcomes=32, steps=4) if waiting else Effort(replicates=2, outcomes=16, steps=4)
        return appraisal.audit(x, seed, effort).gain.value

    def best(x: Tensor) -> Tensor:
        return appraisal.audit(x, seed).gain.value

    return (quick,) if appraisal.applicable(1) is not None else (quick, better, best)


def _seconds_each(way: Gains, x: Tensor) -> float:
    """How long a design takes, from a trial."""
    way(x[:1])  # what is made at the first call only
    clock = Clock()
    way(x)
    return max(clock.spent / len(x), 1e-6)


def _finest(scene: Scene, reference: Tensor, designs: float, grids: Sequence[tuple[int, int]]) -> tuple[Slice, ...]:
    """The finest slices of at most so many designs in all, or the coarsest of the grids."""
    for points, plane in grids:
        views = slices(scene, reference, points=points, plane=plane)
        if sum(len(view.designs) for view in views) <= designs:
            break
    return views


def _valued(scene: Scene, view: Slice, way: Gains, designs: np.ndarray, clock: Clock, step: int) -> GainSlice:
    x = view.designs.to(scene.belief.X).unsqueeze(-2)
    gains = x.new_full((x.shape[0],), torch.nan)
    for start in range(0, x.shape[0], step):
        if clock.expired:
            break
        gains[start : start + step] = way(x[start : start + step])
    return GainSlice(
        indices=view.axes,
        axes=tuple(parameter_axis(scene.space, index) for index in view.axes),
        grids=view.values_along(),
        held=held(scene.space, view),
        gains=view.shaped(gains),
        near=near(scene, view, designs),
    )
