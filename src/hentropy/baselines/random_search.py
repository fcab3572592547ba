"""Random search: a query that depends on nothing."""

from dataclasses import dataclass

import torch

from hentropy.gain import Appraisal
from hentropy.solvers import Cost, Finalists, Solver


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
        seen, waiting = ((rows.unsqueeze(1) == some).all(-1).any(-1) for some in (like, appraisal.pending))
        order = torch.randperm(rows.shape[0], generator=torch.Generator().manual_seed(appraisal.seed))
        # stable: rows that are neither seen nor pending first, pending ones last, each in random order
        last = (seen.long() + 2 * waiting.long())[order.to(like.device)].argsort(stable=True)
        chosen = rows[order.to(like.device)][last][:q]
        return Finalists(chosen.unsqueeze(0), complete=True)
