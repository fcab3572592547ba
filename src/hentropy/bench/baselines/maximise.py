"""What rules that look at a belief share: the greatest value of a rule over a space, pending designs, and checks.

A rule judges one design at a time. Designs whose outcomes are still to come are taken as observed at their mean. What a
rule asks of the problem it is used on is checked, with an error that says what to change.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from hentropy.core.action_search import descend
from hentropy.core.beliefs import Belief, Gaussian, Needs
from hentropy.core.decisions import Decision, LevelSets
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists
from hentropy.core.solvers.base import CostModel, checked_cost, leading
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError, ModelError


def require_level_sets(decision: Decision, who: str) -> LevelSets:
    """The decision, if it is about level sets."""
    if not isinstance(decision, LevelSets):
        raise InputError(f"{who} chooses queries for LevelSets, and the decision is {decision!r}; use it with those")
    return decision


def require_one_gp(belief: Belief, who: str) -> Gaussian:
    """The belief, if it is one Gaussian process."""
    gp: Gaussian | None = belief.single_gp
    if gp is None:
        what = f"a {type(belief).__name__}" if belief.process is not belief else f"{belief.components} of them"
        raise ModelError(
            f"{who} works with one Gaussian process and the belief is {what}; fit it with hyperparameters='map'"
            " (an option of he.fit and he.Study)"
        )
    return gp


def require_continuous(space: DesignSpace, who: str) -> None:
    """That designs are not from a list."""
    if space.points is not None:
        raise InputError(f"{who} moves designs continuously and {space!r} is a list; take a Space, or another baseline")


def require_no_cost(cost: Cost | None, who: str) -> None:
    """That designs cost the same."""
    if cost is not None:
        raise InputError(
            f"{who} does not support costs, including the one that a study adds once a trial has failed; leave the cost"
            " out, or use a baseline that supports it, such as KnowledgeGradient()"
        )


def believed(belief: Belief, waiting: Tensor) -> Belief:
    """The belief as if pending designs (p x d) had been observed with the values expected there.

    It knows less where nobody looks and more where somebody does: for one GP the means stay and the variances are
    those to come, which do not depend on the outcomes.
    """
    if not len(waiting):
        return belief
    return belief.condition(waiting, belief.means(waiting).mean[0])


def expected_belief(appraisal: Appraisal) -> Belief:
    """The belief of an appraisal, pending designs believed."""
    return believed(appraisal.belief, appraisal.pending)


def occurs(x: Tensor, rows: Tensor) -> Tensor:
    """Which designs (b x d) are among rows (m x d), exactly: b."""
    return (x.unsqueeze(1) == rows).all(-1).any(-1)


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
    u, _ = descend(lambda u: -value(space.from_cube(u)), space.to_cube(start), STEPS, appraisal.clock)
    both = torch.cat([start, space.project(space.from_cube(u))])
    with torch.no_grad():
        return both[_open(value(both), both, appraisal).argmax()].unsqueeze(0)


def _per_cost(values: Tensor, x: Tensor, cost: Cost | None) -> Tensor:
    """Values (b) per cost of designs (b x d); negative ones times cost, so that the dearer is always the worse."""
    if cost is None:
        return values
    if isinstance(cost, CostModel):
        return cost.score(values, x.unsqueeze(-2))
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
