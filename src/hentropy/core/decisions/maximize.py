"""`Maximize`, `Minimize`: choose one design by its value; the gain is the knowledge gradient (Proposition 2)."""

from typing import Any

from torch import Tensor

from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, Sums


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
