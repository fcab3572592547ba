"""The size of requests: bounded by what they announce and by what really comes, in bytes and in time."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hentropy.views.server.guard.sessions import LOGIN
from hentropy.views.server.problems import Refused
from hentropy.views.server.settings import ServerLimits

FILES = ("multipart/form-data", "text/csv", "application/x-ndjson")
"""The types of requests that carry a file."""


def content_type(headers: Headers) -> str:
    """The type of a body without its options."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class Bodies:
    """Refuses bodies that are too long, also if they do not say so, and those that never end."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self.app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the body on piece by piece, counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        most = self._most(scope["path"], headers)
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > most:
            raise _too_large(most)
        loop = asyncio.get_running_loop()
        stranger = scope["path"] == LOGIN  # anybody may send this: a slow one must not keep a connection for long
        until = loop.time() + (self._limits.login_seconds if stranger else self._limits.body_seconds)
        came, ended = 0, False

        async def counted() -> Message:
            nonlocal came, ended
            if ended:
                return await receive()  # whoever waits for the client to leave may wait for long
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - loop.time()))
            except TimeoutError:
                raise Refused(408, "the request took too long to arrive") from None
            came += len(message.get("body", b""))
            ended = message["type"] != "http.request" or not message.get("more_body", False)
            if came > most:
                raise _too_large(most)
            return message

        await self.app(scope, counted, send)

    def _most(self, path: str, headers: Headers) -> int:
        if path == LOGIN:  # anybody may send this
            return self._limits.login_bytes
        return self._limits.upload_bytes if content_type(headers) in FILES else self._limits.body_bytes


def _too_large(most: int) -> Refused:
    return Refused(413, f"the request is too large; at most {most:,} bytes are taken at once: give it in parts")
