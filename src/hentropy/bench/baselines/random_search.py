"""Random search: a query that depends on nothing."""

from dataclasses import dataclass

import torch

from hentropy.bench.baselines.pending import occurs
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class RandomSearch(Solver):
    """Uniform over the space (logarithmic parameters over their ratios); of a `Pool`, rows not seen while there are.

    Costs do not matter.
    """

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """q designs at random."""
        space, like = appraisal.space, appraisal.belief.X
        if space.points is None:
            return Finalists(space.sample(q, appraisal.seed).to(like).unsqueeze(0), complete=True)
        rows = space.points.to(like)
        order = torch.randperm(rows.shape[0], generator=torch.Generator().manual_seed(appraisal.seed))
        rows = rows[order.to(like.device)]
        # a stable sort keeps the random order: rows that are neither seen nor pending first, pending ones last
        late = occurs(rows, like).long() + 2 * occurs(rows, appraisal.pending).long()
        return Finalists(rows[late.argsort(stable=True)][:q].unsqueeze(0), complete=True)
