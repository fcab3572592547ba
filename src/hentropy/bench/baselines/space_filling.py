"""Rules that look at no decision: random search, and uncertainty sampling where the least is known."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.baselines.maximise import choose_by, occurs
from hentropy.core.beliefs import Belief, Needs
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


def variance(belief: Belief, x: Tensor) -> Tensor:
    """The variance of f at designs b x d, of a mixture that of all components together: b."""
    return belief.moments(x, Needs.VARIANCE).total()[1]


@dataclass(frozen=True)
class UncertaintySampling(Solver):
    """The design with the greatest variance."""

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Maximised over the space."""
        return choose_by(variance, appraisal, q, cost)
