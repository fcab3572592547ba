"""What goes wrong, for a person: an id, a plain sentence, a status. Details go to the log alone."""

import html
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response

from hentropy.errors import (
    DecisionError,
    Gone,
    HentropyError,
    InputError,
    ModelError,
    NoSuchTrial,
    Outdated,
    ReadOnly,
    StorageError,
    StudyError,
)
from hentropy.views.server.work import ON_PAGES
from hentropy.views.text.formats import json_text


class Busy(HentropyError):  # noqa: N818 (it reads better where it is caught)
    """More work waits already than may wait; later there is room again."""


def sentence(text: str) -> str:
    """The text as a sentence: it begins with a capital letter and ends with a point."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', ':')) else '.'}"


def told(error: HentropyError) -> str:
    """An error in the words of a page, with where to read on."""
    return " ".join([sentence(error.worded(ON_PAGES)), *_read_on(error)])


def _read_on(error: HentropyError | None) -> list[str]:
    page = None if error is None else error.page
    return [] if page is None else [f"See the documentation: {page.label} ({page.html})."]


LOG = logging.getLogger("hentropy.views.server")

STATUS: tuple[tuple[type[HentropyError], int], ...] = (
    (Gone, 404),
    (NoSuchTrial, 404),
    (Outdated, 409),
    (Busy, 503),
    (ReadOnly, 403),
    (StorageError, 503),
    (StudyError, 409),
    (InputError, 422),
    (DecisionError, 409),
    (ModelError, 409),
)
"""The statuses of our own errors; the first that fits."""

RETRY = 5
"""Seconds after which somebody who was sent away may try again."""

SENTENCES = {
    400: "the request cannot be understood",
    401: "this needs a token of the server",
    403: "this is not allowed",
    404: "not found; it may have been deleted",
    405: "this cannot be done here",
    408: "the request took too long to arrive",
    413: "this is too large",
    415: "the content type is not one that is taken here",
}
INTERNAL = "something went wrong inside the server; the log has the details under this id"

UNUSABLE = (400, 405, 408, 413, 414, 415, 422)
KINDS = {404: "gone", 409: "study", 429: "busy", 503: "store"} | dict.fromkeys(UNUSABLE, "input")
"""What kind of problem a status is, for programs."""


@dataclass(frozen=True)
class Failure:
    """What went wrong: its id is in the log too. `lines` are details for a person, such as one for each mistake."""

    id: str
    status: int
    sentence: str
    lines: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None
    busy: bool = False
    """Whether nothing was done, and the same request may be sent again."""
    error: HentropyError | None = None
    """The error behind it: what programs are told of its advice is a value, not words."""

    @property
    def kind(self) -> str:
        """input, study, gone, store, busy, access or internal."""
        if self.busy:
            return "busy"
        return KINDS.get(self.status, "access" if self.status in (401, 403) else "internal")

    def plain(self) -> dict[str, Any]:
        """As the API says it."""
        details: dict[str, Any] = {"details": list(self.lines)} if self.lines else {}
        if self.error is not None and self.error.advice is not None:
            details |= {"what": self.error.what, "advice": self.error.advice.name.lower()}
        if self.error is not None and self.error.page is not None:
            details["docs"] = {"name": self.error.page.label, "path": self.error.page.html}
        return {"error": {"id": self.id, "kind": self.kind, "sentence": self.sentence, **details}}


class Refused(HTTPException):
    """A request that is not let in: a status and a sentence."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, sentence, dict(headers) if headers else None)


def problem_of(error: Exception) -> Failure:
    """What an error means to the one who asked; one that is not expected is logged in full and says nothing."""
    problem = _problem(secrets.token_hex(4), error)
    if problem.status != 500:
        # what people sent may be part of the sentence: it stays on one line of the log
        said = "".join(letter if letter.isprintable() else " " for letter in problem.sentence)
        LOG.log(
            logging.WARNING if problem.status > 500 else logging.INFO, "%s: %d %s", problem.id, problem.status, said
        )
    return problem


def _problem(identity: str, error: Exception) -> Failure:
    if isinstance(error, RequestValidationError):
        lines = _mistakes(error.errors())
        return Failure(identity, 422, "the request cannot be used: " + "; ".join(lines[:3]), lines)
    if isinstance(error, HTTPException):
        default = SENTENCES.get(error.status_code, "this cannot be done")
        given = isinstance(error, Refused) and error.detail
        busy = error.status_code == 503
        return Failure(identity, error.status_code, str(given or default), headers=error.headers, busy=busy)
    if isinstance(error, HentropyError):
        return _told(identity, error)
    LOG.error("%s: %s", identity, type(error).__name__, exc_info=error)
    return Failure(identity, 500, INTERNAL)


def _told(identity: str, error: HentropyError) -> Failure:
    status = next((status for kind, status in STATUS if isinstance(error, kind)), 409)
    headers = {"Retry-After": str(RETRY)} if status == 503 else None
    said = error.worded(ON_PAGES)
    lines = tuple(line.strip() for line in said.split("\n")[1:])
    return Failure(identity, status, said, lines, headers, busy=isinstance(error, Busy), error=error)


VALUE_KINDS = ("bool", "int", "float", "str")
"""What ends the place of a mistake where a value may be of several kinds: there is one mistake for each."""


def _mistakes(details: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """A line for each place where something is wrong."""
    found: dict[str, list[str]] = {}
    for detail in details:
        place = detail.get("loc", ())
        if detail.get("type") == "json_invalid":
            reason = (detail.get("ctx") or {}).get("error", "it cannot be read")
            return (f"the body is not valid JSON, at character {place[-1]}: {reason}",)
        parts = [str(part) for part in (place[1:] if len(place) > 1 else place)]
        where = ".".join(parts[:-1] if len(parts) > 1 and parts[-1] in VALUE_KINDS else parts)
        message = str(detail.get("msg", "cannot be used"))
        found.setdefault(where, []).append(f"{message[:1].lower()}{message[1:]}")
    return tuple(f"{where}: {' or '.join(said)}" if where else " or ".join(said) for where, said in found.items())


def is_api(path: str) -> bool:
    """Whether a path belongs to programs."""
    return path == "/api" or path.startswith("/api/")


def answer(connection: HTTPConnection, problem: Failure) -> Response:
    """A problem as JSON for programs, as a page for people."""
    headers = dict(problem.headers or {})
    if is_api(connection.scope["path"]):
        return Response(json_text(problem.plain()), problem.status, headers, "application/json")
    return Response(page(problem), problem.status, headers, "text/html")


def page(problem: Failure) -> str:
    """A page that says what went wrong: it needs nothing but its style, so it works when nothing else does."""
    said = "".join(f"<p>{html.escape(line)}</p>" for line in [*_paragraphs(problem.sentence), *_read_on(problem.error)])
    return PAGE.format(title=TITLES.get(problem.status, "This did not work"), said=said, id=html.escape(problem.id))


def _paragraphs(text: str) -> Sequence[str]:
    first, *rest = text.split("\n")
    return [sentence(first), *rest]


TITLES = {401: "Please sign in", 403: "Not allowed", 404: "Not found", 429: "Too many requests", 503: "Not now"}
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - hentropy</title>
<link rel="stylesheet" href="/static/base.css">
</head>
<body>
<main class="problem">
<h1>{title}</h1>
{said}
<p><a href="/">All studies</a></p>
<p><small>Problem {id}</small></p>
</main>
</body>
</html>
"""
