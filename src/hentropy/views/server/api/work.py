"""What is computed: asking, deciding and questions as jobs in the background; the pictures of the latest look."""

import asyncio
import time
from typing import Annotated, Any

from fastapi import Path, Query, Response
from starlette.concurrency import run_in_threadpool

from hentropy.errors import Gone
from hentropy.studies.records import StudyRecord
from hentropy.views.server.api import answering
from hentropy.views.server.api.answers import JobsAnswer, LookAnswer, OnePicture, WorkAnswer
from hentropy.views.server.api.requests import Ask, Decide, Predict, WhatIf, Worth
from hentropy.views.server.api.router import Key, Meant
from hentropy.views.server.api.router import router as made
from hentropy.views.server.services import Here, Services, place_ask, place_inquiry, place_look
from hentropy.views.server.work import Job, job_json

router = made("computed")

LONGEST_WAIT = 30.0
PAUSES = (0.02, 0.25)
"""Seconds between two looks at a job: it soon takes as long as the second."""

JobId = Annotated[str, Path(max_length=100, description="The id of the job.")]
Wait = Annotated[
    float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for the end; then the answer is 200, else 202.")
]
ENDED = "The job has ended, and its result is here."
GOES_ON = "The job goes on; `GET /api/jobs/{job}` says how it ends."
TWO_STATUSES: dict[int | str, dict[str, Any]] = {
    200: {"model": WorkAnswer, "description": ENDED},
    202: {"model": WorkAnswer, "description": GOES_ON},
}


@router.post("/studies/{study}/ask", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def ask(here: Here, study: Meant, response: Response, question: Ask, key: Key = None, wait: Wait = 0.0) -> Any:
    """Ask for the next experiments: a job, whose result are the trials to run."""

    def place() -> str:
        case = here.study_service.snapshot(study)
        return place_ask(here, case, question.count, question.anyway, question.measures).id

    job = await run_in_threadpool(here.recent.once, study.key, "ask", key, place, question.model_dump())
    return await _ended(here, study, job, wait, response)


@router.post("/studies/{study}/decide", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def decide(here: Here, study: Meant, response: Response, question: Decide, wait: Wait = 0.0) -> Any:
    """Decide by all that was told so far: a job, whose result is the verdict; pictures follow it."""
    case = await run_in_threadpool(here.study_service.snapshot, study)
    job = place_look(here, case)
    return await _ended(here, study, job.id, wait, response, case.revision)


@router.post("/studies/{study}/worth", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def worth(here: Here, study: Meant, response: Response, question: Worth, wait: Wait = 0.0) -> Any:
    """What one more experiment is expected to save: a job, whose result says it; nothing is recorded."""
    return await _answered(here, study, {"what": "worth", "price": question.price}, wait, response)


@router.post("/studies/{study}/what_if", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def what_if(here: Here, study: Meant, response: Response, question: WhatIf, wait: Wait = 0.0) -> Any:
    """What would be decided if a design measured these values: a job; nothing is recorded."""
    asked = {"what": "what_if", "params": question.params, "values": question.values}
    return await _answered(here, study, asked, wait, response)


@router.post("/studies/{study}/predict", response_model=WorkAnswer, status_code=202, responses=TWO_STATUSES)
async def predict(here: Here, study: Meant, response: Response, question: Predict, wait: Wait = 0.0) -> Any:
    """What is expected of designs: a job, whose result has mean, standard deviation and quantiles of each outcome."""
    asked = {"what": "predict", "designs": question.designs, "noise": question.noise}
    return await _answered(here, study, asked, wait, response)


@router.get("/studies/{study}/jobs", response_model=JobsAnswer)
def list_jobs(here: Here, study: Meant) -> Any:
    """The jobs of a study, the oldest first."""
    return {**answering.about(study), "jobs": [job_json(job) for job in here.job_service.jobs(study)]}


@router.get("/jobs/{job}", response_model=WorkAnswer, responses=TWO_STATUSES)
async def show_job(here: Here, job: JobId, response: Response, wait: Wait = 0.0) -> Any:
    """A job as it stands, or as it has ended."""
    record = await run_in_threadpool(_study_of, here, job)
    return await _ended(here, record, job, wait, response)


@router.delete("/jobs/{job}", response_model=WorkAnswer)
def cancel_job(here: Here, job: JobId) -> Any:
    """Cancel a job; one that has ended stays as it is."""
    record = _study_of(here, job)
    return _work(here, record, here.job_service.cancel(job))


@router.get("/studies/{study}/look", response_model=LookAnswer)
def latest_look(here: Here, study: Meant) -> Any:
    """The latest verdict and all pictures that are there; `decide` has them made."""
    return answering.look(study, here.job_service.latest(study))


@router.get("/studies/{study}/pictures/{what}", response_model=OnePicture)
def one_picture(here: Here, study: Meant, what: Annotated[str, Path(max_length=100)]) -> Any:
    """One picture of the latest look, as plotly draws it, and the information that it is made of."""
    look = here.job_service.latest(study)
    if look is None or what not in look.pictures:
        there = ", ".join(look.pictures) if look is not None and look.pictures else "none; decide first"
        raise Gone(f"there is no picture {what!r}; available: {there}")
    return {**answering.about(study), "picture": look.pictures[what]}


def _study_of(here: Services, identity: str) -> StudyRecord:
    """The study of a job, not another that has its id or its name by now."""
    job = _found(here, identity)
    record = here.store.find(job.study.name)
    if record is None or record.key != job.study:
        raise Gone(f"the study {job.study.name!r} of this job was deleted")
    return record


def _found(here: Services, identity: str) -> Job:
    job = here.job_service.job(identity)
    if job is None:
        raise Gone(f"there is no job {identity!r}; jobs that ended long ago are forgotten")
    return job


async def _answered(
    here: Services, record: StudyRecord, question: dict[str, Any], wait: float, response: Response
) -> dict[str, Any]:
    """A job that answers a question, once it is over or after the wait."""

    def place() -> str:
        return place_inquiry(here, here.study_service.snapshot(record), question).id

    return await _ended(here, record, await run_in_threadpool(place), wait, response)


async def _ended(
    here: Services, record: StudyRecord, identity: str, wait: float, response: Response, revision: int | None = None
) -> dict[str, Any]:
    """A job once it is over, or as it stands after the wait; no thread waits meanwhile.

    Who wants a verdict that stands on a `revision` need not wait for the pictures.
    """
    until = time.monotonic() + wait
    pause, longest = PAUSES
    while True:
        job = _found(here, identity)
        over = job.ended or _verdict(here, record, job, revision) is not None
        left = until - time.monotonic()
        if over or left <= 0:
            break
        await asyncio.sleep(min(pause, left))
        pause = min(longest, 1.5 * pause)
    response.status_code = 200 if over else 202
    return await run_in_threadpool(_work, here, record, job, revision)


def _verdict(here: Services, record: StudyRecord, job: Job, revision: int | None) -> dict[str, Any] | None:
    """What a look has decided: by a job that is done, or at least by what was told up to a revision."""
    look = here.job_service.latest(record) if job.kind == "look" else None
    if look is None or look.verdict is None:
        return None
    covers = revision is not None and look.revision >= revision
    return dict(look.verdict) if covers or job.state == "done" else None


def _work(here: Services, record: StudyRecord, job: Job, revision: int | None = None) -> dict[str, Any]:
    """A job, and what has come of it."""
    said: dict[str, Any] = {**answering.about(record), "job": job_json(job)}
    if isinstance(job.result, dict):
        said[job.question["what"]] = job.result
    elif job.result is not None:
        entries = here.study_service.snapshot(record).entries
        said["trials"] = answering.trials(entries[number] for number in job.result if number < len(entries))
    verdict = _verdict(here, record, job, revision)
    return said if verdict is None else {**said, "verdict": verdict}
