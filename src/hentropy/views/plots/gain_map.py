"""The gain of observing, over the slices of a space.

The quick gain of screening takes the best of a pool of actions after each outcome. Actions that audits of some designs
found best after their outcomes are added to the pool first: then it is nearly as good as an audit that searches anew
after every outcome, and 10 to 50 times faster. At the target, whose gain is known well, the two are compared. Where
they differ, a coarser grid is audited; where that is too much work or differs too, the map shows shares of its
largest gain.

The work is counted, not timed, so that the same study has the same map on every machine, however slow or busy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.core.action_search import ContinuousSearch, SolvedSearch
from hentropy.core.beliefs import Needs
from hentropy.core.decisions import Decision
from hentropy.core.gain import Appraisal, Effort
from hentropy.core.solvers.propose import AUDIT_SEED
from hentropy.views.plots.fields import seen
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import near
from hentropy.views.plots.slices import LINE_POINTS, PLANE_POINTS, Slice, SliceFrame, slices
from hentropy.views.plots.target import Explained, NextExperiment

GRIDS = ((LINE_POINTS, PLANE_POINTS), (61, 31), (41, 21), (31, 15), (21, 11), (15, 9), (11, 7))
"""Points along a line and along each axis of a plane, from fine to coarse."""

READABLE = 2
"""The place of the coarsest grid for which the pool stays as large as it can be."""

COARSE = 4
"""The place of the grid that is audited where quick gains will not do."""

NUMBERS = 4.5e8
"""The work of a map, as numbers of the moments of actions: by experience, a usual core does 1e8 to 1e9 in a second."""

SLOWER = 4
"""Solved decisions, those among the data, and closed forms of joint losses take so much longer for a number."""

DRAWN = 1_000_000
"""Numbers for one design of a formula without a gradient, which moves drawn functions by each outcome."""

DESCENT = 24
"""Numbers in a step of descent for each datum, and draw of a joint loss, at each point of an action."""

MAX_ADDED = 96
MIN_ADDED = 12
"""This many actions are added to the pool, by how much work they make."""

ACTIONS_APART = 1e-4
"""Actions nearer than this to others, in the unit cube, are not added."""

PART = 256
"""Designs that are valued at once."""

LIKE = 0.3
"""Gains that differ by so much, as a share, show the same."""

AUDITED = Effort(replicates=2, outcomes=16, steps=6)

Gains = Callable[[Tensor], Tensor]
"""The gains of designs taken one at a time: b x 1 x d to b."""


@dataclass(frozen=True)
class GainSlice(SliceFrame):
    """Gains over one or two fields: g or h x g, NaN where nothing can be run.

    `near` (n) are the trials that bear on the slice.
    """

    gains: np.ndarray
    near: np.ndarray


@dataclass(frozen=True)
class GainMap:
    """The gain over all slices, and at the target in the same way (None without a target).

    Where the gains are `relative`, all of them are shares of the largest.
    """

    slices: tuple[GainSlice, ...]
    at_target: float | None
    relative: bool


def gain_map(
    scene: Scene, known: Explained, reference: Tensor, designs: np.ndarray, numbers: float = NUMBERS
) -> GainMap:
    """The gain over slices through a reference design (d), as fine as this many numbers allow.

    `designs` are the trials'.
    """
    fewest = _designs(_views(scene, reference, READABLE))
    appraisal = with_contenders(known.appraisal, known.actions, numbers / fewest)
    way, exact = quick(appraisal), appraisal.applicable(1) is not None
    value = _at(way, reference)
    views = _finest(scene, reference, numbers / numbers_of(appraisal))
    relative = known.target is not None and not exact and not alike(value, known.target, scene.found.value)
    if relative and known.target is not None:
        coarse, careful = _views(scene, reference, COARSE), audited(appraisal)
        if _designs(coarse) * audited_numbers(appraisal) < 1.5 * numbers:
            better = _at(careful, reference)
            if alike(better, known.target, scene.found.value):
                way, value, views, relative = careful, better, coarse, False
    gains = [_valued(way, view, scene.belief.X) for view in views]
    top = 1.0
    if relative:  # all slices pass through the target
        largest = max([value, *(float(np.nanmax(each)) for each in gains)])
        top = largest if largest > 0 else 1.0
    made = (
        GainSlice(**vars(view.frame()), gains=each / top, near=near(scene, view, designs))
        for view, each in zip(views, gains, strict=True)
    )
    return GainMap(tuple(made), None if known.target is None else value / top, relative)


def _valued(way: Gains, view: Slice, like: Tensor) -> np.ndarray:
    x = view.runnable.to(like).unsqueeze(-2)
    return view.filled(torch.cat([way(part) for part in x.split(PART)] if len(x) else [x.new_zeros(0)]))


def quick(appraisal: Appraisal) -> Gains:
    """The gain by the best of a pool of actions after each outcome, or by a formula."""
    nodes = appraisal.nodes(_outcomes(appraisal), 1)
    return lambda x: appraisal.if_failing(appraisal.screen(x, nodes), x)


def _outcomes(appraisal: Appraisal) -> int:
    """Outcomes of several experiments at once fill more dimensions; of a mixture, each component has its own."""
    return 64 if len(appraisal.pending) else 48 if appraisal.belief.components > 1 else 16


def _effort(appraisal: Appraisal) -> Effort:
    return Effort(replicates=4, outcomes=32, steps=AUDITED.steps) if len(appraisal.pending) else AUDITED


def audited(appraisal: Appraisal) -> Gains:
    """The gain by a new search for actions after each outcome."""
    effort = _effort(appraisal)
    rows = appraisal.rows(effort.replicates * effort.outcomes, 1)
    seed = appraisal.seed + AUDIT_SEED
    return lambda x: torch.cat(
        [appraisal.expected(appraisal.audit(part, seed, effort).gain, part).value for part in x.split(rows)]
    )


def numbers_of(appraisal: Appraisal) -> int:
    """How many numbers the quick gain of one design takes."""
    formula, search, outcomes = appraisal.applicable(1), appraisal.search, _outcomes(appraisal)
    if formula is not None:
        return SLOWER * formula.numbers if formula.differentiable else DRAWN
    numbers = search.numbers_per_design(outcomes)
    if isinstance(search, SolvedSearch) or search.decision.follows_data:
        return SLOWER * numbers
    if isinstance(search, ContinuousSearch) and search.decision.needs is Needs.JOINT and not _drawn(search):
        return SLOWER * numbers // len(search.draws)  # the bound on memory counts draws, and a closed form needs none
    return numbers


def audited_numbers(appraisal: Appraisal) -> int:
    """How many numbers the audited gain of one design takes."""
    search, belief, effort = appraisal.search, appraisal.belief, _effort(appraisal)
    outcomes = effort.replicates * effort.outcomes
    numbers = search.numbers_per_design(outcomes)
    if not isinstance(search, ContinuousSearch):
        return SLOWER * numbers
    at_each = len(belief.X) + (len(search.draws) if _drawn(search) else 0)
    points = search.decision.points(search.contenders[:1]).shape[-2]
    return numbers + DESCENT * outcomes * effort.steps * points * belief.components * at_each


def _drawn(search: ContinuousSearch) -> bool:
    """Whether the expected loss is an average over draws; closed forms of joint losses are those of two values."""
    closed = type(search.decision).expected_loss is not Decision.expected_loss
    pairs = search.decision.points(search.contenders[:1]).shape[-2] <= 2
    return search.decision.needs is Needs.JOINT and not (closed and pairs)


def with_contenders(appraisal: Appraisal, actions: Tensor | None, numbers: float) -> Appraisal:
    """The appraisal with actions (m x event) added to its pool, as many as such numbers for each design allow."""
    search = appraisal.search
    if actions is None or not isinstance(search, ContinuousSearch) or appraisal.applicable(1) is not None:
        return appraisal
    now = numbers_of(appraisal) / len(search.contenders)
    most = max(MIN_ADDED, min(MAX_ADDED, int(numbers / now) - len(search.contenders)))
    far = _far_apart(search.domain.to_unit(actions), search.domain.to_unit(search.contenders), most)
    return replace(appraisal, search=replace(search, contenders=torch.cat([search.contenders, actions[far]])))


def _far_apart(u: Tensor, others: Tensor, most: int) -> Tensor:
    """Which of the points (m x p), at most this many, lie farthest from each other and from the others."""
    distance = torch.cdist(u, others).amin(-1)
    chosen: list[int] = []
    while len(chosen) < most:
        farthest = int(distance.argmax())
        if float(distance[farthest]) < ACTIONS_APART:
            break
        chosen.append(farthest)
        distance = torch.minimum(distance, (u - u[farthest]).norm(dim=-1))
    return torch.tensor(chosen, dtype=torch.long, device=u.device)


def alike(gain: float, target: NextExperiment, loss: float) -> bool:
    """Whether a gain is near enough to that of the target for both to be shown on one scale."""
    nothing = 1e-9 * abs(loss)
    return abs(gain - target.gain) <= max(LIKE * target.gain, 2.0 * target.error, nothing)


def _at(way: Gains, row: Tensor) -> float:
    """The gain at one design (d)."""
    return float(way(row.view(1, 1, -1)))


def _views(scene: Scene, reference: Tensor, place: int) -> tuple[Slice, ...]:
    points, plane = GRIDS[place]
    return tuple(through_reference(view) for view in slices(scene, reference, points=points, plane=plane))


def through_reference(view: Slice) -> Slice:
    """The slice with the values of its reference among those of its grids: a narrow peak there is not missed."""
    own = torch.from_numpy(seen(view.space, view.reference))
    grids = tuple(
        torch.unique(torch.cat([grid, own[axis : axis + 1].to(grid)]))
        for axis, grid in zip(view.axes, view.grids, strict=True)
    )
    return Slice.over(view.space, view.reference, view.axes, grids)


def _designs(views: Sequence[Slice]) -> int:
    return sum(len(view.runnable) for view in views)


def _finest(scene: Scene, reference: Tensor, designs: float) -> tuple[Slice, ...]:
    """The finest slices of at most this many designs in all, or the coarsest of the grids."""
    for place in range(len(GRIDS)):
        views = _views(scene, reference, place)
        if _designs(views) <= designs:
            break
    return views
