"""Forms: the study that one is about, what was typed, and what is wrong with it, by field. What was typed stays."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from fastapi import Form as Field

from hentropy.errors import InputError
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import UNKNOWN, StudyRecord, ToldCost, Value, Values
from hentropy.studies.records.csv_tables import number_in
from hentropy.views.server.services import Here, check_identity
from hentropy.views.server.settings import MAX_NOTE_LENGTH
from hentropy.views.text.earlier_data import columns_by_parameter


def meant(study_id: int, here: Here, begun: Annotated[str, Field()] = "") -> StudyRecord:
    """The study of a form, which says when it was begun; what follows is done with this record alone."""
    record = here.study_service.record(study_id)
    check_identity(record, begun)
    return record


Meant = Annotated[StudyRecord, Depends(meant)]
"""An argument of a route that takes a form: its study."""


async def typed(request: Request) -> dict[str, str]:
    """All that was typed into a form whose fields differ from study to study."""
    return {name: text for name, text in (await request.form()).items() if isinstance(text, str)}


Typed = Annotated[dict[str, str], Depends(typed)]
"""An argument of a route that takes such a form."""


WHOLE = ""
"""The field of mistakes that belong to no field."""


@dataclass(frozen=True)
class Form:
    """A form as it is shown; `lines` say what is wrong with a file, `preview` what would come of it."""

    typed: Mapping[str, str] = field(default_factory=dict)
    mistakes: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    preview: str = ""
    focus: str = ""
    """The field in which typing continues, where the page is loaded again."""


class Mistaken(Exception):  # noqa: N818 (it reads better where it is caught)
    """A form that cannot be used as it is; it is shown again."""

    def __init__(self, form: Form) -> None:
        super().__init__("; ".join(form.mistakes.values()))
        self.form = form


@dataclass(frozen=True)
class Result:
    """What somebody entered of an experiment."""

    values: Values
    cost: ToldCost
    note: str


@dataclass(frozen=True)
class OutcomeField:
    """The two fields of an outcome in a form: its value and its standard error; or the one of its words."""

    key: str
    title: str
    error_title: str
    required: bool
    words: tuple[str, ...] = ()

    def written(self, value: float) -> str:
        """A value as it would be entered."""
        return self.words[int(value)] if self.words else repr(value)

    @property
    def error_key(self) -> str:
        """The field of the standard error."""
        return f"{self.key}_se"


def outcome_fields(outcomes: Outcomes, shown: Collection[str] | None = None) -> dict[str, OutcomeField]:
    """The fields of outcomes, or of some of them, by name; not called so: an outcome may have another field's name."""
    only = len(outcomes.measured) == 1
    return {
        name: OutcomeField(
            f"o{i}",
            outcomes.titles[name][:1].upper() + outcomes.titles[name][1:],
            "Standard error" if only else f"Standard error of {name}",
            only,
            outcomes.words(name),
        )
        for i, name in enumerate(outcomes.measured)
        if shown is None or name in shown
    }


def measurements_in(typed: Mapping[str, str], outcomes: Outcomes, mistakes: dict[str, str]) -> dict[str, Value | None]:
    """What a form says of each outcome; None where nothing was entered."""
    found: dict[str, Value | None] = {}
    for name, one in outcome_fields(outcomes).items():
        if one.words:
            found[name] = typed.get(one.key, "").strip() or None
            if found[name] not in (*one.words, *([] if one.required else [None])):
                mistakes[one.key] = f"Choose one of {', '.join(one.words)}."
            continue
        value, error = (
            _number(typed, key, said, mistakes) if required or typed.get(key, "").strip() else None
            for key, said, required in (
                (one.key, "The value" if one.required else f"The value of {name}", one.required),
                (one.error_key, "The standard error", False),
            )
        )
        if error is not None and error < 0:
            mistakes[one.error_key] = f"The standard error is {error:g}; it cannot be below 0."
        if value is None and error is not None:
            mistakes.setdefault(one.key, f"Enter the value of {name} as well.")
        found[name] = None if value is None else value if error is None else (value, error)
    if not mistakes and all(value is None for value in found.values()):
        mistakes[WHOLE] = "Enter at least one result."
    return found


def result_in(typed: Mapping[str, str], outcomes: Outcomes) -> Result:
    """The result that a form says; `Mistaken` with every mistake in it. An empty cost is unknown."""
    mistakes: dict[str, str] = {}
    values = measurements_in(typed, outcomes, mistakes)
    cost = _cost(typed, mistakes)
    note = note_in(typed, mistakes)
    if mistakes:
        raise Mistaken(Form(typed, mistakes))
    return Result(values, cost, note)


def failure_in(typed: Mapping[str, str]) -> tuple[str, ToldCost]:
    """Why an experiment failed, which a form has to say, and what it cost if that is told."""
    mistakes: dict[str, str] = {}
    cost = _cost(typed, mistakes)
    note = note_in(typed, mistakes)
    if not note:
        mistakes.setdefault("note", "State in the note why it failed.")
    if mistakes:
        raise Mistaken(Form(typed, mistakes))
    return note, cost


def _cost(typed: Mapping[str, str], mistakes: dict[str, str]) -> ToldCost:
    """What a form says of the cost; nothing where it has no field for it."""
    if not typed.get("cost", "").strip():
        return UNKNOWN if "cost" in typed else None
    cost = _number(typed, "cost", "The cost", mistakes)
    if cost is not None and cost <= 0:
        mistakes["cost"] = f"The cost is {cost:g}; it must be above 0."
    return cost


def note_in(typed: Mapping[str, str], mistakes: dict[str, str]) -> str:
    """The note of a form."""
    # browsers send the line breaks of a text with two characters
    note = typed.get("note", "").replace("\r\n", "\n").strip()
    if len(note) > MAX_NOTE_LENGTH:
        mistakes["note"] = f"The note has {len(note):,} letters; at most {MAX_NOTE_LENGTH:,} are kept."
    return note


def count_in(typed: Mapping[str, str], most: int) -> int:
    """How many experiments a form asks for."""
    text = typed.get("count", "").strip()
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
    if not 1 <= count <= most:
        said = f"{text!r} is not a whole number from 1 to {most}." if text else f"Say how many, from 1 to {most}."
        raise Mistaken(Form(typed, {"count": said}))
    return count


def columns_in(typed: Mapping[str, str]) -> dict[str, str]:
    """Columns by parameter or outcome, from `COLUMN=NAME, ...`."""
    try:
        return columns_by_parameter(filter(None, (part.strip() for part in typed.get("map", "").split(","))))
    except InputError as error:
        raise Mistaken(Form(typed, {"map": f"{error}."})) from None


def _number(typed: Mapping[str, str], name: str, said: str, mistakes: dict[str, str]) -> float | None:
    try:
        return number_in(said, typed.get(name, ""))
    except InputError as error:
        mistakes[name] = f"{error}."
        return None
