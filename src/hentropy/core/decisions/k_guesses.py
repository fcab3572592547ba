"""`KGuesses`: hand in k designs, only the best of them counts."""

from typing import Any

from torch import Tensor

from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, monte_carlo_loss
from hentropy.core.decisions.normal import maximum_of_two


class KGuesses(Decision):
    """k designs of which the best counts: loss -max f(a_i) (min f(a_i) with largest=False)."""

    def __init__(self, k: int, largest: bool = True) -> None:
        self.actions = Points(k, as_set=True)
        self.k = k
        self.largest = largest
        self.needs = Needs.MEAN if k == 1 else Needs.JOINT

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-max f(a_i), or min f(a_i)."""
        return -f.amax(-1) if self.largest else f.amin(-1)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The mean for k = 1, Clark's formula for k = 2, base samples beyond."""
        sign = 1.0 if self.largest else -1.0
        if self.k == 1:
            return -sign * moments.mean[..., 0]
        if self.k == 2:
            return -maximum_of_two(sign * moments.mean, moments.covariance)
        return monte_carlo_loss(self, moments, a, draws)
