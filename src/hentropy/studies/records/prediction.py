"""What was predicted of an experiment before its result came, and how well such predictions did.

A prediction is kept as quantiles at fixed probabilities, so that a reader of the record can judge the result without
the model. Between two of them the normal score z (the probability is Phi(z)) is linear in the value, of logarithmic
outcomes in its logarithm: exact for a normal prediction, and to a few thousandths in probability for mixtures.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from statistics import NormalDist
from typing import Any, Final

TAIL: Final = (0.001, 0.005, 0.01, 0.025, 0.05)
SHARES: Final = (*TAIL, *(part / 20.0 for part in range(2, 19)), *(1.0 - part for part in reversed(TAIL)))
"""The probabilities of the quantiles that are kept."""

NORMAL: Final = NormalDist()
SCORES: Final = tuple(NORMAL.inv_cdf(share) for share in SHARES)

LOW, HIGH = len(TAIL) - 1, len(SHARES) - len(TAIL)
"""The ends of the 90 % interval."""

FAMILY_SHARES: Final = (0.001, 0.025, 0.16, 0.5, 0.84, 0.975, 0.999)
"""The probabilities of the quantiles that are kept of each family of a mixture."""

FAMILY_SCORES: Final = tuple(NORMAL.inv_cdf(share) for share in FAMILY_SHARES)

ROUNDING: Final = 1e-12
"""A standard deviation below this share of the values is none."""


@dataclass(frozen=True)
class Prediction:
    """An observation to come, noise included, in the outcome's units: mean, sd, and quantiles at `SHARES`.

    `widened` is the factor that the record so far had put on its spread; `log` says that the outcome is modelled by its
    logarithm. `families` are quantiles at `FAMILY_SHARES` of what each family of a mixture says by itself.
    """

    mean: float
    sd: float
    quantiles: tuple[float, ...]
    widened: float = 1.0
    log: bool = False
    families: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval."""
        return self.quantiles[LOW], self.quantiles[HIGH]

    @property
    def median(self) -> float:
        """As probably exceeded as not."""
        return self.quantiles[len(SHARES) // 2]

    @property
    def centre(self) -> float:
        """What to expect: the mean; of logarithmic outcomes the median, as the mean is that of the upper tail."""
        return self.median if self.log else self.mean

    @property
    def spread(self) -> float:
        """The standard deviation; of logarithmic outcomes, whose tail rules it, that of a normal with these 90 %."""
        low, high = self.interval
        return (high - low) / (SCORES[HIGH] - SCORES[LOW]) if self.log else self.sd

    @property
    def has_spread(self) -> bool:
        """Whether results can be judged by it: what was known exactly has no spread to compare with."""
        return self.sd > ROUNDING * max(abs(self.mean), abs(self.quantiles[0]), abs(self.quantiles[-1]))

    def error(self, value: float) -> float:
        """By how many standard deviations a result differs from the mean; the normal score of logarithmic outcomes."""
        return self.score(value) if self.log else (value - self.mean) / self.sd

    def score(self, value: float) -> float:
        """The normal score z of a result: Phi(z) is the probability of a smaller one."""
        if self.log and value <= 0.0:
            return -math.inf
        return self._score(value, self.quantiles, SCORES)[0]

    def _seen(self, value: float) -> float:
        """A value as the model sees it."""
        return math.log(value) if self.log else value

    def _score(self, value: float, quantiles: Sequence[float], scores: Sequence[float]) -> tuple[float, float]:
        """The normal score of a result by quantiles with these scores, and its slope in what the model sees."""
        knots, at = [self._seen(one) for one in quantiles], self._seen(value)
        place = min(max(bisect_right(knots, at) - 1, 0), len(knots) - 2)
        width = knots[place + 1] - knots[place]
        if width <= 0.0:  # probability in one point
            return scores[place] + (at - knots[place]) / self.sd, math.inf
        slope = (scores[place + 1] - scores[place]) / width
        return scores[place] + slope * (at - knots[place]), slope

    def _log_density(self, value: float, quantiles: Sequence[float], scores: Sequence[float]) -> float:
        score, slope = self._score(value, quantiles, scores)
        return -0.5 * score**2 + math.log(slope)

    def family_records(self, value: float) -> dict[str, float]:
        """By how much the log density that each family had of a result exceeds that of the whole mixture."""
        if not self.families or not self.has_spread or (self.log and value <= 0.0):
            return {}
        known = (self.quantiles, SCORES), *((own, FAMILY_SCORES) for own in self.families.values())
        if any(not math.isfinite(self._score(value, *each)[1]) for each in known):
            return {}
        whole, *each = (self._log_density(value, *one) for one in known)
        return {name: own - whole for name, own in zip(self.families, each, strict=True)}

    def quantile(self, value: float) -> float:
        """The probability of a smaller result."""
        return NORMAL.cdf(self.score(value))

    def plain(self) -> dict[str, Any]:
        """It as plain values."""
        families = {name: list(own) for name, own in self.families.items()}
        return {**asdict(self), "quantiles": list(self.quantiles), "families": families}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Prediction":
        """The prediction that plain values describe; other keys are ignored."""
        own = {one.name: plain[one.name] for one in fields(cls) if one.name in plain}
        families = {name: tuple(each) for name, each in own.get("families", {}).items()}
        return cls(**{**own, "quantiles": tuple(own["quantiles"]), "families": families})


def predictions_of(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, Prediction]:
    """The predictions that plain values describe, by outcome."""
    return {name: Prediction.of(one) for name, one in plain.items()}


@dataclass(frozen=True)
class Judged:
    """A prediction and the result that came: of trial `number`."""

    number: int
    prediction: Prediction
    value: float

    @property
    def error(self) -> float:
        """By how many standard deviations the result differs from what was expected."""
        return self.prediction.error(self.value)

    @property
    def quantile(self) -> float:
        """The probability of a smaller result, as predicted."""
        return self.prediction.quantile(self.value)

    @property
    def inside(self) -> bool:
        """Whether the result lies in the 90 % interval."""
        low, high = self.prediction.interval
        return low <= self.value <= high

    @property
    def plain_error(self) -> float:
        """The error in standard deviations that the record had not changed; of logarithmic outcomes that of the
        logarithm, by its normal score.
        """
        own = self.prediction
        return own.widened * (own.score(self.value) if own.log else self.error)


def family_record(judged: Sequence[Judged]) -> dict[str, float]:
    """By how much the log densities that families had of these results exceed those of the mixture, in all."""
    found: dict[str, float] = {}
    for one in judged:
        for name, more in one.prediction.family_records(one.value).items():
            found[name] = found.get(name, 0.0) + more
    return found


@dataclass(frozen=True)
class PredictionRecord:
    """How well some predictions did: how many, how many inside the 90 % interval, and their errors' root mean square.

    Errors are in stated standard deviations: 1 is ideal.
    """

    count: int
    inside: int
    error: float

    @classmethod
    def of(cls, judged: Sequence[Judged]) -> "PredictionRecord":
        """Of at least one prediction."""
        square = math.fsum(one.error**2 for one in judged) / len(judged)
        return cls(len(judged), sum(one.inside for one in judged), math.sqrt(square))
