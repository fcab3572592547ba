"""Templates to pages: scripts and styles, times, and what is said after something was done.

Scripts and styles are known files by their names, so that no path of a request reaches the file system. What is said is
chosen by a word in the address, which can say nothing else.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from hentropy.views.server.guard.people import Right
from hentropy.views.server.guard.sessions import Access
from hentropy.views.text.formats import clock, counted, iso
from hentropy.views.web.templating import environment

TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".txt": "text/plain"}
FOLDERS = (resources.files("hentropy.views.web") / "static", resources.files("hentropy.views.server.pages") / "static")
FOR_EVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Asset:
    """A file as it is sent, and a mark that changes with it."""

    kind: str
    content: bytes
    packed: bytes
    mark: str


def _read(file: Traversable, kind: str) -> Asset:
    content = file.read_bytes()
    # the same bytes each time: no time of packing is in them
    return Asset(kind, content, gzip.compress(content, 6, mtime=0), hashlib.sha256(content).hexdigest()[:12])


@cache
def assets() -> dict[str, Asset]:
    """All files that may be had, by name."""
    files = [file for folder in FOLDERS for file in folder.iterdir()]
    kinds = {file.name: TYPES.get("." + file.name.rpartition(".")[2]) for file in files}
    return {file.name: _read(file, kind) for file in files if (kind := kinds[file.name])}


def address(name: str) -> str:
    """Where a page finds a file: another address whenever it has changed, so that browsers may keep it."""
    return f"/static/{name}?v={assets()[name].mark}"


@router.get("/favicon.ico")
def icon(request: Request) -> Response:
    """The icon, where browsers look for it that were not told."""
    return static("favicon.svg", request)


@router.get("/static/{name}")
def static(name: str, request: Request, v: str = "") -> Response:
    """A script, a style or an icon."""
    asset = assets().get(name)
    if asset is None:
        raise HTTPException(404)
    headers = {"ETag": f'"{asset.mark}"', "Vary": "Accept-Encoding"}
    headers["Cache-Control"] = FOR_EVER if v == asset.mark else "no-cache"
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=asset.kind)
    return Response(asset.content, headers=headers, media_type=asset.kind)


@dataclass(frozen=True)
class Moment:
    """A time for a machine, and by the clock of the server for a person."""

    iso: str
    clock: str


def moment(seconds: float) -> Moment:
    """A time in seconds since 1970."""
    return Moment(iso(seconds) or "", clock(seconds))


DONE = {
    "made": "The study is made. Ask for its first experiments under Next experiments.",
    "told": "The result of trial {number} is entered. The verdict will be updated.",
    "failed": "Trial {number} is marked as failed.",
    "withdrawn": "Trial {number} is withdrawn. If it is run after all, enter its result on its own page.",
    "corrected": "Trial {number} is corrected. Earlier results stay in its history.",
    "attached": "{rows} attached. The verdict will be updated.",
    "own": "Your experiment is trial {number}. The verdict will be updated.",
    "own_outside": "Your experiment is trial {number}. Its design violates a condition of this study, which its page"
    " names; the model learns from it all the same. The verdict will be updated.",
    "asked": "The next experiments are being chosen and will appear below.",
    "looking": "The verdict is being updated.",
    "cancelled": "Cancelled. Nothing that was entered is lost.",
    "over": "The job had already finished.",
}


@dataclass(frozen=True)
class Message:
    """A sentence on top of a page: `done` or `mistake`."""

    kind: str
    text: str


def message_in(query: Mapping[str, str]) -> Message | None:
    """What the address of a page says was done."""
    sentence = DONE.get(query.get("said", ""))
    number = query.get("number", "0")
    if sentence is None or not (number.isascii() and number.isdigit() and len(number) < 9):
        return None
    return Message("done", sentence.format(number=int(number), rows=counted(int(number), "row")))


@cache
def _templates() -> Environment:
    made = environment(Path(__file__).parent / "templates")
    made.globals["asset"] = address
    return made


def page(template: str, visitor: Access, status: int = 200, **shown: Any) -> HTMLResponse:
    """A page for somebody."""
    right = Right.READ if visitor.read_only else visitor.right
    offered = {"person": visitor.name, "may_run": right >= Right.RUN, "may_define": right >= Right.DEFINE}
    text = _templates().get_template(template).render(signed_in=visitor.how == "session", **offered, **shown)
    return HTMLResponse(text, status)
