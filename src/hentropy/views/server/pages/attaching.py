"""The route by which earlier data come in: a CSV file, checked line by line."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Request, UploadFile
from fastapi import Form as Field
from starlette.responses import RedirectResponse, Response

from hentropy.errors import InputError
from hentropy.studies.records import StudyRecord
from hentropy.views.server.pages.entering import look_again
from hentropy.views.server.pages.forms import Form, Mistaken, columns_in
from hentropy.views.server.pages.meant import Meant
from hentropy.views.server.pages.reading import study_page
from hentropy.views.server.pages.study_view import Forms
from hentropy.views.server.services import Here, Services, Visitor
from hentropy.views.server.words import in_words_of_the_page, sentence
from hentropy.views.text.earlier_data import earlier_data
from hentropy.views.text.formats import counted

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Field()]
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
    value: Text = "",
    std_error: Text = "",
    skip_bad: Text = "",
    again: Text = "",
    dry_run: Text = "",
) -> Response:
    """Attach the rows of a file, or say what would come of it."""
    typed = {"map": map, "value": value, "std_error": std_error, "skip_bad": skip_bad, "again": again}
    try:
        text, name = _text_of(file, typed)
        columns = columns_in(typed)
        form = _checked(here, study, text, name, typed, columns)
        if dry_run or form.mistakes:
            return study_page(here, visitor, request, study, Forms(attach=form), None, 422 if form.mistakes else 200)
        attached = here.desk.attach_csv(
            study,
            text,
            where=name,
            columns=columns,
            value=value or None,
            std_error=std_error or None,
            skip_bad=bool(skip_bad),
            again=bool(again),
        )
    except Mistaken as mistaken:
        return study_page(here, visitor, request, study, Forms(attach=mistaken.form), None, 422)
    except InputError as error:
        form = Form(typed, {"file": sentence(in_words_of_the_page(str(error)))})
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
    space = here.desk.case(study).space
    value, std_error = typed["value"] or None, typed["std_error"] or None
    data = earlier_data(text, name, space, columns, value, std_error, here.settings.limits.upload_rows)
    more = [f"... and {len(data.bad) - SHOWN} more"] if len(data.bad) > SHOWN else []
    form = Form(typed, lines=(*data.bad[:SHOWN], *more))
    good = counted(len(data.good), "row")
    if data.bad and not typed["skip_bad"]:
        said = f"{counted(len(data.bad), 'row')} of {name} cannot be used, {good} can. Nothing was attached."
        return replace(form, mistakes={"file": f"{said} Mend the file, or have such rows left out."})
    if not data.good:
        return replace(form, mistakes={"file": f"{name} has no row that can be used. Nothing was attached."})
    unused = f" Nothing is taken from the columns {', '.join(data.unused)}." if data.unused else ""
    left = f" {counted(len(data.bad), 'row')} would be left out." if data.bad else ""
    said = f"{good} of {name} would be attached.{left}{unused} Nothing was changed yet: choose Attach to do it."
    return replace(form, preview=said)
