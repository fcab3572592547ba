"""The door: nobody gets to a route without the right to it, and nothing is changed for a page of another site.

Who somebody is shows by the token in a header, by the cookie of a session, or by being on this machine.
"""

import re
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hentropy.views.server.guard.bodies import content_type
from hentropy.views.server.guard.hosts import name_in
from hentropy.views.server.guard.rates import Rates, check_pace, client_in
from hentropy.views.server.guard.sessions import KEY, LOGIN, Access, How, Sessions, bearer_in, same
from hentropy.views.server.problems import Refused, is_api
from hentropy.views.server.settings import Settings

WRONG = "the token is wrong"
TOO_OFTEN = "the token was wrong too often"
ELSEWHERE = "this request comes from another page than the server's own"
NOWHERE = "the browser does not say which page sent this request; use a current one"


class AccessControl:
    """Knows the token and the sessions of one server."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        self._token = settings.token
        self._secure = settings.secure
        self.cookie = f"hentropy_{settings.port}"  # browsers do not keep the cookies of two ports apart
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

    def recognise(self, headers: Headers, client: str) -> Access:
        """Who makes a request."""
        session = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        given = bearer_in(headers.get("authorization", ""))
        how: How
        if self.open:
            how = "open"
        elif given is not None:
            self._check(given, client, self._wrong_bearers)
            how = "bearer"
        else:
            how = "session" if self._sessions.is_open(session) else "nobody"
        return Access(how, session)

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

    def cookie_for(self, session: str, scope: Scope) -> str:
        """The header that hands the id of a session to a browser; no script can read it."""
        secure = "; Secure" if self._secure or scope.get("scheme") == "https" else ""
        return f"{self.cookie}={session}; Path=/; Max-Age={self._seconds}; HttpOnly; SameSite=Lax{secure}"


def check_source(headers: Headers, known: bool) -> None:
    """Refuse what a page of another site makes a browser send.

    Browsers send cookies, and reach this machine, for whatever page wants it; but they say which one does, and no page
    can change that. Over http to another machine they leave out Sec-Fetch-Site, but not Origin. Who sends neither is
    no browser: that is allowed only if it is `known` that a program sends this.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if any(len(headers.getlist(name)) > 1 for name in ("sec-fetch-site", "origin", "host")):
        raise Refused(403, ELSEWHERE)
    if site is None and origin is None:
        if not known:
            raise Refused(403, NOWHERE)
    elif site != "same-origin" if site is not None else not _same_place(origin or "", headers.get("host", "")):
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

STATIC = "/static/"
OPEN = (LOGIN, "/favicon.ico")
"""What everybody may have, with the scripts and styles."""


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
        headers, path, api = Headers(scope=scope), scope["path"], is_api(scope["path"])
        access = scope[KEY] = self._access_control.recognise(headers, client_in(scope))
        changing = scope["method"] not in SAFE
        if not access.may and path not in OPEN and not path.startswith(STATIC):
            if api or changing:  # before any of a body is read
                raise Refused(401, "this needs the server's token", {"WWW-Authenticate": "Bearer"})
            await RedirectResponse(f"{LOGIN}?next={quote(_whole_path(scope))}", 303)(scope, receive, send)
            return
        if changing:
            if api and scope["method"] != "DELETE" and content_type(headers) not in FOR_PROGRAMS:
                raise Refused(415, f"the content type must be one of {', '.join(FOR_PROGRAMS)}")
            check_source(headers, known=access.how == "bearer" or (api and access.how == "open"))
        await self.app(scope, receive, send)


def _whole_path(scope: Scope) -> str:
    """The path of a request with its query, as it was written."""
    query = scope.get("query_string", b"")
    return str((scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1"))
