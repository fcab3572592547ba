"""Rules for level sets from the literature: each judges one design by its distance to a threshold.

Straddle (Bryan and others 2005), expected feasibility (Bichon and others 2008), probability of misclassification.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.baselines.maximise import choose_by, require_level_sets
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.normal import distribution
from hentropy.core.decisions.normal import excess
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver


def straddle(belief: Belief, x: Tensor, thresholds: tuple[float, ...], width: float) -> Tensor:
    """width x sd - distance of the mean to the nearest threshold, at designs b x d: b."""
    mean, variance = belief.moments(x, Needs.VARIANCE).total()
    gap = torch.stack([(mean - threshold).abs() for threshold in thresholds]).amin(0)
    return width * variance.clamp_min(1e-300).sqrt() - gap


@dataclass(frozen=True)
class Straddle(Solver):
    """The design of the whole space with the greatest `width` sd - |mean - nearest threshold|. For `LevelSets`."""

    width: float = 1.96

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Maximised over the space."""
        thresholds = require_level_sets(appraisal.decision, "Straddle").thresholds
        return choose_by(lambda belief, x: straddle(belief, x, thresholds, self.width), appraisal, q, cost)


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
