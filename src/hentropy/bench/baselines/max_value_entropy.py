"""Max-value entropy search: the information about how great f gets, computed by this project."""

from dataclasses import dataclass, replace

from hentropy.bench.baselines.by_gain import choose_for
from hentropy.core.beliefs import Belief, Gaussian
from hentropy.core.decisions import Identify
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver
from hentropy.errors import ModelError


@dataclass(frozen=True)
class MaxValueEntropySearch(Solver):
    """The proposal for `Identify("max")`; with largest=False for the least value, about minus f."""

    largest: bool = True

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As `Auto` finds it."""
        if not self.largest:
            appraisal = replace(appraisal, belief=mirrored(appraisal.belief))
        return choose_for(Identify("max"), appraisal, q, cost)


def mirrored(belief: Belief) -> Gaussian:
    """The belief about minus f."""
    if not isinstance(belief, Gaussian):
        raise ModelError(
            f"MaxValueEntropySearch(largest=False) turns the belief upside down, which a {type(belief).__name__} cannot"
            " be; fit a Gaussian process with he.fit"
        )
    mean, frame = belief.prior_mean, belief.frame
    return replace(
        belief,
        prior_mean=lambda inputs: -mean(inputs),
        frame=replace(frame, shift=-frame.shift),
        residual=-belief.residual,
        alpha=-belief.alpha,
    )
