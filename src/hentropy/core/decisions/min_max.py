"""`MinMax`: find where the function is least and where it is greatest."""

from typing import Any

from torch import Tensor

from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, Sums
from hentropy.core.spaces import DesignSpace


class MinMax(Decision):
    """The pair (least, greatest): loss f(a_1) - f(a_2)."""

    actions = Points(2)
    needs = Needs.MEAN

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """f(a_1) - f(a_2)."""
        return f[..., 0] - f[..., 1]

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The difference of the means."""
        return moments.mean[..., 0] - moments.mean[..., 1]

    def sums(self) -> Sums:
        """One value counts for the loss, the other against it."""
        return Sums((1.0, -1.0))

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """The two designs, named."""
        names = ("least", "greatest")
        return [{"where f is": name, **row} for name, row in zip(names, super().describe(a, space), strict=True)]
