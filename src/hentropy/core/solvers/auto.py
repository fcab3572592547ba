"""Auto, the default: screen many designs, refine the best few by a short ascent, leave the choice to the audit."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.core.action_search import ContinuousSearch
from hentropy.core.beliefs import Needs
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.base import Cost, Finalists, Solver
from hentropy.core.solvers.finite import Finite
from hentropy.core.solvers.nested import ascend_nested
from hentropy.core.solvers.one_shot import ascend_together
from hentropy.core.solvers.screening import local_search, screen


@dataclass(frozen=True)
class Auto(Solver):
    """Sizes were chosen by audited gain against time.

    `screened` (1 + d) designs are looked at; the best `refined` ascend for half of `steps` + d steps with a few typical
    components of a mixture, then the best `polished` of them for the other half with all. `outcomes` are of one GP;
    under a mixture `mixture_outcomes` take their place.
    """

    screened: int = 96
    outcomes: int = 12
    mixture_outcomes: int = 16
    refined: int = 6
    polished: int = 3
    steps: int = 8
    finalists: int = 3

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """One design after the other, each knowing the ones before; then all of them together."""
        if appraisal.space.points is not None:
            return Finite().search(appraisal, q, cost)
        chosen = appraisal.pending[:0]
        for _ in range(q - 1):
            one = self._one(replace(appraisal, pending=torch.cat([appraisal.pending, chosen])), cost)
            chosen = torch.cat([chosen, one.x[0]])
        last = self._one(replace(appraisal, pending=torch.cat([appraisal.pending, chosen])), cost)
        if q == 1 or appraisal.clock.expired:
            return replace(last, x=torch.cat([chosen.expand(last.x.shape[0], *chosen.shape), last.x], -2))
        sets = torch.cat([chosen.expand(last.x.shape[0], *chosen.shape), last.x], -2)
        joint = self._refine(appraisal, sets, cost)
        return replace(joint, x=torch.cat([joint.x, sets]))

    def _outcomes(self, appraisal: Appraisal) -> int:
        return self.outcomes if appraisal.belief.components == 1 else self.mixture_outcomes

    def _one(self, appraisal: Appraisal, cost: Cost | None) -> Finalists:
        """The best single designs: F x 1 x d."""
        # losses that look at values jointly cost more: half of the designs, with half of the outcomes
        fewer = 2 if appraisal.decision.needs is Needs.JOINT and appraisal.formula is None else 1
        designs = self.screened * (1 + appraisal.space.dim) // fewer
        start = screen(appraisal, cost, designs, self._outcomes(appraisal) // fewer, self.refined)
        if appraisal.clock.expired:
            return Finalists(start[: self.finalists], complete=False)
        refined = self._refine(appraisal, start, cost)
        return replace(refined, x=torch.cat([refined.x[: self.finalists], start[:1]]))

    def _refine(self, appraisal: Appraisal, start: Tensor, cost: Cost | None) -> Finalists:
        """Designs R x q x d ascended, the best first."""
        q, actions = start.shape[-2], None
        steps = self.steps + appraisal.space.dim
        formula = appraisal.applicable(q)
        if formula is not None and not formula.differentiable:
            few = start[: self.polished]
            designs = local_search(appraisal, few, cost, self._outcomes(appraisal)) if q == 1 else start
            return Finalists(designs, not appraisal.clock.expired)
        nodes = appraisal.nodes(self._outcomes(appraisal), q)
        if formula is None and isinstance(appraisal.search, ContinuousSearch):
            with torch.no_grad():
                together = appraisal.together(start)
                found = appraisal.search.pick(appraisal.belief.look_ahead(together).fantasy(nodes), together)
            quick = replace(appraisal, belief=appraisal.belief.typical())
            designs, actions, _ = ascend_together(quick, start, found.actions, nodes, steps // 2, cost)
            _, _, gains = ascend_together(appraisal, designs, actions, nodes, 0, cost)
            best = gains.argsort(descending=True)[: self.polished]
            designs, actions, gains = ascend_together(appraisal, designs[best], actions[best], nodes, steps // 2, cost)
        else:
            designs, gains = ascend_nested(appraisal, start, nodes, steps, 0, cost)
        best_first = appraisal.space.project(designs[gains.argsort(descending=True)])
        return Finalists(best_first, not appraisal.clock.expired, actions)
