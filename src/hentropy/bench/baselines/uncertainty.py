"""Uncertainty sampling: query where the least is known, whatever will be decided."""

from dataclasses import dataclass

from torch import Tensor

from hentropy.bench.baselines.maximise import choose_by
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


def variance(belief: Belief, x: Tensor) -> Tensor:
    """The variance of f at designs b x d, of a mixture that of all components together: b."""
    return belief.moments(x, Needs.VARIANCE).total()[1]


@dataclass(frozen=True)
class UncertaintySampling(Solver):
    """The design with the greatest variance."""

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Maximised over the space."""
        return choose_by(variance, appraisal, q, cost)
