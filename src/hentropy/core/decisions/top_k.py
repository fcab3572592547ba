"""`TopK`: choose k good designs that differ from each other."""

import math
from copy import copy
from typing import Any

from torch import Tensor

from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, Sums
from hentropy.core.decisions.distances import Distance, all_pairs, between
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, InputError

UNEVEN = 10.0
"""A range that is so many times as narrow as the widest hardly counts for distances in own units."""


class TopK(Decision):
    """k high-scoring, diverse designs.

    loss = -sum f(a_i) - weight x mean over pairs of min(distance(a_i, a_j), cap). Distances are in the designs' own
    units; with `scaled`, in units of the ranges: every parameter runs from 0 to 1, a logarithmic one by its logarithm,
    and weight and cap count in those units. `distance` is "l1", "l2" or a function of two tensors (... x d) that
    returns ... . With largest=False, small values are wanted and the first sum is counted with a plus.
    """

    needs = Needs.MEAN

    def __init__(
        self,
        k: int,
        weight: float = 1.0,
        cap: float | None = None,
        distance: Distance = "l1",
        largest: bool = True,
        scaled: bool = False,
    ) -> None:
        self.actions = Points(k, as_set=True)
        if not (math.isfinite(weight) and weight >= 0):
            raise InputError(f"the weight of the distances must be finite and not negative, got {weight}")
        if cap is not None and not cap > 0:
            raise InputError(f"the cap on distances must be above 0, got {cap}; leave it out for no cap")
        self.k = k
        self.weight = float(weight)
        self.cap = cap
        if distance not in ("l1", "l2") and not callable(distance):
            raise InputError(f'the distance {distance!r} is not known; use "l1", "l2" or a function of two tensors')
        self.distance = distance
        self.largest = largest
        self.scaled = scaled
        self._space: DesignSpace | None = None

    def within(self, space: DesignSpace) -> "TopK":
        """The same decision, with the ranges that scaled distances need."""
        super().within(space)
        if not self.scaled:
            return self
        settled = copy(self)
        settled._space = space
        return settled

    def notes(self, space: DesignSpace) -> tuple[str, ...]:
        """That some parameters hardly count for distances in own units, because their ranges are so narrow."""
        if self.scaled or self.k == 1 or self.weight == 0 or callable(self.distance):
            return ()
        low, high = space.bounds.tolist()
        ranges = {name: (lo, hi) for name, lo, hi in zip(space.names, low, high, strict=True) if hi > lo}
        widest = max((hi - lo for lo, hi in ranges.values()), default=0.0)
        narrow = [name for name, (lo, hi) in ranges.items() if UNEVEN * (hi - lo) < widest]
        if not narrow:
            return ()
        shown = {name: f"{name} ({lo:g} to {hi:g})" for name, (lo, hi) in ranges.items()}
        beside = ", ".join(text for name, text in shown.items() if name not in narrow)
        count = "counts" if len(narrow) == 1 else "count"
        return (
            f"Distances between designs are in the parameters' own units: {', '.join(shown[name] for name in narrow)}"
            f" hardly {count} beside {beside}. With scaled = true every range counts as 1; weight and cap are then in"
            " those units.",
        )

    def coordinates(self, a: Tensor) -> Tensor:
        """Designs (... x d) in the units in which distances are taken: ... x d."""
        if not self.scaled:
            return a
        if self._space is None:
            raise DecisionError("TopK(scaled=True) does not know the ranges yet; take its within(space)")
        return self._space.to_unit(a)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-sum f(a_i) less the reward for distance."""
        total = f.sum(-1)
        return (-total if self.largest else total) - self._reward(a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Affine in f: the means take the place of the values."""
        return self.loss(moments.mean, a)

    def sums(self) -> Sums:
        """Each value counts alike; each pair has its share of the mean over pairs."""
        sign = -1.0 if self.largest else 1.0
        alone = self.k == 1 or self.weight == 0
        return Sums((sign,) * self.k, None if alone else self._reward_of_pairs)

    def _reward_of_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        apart = between(self.distance, self.coordinates(a), self.coordinates(b))
        if self.cap is not None:
            apart = apart.clamp_max(self.cap)
        return apart * (2.0 * self.weight / (self.k * (self.k - 1)))

    def _reward(self, a: Tensor) -> Tensor | float:
        if self.k == 1 or self.weight == 0:
            return 0.0
        apart = all_pairs(self.distance, self.coordinates(a))
        if self.cap is not None:
            apart = apart.clamp_max(self.cap)
        return apart.sum((-1, -2)) * (self.weight / (self.k * (self.k - 1)))
