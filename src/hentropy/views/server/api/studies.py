"""Studies and their trials: list, show, make, check, delete, tell; and the schema of study files."""

from typing import Annotated, Any

from fastapi import Query, Response

from hentropy.studies.definition import json_schema
from hentropy.studies.records import Entry
from hentropy.studies.study.trial_log import TrialLog
from hentropy.views.server.api import answering
from hentropy.views.server.api.answers import (
    CheckedAnswer,
    HistoryAnswer,
    OneTrial,
    StudiesAnswer,
    StudyAnswer,
    TrialsAnswer,
    VerdictsAnswer,
)
from hentropy.views.server.api.requests import Definition, Fail, Tell, Withdraw
from hentropy.views.server.api.router import MAX_NUMBER, Meant, TrialNumber
from hentropy.views.server.api.router import router as made
from hentropy.views.server.new_study import described
from hentropy.views.server.services import Here
from hentropy.views.text.trials import as_json

router = made("studies")


@router.get("/studies", response_model=StudiesAnswer)
def list_studies(
    here: Here, name: Annotated[str | None, Query(description="Only the study with this name.")] = None
) -> Any:
    """The studies of the store, the oldest first."""
    found = here.study_service.studies() if name is None else here.study_service.named(name)
    return {"studies": [answering.summary(each) for each in found]}


@router.post("/studies", response_model=StudyAnswer, status_code=201)
def create_study(here: Here, definition: Definition) -> Any:
    """Begin a study by its definition.

    You run its experiments and tell their values: decisions of one's own in Python, functions, programs and files are
    refused.
    """
    record = here.study_service.create(definition.words())
    return answering.study(here.study_service.snapshot(record), here.store.now())


@router.post("/check", response_model=CheckedAnswer)
def check_definition(definition: Definition) -> Any:
    """Check a definition and say in plain words what the study will do; nothing is made."""
    study = described(definition.words())
    description = study.description
    return {
        "name": study.name,
        "first": study.first,
        "says": answering.says(description, study.first),
        "definition": answering.definition(description),
    }


@router.get("/schema")
def schema_of_definitions() -> dict[str, Any]:
    """The JSON Schema of study files, which definitions follow."""
    return json_schema()


@router.get("/studies/{study}", response_model=StudyAnswer)
def show_study(here: Here, study: Meant) -> Any:
    """What a study is and where it stands; nothing is computed."""
    return answering.study(here.study_service.snapshot(study), here.store.now())


@router.delete("/studies/{study}", status_code=204)
def delete_study(
    here: Here,
    study: Meant,
    name: Annotated[str, Query(description="Its name, to be sure that it is the right one.")],
) -> Response:
    """Delete a study with all its trials, values, history and verdicts."""
    here.study_service.delete(study, name)
    here.job_service.forget(study)
    return Response(status_code=204)


@router.get("/studies/{study}/verdicts", response_model=VerdictsAnswer)
def list_verdicts(here: Here, study: Meant) -> Any:
    """What was decided so far, the oldest first."""
    case = here.study_service.snapshot(study)
    return {**answering.about(case.record), "verdicts": [answering.recorded(one) for one in case.verdicts]}


trials_router = made("trials")


@trials_router.get("/studies/{study}/trials", response_model=TrialsAnswer)
def list_trials(
    here: Here,
    study: Meant,
    first: Annotated[int, Query(ge=0, lt=MAX_NUMBER, description="The number of the first trial to list.")] = 0,
    most: Annotated[int, Query(ge=1, le=10_000, description="How many to list at most.")] = 10_000,
) -> Any:
    """The trials of a study in the order of their numbers."""
    case = here.study_service.snapshot(study)
    listed = answering.trials(case.entries[first : first + most])
    return {**answering.about(case.record), "revision": case.revision, "trials": listed}


@trials_router.get("/studies/{study}/trials/{number}", response_model=HistoryAnswer)
def show_trial(here: Here, study: Meant, number: TrialNumber) -> Any:
    """A trial, and all that was ever told of it."""
    entry, told = here.study_service.history(study, number)
    history = answering.history(entry, told)
    return {**answering.about(study), "trial": as_json(entry), "history": history}


@trials_router.post("/studies/{study}/trials/{number}/tell", response_model=OneTrial)
def tell(here: Here, study: Meant, number: TrialNumber, question: Tell) -> Any:
    """Tell what an experiment measured; outcomes that were not measured may be told later.

    To tell the same value twice is harmless; another value is taken only with `replace`.
    """
    log = here.study_service.log(study)
    entry = log.tell(number, question.values, note=question.note, replace_value=question.replace, cost=question.cost)
    return _told(log, entry)


@trials_router.post("/studies/{study}/trials/{number}/fail", response_model=OneTrial)
def fail(here: Here, study: Meant, number: TrialNumber, question: Fail) -> Any:
    """Tell that an experiment was run and failed."""
    log = here.study_service.log(study)
    return _told(log, log.fail(number, question.why, replace_value=question.replace, cost=question.cost))


@trials_router.post("/studies/{study}/trials/{number}/withdraw", response_model=OneTrial)
def withdraw(here: Here, study: Meant, number: TrialNumber, question: Withdraw) -> Any:
    """Take back an experiment that will not be run after all."""
    log = here.study_service.log(study)
    return _told(log, log.withdraw(number, question.note))


def _told(log: TrialLog, entry: Entry) -> dict[str, Any]:
    return {**answering.about(log.record), "trial": as_json(entry), "stopped": log.stopped()}
