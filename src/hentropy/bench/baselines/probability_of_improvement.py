"""Probability of improvement: the gain for passing the best value so far, computed by this project."""

from dataclasses import dataclass

from torch import Tensor

from hentropy.bench.baselines.incumbent import incumbent
from hentropy.bench.baselines.maximise import choose_by
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.decisions import Improve
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


def passing(belief: Belief, x: Tensor, largest: bool) -> Tensor:
    """The probability that f passes the best mean at an observed design, at designs b x d: b."""
    decision = Improve(incumbent(belief, largest), above=largest)
    moments = belief.moments(x.unsqueeze(-2), Needs.VARIANCE)
    return -moments.expect(decision.expected_loss(moments, x.unsqueeze(-2), x[:0, 0]))


@dataclass(frozen=True)
class ProbabilityOfImprovement(Solver):
    """The design that is most likely to pass the best one so far (`Improve`), by however little."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Maximised over the space."""
        return choose_by(lambda belief, x: passing(belief, x, self.largest), appraisal, q, cost)
