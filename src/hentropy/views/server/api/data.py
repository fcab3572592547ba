"""Data in and out: earlier measurements, exports and their import."""

from typing import Annotated, Any

from fastapi import Query
from starlette.responses import StreamingResponse

from hentropy.errors import InputError
from hentropy.studies.records import StudyRecord
from hentropy.views.server.api import answering
from hentropy.views.server.api.answers import AttachedAnswer, TrialsAnswer
from hentropy.views.server.api.requests import Attach
from hentropy.views.server.api.router import Key, Meant, Text, takes
from hentropy.views.server.api.router import router as made
from hentropy.views.server.services import Here
from hentropy.views.server.study_service import Attached, EarlierExperiment
from hentropy.views.text.earlier_data import columns_by_parameter

router = made("data")

MAX_COLUMN_LENGTH = 500


@router.post("/studies/{study}/attach", response_model=AttachedAnswer, status_code=201)
def attach(here: Here, study: Meant, question: Attach, key: Key = None) -> Any:
    """Add earlier experiments, failed ones too: all rows, or none if one of them cannot be used."""
    rows = [EarlierExperiment(row.params, row.outcome) for row in question.rows]

    def add() -> Attached:
        return here.study_service.attach(study, rows, again=question.again)

    return _attached(study, here.recent.once(study.key, "attach", key, add, question.model_dump()))


@router.post(
    "/studies/{study}/attach.csv",
    response_model=AttachedAnswer,
    status_code=201,
    openapi_extra=takes("text/csv"),
)
def attach_csv(
    here: Here,
    study: Meant,
    text: Text,
    column: Annotated[
        list[str] | None,
        Query(
            description="COLUMN=NAME: a column with another name than its parameter or outcome.",
            max_length=MAX_COLUMN_LENGTH,
        ),
    ] = None,
    skip_bad: Annotated[bool, Query(description="Leave out rows that cannot be used.")] = False,
    again: Annotated[bool, Query(description="Attach rows that are in the study already.")] = False,
    key: Key = None,
) -> Any:
    """Add earlier measurements from CSV with a header: comma, semicolon or tab.

    Values are in columns called as their outcomes, standard errors in `NAME_se`.
    """
    columns = _columns(column or [])

    def add() -> Attached:
        return here.study_service.attach_csv(study, text, columns=columns, skip_bad=skip_bad, again=again)

    return _attached(study, here.recent.once(study.key, "attach.csv", key, add, [text, columns, skip_bad, again]))


def _columns(given: list[str]) -> dict[str, str]:
    """Columns by parameter."""
    try:
        return columns_by_parameter(given)
    except InputError as error:
        raise InputError(f"column: {error}") from None


def _attached(study: StudyRecord, attached: Attached) -> dict[str, Any]:
    return {
        **answering.about(study),
        "trials": answering.trials(attached.entries),
        "left_out": list(attached.bad),
        "unused": list(attached.unused),
    }


@router.post(
    "/studies/{study}/import",
    response_model=TrialsAnswer,
    status_code=201,
    openapi_extra=takes("text/csv", "application/x-ndjson"),
)
def import_trials(here: Here, study: Meant, text: Text) -> Any:
    """Put exported trials into a study that has none yet; numbers, states, values, notes and times come back."""
    entries = here.study_service.import_trials(study, text)
    case = here.study_service.snapshot(study)
    return {**answering.about(case.record), "revision": case.revision, "trials": answering.trials(entries)}


@router.get(
    "/studies/{study}/export.csv",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export_csv(here: Here, study: Meant) -> StreamingResponse:
    """All trials as CSV, for spreadsheets: a note that begins like a formula gets a ' in front."""
    return _file(here.study_service.csv(study), "text/csv", f"study-{study.id}.csv")


@router.get(
    "/studies/{study}/export.jsonl",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
)
def export_json_lines(here: Here, study: Meant) -> StreamingResponse:
    """All trials as JSON lines, for programs."""
    return _file(here.study_service.json_lines(study), "application/x-ndjson", f"study-{study.id}.jsonl")


def _file(pieces: Any, kind: str, name: str) -> StreamingResponse:
    # the name is the id, not what somebody called the study: a header cannot carry every letter
    return StreamingResponse(pieces, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
