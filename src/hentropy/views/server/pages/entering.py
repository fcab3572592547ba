"""The routes by which results come in: told, failed, withdrawn, corrected."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi import Form as Field
from starlette.responses import RedirectResponse, Response

from hentropy.errors import InputError, StudyError
from hentropy.studies.records import State, StudyRecord
from hentropy.views.server.pages.forms import WHOLE, Form, Mistaken, note_in, reason_in, result_in
from hentropy.views.server.pages.meant import Meant
from hentropy.views.server.pages.messages import Message
from hentropy.views.server.pages.reading import study_page, trial_page
from hentropy.views.server.pages.study_view import Forms
from hentropy.views.server.placing import has_values
from hentropy.views.server.services import Here, Services, Visitor
from hentropy.views.server.words import in_words_of_the_page, sentence
from hentropy.views.server.work import Busy

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Field()]


@router.post("/studies/{study_id}/trials/{number}")
def enter(
    study: Meant,
    number: int,
    here: Here,
    visitor: Visitor,
    request: Request,
    what: Text = "tell",
    value: Text = "",
    std_error: Text = "",
    note: Text = "",
    page: Text = "study",
) -> Response:
    """What came of a trial; `page` says which page the form is on."""
    typed = {"value": value, "std_error": std_error, "note": note}
    own = page == "trial"
    try:
        said = VERBS.get(what, _tell)(here, study, number, typed)
    except Mistaken as mistaken:
        form, status = mistaken.form, 422
    except (InputError, StudyError) as error:
        form, status = Form(typed, {WHOLE: sentence(in_words_of_the_page(str(error)))}), 409
    else:
        look_again(here, study)
        place = f"/studies/{study.id}/trials/{number}" if own else f"/studies/{study.id}"
        return RedirectResponse(f"{place}?said={said}&number={number}#said", 303)
    if own:
        return trial_page(here, visitor, study, number, form, None, status)
    lost = here.desk.entry(study, number).trial.state is not State.RUNNING
    message = Message("mistake", f"{form.mistakes.get(WHOLE, '')} You typed: {_typed(typed)}.") if lost else None
    return study_page(here, visitor, request, study, Forms(told={number: form}), message, status)


def look_again(here: Services, study: StudyRecord) -> None:
    """Have the verdict renewed, as somebody waits to see it."""
    case = here.desk.case(study)
    if case.computable is None and has_values(case):
        with suppress(Busy):  # then later
            here.workshop.look(study)


def _typed(typed: Mapping[str, str]) -> str:
    return ", ".join(text for text in typed.values() if text.strip()) or "nothing"


def _tell(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str], replace: bool = False) -> str:
    result = result_in(typed)
    here.desk.tell(study, number, result.value, result.std_error, result.note, replace)
    return "corrected" if replace else "told"


def _fail(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str], replace: bool = False) -> str:
    here.desk.fail(study, number, reason_in(typed), replace)
    return "corrected" if replace else "failed"


def _withdraw(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str]) -> str:
    mistakes: dict[str, str] = {}
    note = note_in(typed, mistakes)
    if mistakes:
        raise Mistaken(Form(typed, mistakes))
    here.desk.withdraw(study, number, note)
    return "withdrawn"


def _correct(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str]) -> str:
    return _tell(here, study, number, typed, replace=True)


def _correct_failed(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str]) -> str:
    return _fail(here, study, number, typed, replace=True)


Verb = Callable[[Services, StudyRecord, int, Mapping[str, str]], str]
VERBS: dict[str, Verb] = {
    "tell": _tell,
    "fail": _fail,
    "withdraw": _withdraw,
    "correct": _correct,
    "correct_failed": _correct_failed,
}
