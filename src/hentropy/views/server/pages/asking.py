"""The routes by which work is asked for and cancelled; it goes on in the background."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi import Form as Field
from starlette.responses import RedirectResponse, Response

from hentropy.errors import StudyError
from hentropy.views.server.pages.forms import Form, Mistaken, count_in
from hentropy.views.server.pages.meant import Meant
from hentropy.views.server.pages.messages import Message
from hentropy.views.server.pages.reading import study_page
from hentropy.views.server.pages.study_view import Forms
from hentropy.views.server.placing import place_ask, place_look
from hentropy.views.server.problems import Refused
from hentropy.views.server.services import Here, Visitor
from hentropy.views.server.words import sentence
from hentropy.views.server.work import Busy, StudyKey

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Field()]


@router.post("/studies/{study_id}/ask")
def ask(study: Meant, here: Here, visitor: Visitor, request: Request, count: Text = "", anyway: Text = "") -> Response:
    """Have the next experiments chosen; of a study that has enough only with `anyway`."""
    typed = {"count": count, "anyway": anyway}
    try:
        place_ask(here, here.desk.case(study), count_in(typed, here.settings.limits.count), bool(anyway))
    except Mistaken as mistaken:
        return study_page(here, visitor, request, study, Forms(ask=mistaken.form), None, 422)
    except (Busy, StudyError) as error:
        forms = Forms(ask=Form(typed, {"count": sentence(str(error))}))
        return study_page(here, visitor, request, study, forms, None, 503 if isinstance(error, Busy) else 409)
    return RedirectResponse(f"/studies/{study.id}?said=asked#said", 303)


@router.post("/studies/{study_id}/look")
def look(study: Meant, here: Here, visitor: Visitor, request: Request) -> Response:
    """Have the verdict renewed."""
    try:
        place_look(here, here.desk.case(study))
    except Busy as busy:
        return study_page(here, visitor, request, study, Forms(), Message("mistake", sentence(str(busy))), 503)
    return RedirectResponse(f"/studies/{study.id}?said=looking#said", 303)


@router.post("/studies/{study_id}/jobs/{job}/cancel")
def cancel(study: Meant, job: str, here: Here) -> Response:
    """End work that is no longer wanted."""
    found = here.workshop.job(job)
    if found is None or found.study != StudyKey.of(study):
        raise Refused(404, "there is no such work; it may have ended long ago")
    state = here.workshop.cancel(job).state
    return RedirectResponse(f"/studies/{study.id}?said={'over' if state == 'done' else 'cancelled'}#said", 303)
