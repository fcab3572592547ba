"""Decisions about one design, and the classic rules that their gains are.

`Maximize`, `Minimize`: any design, by its value; the knowledge gradient (Proposition 2). `BestObserved`: one of those
that were measured; expected improvement (Proposition 3). `Improve`: the last one measured, which counts if it passes a
threshold; the probability of improvement (Proposition 4).
"""

from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs
from hentropy.core.decisions.actions import ActionSpace, Listed, Points
from hentropy.core.decisions.base import Decision, GainFormula, Sums
from hentropy.core.decisions.normal import distribution, expected_rise
from hentropy.core.given import is_finite
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, InputError


class Maximize(Decision):
    """The design with the greatest value: loss -f(a)."""

    actions = Points(1, as_set=True)
    needs = Needs.MEAN

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-f(a)."""
        return -f[..., 0]

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Minus the mean."""
        return -moments.mean[..., 0]

    def sums(self) -> Sums:
        """One value."""
        return Sums((-1.0,))


class Minimize(Decision):
    """The design with the least value: loss f(a)."""

    actions = Points(1, as_set=True)
    needs = Needs.MEAN

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """f(a)."""
        return f[..., 0]

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The mean."""
        return moments.mean[..., 0]

    def sums(self) -> Sums:
        """One value."""
        return Sums((1.0,))


class BestObserved(Decision):
    """The best of the designs observed so far (the least value with largest=False): loss -f(a)."""

    actions = Listed(torch.zeros(1, 1, 1, dtype=torch.float64))
    needs = Needs.MEAN
    follows_data = True

    def __init__(self, largest: bool = True) -> None:
        self.largest = largest

    @property
    def sign(self) -> float:
        """The loss is so many times f(a)."""
        return -1.0 if self.largest else 1.0

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-f(a), or f(a)."""
        return self.sign * f[..., 0]

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Minus the mean, or the mean."""
        return self.sign * moments.mean[..., 0]

    def sums(self) -> Sums:
        """One value."""
        return Sums((-1.0 if self.largest else 1.0,))

    def actions_given(self, observed: Tensor) -> ActionSpace:
        """The observed designs, one at a time."""
        if observed.shape[0] == 0:
            raise DecisionError("nothing has been observed yet, so there is no best observed design; observe one first")
        return Listed(observed.unsqueeze(-2))

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """Exact for one more observation of one GP: means at the data and at x are lines in its outcome.

        E max over data and x, less the best mean at the data: without noise the formula of expected improvement.
        """
        if not isinstance(belief, Gaussian) or belief.components > 1 or belief.X.shape[0] == 0:
            return None
        sign = -self.sign
        data = sign * belief.moments(belief.X, Needs.MEAN).mean[0]
        best = data.max()

        def gain(x: Tensor) -> Tensor:
            look = belief.look_ahead(x)
            own = sign * belief.moments(x, Needs.MEAN).mean[0]  # b x 1
            lines = torch.cat([data.expand(x.shape[0], -1), own], -1)
            slopes = sign * torch.cat([look.whitened_cross(belief.X)[0], look.whitened_own_cross(x)[0]], -2).squeeze(-1)
            return lines.max(-1).values - best + expected_rise(lines, slopes)

        return GainFormula(gain, max_q=1, numbers=8 * belief.X.shape[0])


class Improve(Decision):
    """The last design observed: loss -1[f(a) > threshold] (below it with above=False).

    A new observation replaces the only action instead of adding one, so the gain is counted from having claimed nothing
    (loss 0): it is the probability of improvement itself, never negative.
    """

    actions = Listed(torch.zeros(1, 1, 1, dtype=torch.float64))
    needs = Needs.VARIANCE
    follows_data = True

    def __init__(self, threshold: float, above: bool = True) -> None:
        if not is_finite(threshold):
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
