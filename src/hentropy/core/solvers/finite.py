"""Finite: designs from a list, valued in order of promise."""

from dataclasses import dataclass, replace

from hentropy.core.action_search import ContinuousSearch
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.survey import SURVEY_SHARE, survey
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.base import Cost, Finalists, Solver, knowing, leading, per_cost
from hentropy.core.spaces.rows import RowIndex
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

SCREEN_SHARE = 0.7
"""The part of a time limit after which no further design is valued: the audit needs the rest."""


@dataclass(frozen=True)
class Finite(Solver):
    """Evaluates the most promising designs of the list (all, where there is no ranking) and audits the best few.

    Several designs are chosen one at a time, each conditioned on the ones before. `joint_outcomes` take the place of
    `outcomes` where each design has several.
    """

    outcomes: int = 16
    joint_outcomes: int = 24
    finalists: int = 4
    valued: int = 512

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The designs with the largest gain, without pending or already chosen ones while others remain."""
        if appraisal.space.points is None:
            raise InputError("the finite search needs a list of designs: make the space a Pool, or use Auto()")
        if q < 1:
            raise InputError(f"at least one design must be proposed, got q = {q}")
        points = appraisal.space.points.to(appraisal.belief.X)
        chosen, valued, looked = points[:0], len(points), len(points)
        for turn in range(q):
            known = replace(appraisal, pending=torch.cat([appraisal.pending, chosen]))
            counted = knowing(cost, known)
            x, missed = self._in_order(known, _unused(points, _taken(known)), counted)
            x = self._worth_valuing(known, x, counted)
            scores = self._scores(known, x, counted)
            best = leading(x, scores, self.finalists if turn == q - 1 else 1, appraisal, apart=0.0)
            looked = min(looked, len(points) - missed)
            if bool((scores == -torch.inf).any()):
                valued = min(valued, int((scores > -torch.inf).sum()))
            if turn < q - 1:
                chosen = torch.cat([chosen, best[0]])
        sets = torch.cat([chosen.expand(best.shape[0], *chosen.shape), best], -2)
        # without a limit nothing was cut short: rows that may not be decided on promise nothing, and are left out
        clock = appraisal.clock
        complete = not clock.limited or (min(looked, valued) == len(points) and not clock.expired)
        few = min(valued, len(x))
        note = f"{looked:,} of {len(points):,} designs were looked at and the {few:,} most promising of them valued"
        return Finalists(sets, complete, note="" if complete else note)

    def _worth_valuing(self, appraisal: Appraisal, x: Tensor, cost: Cost | None) -> Tensor:
        """Of many designs (b x 1 x d) those whose gain is largest with half of the outcomes and few components."""
        many = len(x) > self.valued and isinstance(appraisal.search, ContinuousSearch) and appraisal.formula is None
        if not many or appraisal.clock.limited:
            return x
        rough = replace(appraisal, belief=appraisal.belief.typical())
        scores = per_cost(rough.screen(x, rough.nodes(self._outcomes(appraisal) // 2, 1)), x, cost)
        return x[scores.argsort(descending=True)[: max(self.valued // 4, len(x) // 8)]]

    def _outcomes(self, appraisal: Appraisal) -> int:
        return self.outcomes if len(appraisal.belief.measured) == 1 else self.joint_outcomes

    def _scores(self, appraisal: Appraisal, x: Tensor, cost: Cost | None) -> Tensor:
        """Quick gains per cost of designs b x 1 x d: b, -inf where time ran out."""
        # exact formulas of long lists pass over all rows; here the promising ones do
        formula = None if isinstance(appraisal.search, FiniteSearch) else appraisal.formula
        quick = replace(appraisal, clock=appraisal.clock.share(SCREEN_SHARE), formula=formula)
        return per_cost(quick.screen(x, quick.nodes(self._outcomes(appraisal), 1)), x, cost)

    def _in_order(self, appraisal: Appraisal, points: Tensor, cost: Cost | None) -> tuple[Tensor, int]:
        """The designs worth valuing, the most promising first (b x 1 x d), and how many time left no look at."""
        promise, count = appraisal.search.promise(points, appraisal.pending), self.valued
        if (
            promise is not None
            and appraisal.decide_on is not appraisal.space
            and not bool((promise > -torch.inf).any())
        ):
            promise = None  # none of the rows may be decided on, so their own values promise nothing
        if promise is None:
            if not appraisal.clock.limited:
                return points.unsqueeze(-2), 0
            _, sd, _, looked = survey(appraisal.belief, points, appraisal.clock.share(SURVEY_SHARE))
            promise, count = torch.full((len(points),), -torch.inf).to(sd), len(points)
            promise[looked] = _spread_of_all(sd)
        seen = promise > -torch.inf
        order = per_cost(promise, points.unsqueeze(-2), cost).topk(min(count, max(1, int(seen.sum())))).indices
        return points[order].unsqueeze(-2), int((~seen).sum())


def _spread_of_all(sd: Tensor) -> Tensor:
    """How little is known of designs, from the standard deviations of their outcomes (m, or m x o of several): m."""
    return sd if sd.dim() == 1 else (sd / sd.amax(0).clamp_min(1e-300)).sum(-1)


def _taken(appraisal: Appraisal) -> Tensor:
    """The pending designs of which nothing else would be measured: p x d."""
    belief, pending = appraisal.belief, appraisal.pending
    missing = [j for j, names in enumerate(belief.awaited) if not set(belief.measured) <= names]
    return pending[[j for j in range(len(pending)) if j not in missing]]


def _unused(points: Tensor, taken: Tensor) -> Tensor:
    if len(taken) == 0:
        return points
    free = ~RowIndex(points).equal_to_any(taken)
    return points[free] if bool(free.any()) else points
