"""Knowledge gradient: the gain for the best design, computed by this project."""

from dataclasses import dataclass

from hentropy.bench.baselines.by_gain import choose_for
from hentropy.core.decisions import Maximize, Minimize
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class KnowledgeGradient(Solver):
    """The proposal for `Maximize` (`Minimize` with largest=False), whatever will be decided."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        return choose_for(Maximize() if self.largest else Minimize(), appraisal, q, cost)
