"""Limits on outcomes, and decisions about the value of one outcome that such limits may void.

A limit is one outcome between numbers: "impurity <= 3", "2 <= ph <= 4". A design that violates one is worth the
fallback instead of its value v. With independent outcomes, in each component of a belief,

    E worth = fallback + P(all others hold) x E[(v - fallback) 1(v within its own limits)]

where the last factor is mean - fallback for an objective that is not limited itself, and else a truncated normal's.
Where outcomes are correlated, E[(v - fallback) 1(all hold)] is an expectation over a box (see `boxes`).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.beliefs.links import Latent
from hentropy.core.beliefs.normal import distribution
from hentropy.core.decisions.base import Decision, Stated, in_belief
from hentropy.core.decisions.boxes import one_within
from hentropy.core.decisions.headlines import Quantity
from hentropy.core.decisions.normal import chance_within, excess, truncated_outcomes, truncated_values
from hentropy.core.given import is_finite
from hentropy.core.spaces.expressions import Chain, Expression, Literal, Name, nearest, parse
from hentropy.errors import DecisionError, DocPage, InputError, explained_in
from hentropy.lazy import Tensor, torch

WRITE = "write an outcome against numbers, such as 'impurity <= 3' or '2 <= ph <= 4'"


KERNEL = 0.3
"""Standard deviations over which the gradient of a limit is smoothed, where values are drawn."""


@dataclass(frozen=True)
class Limit:
    """An outcome from `low` to `high`, one of which may be infinite."""

    outcome: str
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InputError(f"no value of {self.outcome} is at least {self.low:g} and at most {self.high:g}")

    @classmethod
    def parse(cls, text: str) -> "Limit":
        """From a text; strict and other inequalities are the same for outcomes that vary continuously."""
        tree = parse(text)
        if not isinstance(tree, Chain) or not set(tree.signs) <= {"<", "<=", ">", ">="}:
            raise InputError(f"the limit {text!r} is no inequality; {WRITE}")
        names = [part.name for part in tree.parts if isinstance(part, Name)]
        if len(names) != 1 or (len(tree.parts) > 2 and not isinstance(tree.parts[1], Name)) or len(tree.parts) > 3:
            raise InputError(f"the limit {text!r} is not about one outcome; {WRITE}")
        limit = cls(names[0])
        for left, sign, right in zip(tree.parts, tree.signs, tree.parts[1:], strict=False):
            small, great = (left, right) if sign.startswith("<") else (right, left)
            if isinstance(small, Name):
                limit = limit.narrowed(-math.inf, _number(great, text))
            else:
                limit = limit.narrowed(_number(small, text), math.inf)
        return limit

    def in_words(self, about: Quantity) -> str:
        """With the name and the unit of the outcome: impurity <= 3 %, 2 <= ph <= 4."""
        if math.isinf(self.low):
            return f"{about.name} <= {about.level(self.high)}"
        if math.isinf(self.high):
            return f"{about.name} >= {about.level(self.low)}"
        return f"{about.level(self.low)} <= {about.name} <= {about.level(self.high)}"

    def narrowed(self, low: float, high: float) -> "Limit":
        """Within further numbers."""
        return Limit(self.outcome, max(self.low, low), min(self.high, high))

    def sides(self) -> tuple[float, float]:
        """Both bounds."""
        return self.low, self.high

    def believed(self, belief: Belief) -> "Limit":
        """The limit on what a belief is about: the logarithm of the outcome, a probit, or the outcome itself."""
        if self.outcome in belief.graded:
            return self.of_probit()
        if self.outcome not in belief.logs:
            return self
        if self.high <= 0:
            raise InputError(f"{self.outcome} is believed as its logarithm, so it cannot be at most {self.high:g}")
        return Limit(self.outcome, math.log(self.low) if self.low > 0 else -math.inf, math.log(self.high))

    def of_probit(self) -> "Limit":
        """The limit on the probit of a probability."""
        bounds = [bound for bound in self.sides() if math.isfinite(bound)]
        if any(not 0.0 < bound < 1.0 for bound in bounds):
            wrong = next(bound for bound in bounds if not 0.0 < bound < 1.0)
            raise InputError(f"what is limited of {self.outcome} is a probability; {wrong:g} is not between 0 and 1")
        low, high = torch.special.ndtri(torch.tensor(self.sides(), dtype=torch.float64).clamp(0.0, 1.0)).tolist()
        return Limit(self.outcome, low, high)

    def holds(self, f: Tensor) -> Tensor:
        """Whether values hold the limit."""
        return (f >= self.low) & (f <= self.high)

    def holds_smoothly(self, f: Tensor, width: Tensor) -> Tensor:
        """The same from 0 to 1, where the limit is not sharp."""
        soft = torch.ones_like(f)
        for side, bound in ((1.0, self.low), (-1.0, self.high)):
            soft = soft * (1.0 if math.isinf(bound) else distribution(side * (f - bound) / width))
        return soft

    def distance(self, f: Tensor) -> Tensor:
        """How far values are from holding it."""
        return (self.low - f).clamp_min(0.0) + (f - self.high).clamp_min(0.0)

    def expected_distance(self, mean: Tensor, var: Tensor) -> Tensor:
        """E of the distance of a normal value: the expected excess on either side."""
        s = torch.where(var > 0, var, 1.0).sqrt() * (var > 0)
        sides = [excess(mean - self.low, s)] * (self.low > -math.inf) + [excess(self.high - mean, s)] * (
            self.high < math.inf
        )
        return torch.stack(sides).sum(0)

    def expected_distance_of(self, latent: Latent) -> Tensor:
        """The same for outcomes that are not normal: H x ... x m."""
        sides = []
        for sign, bound, low, high in ((-1.0, self.low, -math.inf, self.low), (1.0, self.high, self.high, math.inf)):
            if math.isfinite(bound):
                at, *ends = (latent.mean.new_tensor(number) for number in (bound, low, high))
                sides.append(sign * truncated_outcomes(latent, at, *ends)[1])
        return torch.stack(sides).sum(0)


def _number(part: Expression, text: str) -> float:
    if not isinstance(part, Literal) or not is_finite(part.value):
        raise InputError(f"the limit {text!r} compares an outcome with {part}, which is not a number; {WRITE}")
    return float(part.value)


@explained_in(DocPage.LIMITS)
def parse_limits(subject_to: Sequence[str]) -> tuple[Limit, ...]:
    """One limit for each outcome that occurs, in order; several about one outcome hold together."""
    if isinstance(subject_to, str):
        raise InputError(f"subject_to is a list of limits: write [{subject_to!r}]")
    found: dict[str, Limit] = {}
    for text in subject_to:
        limit = Limit.parse(text)
        known = found.get(limit.outcome, limit)
        found[limit.outcome] = known.narrowed(limit.low, limit.high)
    return tuple(found.values())


def seen(belief: Belief, outcome: str, what: str) -> Tensor:
    """The values of an outcome that were observed (n); a decision takes `what` from them by default.

    Where a belief does not keep them, such as one that computes an outcome, its means at the designs.
    """
    part = belief.of(outcome)
    if part.observed is not None:
        return part.observed
    if not len(belief.X):
        raise DecisionError(f"nothing has been observed yet, so {what} is unknown; say it, or observe a design first")
    return part.means(belief.X).mean[0]


def numbers_by_name(
    what: str, given: Mapping[str, float], names: Sequence[str], some: bool = False
) -> dict[str, float]:
    """A finite number for each outcome (or `some`), in their order; an error says which is missing or unknown."""
    for name in given:
        if name not in names:
            raise InputError(f"{what} names {name!r}; {nearest(name, names)}the outcomes are {', '.join(names)}")
    wanted = [name for name in names if name in given or not some]
    for name in wanted:
        if not is_finite(given.get(name)):
            raise InputError(f"{what} must have a finite number for {name}, got {given.get(name)!r}")
    return {name: float(given[name]) for name in wanted}


class Limited(Decision):
    """A decision about the values of one outcome, where limits on outcomes may hold: a member that violates one is
    worth the fallback instead of its value.
    """

    def __init__(
        self, outcome: str | None = None, subject_to: Sequence[str] = (), fallback: float | None = None
    ) -> None:
        limits = parse_limits(subject_to)
        if limits and outcome is None:
            raise InputError("say which outcome counts where others are limited: outcome='yield', subject_to=[...]")
        if fallback is not None and not is_finite(fallback):
            raise InputError(f"the fallback must be a finite number, got {fallback!r}")
        self.outcome = outcome
        self.subject_to = tuple(subject_to)
        self.fallback = None if fallback is None else float(fallback)
        self.outcomes = () if outcome is None else (outcome, *(x.outcome for x in limits if x.outcome != outcome))
        self._own, self._others = self._split(limits)
        self._instead = None if fallback is None else torch.tensor(self.fallback, dtype=torch.float64)

    def check_graded(self, graded: Collection[str]) -> None:
        """Probabilities may be limited, and one may count if its expected value is all that does."""
        counts = self.outcomes[0] in graded
        if counts and (self._own is not None or self.needs is Needs.JOINT or self.by_value):
            raise InputError(
                f"{self!r} looks at more than the expected value of {self.outcomes[0]}, which is believed as a"
                " probability; use Maximize, Minimize, BestObserved or TopK, without a limit on it"
            )

    by_value: ClassVar[bool] = False
    """Whether the loss is not affine in the value that counts."""

    def viewed(self, belief: Belief) -> Belief:
        """With the probits of what is limited: a probability is above a level where its probit is."""
        limits = {
            limit.outcome: limit.of_probit()
            for limit in parse_limits(self.subject_to)
            if limit.outcome in belief.graded
        }
        one_sided = {name: [bound for bound in limit.sides() if math.isfinite(bound)] for name, limit in limits.items()}
        return belief.viewing({name: each[0] if len(each) == 1 else None for name, each in one_sided.items()})

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The fallback, and upper limits: a lower one may be anything."""
        limits = parse_limits(self.subject_to)
        highs = [Stated("the limit", limit.outcome, limit.high) for limit in limits if limit.high < math.inf]
        if self.fallback is None or not limits:
            return tuple(highs)
        return (Stated("the fallback", self.outcome, self.fallback, extreme=True), *highs)

    def limits_in_words(self, quantities: Mapping[str, Quantity]) -> str:
        """The limits on outcomes, with their units."""
        limits = parse_limits(self.subject_to)
        return ", ".join(limit.in_words(quantities.get(limit.outcome, Quantity(limit.outcome))) for limit in limits)

    @property
    def limited(self) -> bool:
        """Whether there are limits."""
        return bool(self.subject_to)

    def worst(self, values: Tensor) -> Tensor:
        """What a member is worth that violates a limit, by default, from the values seen (n): one number, or
        one for each member.
        """
        return values.max() if self.best_outcomes == "low" else values.min()

    def informed(self, belief: Belief) -> "Decision":
        """With the worst value seen as the fallback, unless it was given, and limits on what the belief is about."""
        if not self.limited:
            return self
        own, others = self._split(tuple(limit.believed(belief) for limit in parse_limits(self.subject_to)))
        if self.fallback is None:
            instead = self.worst(seen(belief, self.outcomes[0], "the fallback"))
        elif self.outcomes[0] in belief.graded:
            instead = torch.tensor(self.fallback, dtype=torch.float64)
        else:
            instead = torch.tensor(in_belief(belief, self.outcomes[0], self.fallback), dtype=torch.float64)
        return self.settled(_own=own, _others=others, _instead=instead)

    def _split(self, limits: tuple[Limit, ...]) -> tuple[Limit | None, tuple[Limit, ...]]:
        """The limit on the outcome that counts, and those on others."""
        own = next((limit for limit in limits if limit.outcome == self.outcome), None)
        return own, tuple(limit for limit in limits if limit.outcome != self.outcome)

    @property
    def instead(self) -> Tensor:
        """The fallback, once it is settled: a number, or one for each member."""
        if self._instead is None:
            raise DecisionError(f"{self!r} has no fallback yet; give fallback=..., or use it with a belief")
        return self._instead

    def parts(self, values: Tensor) -> tuple[Tensor, ...]:
        """Values of all outcomes by outcome: flat and point-major ... x Km to ... x K each."""
        return values.unflatten(-1, (-1, max(1, len(self.outcomes)))).unbind(-1)

    def holds(self, f: Tensor) -> Tensor:
        """Whether all limits hold, for values ... x K x m (or ... x K of one outcome): ... x K."""
        each = (f,) if len(self.outcomes) < 2 else f.unbind(-1)
        own = torch.ones_like(each[0], dtype=torch.bool) if self._own is None else self._own.holds(each[0])
        for limit, values in zip(self._others, each[1:], strict=True):
            own = own & limit.holds(values)
        return own

    def holds_in_draws(self, f: Tensor, moments: Moments) -> Tensor:
        """1 where all limits hold in draws from moments, else 0: M x H x ... x K, with a gradient.

        A step has none, but the chance of being above it has: the density there, by a kernel.
        """
        holds = self.holds(f).to(f)
        if not f.requires_grad:
            return holds
        each = (f,) if len(self.outcomes) < 2 else f.unbind(-1)
        soft = torch.ones_like(holds)
        for name, values, var in zip(self.outcomes, each, self.parts(moments.variance), strict=True):
            limit = next((x for x in (self._own, *self._others) if x is not None and x.outcome == name), None)
            if limit is not None:
                soft = soft * limit.holds_smoothly(values, (KERNEL * var.detach().sqrt()).clamp_min(1e-150))
        return holds + (soft - soft.detach())

    def objective(self, f: Tensor) -> Tensor:
        """The values of the outcome that counts: ... x K."""
        return f if len(self.outcomes) < 2 else f[..., 0]

    def worth(self, f: Tensor) -> Tensor:
        """What the members are worth, for values ... x K x m (or ... x K of one outcome): ... x K."""
        value = self.objective(f)
        return torch.where(self.holds(f), value, self.instead.to(f)) if self.limited else value

    def expected_worth(self, moments: Moments) -> Tensor:
        """What the members are worth on average, in each component: H x ... x K."""
        if not self.limited:
            return moments.mean
        instead = self.instead.to(moments.mean)
        mean, *_ = self.parts(moments.mean)
        gap = mean - instead
        if moments.between is not None:
            chance, first, _ = self.within_limits(moments)
            return instead + gap * chance + first
        if self._own is not None:
            var, *_ = self.parts(moments.variance)
            low, high = torch.full_like(instead, self._own.low), torch.full_like(instead, self._own.high)
            gap = truncated_values(moments, gap, var, instead, low, high)[1]
        return instead + self.others_hold(moments) * gap

    def others_hold(self, moments: Moments) -> Tensor:
        """The chance that the limits on all but the outcome that counts hold, in each component: H x ... x K."""
        (mean, *means), (_, *variances) = self.parts(moments.mean), self.parts(moments.variance)
        chance = torch.ones_like(mean)
        for limit, at, var in zip(self._others, means, variances, strict=True):
            chance = chance * chance_within(at, var, limit.low, limit.high)
        return chance

    def within_limits(self, moments: Moments, above: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The chance that correlated outcomes hold all limits, and E of the value that counts less its mean, and of the
        square of that, where they do: H x ... x K each. With `above` (K), the value is above these as well.
        """
        assert moments.between is not None
        mean = moments.mean.unflatten(-1, (-1, moments.outcomes))
        own = Limit("") if self._own is None else self._own
        limits = (own, *self._others)
        low, high = (
            [mean.new_full(mean.shape[-2:-1], x) for x in side] for side in zip(*map(Limit.sides, limits), strict=True)
        )
        if above is not None:
            low[0] = above.to(mean).clamp(own.low, own.high)
        first = 0 if self._own is not None or above is not None else 1
        limited = list(range(first, len(low)))
        return one_within(mean, moments.between, limited, torch.stack(low[first:], -1), torch.stack(high[first:], -1))

    def limits_hold(self, moments: Moments) -> Tensor | None:
        """The chance that a member holds all limits: moments with variances to ... x K; None without limits."""
        if not self.limited:
            return None
        if moments.between is not None:
            return moments.expect_vector(self.within_limits(moments)[0])
        chance = self.others_hold(moments)
        if self._own is not None:
            mean, var = self.parts(moments.mean)[0], self.parts(moments.variance)[0]
            if moments.latent is None:
                chance = chance * chance_within(mean, var, self._own.low, self._own.high)
            else:
                low, high = (mean.new_tensor(side) for side in self._own.sides())
                chance = chance * truncated_outcomes(moments.latent, low.new_zeros(()), low, high)[0]
        return moments.expect_vector(chance)
