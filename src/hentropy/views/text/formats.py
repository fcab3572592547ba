"""Numbers, designs, times and plain values as text."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hentropy.core.given import is_number
from hentropy.core.spaces import DesignSpace, Field, Pool
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Measurement
from hentropy.studies.records.numbers import MAX_VALUE_LENGTH, brief, counted, one_line, short, value_text
from hentropy.views.text.plain_json import json_text

__all__ = [
    "MAX_VALUE_LENGTH",
    "brief",
    "counted",
    "design",
    "json_text",
    "measured",
    "number",
    "one_line",
    "value_text",
]


def number(value: float | None, spread: float | None = None) -> str:
    """A number that can be read at a glance, as exact as its spread calls for where one is given."""
    return "" if value is None else short(value, spread)


def measured(value: float | None, std_error: float | None) -> str:
    """A value with its standard error."""
    return number(value, std_error) + (f" ± {number(std_error)}" if std_error is not None else "")


def results(measured_values: Mapping[str, Measurement], outcomes: Outcomes) -> str:
    """What was measured, with units; by name where there are several outcomes."""
    known = {name: measured_values[name] for name in outcomes.measured if name in measured_values}
    said = {name: result(one, outcomes.units.get(name, ""), outcomes.words(name)) for name, one in known.items()}
    return ", ".join(said.values() if len(outcomes.measured) == 1 else (f"{name} {one}" for name, one in said.items()))


def result(one: Measurement | None, unit: str = "", words: Sequence[str] = ()) -> str:
    """One measurement, with its unit, or the word that it stands for; nothing where there is none."""
    if one is not None and one.value in range(len(words)):
        return words[int(one.value)]
    return "" if one is None else f"{measured(one.value, one.std_error)} {unit}".rstrip()


def units_of(space: DesignSpace) -> dict[str, str]:
    """The units of the values of a design, by name."""
    return {field.name: field.unit for field in space.fields if field.unit}


def design(params: Mapping[str, Any], between: str = ", ", units: Mapping[str, str] | None = None) -> str:
    """A design on one line, or on one for each parameter."""
    known = units or {}
    return between.join(f"{name} {value_text(value)} {known.get(name, '')}".rstrip() for name, value in params.items())


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: a, b and c."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def titled(name: str, unit: str) -> str:
    """The title of a column or a field: its name, with its unit."""
    return f"{name} ({unit})" if unit else name


@dataclass(frozen=True)
class DesignColumn:
    """A value that all designs have, as a column of a table; numbers stand to the right."""

    name: str
    unit: str = ""
    is_number: bool = True

    @property
    def title(self) -> str:
        """The name, with its unit."""
        return titled(self.name, self.unit)

    def text(self, value: Any) -> str:
        """A value with its unit."""
        return f"{value_text(value)} {self.unit}".rstrip()


def design_columns(space: DesignSpace) -> tuple[DesignColumn, ...]:
    """The values of designs in their order; those of a list with its ids and what else it has."""
    known = {field.name: field for field in space.fields}
    return tuple(
        DesignColumn(name, known[name].unit, _in_numbers(known[name]))
        if name in known
        else DesignColumn(name, is_number=_beside(space, name))
        for name in space.names
    )


def _in_numbers(field: Field) -> bool:
    return all(is_number(option) for option in field.options)


def _beside(space: DesignSpace, name: str) -> bool:
    """Whether a column that is not modelled has numbers; ids are names, whatever they look like."""
    return (
        isinstance(space, Pool)
        and name != space.id
        and all(value is None or is_number(value) for value in space.shown[name])
    )


def iso(seconds: float | None) -> str | None:
    """A time as ISO 8601 in UTC."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


YEARS = (2, 9998)
"""The years of times that are taken: those at the very ends cannot be shown in every time zone."""


def seconds(text: str) -> float:
    """The time that ISO 8601 says; without a zone it is in UTC. A `ValueError` if it could not be written again."""
    read = datetime.fromisoformat(text)
    if not YEARS[0] <= read.year <= YEARS[1]:
        raise ValueError(f"the year {read.year} is not from {YEARS[0]} to {YEARS[1]}")
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def clock(seconds: float) -> str:
    """A time by the clock of this place."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def ago(seconds: float) -> str:
    """How long ago a time was, in words."""
    passed = max(0.0, time.time() - seconds)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if passed >= length:
            count = int(passed // length)
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return f"{int(passed)} s ago"
