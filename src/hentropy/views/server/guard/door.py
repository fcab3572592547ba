"""The door: nobody gets to a route without the right to it, and no form that was not made by a page of ours."""

from urllib.parse import quote

from hentropy.errors import MissingExtra
from hentropy.views.server.guard.access import FIELD, HEADER, KEY, LOGIN, Access
from hentropy.views.server.guard.bodies import content_type
from hentropy.views.server.guard.doorman import Doorman, check_source
from hentropy.views.server.guard.pace import client_in
from hentropy.views.server.problems import Refused, is_api

try:
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.formparsers import MultiPartException
    from starlette.requests import Request
    from starlette.responses import RedirectResponse
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError:
    raise MissingExtra("fastapi", "server") from None

SAFE = ("GET", "HEAD", "OPTIONS")
"""The methods that change nothing."""

FOR_PROGRAMS = ("application/json", "text/csv", "application/x-ndjson")
"""The types that programs send; a page of somebody else cannot have a browser send one of these."""

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

STATIC = "/static/"
OPEN = (LOGIN, "/favicon.ico")
"""What everybody may have, with the scripts and styles."""

STALE = "the page was open for too long, or cookies are switched off; load it again, then send it once more"


class Door:
    """Lets requests through to the routes, with who makes them."""

    def __init__(self, app: ASGIApp, doorman: Doorman) -> None:
        self.app = app
        self._doorman = doorman

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        access, new = self._doorman.recognise(headers, client_in(scope))
        scope[KEY] = access
        changing = scope["method"] not in SAFE
        if changing:
            check_source(headers)
        if not access.may and path not in OPEN and not path.startswith(STATIC):
            if is_api(path) or changing:  # before any of a body is read
                raise Refused(401, "this needs the token of the server", {"WWW-Authenticate": "Bearer"})
            await RedirectResponse(f"{LOGIN}?next={quote(_whole_path(scope))}", 303)(scope, receive, send)
            return
        if changing:
            receive = await self._checked(scope, headers, receive, access)
        shown = new and access.how != "bearer" and not is_api(path) and not path.startswith(STATIC)
        await self.app(scope, receive, self._with_cookie(scope, send, access) if shown else send)

    async def _checked(self, scope: Scope, headers: Headers, receive: Receive, access: Access) -> Receive:
        """The body of a request that may change something, if it was sent on purpose."""
        if is_api(scope["path"]):
            if scope["method"] != "DELETE" and content_type(headers) not in FOR_PROGRAMS:
                raise Refused(415, f"the content type must be one of {', '.join(FOR_PROGRAMS)}")
            if access.how == "session" and not self._right(headers.get(HEADER, ""), access):
                raise Refused(403, STALE)
            return receive
        if access.how == "bearer" or self._right(headers.get(HEADER, ""), access):
            return receive
        if content_type(headers) not in FORMS:
            raise Refused(403, STALE)
        body = await _whole(receive)
        if not self._right(await _field(scope, body), access):
            raise Refused(403, STALE)
        return _again(body, receive)

    def _right(self, given: str, access: Access) -> bool:
        return self._doorman.right_form(given, access.session)

    def _with_cookie(self, scope: Scope, send: Send, access: Access) -> Send:
        """The same answer with the id of the new session, unless it has one of its own, as after a login."""
        cookie = self._doorman.cookie_for(access.session, scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "set-cookie" not in headers:
                    headers.append("set-cookie", cookie)
            await send(message)

        return sending


def _whole_path(scope: Scope) -> str:
    """The path of a request with its query, as it was written."""
    query = scope.get("query_string", b"")
    return str((scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1"))


async def _whole(receive: Receive) -> bytes:
    """A body, which is bounded, at once."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "the request was broken off")
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


async def _field(scope: Scope, body: bytes) -> str:
    """The token in a form."""
    request = Request(dict(scope), _again(body, None))
    try:
        async with request.form(max_files=4, max_fields=500) as form:
            given = form.get(FIELD)
    except (MultiPartException, ValueError) as error:
        raise Refused(400, "the form cannot be read") from error
    return given if isinstance(given, str) else ""


def _again(body: bytes, later: Receive | None) -> Receive:
    """A receiver that gives a body that was read already, and then what comes after it."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await later() if later is not None else {"type": "http.disconnect"}

    return receive
