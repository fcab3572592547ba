"""`BestObserved`: choose among the designs that were measured; the gain is expected improvement (Proposition 3)."""

from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs
from hentropy.core.decisions.actions import ActionSpace, Listed
from hentropy.core.decisions.base import Decision, GainFormula, Sums
from hentropy.core.decisions.envelope import expected_rise
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError


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
