"""The parameters of a space: small frozen values that know their values, their coordinates and their words.

    Real, Integer    a number in a range, maybe in steps          one coordinate: itself
    Levels           one of several values that have an order     one coordinate: the number, or the position
    Choice           one of several options without an order      one per option, one of them 1; descriptors
    Fractions        parts of a whole                             one coordinate per part

A parameter with a single value has no coordinates: there is nothing to learn about it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from dataclasses import fields as parts_of
from typing import Any, ClassVar

import numpy as np

from hentropy.core.given import closest, is_finite, is_number
from hentropy.core.spaces.coordinates import Coordinates, Held, Numbers
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

MIN_LOG_BOUND = 1e-300
"""Below it numbers have few digits left, and a logarithm that is taken back is another number."""

STEP_DIGITS = 12
"""Values in steps are written with this many digits: 0.3, and not the sum of three tenths."""

GRID_TOLERANCE = 1e-6
"""A value is on a grid if it is off by no more than this share of a step."""


@dataclass(frozen=True)
class Field:
    """One value of a design as people see it: a number in a range, or one of several options."""

    name: str
    low: float
    high: float
    log: bool = False
    grid: float = 0.0
    whole: bool = False
    unit: str = ""
    options: tuple[Any, ...] = ()
    ordered: bool = False

    @property
    def title(self) -> str:
        """The name, with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def is_number(self) -> bool:
        """Whether its values can be placed on a scale of numbers."""
        return not self.options or (self.ordered and all(is_number(option) for option in self.options))

    def value(self, number: float) -> Any:
        """What a number of a range is as people write it."""
        if self.whole:
            return round(number)
        return float(f"{number:.{STEP_DIGITS}g}") if self.grid else float(number)

    def same(self, one: Any, other: Any) -> bool:
        """Whether two values are the same, but for rounding."""
        if self.options or not (is_number(one) and is_number(other)):
            return written(one) == written(other)
        return abs(one - other) <= 1e-9 * max(self.high - self.low, abs(one))

    def read(self, text: str) -> Any:
        """The option that somebody typed; an `InputError` that names the closest one for any other text."""
        known = {written(option): option for option in self.options}
        if text.strip() not in known:
            raise InputError(f"{self.name} is {text.strip()!r}; {nearest(text.strip(), list(known))}")
        return known[text.strip()]


def nearest(text: str, known: Sequence[str], most: int = 12, what: str = "options") -> str:
    """What may have been meant, and what there is."""
    is_word = any(letter.isalpha() for letter in text)  # a number that is not there is not misspelt
    close = closest(text, known, cutoff=0.5) if is_word else None
    listed = ", ".join(known[:most]) + (f" and {len(known) - most} more" if len(known) > most else "")
    return f"did you mean {close}? The {what} are {listed}" if close else f"the {what} are {listed}"


def written(option: Any) -> str:
    """An option as text; numbers that are whole without a point, as people type them."""
    if isinstance(option, float) and option.is_integer() and abs(option) < 1e15:
        return str(int(option))
    return str(option)


MOST_VALUES_SHOWN = 8


def _few(values: list[Any], text: Callable[[Any], str] = repr) -> str:
    """All of a few values in brackets; of many the first ones and how many there are."""
    shown = values if len(values) <= MOST_VALUES_SHOWN else values[:3]
    return f"[{', '.join(map(text, shown))}{f', ... {len(values)} in all' * (len(shown) < len(values))}]"


class Parameter(ABC):
    """What can be set in an experiment."""

    kind: ClassVar[str]
    """What study files call it."""

    def __repr__(self) -> str:
        """As it was written, without defaults; of many values the first few, and how many there are."""
        said = []
        for field in parts_of(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value != field.default and value != {}:
                own = _few(list(value)) if isinstance(value, tuple) else repr(value)
                own = _few([f"{k!r}: {v!r}" for k, v in value.items()], str) if isinstance(value, Mapping) else own
                said.append(own if field.default is MISSING else f"{field.name}={own}")
        return f"{type(self).__name__}({', '.join(said)})"

    def columns(self, name: str) -> tuple[str, ...]:
        """What its values are called, if it is called so itself."""
        return (name,)

    @abstractmethod
    def fields(self, name: str) -> tuple[Field, ...]:
        """Its values as people see them, one for each of its columns."""

    @abstractmethod
    def coordinates(self) -> Coordinates | None:
        """Its coordinates; None where it has a single value."""

    @property
    def width(self) -> int:
        """How many coordinates it has; kinds of parameters that know it need not make them to say so."""
        made = self.coordinates()
        return 0 if made is None else made.width

    @abstractmethod
    def encode(self, name: str, columns: Sequence[Sequence[Any]]) -> Tensor:
        """Values of n designs, a column for each of its columns, as coordinates: n x width; checked."""

    @abstractmethod
    def decode(self, coordinates: Sequence[float]) -> tuple[Any, ...]:
        """Its values, from the coordinates of one design."""

    @abstractmethod
    def check(self, name: str, x: Tensor, relaxed: bool = False) -> None:
        """Raise an `InputError` for coordinates (n x width) that it cannot have; `relaxed` ones may be off a grid."""

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """The options that make it, as plain values."""

    def notes(self, name: str) -> tuple[str, ...]:
        """What a person should know about how it was taken, in sentences."""
        return ()


@dataclass(frozen=True, repr=False)
class Number(Parameter):
    """A number of a design from `low` to `high`, both included; with `log`, equal ratios count as equal steps."""

    low: float
    high: float
    log: bool = False
    step: float | None = None
    unit: str = ""

    whole: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the bounds and the step."""
        _check_range(self.low, self.high, self.log)
        check_unit(self.unit)
        if self.whole and any(abs(bound - round(bound)) > 1e-9 for bound in (self.low, self.high)):
            raise InputError(f"the bounds of this parameter must be whole numbers, got {self.low} and {self.high}")
        if self.step is None:
            return
        if not (is_finite(self.step) and self.step > 0 and (not self.whole or self.step == round(self.step))):
            what = "a whole number of at least 1" if self.whole else "a number above 0"
            raise InputError(f"the step must be {what}, got {self.step!r}")
        count = (self.high - self.low) / self.step
        if not math.isfinite(count):
            raise InputError(f"the step {self.step} is too small for the range from {self.low} to {self.high}")
        if abs(count - round(count)) > GRID_TOLERANCE or round(count) < 1:
            last = self.low + math.floor(count + GRID_TOLERANCE) * self.step
            raise InputError(
                f"from {self.low} to {self.high} is not a whole number of steps of {self.step}; the last value would"
                f" be {last:.{STEP_DIGITS}g}: change high or the step"
            )

    @property
    def grid(self) -> float:
        """Its values are `low` and whole numbers of these above it; 0 if it can have any value."""
        return float(self.step) if self.step is not None else float(self.whole)

    @property
    def must_be(self) -> str:
        """What its values are, where not any number is one."""
        if self.grid == 1.0 and float(self.low).is_integer():
            return "a whole number"
        return f"{self.low:g} and whole steps of {self.grid:g} above it"

    def fields(self, name: str) -> tuple[Field, ...]:
        """The number."""
        low, high = float(self.low), float(self.high)
        return (Field(name, low, high, bool(self.log), self.grid, self.whole, self.unit),)

    @property
    def width(self) -> int:
        """One coordinate."""
        return 1

    def coordinates(self) -> Numbers:
        """One coordinate."""
        return Numbers([self.low], [self.high], [self.log], [self.grid])

    def encode(self, name: str, columns: Sequence[Sequence[Any]]) -> Tensor:
        """The numbers: n x 1."""
        numbers = torch.tensor([[as_number(name, value)] for value in columns[0]], dtype=torch.float64).reshape(-1, 1)
        if self.step is None:
            return numbers
        rounded = self.coordinates().rounded(numbers)
        return torch.where((numbers - rounded).abs() <= GRID_TOLERANCE * self.grid, rounded, numbers)

    def decode(self, coordinates: Sequence[float]) -> tuple[Any, ...]:
        """The number: an int if it is whole."""
        if self.whole:
            return (round(coordinates[0]),)
        return (float(f"{coordinates[0]:.{STEP_DIGITS}g}") if self.step is not None else float(coordinates[0]),)

    def check(self, name: str, x: Tensor, relaxed: bool = False) -> None:
        """Finite, within the bounds, and on the grid."""
        check_range(name, x[:, 0], float(self.low), float(self.high))
        if self.grid and not relaxed:
            off = ((x[:, 0] - self.low) / self.grid).frac().abs()
            bad = (torch.minimum(off, 1.0 - off) > GRID_TOLERANCE).nonzero()
            if len(bad):
                raise InputError(f"parameter {name} is {float(x[int(bad[0]), 0])}; it must be {self.must_be}")

    def definition(self) -> dict[str, Any]:
        """Bounds, and what differs from a plain parameter."""
        value = self.fields("")[0].value
        more = {} if self.step is None else {"step": int(self.step) if self.whole else float(self.step)}
        return {
            "low": value(self.low),
            "high": value(self.high),
            "log": bool(self.log),
            **more,
            **({"unit": self.unit} if self.unit else {}),
        }


@dataclass(frozen=True, repr=False)
class Real(Number):
    """A number between `low` and `high`, in steps if `step` is given; with `log`, equal ratios count as equal steps."""

    kind = "real"


@dataclass(frozen=True, repr=False)
class Integer(Number):
    """A whole number from `low` to `high`, both included; with `log`, equal ratios count as equal steps."""

    kind = "integer"
    whole = True


def check_unit(unit: Any) -> None:
    """Units are texts."""
    if not isinstance(unit, str):
        raise InputError(f'the unit must be a text, such as "mol/L", got {unit!r}')


def as_number(name: str, value: Any) -> float:
    """A value that must be a number, or an error that says what is wrong with it."""
    try:
        plain = value.item() if isinstance(value, Tensor | np.ndarray) else value
        if isinstance(plain, str | bytes | complex | np.complexfloating):  # NumPy would drop the imaginary part
            raise TypeError
        return float(plain)
    except OverflowError:
        raise InputError(f"parameter {name} is a whole number beyond double precision") from None
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"parameter {name} is {value!r}; it must be a number") from None


def check_range(name: str, x: Tensor, low: float, high: float) -> None:
    """Raise an `InputError` for a number of x (n) that is not finite or not between the bounds, but for rounding."""
    bad = (~torch.isfinite(x)).nonzero()
    if len(bad):
        raise InputError(f"parameter {name} is {float(x[int(bad[0])])}; remove that row or mark the trial as failed")
    slack = 1e-9 * (high - low)
    bad = ((x < low - slack) | (x > high + slack)).nonzero()
    if len(bad):
        raise InputError(
            f"parameter {name} is {float(x[int(bad[0])])}, outside [{low:g}, {high:g}];"
            " correct the value, or widen the space"
        )


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
        raise InputError(f"the lower bound {low} must be below the upper bound {high}; swap or widen them")
    if log and low <= 0:
        raise InputError(f"a logarithmic parameter needs a lower bound above 0, got {low}; raise it, or leave log out")
    if log and low < MIN_LOG_BOUND:
        raise InputError(
            f"a logarithmic parameter needs a lower bound of at least {MIN_LOG_BOUND:g}, got {low}; raise it"
        )


def blocks_of(parameters: Mapping[str, Parameter], held: Mapping[str, Tensor]) -> list[Coordinates]:
    """The coordinates of the parameters in their order; numbers that follow each other share a block."""
    blocks: list[Coordinates] = []
    run: list[Number] = []
    for name, parameter in [*parameters.items(), ("", None)]:
        if isinstance(parameter, Number) and name not in held:
            run.append(parameter)
            continue
        if run:
            blocks.append(
                Numbers([p.low for p in run], [p.high for p in run], [p.log for p in run], [p.grid for p in run])
            )
            run = []
        block = None if parameter is None else parameter.coordinates()
        if block is not None:
            blocks.append(Held(held[name], block) if name in held else block)
    return blocks
