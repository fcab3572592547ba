"""The form *New study* row by row: the kinds of parameters and outcomes, the fields of each, and rows that come and go.

Rows are added and removed by buttons that send the form, so that it works without scripts. A field is called by its row
and by its key in a study file: p0_low is the lower bound of the first parameter.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hentropy.errors import InputError
from hentropy.studies.definition import REPEATED
from hentropy.studies.records.csv_tables import number_in
from hentropy.studies.records.numbers import plain_whole
from hentropy.views.text.typed_values import typed_items, typed_option

Read = Callable[[str, str], Any]
"""From what a field is called and what was typed to a value."""


def whole_in(what: str, text: str) -> int:
    """A whole number."""
    if not text:
        raise InputError(f"{what} is empty")
    try:
        return plain_whole(text)
    except ValueError:
        raise InputError(f"{what} is {text[:40]!r}: not a whole number") from None


def text_in(what: str, text: str) -> str:
    """A text that is not empty."""
    if not text:
        raise InputError(f"{what} is empty")
    return text


def _items(what: str, text: str) -> list[str]:
    found = typed_items(text)
    if not found:
        raise InputError(f"{what}: give at least one")
    return found


def _options(what: str, text: str) -> list[Any]:
    return [typed_option(each) for each in _items(what, text)]


@dataclass(frozen=True)
class RowField:
    """A field of a row: its key in a study file, and how it is read; one that is not required may be left empty."""

    key: str
    label: str
    read: Read
    hint: str = ""
    required: bool = True
    look: Literal["line", "area", "check"] = "line"
    inputmode: str = ""
    checked: Any = True
    """What a box says in a study file that is checked."""


@dataclass(frozen=True)
class RowKind:
    """What a row describes: `words` say it in a study file."""

    key: str
    title: str
    fields: tuple[RowField, ...]
    words: Mapping[str, Any] = field(default_factory=dict)


def _log(label: str) -> RowField:
    return RowField("log", label, text_in, required=False, look="check")


UNIT = RowField("unit", "Unit", text_in, "such as °C or mol/L", required=False)
MEASURED_IN = replace(UNIT, hint="such as %")
RATIOS = _log("Equal ratios count as equal steps (logarithmic), as for rates and concentrations")
LIST = "One on each line, or separated by commas."


def _range(read: Read, inputmode: str, step: str) -> tuple[RowField, ...]:
    return (
        RowField("low", "Lowest value", read, inputmode=inputmode),
        RowField("high", "Highest value", read, inputmode=inputmode),
        UNIT,
        RowField("step", "Step", read, step, required=False, inputmode=inputmode),
        RATIOS,
    )


def _kinds(*kinds: RowKind) -> dict[str, RowKind]:
    return {kind.key: kind for kind in kinds}


PARAMETER_KINDS = _kinds(
    RowKind("real", "Number", _range(number_in, "decimal", "If left empty: any number."), {"type": "real"}),
    RowKind("integer", "Whole number", _range(whole_in, "numeric", "If left empty: 1."), {"type": "integer"}),
    RowKind("choice", "Options", (RowField("options", "Options", _options, LIST, look="area"),), {"type": "choice"}),
    RowKind(
        "levels",
        "Levels",
        (
            RowField("values", "Levels, from the lowest to the highest", _options, LIST, look="area"),
            UNIT,
            _log("Levels are as far apart as their ratios"),
        ),
        {"type": "levels"},
    ),
    RowKind(
        "fractions",
        "Parts of a whole",
        (
            RowField("names", "Names of the parts", _items, LIST, look="area"),
            RowField("total", "They add up to", number_in, "If left empty: 1.", required=False, inputmode="decimal"),
            UNIT,
            RowField("at_most", "How many parts at most", whole_in, required=False, inputmode="numeric"),
        ),
        {"type": "fractions"},
    ),
)
"""The kinds of parameters that people describe on a page."""


def _noise(what: str, text: str) -> float | None:
    found: float | None = REPEATED.value(text)
    return found


NOISE = RowField(
    "noise",
    REPEATED.question,
    _noise,
    "About how much, in its unit (a standard deviation). Not at all: 0. If you do not know: leave it empty.",
    required=False,
)

OUTCOME_KINDS = _kinds(
    RowKind(
        "number",
        "Number",
        (
            MEASURED_IN,
            NOISE,
            RowField("low", "Least possible value", number_in, "such as 0", required=False, inputmode="decimal"),
            RowField("high", "Greatest possible value", number_in, "such as 100", required=False, inputmode="decimal"),
            _log("Always above 0 and known by its ratios (logarithmic)"),
            RowField(
                "tails",
                "Now and then grossly wrong (heavy tails): what other results contradict counts for little",
                text_in,
                required=False,
                look="check",
                checked="heavy",
            ),
        ),
    ),
    RowKind("yes-no", "Yes or no", (), {"kind": "yes/no"}),
    RowKind(
        "grades",
        "Grades",
        (
            RowField("grades", "Grades, from the worst to the best", _items, LIST, look="area"),
            RowField("at_least", "Which one counts, with better ones", text_in, "If left empty: the best.", False),
        ),
        {"kind": "grades"},
    ),
    RowKind(
        "computed",
        "Computed from the design",
        (RowField("computed", "Expression", text_in, "such as 2 * loading + 0.3 * minutes"), MEASURED_IN),
    ),
)

GROUPS: Mapping[str, tuple[Mapping[str, RowKind], int]] = {"p": (PARAMETER_KINDS, 50), "o": (OUTCOME_KINDS, 20)}
"""Parameters and outcomes by the letter of their fields, with the most rows of each."""

BEGIN = {"p0_kind": "real", "o0_kind": "number", "goal": "maximize", "shown": "maximize", "trials": "60"}
"""A form that nobody has touched."""


@dataclass(frozen=True)
class Row:
    """A row of a form: how its fields begin, and what it describes."""

    prefix: str
    kind: RowKind

    def key(self, name: str) -> str:
        """The name of a field of this row."""
        return f"{self.prefix}_{name}"

    def is_empty(self, typed: Mapping[str, str]) -> bool:
        """Whether nothing was typed here."""
        return not any(
            typed.get(self.key(one), "").strip() for one in ("name", *(each.key for each in self.kind.fields))
        )


def rows_in(typed: Mapping[str, str], letter: str) -> tuple[Row, ...]:
    """The rows of a form in their order, as many as there may be."""
    return all_rows(typed, letter)[: GROUPS[letter][1]]


def all_rows(typed: Mapping[str, str], letter: str) -> tuple[Row, ...]:
    """The rows of a form in their order, however many."""
    kinds, _ = GROUPS[letter]
    number_of = re.compile(rf"{letter}(0|[1-9][0-9]{{0,2}})_kind")
    numbers = sorted(int(found[1]) for key in typed if (found := number_of.fullmatch(key)))
    rows = [
        Row(f"{letter}{number}", kinds[kind])
        for number in numbers
        if (kind := typed[f"{letter}{number}_kind"]) in kinds
    ]
    return tuple(rows)


def with_rows(typed: Mapping[str, str], what: str) -> tuple[dict[str, str], str]:
    """The form after a button for rows was pressed, renumbered, and the field to continue with."""
    verb, _, rest = what.partition(":")
    letter, _, which = rest.partition(":")
    found = {key: text for key, text in typed.items() if not re.match(r"[po]\d+_", key)}
    goes_on = ""
    for each, (kinds, most) in GROUPS.items():
        kept = [row for row in rows_in(typed, each) if (verb, rest) != ("remove", row.prefix)]
        for number, row in enumerate(kept):
            found |= {
                f"{each}{number}{key[len(row.prefix) :]}": text
                for key, text in typed.items()
                if key.startswith(f"{row.prefix}_")
            }
        if verb == "add" and letter == each and which in kinds and len(kept) < most:
            found[f"{each}{len(kept)}_kind"] = which
            goes_on = f"{each}{len(kept)}_name"
    return found, goes_on
