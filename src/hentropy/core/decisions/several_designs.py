"""Decisions about several designs at once, and the distances between designs that some of them count.

`TopK` good designs that differ from each other; `KGuesses`, of which only the best counts; `MinMax`, where the function
is smallest and where it is largest; `Sequence`, whose values run through a list of targets.
"""

import math
from collections.abc import Callable
from collections.abc import Sequence as Targets
from typing import Any, Literal

from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.beliefs.base import joint_draws
from hentropy.core.decisions.actions import Points
from hentropy.core.decisions.base import (
    Decision,
    Stated,
    Sums,
    by_outcome,
    drawn_values,
    in_belief,
    in_units,
    monte_carlo_loss,
    named,
    totals,
)
from hentropy.core.decisions.headlines import Quantity, in_words, roughly
from hentropy.core.decisions.limits import Limit, Limited
from hentropy.core.decisions.normal import absolute, maximum_of_two, truncated_values
from hentropy.core.given import Best, is_finite
from hentropy.core.spaces import DesignSpace
from hentropy.core.spaces.parameters import Field
from hentropy.errors import DecisionError, InputError
from hentropy.lazy import Tensor, torch

Distance = Literal["l1", "l2"] | Callable[[Tensor, Tensor], Tensor]


def l2(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance, with a gradient of zero where the points coincide."""
    square = (a - b).square().sum(-1)
    positive = square > 0
    return square.where(positive, square.new_ones(())).sqrt() * positive


def over_members(values: Tensor) -> Tensor:
    """The sum over the last dimension, that of the few members of an action: ... x k to ... .

    As a product with ones it takes a tenth of the time; with a derivative, which small arrays have, longer.
    """
    return values.sum(-1) if values.requires_grad else values @ values.new_ones(values.shape[-1])


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


def by_value(a: Tensor, belief: Belief, descending: bool) -> Tensor:
    """The designs of an action (k x d) in the order of their expected values, by a belief about one outcome."""
    return a[belief.means(a).mean[0].argsort(descending=descending, stable=True)]


def likely_first(decision: Decision, a: Tensor, belief: Belief) -> Tensor:
    """The designs of an action (k x d) in their order, those that probably hold the limits before the others."""
    if not decision.subject_to:
        return a
    holds = decision.limits_hold(decision.looked_at(belief).moments(a, Needs.VARIANCE))
    return a if holds is None else a[(holds.reshape(-1) < 0.5).to(torch.int8).argsort(stable=True)]


UNEVEN = 10.0
"""A range that is this many times as narrow as the widest hardly counts for distances in own units."""


DIFFERENT = 0.1
"""Two designs are different from this share of the cap on, or of the widest distance in the space if that is less."""

SPREAD = 64
"""Designs spread over a space, among which the widest distance is looked for."""


class TopK(Limited):
    """k high-scoring, diverse designs.

    loss = -sum f(a_i) - weight x mean over pairs of min(distance(a_i, a_j), cap). Distances are in the designs' own
    units, and two different options of a choice are 1 apart; with `scaled`, distances are relative to the ranges: every
    parameter runs from 0 to 1, a logarithmic one by its logarithm, and weight and cap are in those units. `distance` is
    "l1", "l2" or a function of two tensors (... x d) that returns ... . With largest=False, small values are wanted and
    the first sum has a plus sign. `outcome`, `subject_to` and `fallback` are as in `Maximize`, separately for each
    design. A design that violates a limit also loses the most that its distances could be worth, so that no distance
    makes up for a violation.
    """

    def __init__(
        self,
        k: int,
        weight: float = 1.0,
        cap: float | None = None,
        distance: Distance = "l1",
        largest: bool = True,
        scaled: bool = False,
        outcome: str | None = None,
        subject_to: Targets[str] = (),
        fallback: float | None = None,
    ) -> None:
        super().__init__(outcome, subject_to, fallback)
        self.needs = Needs.VARIANCE if self.limited else Needs.MEAN
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

    def within(self, space: DesignSpace) -> "TopK":
        """The same decision, with the space whose designs it compares."""
        super().within(space)
        return self if self._space is space else self.settled(_space=space)

    def informed(self, belief: Belief) -> "Decision":
        """With the fallback lowered by what the distances of one design can be worth at most."""
        made = super().informed(belief)
        if not self.limited or not isinstance(made, TopK):
            return made
        return made.settled(_instead=made.instead - (1.0 if self.largest else -1.0) * self._most_for_distance())

    def _most_for_distance(self) -> float:
        """What the distances of one design to all others are worth at most."""
        if self.k == 1 or self.weight == 0 or self._space is None:
            return 0.0
        return 2.0 * self.weight / self.k * self._longest(self._space)

    def _longest(self, space: DesignSpace) -> float:
        """A bound on the distance between two designs; the longest that is found for a function of the user's own."""
        cap = math.inf if self.cap is None else self.cap
        if callable(self.distance):
            return min(cap, self._widest())
        sides = [self._side(field) for field in space.fields]
        return min(cap, sum(sides) if self.distance == "l1" else math.hypot(*sides))

    def _side(self, field: Field) -> float:
        """The largest difference of one value of a design, in the units of distances."""
        return 1.0 if self.scaled or (field.options and not field.ordered) else field.high - field.low

    def notes(self, space: DesignSpace) -> tuple[str, ...]:
        """A warning if parameters with narrow ranges hardly count for distances in their own units."""
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
        """-sum f(a_i) minus the reward for distance."""
        return self._total(self.worth(f)) - self._reward(a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Affine in the values of the members."""
        return self._total(self.expected_worth(moments)) - self._reward(a)

    def _total(self, worth: Tensor) -> Tensor:
        return -over_members(worth) if self.largest else over_members(worth)

    @property
    def best_outcomes(self) -> Best:  # type: ignore[override]
        """The largest, or the smallest."""
        return "high" if self.largest else "low"

    def sums(self) -> Sums | None:
        """All values have equal weight; each pair has its share of the mean over pairs."""
        if self.limited:
            return None
        sign = -1.0 if self.largest else 1.0
        alone = self.k == 1 or self.weight == 0
        return Sums((sign,) * self.k, None if alone else self._reward_of_pairs, self.coordinates)

    def in_order(self, a: Tensor, belief: Belief) -> Tensor:
        """The best value first, of those likely to hold the limits."""
        ordered = by_value(a, belief.of(*(self.outcomes or belief.outcomes)[:1]), self.largest)
        return likely_first(self, ordered, belief)

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """How many, whether they differ, and their values."""
        return f"{in_words(self.k, 'design')}{self._differ(a)}: {about.among(*totals(moments, about))}."

    def _differ(self, a: Tensor) -> str:
        """Whether the designs of an action (k x d) differ, where that counts: as words behind their number."""
        if self.k == 1 or self.weight == 0:
            return ""
        i, j = torch.triu_indices(self.k, self.k, 1, device=a.device)
        apart = all_pairs(self.distance, self.coordinates(a))
        near = torch.minimum(apart, apart.mT)[i, j] < DIFFERENT * self._widest()
        if not near.any():
            return ", each different"
        if near.all():
            return " that hardly differ"
        if near.sum() > 1:
            return ", some of which hardly differ"
        return f", of which {int(i[near]) + 1} and {int(j[near]) + 1} hardly differ"

    def _widest(self) -> float:
        """The largest distance that counts: the cap, or that of designs spread over the space if it is less."""
        cap = math.inf if self.cap is None else self.cap
        if self._space is None:
            return cap if math.isfinite(cap) else 0.0
        spread = self._space.sample(SPREAD, 0)
        return min(cap, float(all_pairs(self.distance, self.coordinates(spread)).max()))

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """For each of the designs, by their values and their distance."""
        each = about.difference(amount / self.k, error / self.k, falls=not self.largest)
        return f"{each}{' per recommended design' if self.k > 1 else ''}"

    def _reward_of_pairs(self, a: Tensor, b: Tensor) -> Tensor:
        """Of points m x d and p x d that are in the units of distances already: m x p."""
        apart = between(self.distance, a, b)
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


HEADLINE_DRAWS = 4096
"""Joint draws of the values at a few guesses: the standard deviation of the best is known to about 1 %."""


class KGuesses(Limited):
    """k designs, of which only the best counts: loss -max f(a_i) (min f(a_i) with largest=False).

    `outcome`, `subject_to` and `fallback` as in `Maximize`: the best of those that meet the limits counts, the fallback
    if none does.
    """

    in_units = True

    def __init__(
        self,
        k: int,
        largest: bool = True,
        outcome: str | None = None,
        subject_to: Targets[str] = (),
        fallback: float | None = None,
    ) -> None:
        super().__init__(outcome, subject_to, fallback)
        self.actions = Points(k, as_set=True)
        self.k = k
        self.largest = largest
        alone = Needs.VARIANCE if self.limited else Needs.MEAN
        self.needs = alone if k == 1 else Needs.JOINT

    def drawn(self, belief: Belief) -> bool:
        """Not for two designs without limits whose values are normal, by Clark's formula."""
        return self.needs is Needs.JOINT and (self.k > 2 or self.limited or not belief.normal)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-max f(a_i), or min f(a_i), of those that meet the limits."""
        values = self.objective(f)
        if not self.limited:
            return -values.amax(-1) if self.largest else values.amin(-1)
        return self._best_held(values, self.holds(f).to(values))

    def _best_held(self, values: Tensor, holds: Tensor) -> Tensor:
        """The loss of values that hold the limits with such chances, independent of each other (both ... x K): ... .

        From the best value down, each counts if it holds them and no better one does.
        """
        sign = -1.0 if self.largest else 1.0
        value, order = values.sort(-1, descending=self.largest)
        chance = holds.gather(-1, order)
        none = torch.cat([torch.ones_like(chance[..., :1]), (1.0 - chance).cumprod(-1)], -1)
        return sign * ((value * chance * none[..., :-1]).sum(-1) + self.instead.to(values) * none[..., -1])

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The mean for k = 1, Clark's formula for k = 2 normal values, else base samples."""
        sign = 1.0 if self.largest else -1.0
        if self.k == 1:
            return -sign * self.expected_worth(moments)[..., 0]
        if self.k == 2 and not self.limited and moments.latent is None:
            return -maximum_of_two(sign * moments.mean, moments.covariance)
        if not self.limited or moments.point_mass:
            return monte_carlo_loss(self, moments, a, draws)
        f = by_outcome(drawn_values(self, moments, draws), moments.outcomes)
        return self._best_held(self.objective(f), self.holds_in_draws(f, moments)).mean(0)

    @property
    def best_outcomes(self) -> Best:  # type: ignore[override]
        """The largest, or the smallest."""
        return "high" if self.largest else "low"

    def in_order(self, a: Tensor, belief: Belief) -> Tensor:
        """The best value first, of those likely to hold the limits."""
        ordered = by_value(a, belief.of(*(self.outcomes or belief.outcomes)[:1]), self.largest)
        return likely_first(self, ordered, belief)

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The best of them, as expected, with the standard deviation of the best value."""
        values = joint_draws(moments, HEADLINE_DRAWS, torch.Generator().manual_seed(0))
        values = values.exp() if about.log else values
        sd = (values.amax(-1) if self.largest else values.amin(-1)).std()
        best = -expected_loss if self.largest else expected_loss
        value = about.amount(math.exp(best) if about.log else best, float(sd))
        return (
            f"{in_words(self.k, 'guess', 'guesses')}; the best of them is expected to reach a {about.name} of {value}."
        )


class MinMax(Decision):
    """The pair (lowest, highest): loss f(a_1) - f(a_2). `outcome` names the value where there are several."""

    actions = Points(2)
    needs = Needs.MEAN
    in_units = True

    def __init__(self, outcome: str | None = None) -> None:
        self.outcome = outcome
        self.outcomes = named(outcome)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """f(a_1) - f(a_2)."""
        return f[..., 0] - f[..., 1]

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The difference of the means."""
        return moments.mean[..., 0] - moments.mean[..., 1]

    def sums(self) -> Sums:
        """One value counts for the loss, the other against it."""
        return Sums((1.0, -1.0))

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The range of the values."""
        (low, high), (low_sd, high_sd) = totals(moments, about)
        return f"The {about.name} runs from {about.amount(low, low_sd)} to {about.amount(high, high_sd)}."

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """The two designs, named."""
        names = ("lowest", "highest")
        return [{"where f is": name, **row} for name, row in zip(names, super().describe(a, space), strict=True)]


class Sequence(Limited):
    """m designs with `f(a_i)` near target `y_i`: loss `sum |f(a_i) - y_i|^power + link x length of the path`.

    `outcome` and `subject_to` as in `Maximize`. A design that violates a limit counts as if its value were `fallback`:
    by default, the value seen that is furthest from its target.
    """

    needs = Needs.VARIANCE
    by_value = True

    def __init__(
        self,
        targets: Targets[float],
        power: int = 2,
        link: float = 0.0,
        outcome: str | None = None,
        subject_to: Targets[str] = (),
        fallback: float | None = None,
    ) -> None:
        super().__init__(outcome, subject_to, fallback)
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

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The targets too."""
        return (*super().stated, *(Stated("the target", self.outcome, target) for target in self.targets))

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """sum |f(a_i) - y_i|^power + link x path length."""
        return self._miss(self.worth(f)).sum(-1) + self._length(a)

    def _miss(self, values: Tensor) -> Tensor:
        miss = (values - self._targets.to(values)).abs()
        return miss if self.power == 1 else miss.square()

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """(mean - y)^2 + variance for power 2, the folded normal's mean for power 1; with limits, also the fallback."""
        targets = self._targets.to(moments.mean)
        mean, var = self.parts(moments.mean)[0], self.parts(moments.variance)[0]
        gap = mean - targets.expand(mean.shape[-2:]).contiguous()  # rows of a few numbers would take ten times as long
        if moments.between is not None:
            return over_members(self._correlated(moments, gap)) + self._length(a)
        within: Tensor | float = 1.0
        if self._own is None and (self.power == 2 or moments.latent is None):
            each = absolute(gap, var) if self.power == 1 else torch.addcmul(var, gap, gap)
        else:
            limit = Limit("") if self._own is None else self._own
            low, high = torch.full_like(targets, limit.low), torch.full_like(targets, limit.high)
            within, _, each = truncated_values(moments, gap, var, targets, low, high)
            if self.power == 1:
                above = truncated_values(moments, gap, var, targets, low.maximum(targets), high.maximum(targets))[1]
                below = truncated_values(moments, gap, var, targets, low.minimum(targets), high.minimum(targets))[1]
                each = above - below
        if self.limited:
            others = self.others_hold(moments)
            each = others * each + (1.0 - others * within) * self._miss(self.instead.to(targets).expand_as(targets))
        return over_members(each) + self._length(a)

    def _correlated(self, moments: Moments, gap: Tensor) -> Tensor:
        """What each design misses its target by, outcomes correlated: gap H x ... x K is the mean less the target."""
        targets = self._targets.to(gap)
        chance, first, second = self.within_limits(moments)
        if self.power == 2:
            each = gap.square() * chance + 2.0 * gap * first + second
        else:  # above the target less below it
            upper, move, _ = self.within_limits(moments, above=targets)
            each = 2.0 * (gap * upper + move) - (gap * chance + first)
        return each + (1.0 - chance) * self._miss(self.instead.to(targets).expand_as(targets))

    def informed(self, belief: Belief) -> "Decision":
        """With the targets, and the values furthest from them, in the belief's terms."""
        targets = [in_belief(belief, self.outcome, target) for target in self.targets]
        return super(Sequence, self.settled(_targets=torch.tensor(targets, dtype=torch.float64))).informed(belief)

    def worst(self, values: Tensor) -> Tensor:
        """For each target, the value furthest from it."""
        furthest = (values.unsqueeze(-1) - self._targets.to(values)).abs().argmax(0)
        return values[furthest]

    def _length(self, a: Tensor) -> Tensor | float:
        return 0.0 if self.link == 0 else self.link * l2(a[..., 1:, :], a[..., :-1, :]).sum(-1)

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """How closely the targets are met."""
        values = in_units(moments, about.log)
        miss = absolute(values.mean - torch.tensor(self.targets).to(values.mean), values.variance)
        off = about.level(float(f"{float(values.expect_vector(miss).mean()):.2g}"))
        listed = ", ".join(f"{target:g}" for target in self.targets[:6]) + (", ..." if len(self.targets) > 6 else "")
        near = f"{about.name} near {about.with_unit(listed)}"
        return f"{in_words(len(self.targets), 'design')} with {near}: off by {off} on average."

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """How much closer the values come to their targets, per design; or the squares of that."""
        if self.power == 2 or self.link:
            what = f"{'squared ' * (self.power == 2)}distance to the targets"
            return f"{roughly(amount, error)} of the {what}, summed over all designs"
        k = len(self.targets)
        per = " per recommended design" if k > 1 else ""
        return f"{about.difference(amount / k, error / k)}{per}, nearer to the targets"

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """Each design with its target."""
        return [{**row, "target": target} for row, target in zip(super().describe(a, space), self.targets, strict=True)]
