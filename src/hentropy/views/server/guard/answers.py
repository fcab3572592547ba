"""What is done to every answer: headers that say what a browser may do with it, HEAD, and the last net.

Whatever goes wrong in a request becomes an answer with an id, and only the log has more.
"""

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hentropy.views.server.problems import LOG, answer, problem_of

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


class HeadRequests:
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


class ErrorMiddleware:
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
