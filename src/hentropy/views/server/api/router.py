"""How a router of the API is made: its place, its answers when something goes wrong."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request

from hentropy.errors import InputError
from hentropy.studies.records import StudyRecord
from hentropy.views.server.api.answers import ErrorAnswer, Plain
from hentropy.views.server.services import Here, check_identity

MAX_NUMBER = 2**53
"""The greatest whole number that every reader of JSON has."""


def meant(
    here: Here,
    study: Annotated[int, Path(ge=0, lt=MAX_NUMBER, description="The id of the study.")],
    created_at: Annotated[
        str | None,
        Header(
            alias="Study-Created-At",
            max_length=40,
            description="When the study that is meant was begun; one that has its id now is left alone.",
        ),
    ] = None,
) -> StudyRecord:
    """A study, if it is still the one that is meant; what follows is done with this record, so with no other study."""
    record = here.study_service.record(study)
    if created_at is not None:
        check_identity(record, created_at)
    return record


Meant = Annotated[StudyRecord, Depends(meant)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=100,
        description="A text made up by the client: with the same one again, nothing is done twice, and the answer is "
        "that of the first time; another request with it is refused. The last 1000 are remembered until the server "
        "ends.",
    ),
]
TrialNumber = Annotated[int, Path(ge=0, lt=MAX_NUMBER, description="The number of the trial.")]


def router(tag: str) -> APIRouter:
    """An empty router under /api."""
    problems: dict[int | str, dict[str, Any]] = {
        "4XX": {"model": ErrorAnswer, "description": "Request rejected; see `sentence`."},
        "5XX": {"model": ErrorAnswer, "description": "Temporarily unavailable; see `sentence`."},
    }
    return APIRouter(prefix="/api", tags=[tag], default_response_class=Plain, responses=problems)


async def text_of(request: Request) -> str:
    """The body of a request as text."""
    body = await request.body()
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the text is not in UTF-8: byte {error.start} is {body[error.start]:#x}") from None


Text = Annotated[str, Depends(text_of)]


def takes(*types: str) -> dict[str, Any]:
    """The description of a body of text."""
    content = {kind: {"schema": {"type": "string"}} for kind in types}
    return {"requestBody": {"required": True, "content": content}}
