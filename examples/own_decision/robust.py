"""A custom decision: a setting that is used with an error, so that the worse side counts."""

from collections.abc import Sequence

import torch
from torch import Tensor

import hentropy as he


class Robust(he.Decision):
    """The setting with the highest value at the worst of setting - spread, setting and setting + spread."""

    actions = he.Points(1)

    def __init__(self, spread: Sequence[float]) -> None:
        """`spread` is the error of each parameter, in their order."""
        self.spread = list(spread)

    def points(self, a: Tensor) -> Tensor:
        """Where the outcome counts: ... x 1 x d to ... x 3 x d."""
        spread = torch.tensor(self.spread, dtype=a.dtype)
        return torch.cat([a - spread, a, a + spread], -2)

    def loss(self, f: Tensor, a: Tensor) -> Tensor:
        """The worst of the three values, ... x 3 to ...; losses are minimised."""
        return -f.min(-1).values
