"""Auto, the default: screen many designs, refine the best few by a short ascent, leave the choice to the audit."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.gain import Appraisal
from hentropy.inner import ContinuousSearch
from hentropy.solvers.base import Cost, Finalists, Solver
from hentropy.solvers.finite import Finite
from hentropy.solvers.nested import ascend_nested
from hentropy.solvers.one_shot import ascend_together
from hentropy.solvers.screening import local_search, screen


@dataclass(frozen=True)
class Auto(Solver):
    """Sizes are per proposal; the defaults were chosen by audited gain against time (docs/design.md)."""

    screened: int = 192
    outcomes: int = 8
    refined: int = 5
    steps: int = 10
    finalists: int = 2

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """One design after the other, each knowing the ones before; then all of them together."""
        if appraisal.space.points is not None:
            return Finite().search(appraisal, q, cost)
        chosen: list[Tensor] = []
        finalists = appraisal.belief.X[:0].unsqueeze(0)
        for turn in range(q):
            known = replace(appraisal, pending=torch.cat([appraisal.pending, *chosen]))
            found = self._one(known, cost)
            before = torch.cat(chosen) if chosen else appraisal.pending[:0]
            finalists = torch.cat([before.expand(found.shape[0], *before.shape), found], -2)
            if turn < q - 1:
                chosen.append(found[0])
        if q > 1 and not appraisal.clock.expired:
            finalists = torch.cat([self._refine(appraisal, finalists, cost), finalists])
        return Finalists(finalists, not appraisal.clock.expired)

    def _one(self, appraisal: Appraisal, cost: Cost | None) -> Tensor:
        """The best single designs: F x 1 x d."""
        start = screen(appraisal, cost, self.screened, self.outcomes, self.refined)
        if appraisal.clock.expired:
            return start[: self.finalists]
        refined = self._refine(appraisal, start, cost)
        return torch.cat([refined[: self.finalists], start[:1]])

    def _refine(self, appraisal: Appraisal, start: Tensor, cost: Cost | None) -> Tensor:
        """Designs R x q x d ascended, the best first."""
        q = start.shape[-2]
        formula = appraisal.applicable(q)
        if formula is not None and not formula.differentiable:
            return local_search(appraisal, start, cost, self.outcomes) if q == 1 else start
        nodes = appraisal.nodes(self.outcomes, q)
        if formula is None and isinstance(appraisal.search, ContinuousSearch):
            with torch.no_grad():
                together = appraisal.together(start)
                first = appraisal.search.pick(appraisal.belief.look_ahead(together).fantasy(nodes), together)
            designs, gains = ascend_together(appraisal, start, first.actions, nodes, self.steps, cost)
        else:
            designs, gains = ascend_nested(appraisal, start, nodes, self.steps, 0, cost)
        return appraisal.space.project(designs[gains.argsort(descending=True)])
