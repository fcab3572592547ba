"""Answers in fewer bytes: data are packed, pages are not.

A page carries the secret token of its forms beside words that others may choose. Packed together, the length of the
answer would tell who listens on the line how much of the one is in the other (BREACH). Data hold no secret of the
server's, and are what is long; the events of open pages must come at once.
"""

import re

from hentropy.errors import MissingExtra
from hentropy.views.server.problems import is_api

try:
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.types import ASGIApp, Receive, Scope, Send
except ImportError:
    raise MissingExtra("fastapi", "server") from None

DATA = re.compile(r"/studies/[^/]+/(trials\.csv|pictures/[^/]+\.json)")
LEAST = 1_000
"""Bytes; less is not worth it."""

LEVEL = 4
"""How hard it is tried: beyond this it takes much longer and saves little."""


class Packing:
    """Packs answers of the API, pictures and downloads, for clients that can unpack them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._packed = GZipMiddleware(app, minimum_size=LEAST, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does."""
        data = scope["type"] == "http" and (is_api(scope["path"]) or DATA.fullmatch(scope["path"]))
        await (self._packed if data else self.app)(scope, receive, send)
