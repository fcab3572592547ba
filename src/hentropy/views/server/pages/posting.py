"""The routes of forms: results come in, also corrected or withdrawn, earlier data, and work is asked for or cancelled.

A CSV file of earlier data is checked line by line. Work goes on in the background.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Request, UploadFile
from fastapi import Form as Field
from starlette.responses import RedirectResponse, Response

from hentropy.errors import InputError, StudyError
from hentropy.studies.records import Failed, State, StudyKey, StudyRecord, Values
from hentropy.views.server.api.answering import says
from hentropy.views.server.new_study import described
from hentropy.views.server.pages.forms import (
    WHOLE,
    Form,
    Meant,
    Mistaken,
    Typed,
    columns_in,
    count_in,
    failure_in,
    note_in,
    result_in,
)
from hentropy.views.server.pages.new_form import drafted, settings_of, shown_again
from hentropy.views.server.pages.new_rows import with_rows
from hentropy.views.server.pages.own_form import design_in
from hentropy.views.server.pages.reading import new_page, study_page, trial_page
from hentropy.views.server.pages.rendering import Message
from hentropy.views.server.pages.study_view import Forms
from hentropy.views.server.problems import Busy, Refused, sentence, told
from hentropy.views.server.services import Here, Services, Visitor, has_values, place_ask, place_look
from hentropy.views.server.study_service import EarlierExperiment
from hentropy.views.server.work import Job
from hentropy.views.text.earlier_data import earlier_data
from hentropy.views.text.formats import counted, json_text
from hentropy.views.text.sentences import objective_sentence

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Field()]


@router.post("/new")
def new(here: Here, visitor: Visitor, typed: Typed, what: Text = "make", key: Text = "") -> Response:
    """Make a study that people run; or another row, the settings of another goal, or what the study would do.

    A form that is sent twice, as by a double click, has the same `key`, and makes one study.
    """
    typed = {name: text for name, text in typed.items() if name != "what"}
    if what.startswith(("add:", "remove:")):
        rows, goes_on = with_rows(typed, what)
        return new_page(visitor, Form(rows, focus=goes_on))
    draft = drafted(shown_again(typed) if what == "goal" else typed)
    if what == "goal":
        return new_page(visitor, Form(draft.typed, focus=next((one.key for one in settings_of(draft)), "goal")))
    form = draft.form()
    if form.mistakes:
        return new_page(visitor, form, status=422)
    try:
        if what == "check":
            study = described(draft.words)
            words = study.description
            # who runs them is said above, and in other words than those of a terminal
            said = tuple(one for one in says(words, study.first) if one != objective_sentence(words))
            return new_page(visitor, form, said)
        # the same form posted twice makes one study; what was changed after going back makes another
        once = f"{key[:64]} {sha256(json_text(sorted(typed.items())).encode()).hexdigest()}" if key else None
        made = here.recent.once(NO_STUDY, "new by form", once, lambda: here.study_service.create(draft.words))
    except StudyError as error:
        return new_page(visitor, Form(typed, {"name": sentence(str(error))}, focus="name"), status=409)
    except InputError as error:
        return new_page(visitor, Form(typed, {WHOLE: sentence(" ".join(str(error).split()))}), status=422)
    return RedirectResponse(f"/studies/{made.id}?said=made#said", 303)


NO_STUDY = StudyKey(0, "", 0.0)
"""Whose key it is that makes a study: there is none yet."""


@router.post("/studies/{study_id}/trials/{number}")
def enter(
    study: Meant,
    number: int,
    here: Here,
    visitor: Visitor,
    request: Request,
    typed: Typed,
    what: Text = "tell",
    page: Text = "study",
) -> Response:
    """What came of a trial; `page` says which page the form is on."""
    typed = {name: text for name, text in typed.items() if name not in ("what", "page", "begun")}
    own = page == "trial"
    try:
        said = VERBS.get(what, _tell)(here, study, number, typed)
    except Mistaken as mistaken:
        form, status = mistaken.form, 422
    except (InputError, StudyError) as error:
        form, status = Form(typed, {WHOLE: told(error)}), 409
    else:
        look_again(here, study)
        place = f"/studies/{study.id}/trials/{number}" if own else f"/studies/{study.id}"
        return RedirectResponse(f"{place}?said={said}&number={number}#said", 303)
    if own:
        return trial_page(here, visitor, study, number, form, None, status)
    lost = here.study_service.log(study).find(number).trial.state is not State.RUNNING
    message = Message("mistake", f"{form.mistakes.get(WHOLE, '')} You typed: {_typed(typed)}.") if lost else None
    return study_page(here, visitor, request, study, Forms(told={number: form}), message, status)


def look_again(here: Services, study: StudyRecord) -> None:
    """Have the verdict renewed, as somebody waits to see it."""
    case = here.study_service.snapshot(study)
    if case.computable is None and has_values(case):
        with suppress(Busy):  # then later
            here.job_service.renew(study, case.revision, soon=True)


def _typed(typed: Mapping[str, str]) -> str:
    return ", ".join(text for text in typed.values() if text.strip()) or "nothing"


def _tell(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str], replace: bool = False) -> str:
    log = here.study_service.log(study)
    result = result_in(typed, log.outcomes)
    log.tell(number, result.values, note=result.note, replace_value=replace, cost=result.cost)
    return "corrected" if replace else "told"


def _fail(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str], replace: bool = False) -> str:
    why, cost = failure_in(typed)
    here.study_service.log(study).fail(number, why, replace_value=replace, cost=cost)
    return "corrected" if replace else "failed"


def _withdraw(here: Services, study: StudyRecord, number: int, typed: Mapping[str, str]) -> str:
    mistakes: dict[str, str] = {}
    note = note_in(typed, mistakes)
    if mistakes:
        raise Mistaken(Form(typed, mistakes))
    here.study_service.log(study).withdraw(number, note)
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


@router.post("/studies/{study_id}/ask")
def ask(
    study: Meant,
    here: Here,
    visitor: Visitor,
    request: Request,
    count: Text = "",
    anyway: Text = "",
    key: Text = "",
    measures: Text = "",
) -> Response:
    """Have the next experiments chosen, maybe for one assay; of a study that has enough only with `anyway`.

    A form that is sent twice, as by a double click, has the same `key`, and asks once.
    """
    typed = {"count": count, "anyway": anyway, "measures": measures}

    def place() -> Job:
        asked, case = count_in(typed, here.settings.limits.count), here.study_service.snapshot(study)
        return place_ask(here, case, asked, bool(anyway), measures or None)

    try:
        here.recent.once(study.key, "ask by form", key or None, place)
    except Mistaken as mistaken:
        return study_page(here, visitor, request, study, Forms(ask=mistaken.form), None, 422)
    except (Busy, StudyError, InputError) as error:
        forms = Forms(ask=Form(typed, {"count": sentence(str(error))}))
        return study_page(here, visitor, request, study, forms, None, 503 if isinstance(error, Busy) else 409)
    return RedirectResponse(f"/studies/{study.id}?said=asked#said", 303)


@router.post("/studies/{study_id}/look")
def look(study: Meant, here: Here, visitor: Visitor, request: Request) -> Response:
    """Have the verdict renewed."""
    try:
        place_look(here, here.study_service.snapshot(study))
    except Busy as busy:
        return study_page(here, visitor, request, study, Forms(), Message("mistake", sentence(str(busy))), 503)
    return RedirectResponse(f"/studies/{study.id}?said=looking#said", 303)


@router.post("/studies/{study_id}/jobs/{job}/cancel")
def cancel(study: Meant, job: str, here: Here) -> Response:
    """End work that is no longer wanted."""
    found = here.job_service.job(job)
    if found is None or found.study != study.key:
        raise Refused(404, "there is no such work; it may have ended long ago")
    state = here.job_service.cancel(job).state
    return RedirectResponse(f"/studies/{study.id}?said={'over' if state == 'done' else 'cancelled'}#said", 303)


@router.post("/studies/{study_id}/own")
def own(study: Meant, here: Here, visitor: Visitor, request: Request, typed: Typed) -> Response:
    """Attach an experiment of one's own, failed or not; a design that violates the conditions is taken as well."""
    mistakes: dict[str, str] = {}
    outcomes = here.study_service.snapshot(study).outcomes
    space = outcomes.space
    design = design_in(typed, space, mistakes)
    outcome: Values | Failed
    try:
        if typed.get("what") == "fail":
            note, cost = failure_in(typed)
            outcome = Failed(note)
        else:
            result = result_in(typed, outcomes)
            outcome, cost, note = result.values, result.cost, result.note
    except Mistaken as mistaken:
        mistakes |= mistaken.form.mistakes
    if design is None or mistakes:
        return study_page(here, visitor, request, study, Forms(own=Form(typed, mistakes)), None, 422)
    row = EarlierExperiment(design, outcome)
    try:
        attached = here.study_service.attach(study, [row], again=bool(typed.get("again")), cost=cost, note=note)
    except InputError as error:
        form = Form(typed, {WHOLE: told(error), "again": "asked"})
        return study_page(here, visitor, request, study, Forms(own=form), None, 409)
    look_again(here, study)
    said = "own_outside" if space.violated(space.encode(design)) else "own"
    return RedirectResponse(f"/studies/{study.id}?said={said}&number={attached.entries[0].trial.number}#said", 303)


SHOWN = 100
"""The bad lines that are listed."""


@router.post("/studies/{study_id}/attach")
def attach(
    study: Meant,
    here: Here,
    visitor: Visitor,
    request: Request,
    file: UploadFile | None = None,
    map: Text = "",
    skip_bad: Text = "",
    again: Text = "",
    dry_run: Text = "",
) -> Response:
    """Attach the rows of a file, or say what would come of it."""
    typed = {"map": map, "skip_bad": skip_bad, "again": again}
    try:
        text, name = _text_of(file, typed)
        columns = columns_in(typed)
        form = _checked(here, study, text, name, typed, columns)
        if dry_run or form.mistakes:
            return study_page(here, visitor, request, study, Forms(attach=form), None, 422 if form.mistakes else 200)
        attached = here.study_service.attach_csv(
            study,
            text,
            where=name,
            columns=columns,
            skip_bad=bool(skip_bad),
            again=bool(again),
        )
    except Mistaken as mistaken:
        return study_page(here, visitor, request, study, Forms(attach=mistaken.form), None, 422)
    except InputError as error:
        form = Form(typed, {"file": told(error)})
        return study_page(here, visitor, request, study, Forms(attach=form), None, 422)
    look_again(here, study)
    return RedirectResponse(f"/studies/{study.id}?said=attached&number={len(attached.entries)}#said", 303)


def _text_of(file: UploadFile | None, typed: dict[str, str]) -> tuple[str, str]:
    """The text of a file, and how messages call it."""
    content = b"" if file is None else file.file.read()
    if file is None or not file.filename:
        raise Mistaken(Form(typed, {"file": "Choose a file first."}))
    try:
        return content.decode("utf-8-sig"), file.filename[:100]
    except UnicodeDecodeError:
        said = "This is not text in UTF-8. In a spreadsheet, save it as CSV UTF-8."
        raise Mistaken(Form(typed, {"file": said})) from None


def _checked(
    here: Services, study: StudyRecord, text: str, name: str, typed: dict[str, str], columns: dict[str, str]
) -> Form:
    """The form with what would come of a file, and with what is wrong with it."""
    outcomes = here.study_service.snapshot(study).outcomes
    data = earlier_data(text, name, outcomes, columns, here.settings.limits.upload_rows)
    more = [f"... and {len(data.bad) - SHOWN} more"] if len(data.bad) > SHOWN else []
    form = Form(typed, lines=(*data.bad[:SHOWN], *more))
    good = counted(len(data.good), "row")
    if data.bad and not typed["skip_bad"]:
        said = f"{counted(len(data.bad), 'row')} of {name} cannot be used, {good} can. Nothing was attached."
        return replace(form, mistakes={"file": f"{said} Fix the file, or leave out such rows."})
    if not data.good:
        return replace(form, mistakes={"file": f"{name} has no row that can be used. Nothing was attached."})
    unused = f" Nothing is taken from the columns {', '.join(data.unused)}." if data.unused else ""
    left = f" {counted(len(data.bad), 'row')} would be left out." if data.bad else ""
    said = f"{good} of {name} would be attached.{left}{unused} Nothing was changed yet: choose Attach to do it."
    return replace(form, preview=said)
