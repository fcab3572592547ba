"""Probability of misclassification: query the point whose labels are most likely to be wrong."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.baselines.checks import require_level_sets
from hentropy.bench.baselines.maximise import choose_by
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.decisions.normal import distribution
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


def misclassification(belief: Belief, x: Tensor, thresholds: tuple[float, ...]) -> Tensor:
    """min(p, 1 - p) with p = P(f > threshold), summed over thresholds, at designs b x d: b."""
    moments = belief.moments(x, Needs.VARIANCE)
    s = moments.variance.clamp_min(1e-300).sqrt()

    def wrong(threshold: float) -> Tensor:
        u = ((moments.mean - threshold) / s).clamp(-40.0, 40.0)  # H x b
        # both tails are computed: 1 - p would be zero where the label is nearly sure
        return torch.minimum(moments.expect_vector(distribution(u)), moments.expect_vector(distribution(-u)))

    return torch.stack([wrong(threshold) for threshold in thresholds]).sum(0)


@dataclass(frozen=True)
class Misclassification(Solver):
    """The point of the decision with the most probable wrong labels. For `LevelSets`.

    Queries are points of the decision (rounded where the space is), as in the paper; rows of the list on a `Pool`.
    """

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """All points are judged."""
        decision = require_level_sets(appraisal.decision, "Misclassification")
        points = appraisal.space.project(decision.settled_points)
        return choose_by(
            lambda belief, x: misclassification(belief, x, decision.thresholds), appraisal, q, cost, among=points
        )
