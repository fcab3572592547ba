"""The spread of an action over what is known: the best action for each of many functions drawn from the belief.

Wherever drawn functions agree on an action, more data would hardly change it; where they scatter, it is open.

    S  drawn functions        M  candidate designs        k  points of an action        K  points its loss looks at
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.beliefs import Moments
from hentropy.decisions import Decision, Listed, Points, checked_loss
from hentropy.inner.base import expected_loss, take
from hentropy.inner.exchange import exchange, gather_points, replacement_losses
from hentropy.inner.listed import ENUMERABLE, all_tuples, rows_given
from hentropy.plots.draws import function_values
from hentropy.plots.scene import Scene

CANDIDATES = 256
SWEEPS = 8
LESS_SWEEPS = 3
FEW_MEMBERS = 5
"""Actions with more members than these are searched less: the work grows with the cube of their number."""

MOST_DESIGNS = 320
"""Of actions with many members fewer functions are drawn, to show about so many designs."""

TUPLES = 256


@dataclass(frozen=True)
class Spread:
    """The best action of each drawn function (S x k x d) and that function's values there (S x k).

    A member that does not matter for a function (of k guesses only the best counts) is NaN in both.
    """

    designs: Tensor
    values: Tensor


@torch.no_grad()
def action_spread(scene: Scene, count: int = 64, candidates: int = CANDIDATES) -> Spread:
    """The best action for each of at most so many functions, among actions made of candidate designs.

    Candidates are the designs of a pool, or designs that fill the space, with the data and today's action. Lists of
    actions are tried in full, tuples of candidates by exchange, as where the decision itself is searched.
    """
    decision, action = scene.decision, scene.action.to(scene.belief.X)
    count = min(count, max(16, MOST_DESIGNS // action.shape[0]))
    if decision.follows_data:
        return _of_list(scene, rows_given(decision, scene.belief), count)
    if isinstance(decision.actions, Listed):
        return _of_list(scene, decision.actions.rows.to(scene.belief.X), count)
    points, today = candidate_designs(scene, action, candidates)
    if decision.points(action) is action:
        values = function_values(scene.belief, points, count, scene.seed)
        index, matters = best_tuples(decision, points, values, today, scene.seed)
        blank = torch.where(matters, 0.0, torch.nan)
        return Spread(points[index] + blank.unsqueeze(-1), values.gather(-1, index) + blank)
    return _of_list(scene, _tuples(decision, points, today, scene.seed), count)


def candidate_designs(scene: Scene, action: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Different designs to make actions of (M x d), and which of them are today's action (k)."""
    most = min(most, max(64, 1500 // action.shape[0]))  # each of k members is replaced by each of them
    listed = scene.space.points
    filling = listed if listed is not None and len(listed) <= 2 * most else scene.space.sample(most, scene.seed)
    known = scene.belief.X
    rows, where = torch.unique(torch.cat([action, known, filling.to(known)]), dim=0, return_inverse=True)
    return rows, where[: action.shape[0]]


def best_tuples(decision: Decision, points: Tensor, values: Tensor, today: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """For each function with values S x M at points M x d, the tuple with the least loss: indices S x k.

    All tuples are tried where they are few; else exchange, from today's tuple (k) and random ones. The second result
    (S x k) says which members matter: a member does not if every other candidate in its place costs the same.
    """
    S, M = values.shape
    k = today.shape[0]
    distinct = isinstance(decision.actions, Points) and decision.actions.as_set
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
        sweeps = SWEEPS if k <= FEW_MEMBERS else LESS_SWEEPS
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


def _of_list(scene: Scene, rows: Tensor, count: int) -> Spread:
    """The best of listed actions (m x k x d) for each function."""
    decision = scene.decision
    points = torch.as_tensor(decision.points(rows)).to(rows)
    values = function_values(scene.belief, points, count, scene.seed)  # S x m x K
    best = checked_loss(decision, values, rows.expand(count, *rows.shape)).argmin(-1)
    at_points = values[torch.arange(count), best]
    own = points is rows or torch.equal(points, rows)
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
