"""Forms: the study that one is about, what was typed, and what is wrong with it, by field. What was typed stays."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request
from fastapi import Form as Field

from hentropy.errors import InputError
from hentropy.studies.records import StudyRecord
from hentropy.studies.records.csv_tables import number_in
from hentropy.views.server.services import Here, check_meant
from hentropy.views.server.settings import LONGEST_NOTE
from hentropy.views.text.earlier_data import columns_by_parameter


def meant(study_id: int, here: Here, begun: Annotated[str, Field()] = "") -> StudyRecord:
    """The study of a form, which says when it was begun; what follows is done with this record alone."""
    record = here.study_service.record(study_id)
    check_meant(record, begun)
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


class Mistaken(Exception):  # noqa: N818 (it reads better where it is caught)
    """A form that cannot be used as it is; it is shown again."""

    def __init__(self, form: Form) -> None:
        super().__init__("; ".join(form.mistakes.values()))
        self.form = form


@dataclass(frozen=True)
class Result:
    """What somebody entered of an experiment."""

    value: float
    std_error: float | None
    cost: float | None
    note: str | None


def measurement_in(typed: Mapping[str, str], mistakes: dict[str, str]) -> tuple[float | None, float | None]:
    """The value and the standard error of a form."""
    value = _number(typed, "value", "The value", mistakes)
    error = _number(typed, "std_error", "The standard error", mistakes) if typed.get("std_error", "").strip() else None
    if error is not None and error < 0:
        mistakes["std_error"] = f"The standard error is {error:g}; it cannot be below 0."
    return value, error


def result_in(typed: Mapping[str, str]) -> Result:
    """The result that a form says; `Mistaken` with every mistake in it."""
    mistakes: dict[str, str] = {}
    value, error = measurement_in(typed, mistakes)
    cost = _cost(typed, mistakes)
    note = note_in(typed, mistakes)
    if mistakes or value is None:
        raise Mistaken(Form(typed, mistakes))
    return Result(value, error, cost, note)


def failure_in(typed: Mapping[str, str]) -> tuple[str, float | None]:
    """Why an experiment failed, which a form has to say, and what it cost if that is told."""
    mistakes: dict[str, str] = {}
    cost = _cost(typed, mistakes)
    note = note_in(typed, mistakes)
    if not note:
        mistakes.setdefault("note", "Say in the note why it failed.")
    if mistakes:
        raise Mistaken(Form(typed, mistakes))
    return note, cost


def _cost(typed: Mapping[str, str], mistakes: dict[str, str]) -> float | None:
    cost = _number(typed, "cost", "The cost", mistakes) if typed.get("cost", "").strip() else None
    if cost is not None and cost <= 0:
        mistakes["cost"] = f"The cost is {cost:g}; it must be above 0."
    return cost


def note_in(typed: Mapping[str, str], mistakes: dict[str, str]) -> str:
    """The note of a form."""
    # browsers send the line breaks of a text with two characters
    note = typed.get("note", "").replace("\r\n", "\n").strip()
    if len(note) > LONGEST_NOTE:
        mistakes["note"] = f"The note has {len(note):,} letters; at most {LONGEST_NOTE:,} are kept."
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
    """Columns by parameter, from `COLUMN=PARAMETER, ...`."""
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
