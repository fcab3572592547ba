"""`Services`: what the routes of a server work with; if a study is still the one meant, and when work may begin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from hentropy.errors import Gone, InputError, ReadOnly, StudyError
from hentropy.studies.records import State, StudyRecord
from hentropy.studies.storage import Store
from hentropy.views.server.guard.door import AccessControl
from hentropy.views.server.guard.sessions import Access, access_of
from hentropy.views.server.jobs import JobService
from hentropy.views.server.metrics import Metrics
from hentropy.views.server.recent_results import Recent
from hentropy.views.server.settings import Settings
from hentropy.views.server.snapshot import Snapshot
from hentropy.views.server.study_service import StudyService
from hentropy.views.server.watcher import Watcher
from hentropy.views.server.work import Job
from hentropy.views.text.formats import iso


def check_identity(record: StudyRecord, begun: str) -> None:
    """`Gone` if the study that was begun at that time, in the words of `iso`, is not this one."""
    if begun != iso(record.created_at):
        raise Gone(
            f"the study that was meant, begun at {begun or 'an unknown time'}, was deleted, and another one took its"
            f" place {record.id}; nothing was changed"
        )


@dataclass(frozen=True)
class Services:
    """The store and what stands on it: the study service for what is recorded, the job service for what is computed,
    the watcher for open pages, the access control for who comes in, the metrics for who looks after the server, and
    what was done lately for those who ask twice.
    """

    settings: Settings
    store: Store
    study_service: StudyService
    job_service: JobService
    watcher: Watcher
    access_control: AccessControl
    metrics: Metrics
    recent: Recent = field(default_factory=Recent)


async def services_of(connection: HTTPConnection) -> Services:
    """The services of the app that answers this request."""
    found = connection.app.state.services
    assert isinstance(found, Services)
    return found


Here = Annotated[Services, Depends(services_of)]
"""An argument of a route: the services."""


async def who(connection: HTTPConnection) -> Access:
    """Who asks: see `Access`."""
    return access_of(connection.scope)


Visitor = Annotated[Access, Depends(who)]
"""An argument of a route: who asks."""


NOTHING = "no results yet: ask for an experiment, run it, and enter its value"


def place_ask(
    here: Services, case: Snapshot, count: int, anyway: bool, measures: str | Sequence[str] | None = None
) -> Job:
    """A job that asks, maybe for one assay, if the study can be computed here and does not have enough."""
    if here.store.read_only:
        raise ReadOnly(here.store.read_only)
    if case.computable is not None:
        raise StudyError(case.computable)
    if count > here.settings.limits.count:
        raise InputError(f"{count} experiments are too many; ask for at most {here.settings.limits.count} at once")
    if case.enough is not None and not anyway:
        raise StudyError(f"no new experiment: {case.enough}; ask anyway to get one regardless")
    if count > case.trials_left and not anyway:
        raise StudyError(f"{count} experiments are more than the budget leaves; ask for at most {case.trials_left:g}")
    assay = None if measures is None else case.outcomes.assays.chosen(measures)
    return here.job_service.ask(case.record, count, anyway, assay)


def place_look(here: Services, case: Snapshot) -> Job:
    """A job that decides, if there is something to decide by."""
    if case.computable is not None:
        raise StudyError(case.computable)
    if not has_values(case):
        raise StudyError(NOTHING)
    return here.job_service.look(case.record)


def place_inquiry(here: Services, case: Snapshot, question: Mapping[str, Any]) -> Job:
    """A job that answers a question, if there is something to answer it by; it records nothing."""
    if case.computable is not None:
        raise StudyError(case.computable)
    if not has_values(case):
        raise StudyError(NOTHING)
    return here.job_service.inquire(case.record, question)


def has_values(case: Snapshot) -> bool:
    """Whether anything was measured."""
    return any(entry.trial.state is State.COMPLETE for entry in case.entries)
