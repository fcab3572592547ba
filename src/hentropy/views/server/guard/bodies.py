"""The size of requests: bounded by what they announce and by what really comes, in bytes and in time.

Also the time that a connection has for the head of a request.
"""

import asyncio
from contextlib import suppress

import h11
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from hentropy.views.server.guard.sessions import access_of
from hentropy.views.server.problems import Refused
from hentropy.views.server.settings import ServerLimits

FILES = ("multipart/form-data", "text/csv", "application/x-ndjson")
"""The types of requests that carry a file."""

MAX_PATH_LENGTH = 2_000
"""Letters; no address of a server is as long, and Python reads no whole number of more than 4,300 digits."""

ENCODINGS = (b"", b"utf-8", b"utf8")
"""The encodings that a form may name; some of the others that Python knows make broken code points."""


def content_type(headers: Headers) -> str:
    """The type of a body without its options."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


class BodyLimit:
    """Refuses bodies that are too long, also if they do not say so, and those that never end.

    Those who have not given the token may send less, and have less time: others could be kept out by slow ones.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self.app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the body on piece by piece, counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if len(scope["path"]) > MAX_PATH_LENGTH:
            raise Refused(414, f"the address is too long; at most {MAX_PATH_LENGTH:,} letters are accepted")
        headers = Headers(scope=scope)
        kind, options = parse_options_header(headers.get("content-type"))
        if kind == b"multipart/form-data" and options.get(b"charset", b"").lower() not in ENCODINGS:
            raise Refused(415, "the encoding of the form is not accepted; send UTF-8")
        stranger = not access_of(scope).may
        most = self._most(stranger, headers)
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced[:20]) > most:
            raise _too_large(most)
        loop = asyncio.get_running_loop()
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

    def _most(self, stranger: bool, headers: Headers) -> int:
        if stranger:
            return self._limits.login_bytes
        return self._limits.upload_bytes if content_type(headers) in FILES else self._limits.body_bytes


def _too_large(most: int) -> Refused:
    return Refused(413, f"the request is too large; at most {most:,} bytes are accepted at once: split it")


class UnreadBodies:
    """Ends the connection of a request that was answered before all of it had come.

    What comes within a moment is read and thrown away, so that a client that sends everything before it reads gets the
    answer; one that sends slowly does not keep the connection.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self.app = app
        self._seconds = limits.login_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, but end the answer only then."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        whole = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers

        async def noticed() -> Message:
            nonlocal whole
            message = await receive()
            whole = whole or not message.get("more_body", False)
            return message

        async def ending(message: Message) -> None:
            if message["type"] == "http.response.start" and not whole:
                MutableHeaders(scope=message)["Connection"] = "close"
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._seconds):
                        while not whole:
                            await noticed()
            await send(message)

        await self.app(scope, noticed, ending)


class TimedHeads(H11Protocol):
    """A connection that ends unless the head of a request comes in `head_seconds`.

    uvicorn ends one that is idle after an answer, but waits for ever for the first request, and for the rest of a head.
    """

    head_seconds: float
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Handle the data; stop the timer once the head is complete."""
        super().data_received(data)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait_for_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._timer is None:  # parts of a head do not prolong the wait
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def timed_heads(seconds: float) -> type[TimedHeads]:
    """The protocol with this time."""

    class Timed(TimedHeads):
        head_seconds = seconds

    return Timed
