"""From what is recorded and computed to what the API answers."""

from collections.abc import Iterable, Sequence
from typing import Any

from hentropy.core.spaces import DesignSpace, Field
from hentropy.studies.definition import Description
from hentropy.studies.outcomes import Computed, Outcome, Outcomes
from hentropy.studies.records import Entry, Observation, State, StoredVerdict, StudyRecord, Trial, first_left
from hentropy.studies.study.rules import spent_on
from hentropy.views.server.snapshot import Snapshot
from hentropy.views.server.study_list import ListedStudy
from hentropy.views.server.work import Look
from hentropy.views.text.formats import iso
from hentropy.views.text.sentences import (
    conditions_sentences,
    cost_sentences,
    counts,
    decide_on_sentences,
    decision_sentence,
    first_sentence,
    holder,
    notes_of,
    objective_sentence,
    outcome_sentences,
    stop_sentence,
)
from hentropy.views.text.trials import as_json, history_json, verdict_json

Answer = dict[str, Any]


def about(record: StudyRecord) -> Answer:
    """Which study it is."""
    return {"id": record.id, "name": record.name, "created_at": iso(record.created_at)}


def summary(found: ListedStudy) -> Answer:
    """A study in a list."""
    return {
        **about(found.record),
        "decision": found.decision,
        "trials": found.trials,
        "counts": dict(found.counts),
        "last_activity": iso(found.last_activity),
    }


def study(case: Snapshot, now: float) -> Answer:
    """A study and where it stands."""
    running = [entry for entry in case.entries if entry.trial.state is State.RUNNING]
    return {
        **about(case.record),
        "versions": dict(case.record.versions),
        "definition": definition(case.description),
        "design": design(case.space),
        "outcomes": outcomes(case.outcomes),
        "says": says(case.description, case.first, case.trials),
        "first_left": first_left(case.first, case.trials),
        "revision": case.revision,
        "counts": counts(case.entries),
        "spent": spent_on(case.trials),
        "spending": case.spent or None,
        "stopped": case.stopped,
        "enough": case.enough,
        "computable": case.computable,
        "running": [{"number": entry.trial.number, "who": holder(entry, now)} for entry in running],
        "predictions": case.predictions,
        "verdict": recorded(case.verdicts[-1]) if case.verdicts else None,
    }


def design(space: DesignSpace) -> list[Answer]:
    """What a design consists of; of what a list has beside it only the name is known."""
    known = {
        field.name: _value(field, parameter.kind)
        for name, parameter in space.parameters.items()
        for field in parameter.fields(name)
    }
    unknown = dict.fromkeys(("kind", "low", "high", "log", "step", "options"))
    return [known.get(name, {"name": name, "unit": "", **unknown}) for name in space.names]


def _value(field: Field, kind: str) -> Answer:
    own = {"name": field.name, "unit": field.unit, "kind": kind, "log": field.log, "step": field.grid or None}
    if field.options:
        return {**own, "low": None, "high": None, "options": list(field.options)}
    return {**own, "low": field.low, "high": field.high, "options": None}


def outcomes(known: Outcomes) -> list[Answer]:
    """What is measured and computed."""
    return [_outcome(name, one) for name, one in known.by_name.items()]


def _outcome(name: str, one: Outcome | Computed) -> Answer:
    if isinstance(one, Computed):
        unstated = dict.fromkeys(("noise", "low", "high", "tails"))
        return {
            "name": name,
            "unit": one.unit,
            "kind": "computed",
            "log": False,
            "grades": [],
            "computed": one.expression,
        } | unstated
    stated = {"noise": one.noise, "low": one.low, "high": one.high, "tails": one.tails}
    own = {"name": name, "unit": one.unit, "kind": one.kind, "log": one.log, "grades": list(one.words)}
    return {**own, "computed": None, **stated}


def definition(description: Description) -> Answer:
    """A study in words; where a study file keeps it is nobody's business."""
    return description.model_dump(mode="json", exclude={"storage"})


def says(description: Description, first: int, trials: Sequence[Trial] = ()) -> list[str]:
    """What a study will do."""
    return [
        decision_sentence(description),
        *notes_of(description, first, trials),
        *conditions_sentences(description.designs()),
        *decide_on_sentences(description),
        *outcome_sentences(description),
        *cost_sentences(description),
        first_sentence(first, description, trials),
        objective_sentence(description),
        stop_sentence(description),
    ]


def trials(entries: Iterable[Entry]) -> list[Answer]:
    """Trials as plain values."""
    return [as_json(entry) for entry in entries]


def history(entry: Entry, told: tuple[Observation, ...]) -> list[Answer]:
    """All that was told of a trial."""
    found: list[Answer] = history_json(entry, told)["history"]
    return found


def recorded(stored: StoredVerdict) -> Answer:
    """A verdict and when it was reached."""
    return {"at": iso(stored.at), **verdict_json(stored.verdict)}


def look(record: StudyRecord, found: Look | None) -> Answer:
    """The latest look, if there was one."""
    if found is None:
        nothing = {"observations": None, "revision": None, "complete": False, "verdict": None, "earlier": None}
        return {**about(record), **nothing, "pictures": {}, "troubles": {}}
    return {
        **about(record),
        "observations": found.observations,
        "revision": found.revision,
        "complete": found.complete,
        "verdict": found.verdict,
        "earlier": found.earlier,
        "pictures": dict(found.pictures),
        "troubles": dict(found.troubles),
    }
