"""Expected improvement: the gain for the best observed design, computed by this project."""

from dataclasses import dataclass

from hentropy.baselines.by_gain import choose_for
from hentropy.decisions import BestObserved
from hentropy.gain import Appraisal
from hentropy.solvers import Cost, Finalists, Solver


@dataclass(frozen=True)
class ExpectedImprovement(Solver):
    """The proposal for `BestObserved`, whatever will be decided. With noise, means take the place of best values."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        return choose_for(BestObserved(self.largest), appraisal, q, cost)
