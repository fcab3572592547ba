"""The routes that show: the studies, a study, a trial, a picture, a download."""

from contextlib import suppress
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response, StreamingResponse

from hentropy.studies.definition import ASKED, WHO
from hentropy.views.server.guard.sessions import Access
from hentropy.views.server.pages.forms import Form
from hentropy.views.server.pages.new_form import begun_form, new_study_view
from hentropy.views.server.pages.picture_view import PictureTexts
from hentropy.views.server.pages.rendering import Message, message_in, page
from hentropy.views.server.pages.study_view import Forms, Seen, study_row, study_view
from hentropy.views.server.pages.trial_view import trial_view, wanted
from hentropy.views.server.problems import Busy
from hentropy.views.server.services import Here, Services, Visitor, check_identity, has_values
from hentropy.views.server.study_service import Which
from hentropy.views.text.formats import iso

router = APIRouter(include_in_schema=False)


@router.get("/")
def studies(here: Here, visitor: Visitor) -> Response:
    """The studies of the store, the one that was last worked on first."""
    rows = [study_row(each) for each in here.study_service.studies()]
    rows.sort(key=lambda row: row.last.iso, reverse=True)
    return page("studies.html", visitor, rows=rows, place=here.store.place)


@router.get("/studies")
def all_studies() -> Response:
    """Where a shortened address leads."""
    return RedirectResponse("/")


@router.get("/new")
def new(visitor: Visitor) -> Response:
    """The form for a new study."""
    return new_page(visitor, begun_form())


@router.get("/studies/{study_id:int}")
def study(study_id: int, here: Here, visitor: Visitor, request: Request) -> Response:
    """A study."""
    return study_page(here, visitor, request, study_id, Forms(), message_in(request.query_params))


@router.get("/studies/{name}")
def study_by_name(name: str, here: Here) -> Response:
    """A study by its name, as people type it."""
    found = here.study_service.find(name)
    if found is None:
        raise HTTPException(404, f"there is no study {name!r} here")
    return RedirectResponse(f"/studies/{found.id}")


@router.get("/studies/{study_id}/trials/{number}")
def trial(study_id: int, number: int, here: Here, visitor: Visitor, request: Request) -> Response:
    """A trial with its history."""
    return trial_page(here, visitor, study_id, number, None, message_in(request.query_params))


@router.get("/studies/{study_id}/trials.csv")
def trials_csv(study_id: int, here: Here) -> Response:
    """All trials as a file."""
    record = here.study_service.record(study_id)
    called = f"filename=\"study-{study_id}.csv\"; filename*=UTF-8''{quote(record.name, safe='')}.csv"
    headers = {"Content-Disposition": f"attachment; {called}"}
    return StreamingResponse(here.study_service.csv(record), headers=headers, media_type="text/csv; charset=utf-8")


@router.get("/studies/{study_id}/pictures/{name}.json")
def picture(study_id: int, name: str, here: Here, request: Request, mark: str = "", begun: str = "") -> Response:
    """What a picture is drawn from; `begun` says which study the page shows."""
    record = here.study_service.record(study_id)
    if begun:
        check_identity(record, begun)
    look = here.job_service.latest(record)
    found = look.pictures.get(name) if look is not None else None
    if found is None:
        raise HTTPException(404)
    written = picture_texts_of(request).of(found)
    keep = "private, max-age=3600" if mark == written.mark else "no-store"
    return Response(written.text, headers={"Cache-Control": keep}, media_type="application/json")


def picture_texts_of(request: Request) -> PictureTexts:
    """The pictures that were written for browsers."""
    found = request.app.state.picture_texts
    assert isinstance(found, PictureTexts)
    return found


def new_page(visitor: Access, form: Form, says: tuple[str, ...] = (), status: int = 200) -> Response:
    """The form for a new study as it was typed; `says` is what the study would do."""
    return page("new.html", visitor, status, new=new_study_view(form, says), asked=ASKED, who=WHO["manual"])


def study_page(
    here: Services,
    visitor: Visitor,
    request: Request,
    study: Which,
    forms: Forms,
    message: Message | None,
    status: int = 200,
) -> Response:
    """The page of a study with forms as they were typed."""
    case = here.study_service.snapshot(study)
    jobs, look = here.job_service.jobs(case.record), here.job_service.latest(case.record)
    if case.computable is None and has_values(case) and look is None and not any(job.kind == "look" for job in jobs):
        with suppress(Busy):  # then it is made once the page is live
            here.job_service.renew(case.record, case.revision, soon=True)
            jobs = here.job_service.jobs(case.record)
    seen = Seen(case, look, jobs, here.store.place)
    view = study_view(seen, picture_texts_of(request), wanted(request.query_params), forms, here.store.now())
    return page("study.html", visitor, status, study=view, message=message)


def trial_page(
    here: Services,
    visitor: Visitor,
    study: Which,
    number: int,
    form: Form | None,
    message: Message | None,
    status: int = 200,
) -> Response:
    """The page of a trial with its form as it was typed."""
    case = here.study_service.snapshot(study)
    record = case.record
    entry, told = here.study_service.history(record, number)
    shown = {"id": record.id, "name": record.name, "begun": iso(record.created_at)}
    return page("trial.html", visitor, status, study=shown, trial=trial_view(case, entry, told, form), message=message)
