"""What stands in a report, as plain values: nothing here knows of HTML."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hentropy.core.given import is_number
from hentropy.errors import HentropyError
from hentropy.studies.definition import Description
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State, Trial, Verdict
from hentropy.studies.study import Study
from hentropy.studies.study.keeping import versions
from hentropy.studies.study.rules import record_sentences, spent_sentence
from hentropy.views.plots.pictures import PICTURES, picture
from hentropy.views.plots.scene import Scene, scene_of
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
    outcome_sentences,
    stop_sentence,
    values_text,
)
from hentropy.views.text.trials import how_often


@dataclass(frozen=True)
class Column:
    """A column: its title, and what it has: "number", "note" (text that may be long), "time" or nothing."""

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


def trials_shown(
    entries: Sequence[Entry], design: Sequence[DesignColumn], outcomes: Outcomes, cost_unit: str = ""
) -> TrialsShown:
    """All trials in the order of their numbers; columns that say nothing of any trial are left out."""
    columns = [
        Column("trial", "number"),
        *(Column(column.title, "number" if column.is_number else "") for column in design),
        *(Column(title, "number") for name in outcomes.by_name for title in _outcome_titles(name, outcomes)),
        Column("state"),
        Column("from"),
        Column("expected gain", "number"),
        Column(titled("expected cost", cost_unit), "number"),
        Column(titled("cost", cost_unit), "number"),
        Column("note", "note"),
        Column("asked", "time"),
        Column("ended", "time"),
    ]
    rows = [_row(entry, design, outcomes) for entry in entries]
    always = 2 + len(design)  # the number, the design and the first outcome
    kept = [k for k in range(len(columns)) if k < always or any(row[k].text for row in rows)]
    return TrialsShown([columns[k] for k in kept], [[row[k] for k in kept] for row in rows])


def _outcome_titles(name: str, outcomes: Outcomes) -> tuple[str, str]:
    several = len(outcomes.by_name) > 1
    return outcomes.titles[name], f"standard error of {name}" if several else "standard error"


def _row(entry: Entry, design: Sequence[DesignColumn], outcomes: Outcomes) -> list[Cell]:
    trial: Trial = entry.trial
    shown: list[tuple[Any, Any]] = []
    for name, one in outcomes.shown(trial).items():
        words = outcomes.words(name)
        value = None if one is None else words[int(one.value)] if words else one.value
        shown.append((value, None if one is None else one.std_error))
    return [
        Cell(str(trial.number), trial.number),
        *(_cell(trial.params[column.name]) for column in design),
        *(_cell(part) for pair in shown for part in pair),
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
    description = study.description
    known = any(trial.state is State.COMPLETE for trial in study.records)
    verdict = study.decide() if known else None
    pictures: list[PictureShown] = []
    troubles: dict[str, str] = {}
    if verdict is not None:
        scene = scene_of(study, verdict)
        pictures, troubles = _pictures(scene)
        target = scene.explained.target
        if target is not None and target.number is None:  # the pictures had to find out what it is worth
            verdict = study.with_worth(verdict)
    entries = tuple(study.log.entries.values())
    now = clock(time.time())
    return Contents(
        name=study.name,
        purpose=decision_sentence(description),
        standing=_standing(study, entries),
        heading=decided_sentence(description),
        verdict=verdict,
        titles={name: f"{name} ({unit})" for name, unit in study.outcomes.verdict_units(study.decided).items()},
        pictures=pictures,
        troubles=troubles,
        trials=trials_shown(
            entries, design_columns(study.space), study.outcomes, description.cost.unit if description.cost else ""
        ),
        facts=_facts(study, description, entries, known),
        definition=json_text(description.model_dump(mode="json"), indent=2),
        made_at=now,
    )


def _pictures(scene: Scene) -> tuple[list[PictureShown], dict[str, str]]:
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
    spent = spent_sentence(study.stop, [entry.trial for entry in entries], study.costs.unit)
    said += f" {spent}" if spent else ""
    often = how_often([entry.trial for entry in entries], study.outcomes)
    said += f" {often}" if often else ""
    said = " ".join([said, *record_sentences([entry.trial for entry in entries], study.outcomes)])
    reason = study.log.stopped()
    return f"{said} The study is finished: {reason}." if reason else said


def _facts(study: Study, description: Description, entries: Sequence[Entry], known: bool) -> list[Fact]:
    record = study.log.record
    rules = {
        "Conditions": conditions_sentences(study.space),
        "Outcomes": outcome_sentences(description),
        "Decided on": decide_on_sentences(description),
        "Costs": cost_sentences(description),
    }
    model = ["; ".join(study.belief.notes)] if known and study.belief.notes else []
    facts = [
        *(Fact(name, values_text(parameter)) for name, parameter in study.space.parameters.items()),
        *(Fact(name, " ".join(said)) for name, said in rules.items() if said),
        Fact("Kept in", study.store.place),
        Fact("Begun", clock(record.created_at)),
        Fact("Seed", str(study.seed)),
        Fact("Course", first_sentence(study.first, description, [entry.trial for entry in entries])),
        *(Fact("Model", f"{said}.") for said in model),
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
