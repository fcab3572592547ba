"""When to stop: rules as small objects, each of which says why."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from hentropy.core.given import is_count, is_finite
from hentropy.errors import InputError


@dataclass(frozen=True)
class Standing:
    """What a stopping rule looks at: trials ended, seconds since the start, gains of the proposals (last one last)."""

    trials: int
    seconds: float
    gains: tuple[float, ...]


class StoppingRule(ABC):
    """A reason to stop."""

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
    """Stop after so many trials, failed ones included."""

    trials: int

    def __post_init__(self) -> None:
        _count("the budget of trials", self.trials)

    def reason(self, standing: Standing) -> str | None:
        """Whether the budget is used up."""
        plural = "s" if self.trials != 1 else ""
        return f"the budget of {self.trials} trial{plural} is used up" if standing.trials >= self.trials else None

    def left(self, standing: Standing) -> float:
        """What the budget leaves."""
        return max(0, self.trials - standing.trials)


@dataclass(frozen=True)
class TimeLimit(StoppingRule):
    """Stop after so many seconds."""

    seconds: float

    def __post_init__(self) -> None:
        _positive("the time limit in seconds", self.seconds)

    def reason(self, standing: Standing) -> str | None:
        """Whether the time is up."""
        return f"the time limit of {self.seconds:g} s has passed" if standing.seconds >= self.seconds else None


@dataclass(frozen=True)
class GainBelow(StoppingRule):
    """Stop when the gain of the best experiment was below a threshold `patience` times in a row."""

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
    """Stop when the best experiment is expected to save less than it costs, in the units of the loss."""

    cost: float

    def __post_init__(self) -> None:
        _positive("the cost of an experiment", self.cost)

    def reason(self, standing: Standing) -> str | None:
        """Whether the last gain was below the cost."""
        if not standing.gains or standing.gains[-1] >= self.cost:
            return None
        return f"the best experiment is expected to save {standing.gains[-1]:.3g} and costs {self.cost:g}"
