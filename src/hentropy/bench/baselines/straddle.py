"""Straddle (Bryan and others 2005): designs that are uncertain and near a threshold."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.bench.baselines.checks import require_level_sets
from hentropy.bench.baselines.maximise import choose_by
from hentropy.core.beliefs import Belief, Needs
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
