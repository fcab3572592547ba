"""The door: nobody gets to a route without the right to it, and no form that was not made by a page of ours.

Who somebody is shows by the token in a header, by the cookie of a session, or by being on this machine.
"""

import re
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.formparsers import MultiPartException
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hentropy.views.server.guard.bodies import content_type
from hentropy.views.server.guard.hosts import name_in
from hentropy.views.server.guard.rates import Rates, check_pace, client_in
from hentropy.views.server.guard.sessions import (
    FIELD,
    HEADER,
    ID,
    KEY,
    LOGIN,
    Access,
    FormTokens,
    How,
    Sessions,
    bearer_in,
    new_token,
    same,
)
from hentropy.views.server.problems import Refused, is_api
from hentropy.views.server.settings import Settings

WRONG = "the token is not the right one"
TOO_OFTEN = "the token was wrong too often"
ELSEWHERE = "this request comes from another page than the server's own"


class AccessControl:
    """Knows the token, the sessions and the tokens of forms of one server."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        self._token = settings.token
        self._secure = settings.secure
        self.cookie = f"hentropy_{settings.port}"  # browsers do not keep the cookies of two ports apart
        self._forms = FormTokens()
        self._sessions = Sessions(limits.sessions, limits.session_seconds)
        self._seconds = int(limits.session_seconds)
        # of people and of programs apart: a program with an old token does not keep people from another try
        self._wrong_bearers, self._wrong_forms = (
            Rates(1.0 / limits.wrong_pause, limits.wrong_tokens, limits.clients) for _ in range(2)
        )

    @property
    def open(self) -> bool:
        """Whether everybody on this machine may do everything."""
        return self._token is None

    def recognise(self, headers: Headers, client: str) -> tuple[Access, bool]:
        """Who makes a request, and whether the session is a new one, which the browser has to be told."""
        session = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        new = not ID.fullmatch(session)
        if new:
            session = new_token()
        given = bearer_in(headers.get("authorization", ""))
        how: How
        if self.open:
            how = "open"
        elif given is not None:
            self._check(given, client, self._wrong_bearers)
            how = "bearer"
        else:
            how = "session" if self._sessions.is_open(session) else "nobody"
        return Access(how, session, self._forms.of(session)), new

    def _check(self, given: str, client: str, wrong: Rates) -> None:
        """Raise unless a token is the right one.

        Who guesses is soon told to wait, and meanwhile the right one is refused as well: no guess is answered. Sessions
        that are open stay so.
        """
        check_pace(wrong.wait(client), TOO_OFTEN)
        if self._token is None or not same(given, self._token):
            wrong.take(client)
            raise Refused(401, WRONG, {"WWW-Authenticate": "Bearer"})

    def log_in(self, given: str, client: str) -> str:
        """The id of a new session for somebody who has the token: never one that was there before."""
        self._check(given, client, self._wrong_forms)
        return self._sessions.begin()

    def still_in(self, access: Access) -> bool:
        """Whether somebody who was let in is so still: a session may have ended since."""
        return access.how != "session" or self._sessions.is_open(access.session)

    def log_out(self, session: str) -> None:
        """End a session."""
        self._sessions.end(session)

    def right_form(self, given: str, session: str) -> bool:
        """Whether a form comes from a page of this session."""
        return self._forms.right(given, session)

    def cookie_for(self, session: str, scope: Scope) -> str:
        """The header that hands the id of a session to a browser; no script can read it."""
        secure = "; Secure" if self._secure or scope.get("scheme") == "https" else ""
        return f"{self.cookie}={session}; Path=/; Max-Age={self._seconds}; HttpOnly; SameSite=Lax{secure}"


def check_source(headers: Headers) -> None:
    """Refuse what the browser says comes from a page of somebody else."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, ELSEWHERE)
    origin = headers.get("origin")
    if origin is not None and not _same_place(origin, headers.get("host", "")):
        raise Refused(403, ELSEWHERE)


def _same_place(origin: str, host: str) -> bool:
    """Whether an origin is the server as it was called: the same name and port; a proxy may have taken the https."""
    found = re.fullmatch(r"(https?)://([^/]+)", origin)
    if found is None:
        return False
    usual = {"http": "80", "https": "443"}[found[1]]
    return name_in(found[2]) == name_in(host) and (_port(found[2]) or usual) == (_port(host) or usual)


def _port(host: str) -> str:
    found = re.search(r":(\d+)$", host)
    return found[1] if found else ""


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

    def __init__(self, app: ASGIApp, access_control: AccessControl) -> None:
        self.app = app
        self._access_control = access_control

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        access, new = self._access_control.recognise(headers, client_in(scope))
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
        return self._access_control.right_form(given, access.session)

    def _with_cookie(self, scope: Scope, send: Send, access: Access) -> Send:
        """The same answer with the id of the new session, unless it has one of its own, as after a login."""
        cookie = self._access_control.cookie_for(access.session, scope)

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
