"""When to stop: rules as small objects, each of which says why."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from hentropy.core.given import is_count, is_finite
from hentropy.errors import InputError


@dataclass(frozen=True)
class Standing:
    """What a stopping rule looks at: trials ended, seconds since the start, gains of the proposals (last one last).

    `spent` is what the trials have cost, `costs` what the proposals were expected to cost, None where nobody knows.
    """

    trials: int
    seconds: float
    gains: tuple[float, ...]
    spent: float = 0.0
    costs: tuple[float | None, ...] = ()


class StoppingRule(ABC):
    """A reason to stop."""

    by_gain: ClassVar[bool] = False
    """Whether it stops because another experiment is not worth enough; other rules stop whatever it is worth."""

    @abstractmethod
    def reason(self, standing: Standing) -> str | None:
        """Why the study should stop now, or None."""

    def left(self, standing: Standing) -> float:
        """How many more trials may begin at once; without a bound unless the rule counts trials."""
        return math.inf


def _positive(name: str, value: Any) -> None:
    if not (is_finite(value) and value > 0):
        raise InputError(f"{name} must be a finite number above 0, got {value!r}")


def _count(name: str, value: Any) -> None:
    if not is_count(value):
        raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")


@dataclass(frozen=True)
class Budget(StoppingRule):
    """Stop after a number of trials, failed ones included, or once a total cost has been spent."""

    trials: int | None = None
    cost: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if self.trials is None and self.cost is None:
            raise InputError("a budget needs a number of trials, or a cost: Budget(30), or Budget(cost=60)")
        if self.trials is not None:
            _count("the budget of trials", self.trials)
        if self.cost is not None:
            _positive("the budget of costs", self.cost)

    def reason(self, standing: Standing) -> str | None:
        """Whether the budget is used up."""
        if self.trials is not None and standing.trials >= self.trials:
            return f"the budget of {self.trials} trial{'s' if self.trials != 1 else ''} is used up"
        if self.cost is not None and standing.spent >= self.cost * (1.0 - 1e-9):
            return f"the budget of {self.cost:g}{f' {self.unit}' if self.unit else ''} is spent"
        return None

    def spending(self, spent: float) -> str:
        """What has been spent, as text: 42 of 60 hours."""
        return f"{spent:.6g} of {self.cost:g}{f' {self.unit}' if self.unit else ''}"

    def left(self, standing: Standing) -> float:
        """How many trials are left: for a budget of costs, an estimate from the trials so far."""
        left = math.inf if self.trials is None else max(0, self.trials - standing.trials)
        if self.cost is None:
            return left
        rest = self.cost * (1.0 - 1e-9) - standing.spent
        if rest <= 0:
            return 0
        if not standing.spent:
            return left
        return min(left, max(1, int(rest / (standing.spent / standing.trials))))


@dataclass(frozen=True)
class TimeLimit(StoppingRule):
    """Stop after a number of seconds."""

    seconds: float

    def __post_init__(self) -> None:
        _positive("the time limit in seconds", self.seconds)

    def reason(self, standing: Standing) -> str | None:
        """Whether the time is up."""
        return f"the time limit of {self.seconds:g} s has passed" if standing.seconds >= self.seconds else None


@dataclass(frozen=True)
class GainBelow(StoppingRule):
    """Stop when the gain of the best experiment was below a threshold `patience` times in a row."""

    by_gain = True

    threshold: float
    patience: int = 1

    def __post_init__(self) -> None:
        _positive("the threshold on the gain", self.threshold)
        _count("the patience", self.patience)

    def reason(self, standing: Standing) -> str | None:
        """Whether the last gains were all below the threshold."""
        last = standing.gains[-self.patience :]
        if len(last) < self.patience or max(last) >= self.threshold:
            return None
        return f"the gain of the best experiment is {last[-1]:.3g}, below {self.threshold:g}"


@dataclass(frozen=True)
class GainBelowCost(StoppingRule):
    """Stop when the best experiment is expected to save less than it costs, in the units of the loss.

    Every experiment costs `cost`; by default, the cost according to the study times the `price` of a unit.
    """

    by_gain = True

    cost: float | None = None
    price: float = 1.0

    def __post_init__(self) -> None:
        if self.cost is not None:
            _positive("the cost of an experiment", self.cost)
        _positive("the price of a unit of cost", self.price)

    def reason(self, standing: Standing) -> str | None:
        """Whether the last gain was below the cost."""
        own = standing.costs[-1] if standing.costs else None
        cost = self.cost if self.cost is not None else None if own is None else own * self.price
        if not standing.gains or cost is None or standing.gains[-1] >= cost:
            return None
        return f"the best experiment is expected to save {standing.gains[-1]:.3g} and costs {cost:.6g}"
