"""All trials as a table for a page: what each cell says, and what it is sorted by."""

from collections.abc import Sequence
from dataclasses import dataclass

from hentropy.studies.records import Entry, Trial
from hentropy.views.text.formats import number
from hentropy.views.text.times import clock


@dataclass(frozen=True)
class Column:
    """A column: its title, and what it has: "number", "note" (text that may be long) or nothing special."""

    title: str
    kind: str = ""


@dataclass(frozen=True)
class Cell:
    """What a cell says, and the number it is sorted by if it has one; without, it is sorted by what it says."""

    text: str
    number: float | None = None


@dataclass(frozen=True)
class TrialsShown:
    """A table of trials."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


ORIGINS = {"first": "first design", "proposed": "proposed", "attached": "attached"}


def trials_shown(entries: Sequence[Entry], names: Sequence[str]) -> TrialsShown:
    """All trials in the order of their numbers; columns that say nothing of any trial are left out."""
    columns = [
        Column("trial", "number"),
        *(Column(name, "number") for name in names),
        Column("value", "number"),
        Column("standard error", "number"),
        Column("state"),
        Column("from"),
        Column("expected gain", "number"),
        Column("note", "note"),
        Column("asked"),
        Column("ended"),
    ]
    rows = [_row(entry, names) for entry in entries]
    always = 2 + len(names)  # the number, the design and the value
    kept = [k for k in range(len(columns)) if k < always or any(row[k].text for row in rows)]
    return TrialsShown([columns[k] for k in kept], [[row[k] for k in kept] for row in rows])


def _row(entry: Entry, names: Sequence[str]) -> list[Cell]:
    trial: Trial = entry.trial
    return [
        Cell(str(trial.number), trial.number),
        *(_cell(trial.params[name]) for name in names),
        _cell(trial.value),
        _cell(trial.std_error),
        Cell(trial.state.value),
        Cell(ORIGINS.get(trial.origin, trial.origin)),
        _cell(trial.gain),
        Cell(trial.note),
        _time(entry.asked_at),
        _time(entry.ended_at),
    ]


def _cell(value: float | None) -> Cell:
    return Cell(number(value), value)


def _time(seconds: float | None) -> Cell:
    return Cell("") if seconds is None else Cell(clock(seconds), seconds)
