"""The parameters of a space: small frozen values, each with its way into the unit interval and back."""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from hentropy.core.given import is_number
from hentropy.errors import InputError

LEAST_LOG = 1e-300
"""Below it numbers have few digits left, and a logarithm that is taken back is another number."""


def _check_range(low: float, high: float, log: bool) -> None:
    if not (is_number(low) and is_number(high)):
        raise InputError(f"the bounds {low!r}, {high!r} must be numbers")
    try:
        finite, narrow = math.isfinite(low) and math.isfinite(high), math.isfinite(float(high) - float(low))
    except OverflowError:  # a whole number that no float can hold
        finite, narrow = True, False
    if not finite:
        raise InputError(f"the bounds {low}, {high} must be finite; give the range that can really be run")
    if not narrow:
        raise InputError("the range is too wide for double precision; bring the bounds closer together")
    if low >= high:
        raise InputError(f"the lower bound {low} must be below the upper bound {high}; exchange or widen them")
    if log and low <= 0:
        raise InputError(f"a logarithmic parameter needs a lower bound above 0, got {low}; raise it or drop log=True")
    if log and low < LEAST_LOG:
        raise InputError(f"a logarithmic parameter needs a lower bound of at least {LEAST_LOG:g}, got {low}; raise it")


@dataclass(frozen=True)
class Parameter(ABC):
    """A number of a design from `low` to `high`, both included; with `log`, equal ratios count as equal steps."""

    low: float
    high: float
    log: bool = False

    kind: ClassVar[str]
    """What study files call it."""

    def __post_init__(self) -> None:
        """Check the bounds."""
        _check_range(self.low, self.high, self.log)
        if self.grid and any(
            abs(bound / self.grid - round(bound / self.grid)) > 1e-9 for bound in (self.low, self.high)
        ):
            raise InputError(f"the bounds of this parameter must be {self.must_be}s, got {self.low} and {self.high}")

    @property
    @abstractmethod
    def grid(self) -> float:
        """Its values are the multiples of this number; 0 if it can have any value."""

    @property
    def must_be(self) -> str:
        """What its values are, where not any number is one."""
        return "whole number" if self.grid == 1.0 else f"multiple of {self.grid:g}"

    @abstractmethod
    def value(self, number: float) -> float:
        """One of its values as people write it."""

    def options(self) -> dict[str, Any]:
        """The options that make it, as plain values."""
        return {**asdict(self), "low": self.value(self.low), "high": self.value(self.high), "log": bool(self.log)}


@dataclass(frozen=True)
class Real(Parameter):
    """A number between `low` and `high`; with `log`, equal ratios count as equal steps."""

    kind = "real"

    @property
    def grid(self) -> float:
        """Any value."""
        return 0.0

    def value(self, number: float) -> float:
        """A float."""
        return float(number)


@dataclass(frozen=True)
class Integer(Parameter):
    """A whole number from `low` to `high`, both included; with `log`, equal ratios count as equal steps."""

    kind = "integer"

    @property
    def grid(self) -> float:
        """Whole numbers."""
        return 1.0

    def value(self, number: float) -> int:
        """An int."""
        return round(number)
