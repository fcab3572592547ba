r"""Expected feasibility (Bichon and others 2008): how much of a value's distribution lies close to a threshold.

With t = f - c, standard deviation s and a band of half width e = 2 s around the threshold,

    EF = E max(0, e - |t|) = E max(0, t + e) - 2 E max(0, t) + E max(0, t - e)

and each term is s phi(u/s) - u Phi(-u/s) with u = -e - E t, -E t, e - E t. The sign of E t does not matter; written
with its absolute value, no large numbers cancel where the threshold is far away.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.baselines.checks import require_level_sets
from hentropy.bench.baselines.maximise import choose_by
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.decisions.normal import excess
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


def feasibility(belief: Belief, x: Tensor, thresholds: tuple[float, ...], band: float) -> Tensor:
    """The expected feasibility of designs b x d, summed over thresholds: b.

    The half width of the band is `band` standard deviations (of a mixture, over all components together).
    """
    moments = belief.moments(x, Needs.VARIANCE)
    s = moments.variance.clamp_min(1e-300).sqrt()
    e = band * moments.total()[1].clamp_min(1e-300).sqrt()

    def one(threshold: float) -> Tensor:
        u = (moments.mean - threshold).abs()  # H x b
        return moments.expect_vector(excess(u - e, s) - 2.0 * excess(u, s) + excess(u + e, s))

    return torch.stack([one(threshold) for threshold in thresholds]).sum(0)


@dataclass(frozen=True)
class ExpectedFeasibility(Solver):
    """The design of the whole space with the greatest expected feasibility. For `LevelSets`."""

    band: float = 2.0

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Maximised over the space."""
        thresholds = require_level_sets(appraisal.decision, "ExpectedFeasibility").thresholds
        return choose_by(lambda belief, x: feasibility(belief, x, thresholds, self.band), appraisal, q, cost)
