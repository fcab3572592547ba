"""Scripts and styles: known files by their names, so that no path of a request reaches the file system."""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

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
