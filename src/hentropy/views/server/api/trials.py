"""Trials: list them, tell what came of them, and all that was ever told."""

from typing import Annotated, Any

from fastapi import Query

from hentropy.studies.records import Entry, StudyRecord
from hentropy.views.server.api import answering
from hentropy.views.server.api.answers import HistoryAnswer, OneTrial, TrialsAnswer
from hentropy.views.server.api.questions import Fail, Tell, Withdraw
from hentropy.views.server.api.router import MOST, Meant, TrialNumber
from hentropy.views.server.api.router import router as made
from hentropy.views.server.services import Here, Services
from hentropy.views.text.trials import as_json

router = made("trials")


@router.get("/studies/{study}/trials", response_model=TrialsAnswer)
def list_trials(
    here: Here,
    study: Meant,
    first: Annotated[int, Query(ge=0, lt=MOST, description="The number of the first trial to list.")] = 0,
    most: Annotated[int, Query(ge=1, le=10_000, description="How many to list at most.")] = 10_000,
) -> Any:
    """The trials of a study in the order of their numbers."""
    case = here.desk.case(study)
    listed = answering.trials(case.entries[first : first + most])
    return {**answering.about(case.record), "revision": case.revision, "trials": listed}


@router.get("/studies/{study}/trials/{number}", response_model=HistoryAnswer)
def show_trial(here: Here, study: Meant, number: TrialNumber) -> Any:
    """A trial, and all that was ever told of it."""
    entry, told = here.desk.history(study, number)
    history = answering.history(entry, told)
    return {**answering.about(study), "trial": as_json(entry), "history": history}


@router.post("/studies/{study}/trials/{number}/tell", response_model=OneTrial)
def tell(here: Here, study: Meant, number: TrialNumber, question: Tell) -> Any:
    """Tell the value of an experiment.

    To tell the same value twice is harmless; another value is taken only with `replace`.
    """
    entry = here.desk.tell(study, number, question.value, question.std_error, question.note, question.replace)
    return _told(here, study, entry)


@router.post("/studies/{study}/trials/{number}/fail", response_model=OneTrial)
def fail(here: Here, study: Meant, number: TrialNumber, question: Fail) -> Any:
    """Tell that an experiment was run and failed."""
    return _told(here, study, here.desk.fail(study, number, question.why, question.replace))


@router.post("/studies/{study}/trials/{number}/withdraw", response_model=OneTrial)
def withdraw(here: Here, study: Meant, number: TrialNumber, question: Withdraw) -> Any:
    """Take back an experiment that will not be run after all."""
    return _told(here, study, here.desk.withdraw(study, number, question.note))


def _told(here: Services, study: StudyRecord, entry: Entry) -> dict[str, Any]:
    return {**answering.about(study), "trial": as_json(entry), "stopped": here.desk.case(study).stopped}
