"""`Improve`: the last design measured is used, and counts if it passes a threshold (Proposition 4)."""

import math
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.decisions.actions import ActionSpace, Listed
from hentropy.core.decisions.base import Decision, GainFormula
from hentropy.core.decisions.normal import distribution
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, InputError


class Improve(Decision):
    """The last design observed: loss -1[f(a) > threshold] (below it with above=False).

    A new observation replaces the only action instead of adding one, so the gain is counted from having claimed nothing
    (loss 0): it is the probability of improvement itself, never negative.
    """

    actions = Listed(torch.zeros(1, 1, 1, dtype=torch.float64))
    needs = Needs.VARIANCE
    follows_data = True

    def __init__(self, threshold: float, above: bool = True) -> None:
        if not math.isfinite(threshold):
            raise InputError(f"the threshold must be a finite number, got {threshold}")
        self.threshold = float(threshold)
        self.above = above

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-1 where the value passes the threshold, else 0."""
        passes = f[..., 0] > self.threshold if self.above else f[..., 0] < self.threshold
        return -passes.to(f)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Minus the probability of passing."""
        return -self._passing(moments.mean[..., 0], moments.variance[..., 0])

    def _passing(self, mean: Tensor, var: Tensor) -> Tensor:
        margin = mean - self.threshold if self.above else self.threshold - mean
        certain = var <= 0
        u = margin / torch.where(certain, 1.0, var).sqrt()
        return torch.where(certain, (margin > 0).to(mean), distribution(u))

    def actions_given(self, observed: Tensor) -> ActionSpace:
        """The last observed design."""
        if observed.shape[0] == 0:
            raise DecisionError("nothing has been observed yet, so there is no last design; observe one first")
        return Listed(observed[-1:].unsqueeze(-2))

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """The probability of improvement at the last of the q designs: by the law of total probability, any belief."""

        def gain(x: Tensor) -> Tensor:
            moments = belief.moments(x[:, -1:], Needs.VARIANCE)
            return moments.expect(self._passing(moments.mean[..., 0], moments.variance[..., 0]))

        return GainFormula(gain, cumulative=False)
