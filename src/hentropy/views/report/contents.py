"""What stands in a report, as plain values: nothing here knows of HTML."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hentropy.core.given import is_number
from hentropy.errors import HentropyError
from hentropy.studies.definition import Description, validated
from hentropy.studies.records import Entry, State, Trial, Verdict
from hentropy.studies.study import Study
from hentropy.studies.study.keeping import versions
from hentropy.studies.study.words import LocatedDescription, in_words
from hentropy.views.plots.pictures import PICTURES, picture
from hentropy.views.plots.scene import scene_of
from hentropy.views.plots.with_plotly import specification
from hentropy.views.text.formats import DesignColumn, clock, counted, design_columns, json_text, titled, value_text
from hentropy.views.text.sentences import (
    conditions_sentences,
    cost_sentences,
    counts,
    decide_on_sentences,
    decided_sentence,
    decision_sentence,
    first_sentence,
    objective_sentence,
    spent_text,
    stop_sentence,
    values_text,
)


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


def trials_shown(entries: Sequence[Entry], design: Sequence[DesignColumn], cost_unit: str = "") -> TrialsShown:
    """All trials in the order of their numbers; columns that say nothing of any trial are left out."""
    columns = [
        Column("trial", "number"),
        *(Column(column.title, "number" if column.is_number else "") for column in design),
        Column("value", "number"),
        Column("standard error", "number"),
        Column("state"),
        Column("from"),
        Column("expected gain", "number"),
        Column(titled("expected cost", cost_unit), "number"),
        Column(titled("cost", cost_unit), "number"),
        Column("note", "note"),
        Column("asked"),
        Column("ended"),
    ]
    rows = [_row(entry, design) for entry in entries]
    always = 2 + len(design)  # the number, the design and the value
    kept = [k for k in range(len(columns)) if k < always or any(row[k].text for row in rows)]
    return TrialsShown([columns[k] for k in kept], [[row[k] for k in kept] for row in rows])


def _row(entry: Entry, design: Sequence[DesignColumn]) -> list[Cell]:
    trial: Trial = entry.trial
    return [
        Cell(str(trial.number), trial.number),
        *(_cell(trial.params[column.name]) for column in design),
        _cell(trial.value),
        _cell(trial.std_error),
        Cell(trial.state.value),
        Cell(ORIGINS.get(trial.origin, trial.origin)),
        _cell(trial.gain),
        _cell(trial.expected_cost),
        _cell(trial.cost),
        Cell(trial.note),
        _time(entry.asked_at),
        _time(entry.ended_at),
    ]


def _cell(value: Any) -> Cell:
    return Cell(value_text(value), value if is_number(value) else None)


def _time(seconds: float | None) -> Cell:
    return Cell("") if seconds is None else Cell(clock(seconds), seconds)


@dataclass(frozen=True)
class PictureShown:
    """A picture for a page."""

    name: str
    title: str
    caption: str
    specification: Mapping[str, Any]


@dataclass(frozen=True)
class Fact:
    """Something about how the study was made."""

    name: str
    text: str


@dataclass(frozen=True)
class Contents:
    """All that a report says. Without values told there is no verdict, and there are no pictures.

    `troubles` are sentences on pictures that could not be made, by name.
    """

    name: str
    purpose: str
    standing: str
    heading: str
    verdict: Verdict | None
    titles: Mapping[str, str]
    """What columns of the verdict are called that have units."""
    pictures: Sequence[PictureShown]
    troubles: Mapping[str, str]
    trials: TrialsShown
    facts: Sequence[Fact]
    definition: str
    made_at: str


def contents(study: Study) -> Contents:
    """The contents of the report of a study as it stands; the verdict is recorded, as by `Study.decide`."""
    description = _description(study)
    known = any(trial.state is State.COMPLETE for trial in study.records)
    verdict = study.decide() if known else None
    pictures, troubles = _pictures(study, verdict) if verdict else ([], {})
    entries = tuple(study.log.entries.values())
    now = clock(time.time())
    return Contents(
        name=study.name,
        purpose=decision_sentence(description),
        standing=_standing(study, entries),
        heading=decided_sentence(description),
        verdict=verdict,
        titles={field.name: field.title for field in study.space.fields},
        pictures=pictures,
        troubles=troubles,
        trials=trials_shown(entries, design_columns(study.space), description.cost.unit if description.cost else ""),
        facts=_facts(study, description, entries),
        definition=json_text(description.model_dump(mode="json"), indent=2),
        made_at=now,
    )


def _description(study: Study) -> Description:
    """The study in words: those of its store, or, for one in memory, made now."""
    record = study.log.record
    if record.definition:
        return LocatedDescription.recorded(record, Path()).description
    return validated(in_words(study.options), f"the study {study.name!r}")


def _pictures(study: Study, verdict: Verdict) -> tuple[list[PictureShown], dict[str, str]]:
    scene = scene_of(study, verdict)
    made: list[PictureShown] = []
    troubles: dict[str, str] = {}
    for name in PICTURES:
        try:
            shown = picture(scene, name)
        except HentropyError as error:
            troubles[name] = str(error)
            continue
        made.append(PictureShown(name, shown.title, shown.caption, specification(shown)))
    return made, troubles


def _standing(study: Study, entries: Sequence[Entry]) -> str:
    states = ", ".join(f"{count} {state}" for state, count in counts(entries).items() if count)
    said = f"{counted(len(entries), 'trial')}{f': {states}' if states else ''}."
    spent = spent_text(study.stop, [entry.trial for entry in entries])
    said += f" {spent[0].upper()}{spent[1:]}." if spent else ""
    reason = study.log.stopped()
    return f"{said} It has ended: {reason}." if reason else said


def _facts(study: Study, description: Description, entries: Sequence[Entry]) -> list[Fact]:
    record = study.log.record
    rules = {
        "Conditions": conditions_sentences(study.space),
        "Decided on": decide_on_sentences(description),
        "Costs": cost_sentences(description),
    }
    facts = [
        *(Fact(name, values_text(parameter)) for name, parameter in study.space.parameters.items()),
        *(Fact(name, " ".join(said)) for name, said in rules.items() if said),
        Fact("Kept in", study.store.place),
        Fact("Begun", clock(record.created_at)),
        Fact("Seed", str(study.seed)),
        Fact("Course", first_sentence(study.first, description, [entry.trial for entry in entries])),
        Fact("Experiments", objective_sentence(description)),
        Fact("End", stop_sentence(description)),
    ]
    if entries:
        last = max(entry.ended_at or entry.asked_at for entry in entries)
        facts.append(Fact("Last activity", clock(last)))
    if record.versions:
        facts.append(Fact("Begun with", _listed(record.versions)))
    facts.append(Fact("This report made with", _listed(versions())))
    return facts


def _listed(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in packages.items())
