"""Decisions about several designs at once, and the distances between designs that some of them count.

`TopK` good designs that differ from each other; `KGuesses`, of which only the best counts; `MinMax`, where the function
is least and where it is greatest; `Sequence`, whose values run through a list of targets.
"""

from collections.abc import Callable
from collections.abc import Sequence as Targets
from copy import copy
from typing import Any, Literal

import torch
from torch import Tensor

from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import Decision, Sums, monte_carlo_loss
from hentropy.core.decisions.normal import absolute, maximum_of_two
from hentropy.core.given import is_finite
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, InputError

Distance = Literal["l1", "l2"] | Callable[[Tensor, Tensor], Tensor]


def l2(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance, with a gradient of zero where the points coincide."""
    square = (a - b).square().sum(-1)
    positive = square > 0
    return square.where(positive, square.new_ones(())).sqrt() * positive


def all_pairs(distance: Distance, a: Tensor) -> Tensor:
    """Distances between all k points of actions ... x k x d: ... x k x k, zero between a point and itself."""
    if distance in ("l1", "l2"):
        # one call forward and one backward, several times faster than differences of broadcast points
        return torch.cdist(a, a, p=1.0 if distance == "l1" else 2.0, compute_mode="donot_use_mm_for_euclid_dist")
    value = _own(distance, a.unsqueeze(-2), a.unsqueeze(-3))
    return value.masked_fill(torch.eye(a.shape[-2], dtype=torch.bool, device=a.device), 0.0)


def between(distance: Distance, a: Tensor, b: Tensor) -> Tensor:
    """Distances from each of m points to each of p, and back: m x d and p x d to m x p, the mean of both ways."""
    if distance in ("l1", "l2"):
        return torch.cdist(a, b, p=1.0 if distance == "l1" else 2.0, compute_mode="donot_use_mm_for_euclid_dist")
    a, b = a.unsqueeze(-2), b.unsqueeze(-3)
    return 0.5 * (_own(distance, a, b) + _own(distance, b, a))


def _own(distance: Distance, a: Tensor, b: Tensor) -> Tensor:
    """A function of the user's own, checked."""
    first, second = torch.broadcast_tensors(a, b)
    value = distance(first, second)  # type: ignore[operator]
    if value.shape != first.shape[:-1]:
        raise DecisionError(
            f"the distance returned shape {tuple(value.shape)} for points of shape {tuple(first.shape)}; it must return"
            f" {tuple(first.shape[:-1])}: reduce over the last dimension only"
        )
    return value


UNEVEN = 10.0
"""A range that is so many times as narrow as the widest hardly counts for distances in own units."""


class TopK(Decision):
    """k high-scoring, diverse designs.

    loss = -sum f(a_i) - weight x mean over pairs of min(distance(a_i, a_j), cap). Distances are in the designs' own
    units, and another option of a choice is 1 away; with `scaled`, they are in units of the ranges: every parameter
    runs from 0 to 1, a logarithmic one by its logarithm, and weight and cap count in those units. `distance` is "l1",
    "l2" or a function of two tensors (... x d) that returns ... . With largest=False, small values are wanted and the
    first sum is counted with a plus.
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
        if not (is_finite(weight) and weight >= 0):
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
        self._settled: TopK | None = None

    def within(self, space: DesignSpace) -> "TopK":
        """The same decision, with the space whose designs it compares."""
        super().within(space)
        if self._space is space or not (self.scaled or space.compares_options):
            return self
        settled = copy(self)
        settled._space, settled._settled = space, None
        # the same one each time, so that a belief knows it again
        if self._settled is None or vars(self._settled) != vars(settled):
            self._settled = settled
        return self._settled

    def notes(self, space: DesignSpace) -> tuple[str, ...]:
        """That some parameters hardly count for distances in own units, because their ranges are so narrow."""
        if self.scaled or self.k == 1 or self.weight == 0 or callable(self.distance):
            return ()
        ranges = {field.name: (field.low, field.high) for field in space.fields if field.high > field.low}
        ranges |= {field.name: (0.0, 1.0) for field in space.fields if field.options and not field.ordered}
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
        if self._space is None:
            if self.scaled:
                raise DecisionError("TopK(scaled=True) does not know the ranges yet; take its within(space)")
            return a
        if callable(self.distance):
            return self._space.to_unit(a) if self.scaled else a
        return self._space.to_compare(a, 1.0 if self.distance == "l1" else 2.0, self.scaled)

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


class Sequence(Decision):
    """m designs with f(a_i) near target y_i: loss sum |f(a_i) - y_i|^power + link x length of the path through them."""

    needs = Needs.VARIANCE

    def __init__(self, targets: Targets[float], power: int = 2, link: float = 0.0) -> None:
        if len(targets) == 0 or not all(is_finite(t) for t in targets):
            raise InputError(f"a sequence needs at least one target, all finite, got {list(targets)}")
        if power not in (1, 2):
            raise InputError(f"the power of a sequence's deviations is 1 or 2, got {power}")
        if not (is_finite(link) and link >= 0):
            raise InputError(f"the weight of the path length must be finite and not negative, got {link}")
        self.actions = Points(len(targets))
        self.targets = tuple(float(t) for t in targets)
        self.power = power
        self.link = float(link)
        self._targets = torch.tensor(self.targets, dtype=torch.float64)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """sum |f(a_i) - y_i|^power + link x path length."""
        miss = (f - self._targets.to(f)).abs()
        return (miss if self.power == 1 else miss.square()).sum(-1) + self._length(a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """(mean - y)^2 + variance for power 2, the folded normal's mean for power 1."""
        gap, var = moments.mean - self._targets.to(moments.mean), moments.variance
        each = absolute(gap, var) if self.power == 1 else gap.square() + var
        return each.sum(-1) + self._length(a)

    def _length(self, a: Tensor) -> Tensor | float:
        return 0.0 if self.link == 0 else self.link * l2(a[..., 1:, :], a[..., :-1, :]).sum(-1)

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """Each design with its target."""
        return [{**row, "target": target} for row, target in zip(super().describe(a, space), self.targets, strict=True)]
