"""The spread of an action over what is known: the best action for each of many functions drawn from the belief."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hentropy.core.action_search.base import expected_loss, take
from hentropy.core.action_search.descent import descend
from hentropy.core.action_search.exchange import exchange, gather_points, replacement_losses
from hentropy.core.action_search.listed import ENUMERABLE, all_tuples
from hentropy.core.action_search.observed import rows_given
from hentropy.core.beliefs import Belief, Moments
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Listed, Points, checked_loss
from hentropy.core.decisions.actions import PointsDomain
from hentropy.views.plots.scene import Scene

JOINT_POINTS = 1024
"""At more points than these the joint covariance costs too much, and drawn functions are evaluated instead."""


@torch.no_grad()
def function_values(belief: Belief, points: Tensor, count: int, seed: int) -> Tensor:
    """This many functions drawn from the belief, at points ... x d: count x ... (x o of several outcomes).

    Exact joint draws where the different points are few; beyond, paths that approximate the prior by features.
    """
    flat = points.to(belief.X).reshape(-1, points.shape[-1])
    different, where = torch.unique(flat, dim=0, return_inverse=True)
    if different.shape[0] <= JOINT_POINTS:
        values = belief.sample(different, count, seed)
    else:
        values = belief.paths(count, seed)(different)
    return values[:, where].reshape(count, *points.shape[:-1], *values.shape[2:])


CANDIDATES = 256
EXTREMES = 3
SCALES = (0.01, 0.03, 0.1, 0.3)
"""How far from their centres, in the unit cube, candidates near them lie."""

STARTS = 6
STARTS_APART = 0.1
DESCENT_STEPS = 24
"""Descent starts from this many candidates for each function, apart by so much, and takes this many steps."""

EXCHANGE_SWEEPS = 8
LESS_SWEEPS = 3
FEW_MEMBERS = 5
"""Actions with more members than these are searched less: the work grows with the cube of their number."""

MOST_DESIGNS = 320
"""Of actions with many members fewer functions are drawn, to show about this many designs."""

TUPLES = 256


@dataclass(frozen=True)
class Spread:
    """The best action of each drawn function (S x k x d) and that function's values there (S x k).

    A member that does not matter for a function (of k guesses only the best counts) is NaN in both.
    """

    designs: Tensor
    values: Tensor


def action_spread(scene: Scene, count: int = 64, candidates: int = CANDIDATES) -> Spread:
    """The best action for each of at most this many functions.

    Lists of actions are tried in full, tuples of a pool's designs by exchange, as where the decision itself is
    searched. In any other space exchange among candidates finds the actions that descent then refines.
    """
    decision, belief, action = scene.decision, scene.judged, scene.action.to(scene.belief.X)
    count = min(count, max(16, MOST_DESIGNS // action.shape[0]))
    if decision.follows_data:
        return _of_list(scene, rows_given(decision, belief.X), count)
    if isinstance(decision.actions, Listed):
        return _of_list(scene, decision.actions.rows.to(belief.X), count)
    # where they need no exchange, more of them cost little
    points, today = candidate_designs(scene, action, 4 * candidates if action.shape[0] == 1 else candidates)
    if len(belief.outcomes) > 1:
        return _of_list(scene, _tuples(decision, points, today, scene.seed), count)
    itself = decision.points(action) is action
    if scene.space.points is None:
        parts = [
            _refined(scene, points, today, f, own, itself) for f, own in drawn_functions(belief, count, scene.seed)
        ]
        return Spread(*(torch.cat(fields) for fields in zip(*parts, strict=True)))
    if itself:
        return _exchanged(scene, points, today, function_values(belief, points, count, scene.seed))
    return _of_list(scene, _tuples(decision, points, today, scene.seed), count)


@torch.no_grad()
def candidate_designs(scene: Scene, action: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Different designs to make actions of (M x d), and which of them are today's action (k).

    They are the designs of a pool, or designs that fill the space and others near today's action and near the data
    with the highest and the lowest values, and all data (the nearest designs to those that cannot be decided on).
    """
    most = min(most, max(64, 1500 // action.shape[0]))  # each of k members is replaced by each of them
    space, known = scene.space, scene.belief.X
    if space.points is None:
        filling = torch.cat([space.sample(most, scene.seed).to(known), _nearby(scene, action, most // 2)])
    else:
        filling = space.points if len(space.points) <= 2 * most else space.sample(most, scene.seed)
    rows = torch.cat([action, space.project(known), filling.to(known)])
    rows, where = torch.unique(rows, dim=0, return_inverse=True)
    return rows, where[: action.shape[0]]


def _nearby(scene: Scene, action: Tensor, count: int) -> Tensor:
    """Designs near the members of an action (k x d) and near the most extreme data, at several scales: count x d."""
    space, known = scene.space, scene.belief.X
    order = scene.belief.means(known).mean[0].argsort()
    centres = torch.cat([action, known[order[:EXTREMES]], known[order[-EXTREMES:]]])
    generator = torch.Generator().manual_seed(scene.seed + 11)
    which = torch.arange(count) % len(centres)
    noise = torch.randn(count, space.cube, generator=generator, dtype=torch.float64).to(known)
    scale = torch.tensor(SCALES, dtype=torch.float64).to(known)[torch.arange(count) // len(centres) % len(SCALES)]
    unit = space.to_cube(centres[which]) + scale.unsqueeze(-1) * noise
    return space.project(space.from_cube(unit.clamp(0.0, 1.0)))


Function = Callable[[Tensor], Tensor]
"""Drawn functions, at points ... x m x d: S x ... x m."""


def drawn_functions(belief: Belief, count: int, seed: int) -> list[tuple[Function, int]]:
    """This many functions drawn from the belief, in groups of this many each: one for each component of a mixture.

    The functions of one component share a basis, and need no other.
    """
    if belief.process is None or belief.components == 1:
        return [(belief.paths(count, seed), count)]
    generator = torch.Generator().manual_seed(seed)
    mixture: Any = belief
    drawn = torch.multinomial(mixture.weights.cpu(), count, replacement=True, generator=generator)
    shares = torch.bincount(drawn, minlength=belief.components).tolist()
    return [(mixture.component(h).paths(own, seed + h), own) for h, own in enumerate(shares) if own]


def _refined(
    scene: Scene, points: Tensor, today: Tensor, f: Function, count: int, itself: bool
) -> tuple[Tensor, Tensor]:
    """The best actions of this many functions (count x k x d), from candidates by descent, and the values there."""
    decision, space = scene.decision, scene.space
    with torch.no_grad():
        if itself:
            start, matters = _starts(scene, points, f(points), today)
        else:
            rows = _tuples(decision, points, today, scene.seed)
            losses = checked_loss(decision, f(decision.points(rows)), rows.expand(count, *rows.shape))
            start = rows[losses.topk(min(STARTS, len(rows)), largest=False).indices]
            matters = torch.ones(count, today.shape[0], dtype=torch.bool)
    domain = PointsDomain(space, today.shape[0])
    each = torch.arange(count)

    def values(actions: Tensor) -> Tensor:
        """Of each function at its own actions, count x R x k x d: count x R x K."""
        return f(torch.as_tensor(decision.points(actions)))[each, each]

    def loss(u: Tensor) -> Tensor:
        actions = domain.to_action(u.reshape(*start.shape[:2], -1))
        return checked_loss(decision, values(actions), actions).flatten()

    u, _ = descend(loss, domain.to_cube(start).flatten(0, 1), DESCENT_STEPS, Clock())
    with torch.no_grad():
        moved = domain.project(domain.to_action(u.reshape(*start.shape[:2], -1)))
        both = torch.cat([start, moved], 1)
        there = values(both)
        best = checked_loss(decision, there, both).argmin(-1)
        designs = both[each, best]
        blank = torch.where(matters, 0.0, torch.nan).to(designs)
        reached = there[each, best] if itself else torch.full(blank.shape, torch.nan).to(designs)
        return designs + blank.unsqueeze(-1), reached + blank


def _starts(scene: Scene, points: Tensor, values: Tensor, today: Tensor) -> tuple[Tensor, Tensor]:
    """For each function with values S x M at candidates M x d, where to descend from (S x R x k x d); who matters.

    An action of one point has several starts, apart from each other: the best candidates may share one peak.
    """
    decision = scene.decision
    if today.shape[0] > 1:
        index, matters = best_tuples(decision, points, values, today, scene.seed)
        return points[index].unsqueeze(1), matters
    actions = points.unsqueeze(-2)
    losses = checked_loss(decision, values.unsqueeze(-1), actions.expand(len(values), *actions.shape))
    unit, apart = scene.space.to_unit(points), STARTS_APART * scene.space.cube**0.5
    chosen = []
    for _ in range(STARTS):
        chosen.append(losses.argmin(-1))
        losses = losses.masked_fill(torch.cdist(unit[chosen[-1]], unit) < apart, torch.inf)
    return actions[torch.stack(chosen, -1)], torch.ones(len(values), 1, dtype=torch.bool)


@torch.no_grad()
def _exchanged(scene: Scene, points: Tensor, today: Tensor, values: Tensor) -> Spread:
    """The best tuples of designs (M x d) for functions with such values there (S x M)."""
    index, matters = best_tuples(scene.decision, points, values, today, scene.seed)
    blank = torch.where(matters, 0.0, torch.nan)
    return Spread(points[index] + blank.unsqueeze(-1), values.gather(-1, index) + blank)


@torch.no_grad()
def best_tuples(decision: Decision, points: Tensor, values: Tensor, today: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """For each function with values S x M at points M x d, the tuple with the least loss: indices S x k.

    All tuples are tried where they are few; else exchange, from today's tuple (k) and random ones. The second result
    (S x k) says which members matter: a member does not if every other candidate in its place costs the same.
    """
    S, M = values.shape
    k = today.shape[0]
    distinct = decision.actions.as_set
    certain = _certain(values)
    nothing = values.new_zeros(1, k)
    if isinstance(decision.actions, Points) and decision.actions.count_on(M) <= ENUMERABLE:
        rows = torch.arange(M, device=points.device)
        every = all_tuples(rows.unsqueeze(-1), decision.actions).squeeze(-1)
        found = every.expand(S, *every.shape)
        losses = expected_loss(decision, take(certain, found), gather_points(points, found), nothing)
    else:
        starts = torch.stack([today, *_random_tuples(M, k, _random_starts(k), distinct, seed)])
        start = starts.expand(S, *starts.shape)
        sweeps = EXCHANGE_SWEEPS if k <= FEW_MEMBERS else LESS_SWEEPS
        found, losses = exchange(decision, certain, points, start, nothing, sweeps, distinct)
    index = found[torch.arange(S), losses.argmin(-1)]
    matters = [_matters(decision, certain, points, index, member, nothing) for member in range(k)]
    return index, torch.stack(matters, -1) if k > 1 else torch.ones_like(index, dtype=torch.bool)


def _random_starts(k: int) -> int:
    return 5 if k <= 3 else 2 if k <= FEW_MEMBERS else 0


def _certain(values: Tensor) -> Moments:
    """Functions that are known, S x M, as moments of S problems side by side."""
    mean = values.unsqueeze(0)
    zero = torch.zeros_like(mean)
    cov = zero.unsqueeze(-1).expand(*mean.shape, mean.shape[-1])
    return Moments(values.new_ones(1, values.shape[0]), mean, zero, cov, point_mass=True)


def _random_tuples(M: int, k: int, count: int, distinct: bool, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    if distinct and k <= M:
        return [torch.randperm(M, generator=generator)[:k] for _ in range(count)]
    return [torch.randint(M, (k,), generator=generator) for _ in range(count)]


def _matters(
    decision: Decision, certain: Moments, points: Tensor, index: Tensor, member: int, nothing: Tensor
) -> Tensor:
    """Whether it makes a difference to each function (S) which candidate is in a member's place."""
    losses = replacement_losses(decision, certain, points, index.unsqueeze(-2), member, nothing).squeeze(-2)
    others = torch.cat([index[:, :member], index[:, member + 1 :]], -1)
    own = losses.gather(-1, index[:, member : member + 1])
    elsewhere = losses.scatter(-1, others, own.expand(others.shape))
    return (elsewhere - own).abs().amax(-1) > 1e-12 * (1.0 + own.abs().squeeze(-1))


@torch.no_grad()
def _of_list(scene: Scene, rows: Tensor, count: int) -> Spread:
    """The best of listed actions (m x k x d) for each function."""
    decision = scene.decision
    points = torch.as_tensor(decision.points(rows)).to(rows)
    values = function_values(scene.judged, points, count, scene.seed)  # S x m x K (x o)
    best = checked_loss(decision, values, rows.expand(count, *rows.shape)).argmin(-1)
    at_points = values[torch.arange(count), best]
    if len(scene.whole.outcomes) > 1:
        at_points = at_points[..., scene.place]
    own = torch.equal(points, rows)
    return Spread(rows[best], at_points if own else torch.full(rows[best].shape[:-1], torch.nan).to(rows))


def _tuples(decision: Decision, points: Tensor, today: Tensor, seed: int) -> Tensor:
    """Actions whose loss looks elsewhere: all if few, else today's with one member moved and random ones."""
    actions, M, k = decision.actions, points.shape[0], today.shape[0]
    if isinstance(actions, Points) and actions.count_on(M) <= ENUMERABLE:
        return all_tuples(points, actions)
    moved = today.repeat(k, M, 1)
    for member in range(k):
        moved[member, :, member] = torch.arange(M)
    return points[torch.cat([moved.flatten(0, 1), *(row[None] for row in _random_tuples(M, k, TUPLES, True, seed))])]
