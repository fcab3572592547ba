"""What is done to every answer: headers that say what a browser may do with it, HEAD, packing, and the last net.

Data are packed in fewer bytes, pages are not. Whatever goes wrong in a request becomes an answer with an id, and only
the log has more.
"""

import re

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hentropy.views.server.problems import LOG, answer, is_api, problem_of

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        # plotly writes style attributes into the drawings that it makes; a style can run nothing
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)

ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Headers:
    """Adds the headers; what may be kept, such as a style sheet, says so itself."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, with the headers."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


class Heads:
    """Has HEAD answered by the routes for GET; once the headers are known, the client counts as gone."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a HEAD with headers alone, anything else as it is."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        begun = False

        async def until_begun() -> Message:
            return {"type": "http.disconnect"} if begun else await receive()

        async def headers_alone(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})
                begun = True  # what would go on for ever, such as news, ends here

        await self.app({**scope, "method": "GET"}, until_begun, headers_alone)


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


class Catching:
    """Turns errors into answers; once an answer has begun, it can only be broken off."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or with what went wrong."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noticed)
        except ClientDisconnect:
            return  # nobody is there to be told
        except Exception as error:
            problem = problem_of(error)
            if begun:
                LOG.error("%s: the answer had begun, and was broken off", problem.id)
                raise
            await answer(HTTPConnection(scope), problem)(scope, receive, send)
