"""`Fractions`: parameters that are parts of a whole, such as a mixture."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hentropy.core.given import is_finite, is_number
from hentropy.core.spaces.coordinates import Simplex
from hentropy.core.spaces.options import options_of
from hentropy.core.spaces.parameters import STEP_DIGITS, Field, Parameter, as_number, check_range, check_unit, nearest
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True, repr=False)
class Fractions(Parameter):
    """Parts of a whole: an amount for each of `names`, between `low` and `high`, that add up to `total`.

    `low` and `high` are one number for all parts, or one for each by name. With `at_most`, at most that many parts
    are above zero.
    """

    kind = "fractions"

    names: Sequence[str]
    total: float = 1.0
    low: Any = 0.0
    high: Any = None
    at_most: int | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        """Check that amounts can add up."""
        parts = options_of("parts", self.names)
        if len(parts) < 2 or not all(isinstance(part, str) for part in parts):
            raise InputError(f"fractions need the names of at least two parts, got {list(parts)}")
        if not (is_finite(self.total) and self.total > 0):
            raise InputError(f"the total of fractions must be a number above 0, got {self.total!r}")
        check_unit(self.unit)
        object.__setattr__(self, "names", parts)
        high = self.total if self.high is None else self.high
        object.__setattr__(self, "low", _bounds_of_parts("low", self.low, parts))
        object.__setattr__(self, "high", _bounds_of_parts("high", high, parts))
        for part, low, most in zip(parts, self.low, self.high, strict=True):
            if not 0.0 <= low <= most:
                raise InputError(f"the bounds of {part} are {low} and {most}; they must be in order and not below 0")
        self._check_total()

    def _check_total(self) -> None:
        slack = 1e-9 * self.total
        least, most = sum(self.low), sum(self.high)
        if self.at_most is not None:
            if not isinstance(self.at_most, int) or isinstance(self.at_most, bool) or self.at_most < 1:
                raise InputError(f"at_most must be a whole number of at least 1, got {self.at_most!r}")
            if any(self.low):
                raise InputError("with at_most the lower bounds must be 0: parts that are left out have none")
            most = sum(sorted(self.high)[-self.at_most :])
        if least > self.total + slack or most < self.total - slack:
            raise InputError(
                f"the parts add up to between {least:g} and {most:g}, never to the total {self.total:g}; change their"
                " bounds or the total"
            )

    def columns(self, name: str) -> tuple[str, ...]:
        """The parts."""
        return tuple(self.names)

    def fields(self, name: str) -> tuple[Field, ...]:
        """An amount for each part."""
        return tuple(
            Field(part, low, high, unit=self.unit)
            for part, low, high in zip(self.names, self.low, self.high, strict=True)
        )

    @property
    def width(self) -> int:
        """One coordinate for each part."""
        return len(self.names)

    def coordinates(self) -> Simplex:
        """One coordinate for each part."""
        return Simplex(self.low, self.high, float(self.total), self.at_most)

    def encode(self, name: str, columns: Sequence[Sequence[Any]]) -> Tensor:
        """The amounts, which must add up: n x parts."""
        amounts = [[as_number(p, value) for value in column] for p, column in zip(self.names, columns, strict=True)]
        return torch.tensor(amounts, dtype=torch.float64).T.reshape(-1, len(self.names))

    def _check_sum(self, rows: Tensor) -> None:
        off = (rows.sum(-1) - self.total).abs() > SUM_TOLERANCE * self.total
        if bool(off.any()):
            row = rows[int(off.nonzero()[0])]
            raise InputError(
                f"{', '.join(self.names)} add up to {float(row.sum()):.{STEP_DIGITS}g} instead of {self.total:g};"
                " correct one of them"
            )

    def decode(self, coordinates: Sequence[float]) -> tuple[Any, ...]:
        """The amounts."""
        return tuple(float(value) for value in coordinates)

    def check(self, name: str, x: Tensor, relaxed: bool = False) -> None:
        """Within the bounds, and adding up."""
        for part, column, low, high in zip(self.names, x.T, self.low, self.high, strict=True):
            check_range(part, column, low, min(high, self.total))
        self._check_sum(x)
        if self.at_most is not None:
            used = (x > SUM_TOLERANCE * self.total).sum(-1)
            if bool((used > self.at_most).any()):
                raise InputError(
                    f"of {', '.join(self.names)} at most {self.at_most} can be above 0, got {int(used.max())}"
                )

    def definition(self) -> dict[str, Any]:
        """The parts and their bounds."""
        own = {"low": self.low, "high": self.high}
        bounds = {key: value[0] if len(set(value)) == 1 else list(value) for key, value in own.items()}
        more = {} if self.at_most is None else {"at_most": self.at_most}
        return {
            "names": list(self.names),
            "total": float(self.total),
            **bounds,
            **more,
            **({"unit": self.unit} if self.unit else {}),
        }


SUM_TOLERANCE = 2e-3
"""Amounts that people give add up to the total if they are off by no more than this share: 0.333 three times does."""


def _bounds_of_parts(what: str, given: Any, parts: tuple[str, ...]) -> tuple[float, ...]:
    """A number for each part: one for all, one for each by name, or a list."""
    if isinstance(given, Mapping):
        unknown = [str(part) for part in given if part not in parts]
        if unknown:
            raise InputError(f"{what} has a bound for {unknown[0]}, which is not a part; {nearest(unknown[0], parts)}")
        default = 0.0 if what == "low" else math.inf
        given = [given.get(part, default) for part in parts]
    values = [given] * len(parts) if is_number(given) else list(given)
    if len(values) != len(parts) or not all(is_number(value) and not math.isnan(value) for value in values):
        raise InputError(f"{what} must be a number, or one for each of {', '.join(parts)}; got {given!r}")
    return tuple(float(value) for value in values)
