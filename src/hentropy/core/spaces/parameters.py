"""The parameters of a space: small frozen values, each with its way into the unit interval and back."""

import math
from dataclasses import dataclass

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
class Real:
    """A number between `low` and `high`; with `log`, equal ratios count as equal steps."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        """Check the bounds."""
        _check_range(self.low, self.high, self.log)


@dataclass(frozen=True)
class Integer:
    """A whole number from `low` to `high`, both included; with `log`, equal ratios count as equal steps."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        """Check the bounds."""
        _check_range(self.low, self.high, self.log)
        if self.low != int(self.low) or self.high != int(self.high):
            raise InputError(f"the bounds of an integer must be whole numbers, got {self.low} and {self.high}")


Parameter = Real | Integer
