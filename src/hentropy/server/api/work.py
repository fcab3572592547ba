"""What is computed: asking and deciding as jobs in the background, and the pictures of the latest look."""

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any

from hentropy.errors import Gone, InputError, MissingExtra, StudyError
from hentropy.records import State, StudyRecord
from hentropy.server.api import answering
from hentropy.server.api.answers import JobsAnswer, LookAnswer, OnePicture, WorkAnswer
from hentropy.server.api.questions import Ask, Decide
from hentropy.server.api.router import StudyId
from hentropy.server.api.router import router as made
from hentropy.server.cases import Case
from hentropy.server.services import Here, Services
from hentropy.server.work import Job, Look

try:
    from fastapi import Path, Query, Response
    from starlette.concurrency import run_in_threadpool
except ImportError:
    raise MissingExtra("fastapi", "server") from None

router = made("computed")

LONGEST_WAIT = 30.0
PAUSES = (0.02, 0.25)
"""Seconds between two looks at a job: it soon takes as long as the second."""

JobId = Annotated[str, Path(max_length=100, description="The id of the job.")]
Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the end; then the answer is 200, else 202.")
]
NOTHING = "nothing has been told yet, so nothing is known: ask for an experiment, run it, and enter its value"
TWO_STATUSES: dict[int | str, dict[str, Any]] = {200: {"model": WorkAnswer, "description": "It has ended."}}


@router.post("/studies/{study}/ask", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def ask(here: Here, study: StudyId, response: Response, question: Ask, wait: Wait = 0.0) -> Any:
    """Ask for the next experiments: a job, whose result are the trials to run."""
    case = await run_in_threadpool(here.desk.case, study)
    job = place_ask(here, case, question.count, question.anyway)
    return await _ended(here, case.record, job.id, wait, response, lambda now: now.ended)


def place_ask(here: Services, case: Case, count: int, anyway: bool) -> Job:
    """A job that asks, if the study can be computed here and does not have enough."""
    if case.computable is not None:
        raise StudyError(case.computable)
    if count > here.settings.limits.count:
        raise InputError(f"{count} experiments are too many; ask for at most {here.settings.limits.count} at once")
    if case.enough is not None and not anyway:
        raise StudyError(f"no new experiment: {case.enough}; ask anyway to get one nonetheless")
    return here.workshop.ask(case.record.name, count)


@router.post("/studies/{study}/decide", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def decide(here: Here, study: StudyId, response: Response, question: Decide, wait: Wait = 0.0) -> Any:
    """Decide by all that was told so far: a job, whose result is the verdict; pictures follow it."""
    case = await run_in_threadpool(here.desk.case, study)
    if case.computable is not None:
        raise StudyError(case.computable)
    if not any(entry.trial.state is State.COMPLETE for entry in case.entries):
        raise StudyError(NOTHING)
    job = here.workshop.look(case.record.name)

    def decided(now: Job) -> bool:
        # the verdict comes before the pictures: nobody has to wait for these
        look = _look(here, case.record)
        return now.ended or (look is not None and look.revision >= case.revision and look.verdict is not None)

    return await _ended(here, case.record, job.id, wait, response, decided)


@router.get("/studies/{study}/jobs", response_model=JobsAnswer)
def list_jobs(here: Here, study: StudyId) -> Any:
    """The jobs of a study, the oldest first."""
    record = here.desk.record(study)
    return {**answering.about(record), "jobs": [answering.job(job) for job in here.workshop.jobs(record.name)]}


@router.get("/jobs/{job}", response_model=WorkAnswer, responses={202: TWO_STATUSES[200]})
async def show_job(here: Here, job: JobId, response: Response, wait: Wait = 0.0) -> Any:
    """A job as it stands, or as it has ended."""
    record = await run_in_threadpool(_study_of, here, job)
    return await _ended(here, record, job, wait, response, lambda now: now.ended)


@router.delete("/jobs/{job}", response_model=WorkAnswer)
def cancel_job(here: Here, job: JobId) -> Any:
    """Cancel a job; one that has ended stays as it is."""
    record = _study_of(here, job)
    return _work(here, record, here.workshop.cancel(job), over=True)


@router.get("/studies/{study}/look", response_model=LookAnswer)
def latest_look(here: Here, study: StudyId) -> Any:
    """The latest verdict and all pictures that are there; `decide` has them made."""
    record = here.desk.record(study)
    return answering.look(record, here.workshop.latest(record.name))


@router.get("/studies/{study}/pictures/{what}", response_model=OnePicture)
def one_picture(here: Here, study: StudyId, what: Annotated[str, Path(max_length=100)]) -> Any:
    """One picture of the latest look, as plotly draws it, and the information that it is made of."""
    record = here.desk.record(study)
    look = _look(here, record)
    if look is None or what not in look.pictures:
        there = ", ".join(look.pictures) if look is not None and look.pictures else "none; decide first"
        raise Gone(f"there is no picture {what!r}; there are: {there}")
    return {**answering.about(record), "picture": look.pictures[what]}


def _study_of(here: Services, identity: str) -> StudyRecord:
    job = here.workshop.job(identity)
    if job is None:
        raise Gone(f"there is no job {identity!r}; jobs that ended long ago are forgotten")
    record = here.store.find(job.study)
    if record is None:
        raise Gone(f"the study {job.study!r} of this job was deleted")
    return record


def _look(here: Services, record: StudyRecord) -> Look | None:
    """The latest look at this study, not at another that had its name."""
    found = here.workshop.latest(record.name)
    return found if found is not None and found.made_at == record.created_at else None


async def _ended(
    here: Services, record: StudyRecord, identity: str, wait: float, response: Response, over: Callable[[Job], bool]
) -> dict[str, Any]:
    """A job once it is over, or as it stands after the wait; no thread waits meanwhile."""
    until = time.monotonic() + wait
    pause, longest = PAUSES
    while True:
        job = here.workshop.job(identity)
        if job is None:
            raise Gone(f"there is no job {identity!r}; jobs that ended long ago are forgotten")
        left = until - time.monotonic()
        if over(job) or left <= 0:
            break
        await asyncio.sleep(min(pause, left))
        pause = min(longest, 1.5 * pause)
    response.status_code = 200 if over(job) else 202
    return await run_in_threadpool(_work, here, record, job, over(job))


def _work(here: Services, record: StudyRecord, job: Job, over: bool) -> dict[str, Any]:
    """A job, and once it is over, what came of it."""
    said: dict[str, Any] = {**answering.about(record), "job": answering.job(job)}
    if not over:
        return said
    if job.kind == "ask" and job.result is not None:
        entries = here.desk.case(record.id).entries
        said["trials"] = answering.trials(entries[number] for number in job.result if number < len(entries))
    look = _look(here, record) if job.kind == "look" else None
    if look is not None and look.verdict is not None:
        said["verdict"] = dict(look.verdict)
    return said
