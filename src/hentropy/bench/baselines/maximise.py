"""The greatest value of a rule that judges one design at a time, over a design space."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from hentropy.bench.baselines.pending import believed, occurs
from hentropy.core.action_search import descend
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists
from hentropy.core.solvers.base import checked_cost, leading

Rule = Callable[[Belief, Tensor], Tensor]
"""The values of designs b x d under a belief: b. Greater is better."""

SCREENED = 4096
REFINED = 8
STEPS = 50

NEGLIGIBLE = 1e-4
"""An observed design with less than this share of the greatest variance is known: to observe it again tells nothing."""


def choose_by(rule: Rule, appraisal: Appraisal, q: int, cost: Cost | None, among: Tensor | None = None) -> Finalists:
    """The q designs with the greatest values, one after the other; those pending or chosen before are believed."""
    chosen = appraisal.pending[:0]
    for _ in range(q):
        waiting = torch.cat([appraisal.pending, chosen])
        turn = replace(appraisal, belief=believed(appraisal.belief, waiting), pending=waiting)
        chosen = torch.cat([chosen, _maximised(rule, turn, cost, among)])
    return Finalists(chosen.unsqueeze(0), not appraisal.clock.expired)


def _maximised(rule: Rule, appraisal: Appraisal, cost: Cost | None, among: Tensor | None) -> Tensor:
    """The best design of a list; or of the space, after screening designs that fill it and refining the best: 1 x d."""
    space, belief = appraisal.space, appraisal.belief

    def value(x: Tensor) -> Tensor:
        return _per_cost(rule(belief, x), x, cost)

    listed = among if space.points is None else space.points
    if listed is not None:
        x = listed.to(belief.X)
        return x[_open(_screened(value, x, appraisal), x, appraisal).argmax()].unsqueeze(0)
    x = space.sample(SCREENED, appraisal.seed + 1).to(belief.X)
    scores = _open(_screened(value, x, appraisal), x, appraisal)
    start = leading(x.unsqueeze(-2), scores, REFINED, appraisal, apart=0.05).squeeze(-2)
    u, _ = descend(lambda u: -value(space.from_unit(u)), space.to_unit(start), STEPS, appraisal.clock)
    both = torch.cat([start, space.project(space.from_unit(u))])
    with torch.no_grad():
        return both[_open(value(both), both, appraisal).argmax()].unsqueeze(0)


def _per_cost(values: Tensor, x: Tensor, cost: Cost | None) -> Tensor:
    """Values (b) per cost of designs (b x d); negative ones times cost, so that the dearer is always the worse."""
    if cost is None:
        return values
    costs = checked_cost(cost, x.unsqueeze(-2))
    return torch.where(values > 0, values / costs, values * costs)


@torch.no_grad()
def _screened(value: Callable[[Tensor], Tensor], x: Tensor, appraisal: Appraisal) -> Tensor:
    """The values of designs b x d, as many at a time as memory allows: b; -inf where time ran out."""
    belief = appraisal.belief
    rows = appraisal.limits.rows(8 * (belief.X.shape[0] + 1) * belief.components)
    values = x.new_full(x.shape[:1], -torch.inf)
    for start in range(0, x.shape[0], rows):
        if start > 0 and appraisal.clock.expired:
            break
        values[start : start + rows] = value(x[start : start + rows])
    return values


def _open(values: Tensor, x: Tensor, appraisal: Appraisal) -> Tensor:
    """The values (b) of designs (b x d), -inf for those pending or known already while others remain."""
    pending = occurs(x, appraisal.pending)
    observed = occurs(x, appraisal.belief.X)
    closed = pending
    if bool(observed.any()):
        variance = appraisal.belief.moments(x, Needs.VARIANCE).total()[1]
        closed = pending | (observed & (variance <= NEGLIGIBLE * variance.max()))
    for left_out in (closed, pending):
        if not bool(left_out.all()):
            return values.masked_fill(left_out, -torch.inf)
    return values
