"""`Choice` and `Levels`: parameters that have one of several values, without and with an order."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hentropy.core.given import is_finite, is_number
from hentropy.core.spaces.coordinates import Straight, ValueTable
from hentropy.core.spaces.evaluation import Categories
from hentropy.core.spaces.parameters import (
    GRID_TOLERANCE,
    MIN_LOG_BOUND,
    Field,
    Parameter,
    check_unit,
    nearest,
    written,
)
from hentropy.core.spaces.tables import DataFrameLike
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


def options_of(what: str, options: Any) -> tuple[Any, ...]:
    """Texts, numbers or truth values, all different, as plain Python has them."""
    if isinstance(options, str | bytes | Mapping) or not isinstance(options, Sequence | np.ndarray):
        raise InputError(f'the {what} must be a list, such as ["water", "ethanol"], got {options!r}')
    found = tuple(option.item() if isinstance(option, np.generic) else option for option in options)
    if not found:
        raise InputError(f"a parameter needs at least one of its {what}, got an empty list")
    for option in found:
        if not isinstance(option, str | bool) and not is_finite(option):
            raise InputError(f"the {what} must be texts, numbers or truth values, got {option!r}")
        if isinstance(option, str) and (option != option.strip() or not option):
            raise InputError(f"one of the {what} is {option!r}; it must not be empty, or begin or end with a space")
    seen: dict[str, Any] = {}
    for option in found:
        if written(option) in seen:
            raise InputError(f"the {what} must differ, got {written(option)} twice")
        seen[written(option)] = option
    return found


class OneOf(Parameter):
    """One of several values; what `Choice` and `Levels` have in common."""

    @property
    @abstractmethod
    def all_values(self) -> tuple[Any, ...]:
        """Every value it can have."""

    @property
    def categories(self) -> Categories:
        """Its values as conditions know them."""
        return Categories(self.all_values, isinstance(self, Levels))

    @cached_property
    def _positions(self) -> dict[Any, int]:
        return {value: position for position, value in enumerate(self.all_values)}

    def encode(self, name: str, columns: Sequence[Sequence[Any]]) -> Tensor:
        """The coordinates of the values: n x width."""
        found = [self._position(name, value) for value in columns[0]]
        block = self.coordinates()
        return torch.empty(len(found), 0, dtype=torch.float64) if block is None else block.rows[found]

    def _position(self, name: str, value: Any) -> int:
        plain = value.item() if isinstance(value, np.generic | Tensor) else value
        try:
            return self._positions[plain]
        except (KeyError, TypeError):
            known = [written(option) for option in self.all_values]
            if isinstance(plain, str) and plain.strip() in known:
                return known.index(plain.strip())
            raise InputError(f"parameter {name} is {plain!r}; {nearest(str(plain), known)}") from None

    @abstractmethod
    def coordinates(self) -> ValueTable | None:
        """A row of coordinates for each value; None where there is a single one."""

    def check(self, name: str, x: Tensor, relaxed: bool = False) -> None:
        """The coordinates of one of the values."""
        block = self.coordinates()
        if block is None or not len(x):
            return
        low, high = block.bounds.to(x)
        off = ((x - block.project(x)).abs() / torch.where(high > low, high - low, 1.0)).amax(-1)
        bad = (~(off <= GRID_TOLERANCE)).nonzero()
        if len(bad):
            row = x[int(bad[0])].tolist()
            known = ", ".join(written(value) for value in self.all_values[:12])
            raise InputError(
                f"parameter {name} has coordinates {row if len(row) > 1 else row[0]}, which none of its values has;"
                f" these are {known}"
            )

    def decode(self, coordinates: Sequence[float]) -> tuple[Any, ...]:
        """The value whose coordinates these are."""
        block = self.coordinates()
        if block is None:
            return (self.all_values[0],)
        return (self.all_values[int(block.index(torch.tensor([list(coordinates)], dtype=torch.float64))[0])],)


@dataclass(frozen=True, repr=False)
class Choice(OneOf):
    """One of several unordered options, such as solvents.

    `descriptors` are numbers that describe the options, such as a boiling point: a DataFrame with a row for each
    option, or the numbers of each option by name. Options with similar descriptors are expected to behave similarly.
    """

    kind = "choice"

    options: Sequence[Any]
    descriptors: Any = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Check the options, and the numbers that describe them."""
        object.__setattr__(self, "options", options_of("options", self.options))
        object.__setattr__(self, "descriptors", _descriptor_columns(self.all_values, self.descriptors))

    @property
    def all_values(self) -> tuple[Any, ...]:
        """The options."""
        return tuple(self.options)

    def fields(self, name: str) -> tuple[Field, ...]:
        """One of the options."""
        return (Field(name, 0.0, len(self.options) - 1.0, options=self.all_values),)

    @property
    def _informative(self) -> list[Sequence[float]]:
        """The descriptors that differ between options."""
        return [column for column in self.descriptors.values() if len(set(column)) > 1]

    @property
    def width(self) -> int:
        """A coordinate for each option and each descriptor that differs."""
        return len(self.options) + len(self._informative) if len(self.options) > 1 else 0

    @cached_property
    def _block(self) -> ValueTable | None:
        m = len(self.options)
        if m == 1:
            return None
        columns = self._informative
        rows = torch.cat([torch.eye(m), torch.tensor(columns, dtype=torch.float64).reshape(-1, m).T], -1)
        unit = Straight.over(torch.stack([rows.min(0).values, rows.max(0).values]), torch.zeros(len(rows.T)) > 0)
        # all descriptors together count as one coordinate: their number says nothing about how much they matter
        unit.width[m:] *= max(len(columns), 1) ** 0.5
        return ValueTable(rows, unit, [0] * m + [1] * len(columns), ordered=False)

    def coordinates(self) -> ValueTable | None:
        """A coordinate for each option, which share a length scale, and for each descriptor, which share another."""
        return self._block

    def definition(self) -> dict[str, Any]:
        """The options and their descriptors."""
        more = {name: list(column) for name, column in self.descriptors.items()}
        return {"options": list(self.options), **({"descriptors": more} if more else {})}

    def notes(self, name: str) -> tuple[str, ...]:
        """Which descriptors carry no information."""
        same = [column for column, values in self.descriptors.items() if len(set(values)) == 1]
        if not same or len(self.options) == 1:
            return ()
        what = "descriptor" if len(same) == 1 else "descriptors"
        return (f"{what} {', '.join(same)} of {name} left out: the same for all options",)


def _wrong_length(table: Mapping[Any, Any], values: Sequence[Any]) -> str:
    """Which column has not one number for each option, where the table is one of columns; else nothing."""
    are_columns = (
        isinstance(column, Sequence | np.ndarray) and not isinstance(column, str) for column in table.values()
    )
    if any(option in table for option in values) or not all(are_columns):
        return ""
    counts = {name: len(column) for name, column in table.items() if len(column) != len(values)}
    return next((f"{name} has {count} number{'s' * (count != 1)}" for name, count in counts.items()), "")


def _descriptor_columns(values: tuple[Any, ...], table: Any) -> dict[str, tuple[float, ...]]:
    """Descriptors as columns, in the order of the options."""
    if table is None:
        return {}
    if isinstance(table, DataFrameLike):
        index = [row.item() if isinstance(row, np.generic) else row for row in table.index]
        content = table.to_numpy()
        by_option = {row: dict(zip(map(str, table.columns), content[i], strict=True)) for i, row in enumerate(index)}
    elif isinstance(table, Mapping) and table and all(option in table for option in values):
        by_option = {
            option: dict(row) if isinstance(row, Mapping) else {"descriptor": row} for option, row in table.items()
        }
    elif isinstance(table, Mapping) and all(
        isinstance(column, Sequence | np.ndarray) and len(column) == len(values) for column in table.values()
    ):
        by_option = {option: {str(c): table[c][i] for c in table} for i, option in enumerate(values)}
    elif isinstance(table, Mapping) and (short := _wrong_length(table, values)):
        raise InputError(f"descriptor {short} for {len(values)} options; give one for each")
    else:
        missing = [str(option) for option in values if not isinstance(table, Mapping) or option not in table]
        raise InputError(
            "descriptors must be a DataFrame with the options as its index, or numbers for each option by name;"
            f" these have nothing for {', '.join(missing[:5])}"
        )
    missing = [str(option) for option in values if option not in by_option]
    if missing:
        raise InputError(f"the descriptors have no row for {', '.join(missing[:5])}")
    columns: dict[str, tuple[float, ...]] = {}
    for column in by_option[values[0]]:
        found = []
        for option in values:
            value: Any = by_option[option].get(column)
            value = value.item() if isinstance(value, np.generic) else value
            if not is_finite(value):
                raise InputError(f"descriptor {column} of {option} is {value!r}; it must be a finite number")
            found.append(float(value))
        columns[str(column)] = tuple(found)
    return columns


@dataclass(frozen=True, repr=False)
class Levels(OneOf):
    """One of several ordered values: numbers such as [0.1, 0.5, 2.0], or names from the lowest to the highest.

    Distances between numbers are their differences, or with `log` their ratios; names are one step apart.
    """

    kind = "levels"

    values: Sequence[Any]
    log: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        """Check the values; numbers are put in order."""
        check_unit(self.unit)
        values = options_of("levels", self.values)
        if all(is_number(value) for value in values):
            values = tuple(sorted(values))
            if self.log and values[0] < MIN_LOG_BOUND:
                raise InputError(f"logarithmic levels must be above 0, got {values[0]}; leave log out")
        elif any(is_number(value) for value in values):
            raise InputError(f"levels must be all numbers or all names, got {list(values)}; for a mix use Choice")
        elif self.log:
            raise InputError("levels with names cannot be logarithmic; leave log out")
        object.__setattr__(self, "values", values)

    @property
    def all_values(self) -> tuple[Any, ...]:
        """The levels."""
        return tuple(self.values)

    @property
    def width(self) -> int:
        """One coordinate."""
        return int(len(self.values) > 1)

    @cached_property
    def _block(self) -> ValueTable | None:
        if len(self.values) == 1:
            return None
        named = not is_number(self.values[0])
        numbers = range(len(self.values)) if named else self.values
        rows = torch.tensor(list(numbers), dtype=torch.float64).unsqueeze(-1)
        return ValueTable(rows, Straight.over(rows[[0, -1]], torch.tensor([self.log])), [0], ordered=True)

    def coordinates(self) -> ValueTable | None:
        """One coordinate."""
        return self._block

    def fields(self, name: str) -> tuple[Field, ...]:
        """One of the levels."""
        numbers = is_number(self.values[0])
        low, high = (float(self.values[0]), float(self.values[-1])) if numbers else (0.0, len(self.values) - 1.0)
        return (Field(name, low, high, self.log, unit=self.unit, options=self.all_values, ordered=True),)

    def definition(self) -> dict[str, Any]:
        """The levels."""
        more = {"log": True} if self.log else {}
        return {"values": list(self.values), **more, **({"unit": self.unit} if self.unit else {})}


def descriptor_tables(parameters: Mapping[str, Parameter]) -> dict[str, dict[Any, float]]:
    """The descriptors of all choices as tables; of two with one name, the first."""
    found: dict[str, dict[Any, float]] = {}
    for parameter in parameters.values():
        if isinstance(parameter, Choice):
            for name, column in parameter.descriptors.items():
                found.setdefault(name, dict(zip(parameter.all_values, column, strict=True)))
    return found
