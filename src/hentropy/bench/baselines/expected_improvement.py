"""Expected improvement: the gain for the best observed design, computed by this project."""

from dataclasses import dataclass

from hentropy.bench.baselines.by_gain import choose_for
from hentropy.core.decisions import BestObserved
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class ExpectedImprovement(Solver):
    """The proposal for `BestObserved`, whatever will be decided. With noise, means take the place of best values."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        return choose_for(BestObserved(self.largest), appraisal, q, cost)
