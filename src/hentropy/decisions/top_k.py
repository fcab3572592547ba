"""`TopK`: choose k good designs that differ from each other."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hentropy.beliefs import Moments, Needs
from hentropy.decisions.actions import Points
from hentropy.decisions.base import Decision
from hentropy.decisions.distances import Distance, between, distance_function
from hentropy.errors import InputError


class TopK(Decision):
    """k designs with great values, apart from each other.

    loss = -sum f(a_i) - weight x mean over pairs of min(distance(a_i, a_j), cap), distances in the designs' own units.
    `distance` is "l1", "l2" or a function of two tensors (... x d) that returns ... . With largest=False, small values
    are wanted and the first sum is counted with a plus.
    """

    needs = Needs.MEAN

    def __init__(
        self,
        k: int,
        weight: float = 1.0,
        cap: float | None = None,
        distance: Distance = "l1",
        largest: bool = True,
    ) -> None:
        self.actions = Points(k, as_set=True)
        if not (math.isfinite(weight) and weight >= 0):
            raise InputError(f"the weight of the distances must be finite and not negative, got {weight}")
        if cap is not None and not cap > 0:
            raise InputError(f"the cap on distances must be above 0, got {cap}; leave it out for no cap")
        self.k = k
        self.weight = float(weight)
        self.cap = cap
        self.distance = distance
        self.largest = largest
        self._between: Callable[[Tensor, Tensor], Tensor] = distance_function(distance)
        self._others = 1.0 - torch.eye(k, dtype=torch.float64)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-sum f(a_i) less the reward for distance."""
        total = f.sum(-1)
        return (-total if self.largest else total) - self._reward(a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Affine in f: the means take the place of the values."""
        return self.loss(moments.mean, a)

    def _reward(self, a: Tensor) -> Tensor | float:
        if self.k == 1 or self.weight == 0:
            return 0.0
        # all k x k pairs, the k pairs of a point with itself at distance zero: cheaper than picking k (k - 1) / 2 of them
        apart = between(self._between, *torch.broadcast_tensors(a.unsqueeze(-2), a.unsqueeze(-3)))
        if self.cap is not None:
            apart = apart.clamp_max(self.cap)
        if callable(self.distance):
            apart = apart * self._others.to(a)
        return apart.sum((-1, -2)) * (self.weight / (self.k * (self.k - 1)))
