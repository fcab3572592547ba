"""The door: nobody gets to a route without the right to it, and nothing is changed for a page of another site.

Who somebody is shows by the token in a header, by the cookie of a session, by the word of a trusted proxy, or, without
any tokens, by being on this machine.
"""

import re
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from hentropy.studies.study.trial_log import written_by
from hentropy.views.server.guard.bodies import content_type
from hentropy.views.server.guard.hosts import name_in
from hentropy.views.server.guard.people import People, Person, Right, hashed, same
from hentropy.views.server.guard.proxies import people_in
from hentropy.views.server.guard.rates import Rates, check_pace, client_in
from hentropy.views.server.guard.sessions import KEY, LOGIN, Access, Sessions, bearer_in
from hentropy.views.server.problems import Refused, is_api
from hentropy.views.server.settings import Settings

METRICS = "/metrics"
WRONG = "the token is wrong, or no longer one: hentropy serve makes a new one each time, unless it is given one"
TOO_OFTEN = "the token was wrong too often"
ELSEWHERE = "this request comes from another page than the server's own"
NOWHERE = "the browser does not say which page sent this request; use a current one"


class AccessControl:
    """Knows the token, the people and the sessions of one server."""

    def __init__(self, settings: Settings) -> None:
        limits = settings.limits
        self._token_hash = None if settings.token is None else hashed(settings.token)
        self._people = None if settings.people is None else People(settings.people)
        self._secure = settings.secure
        self.read_only = settings.read_only
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
        return self._token_hash is None and self._people is None

    def recognise(self, scope: Scope, headers: Headers) -> Access:
        """Who makes a request."""
        session = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        given = bearer_in(headers.get("authorization", ""))
        if self.open:
            return Access("open", session)
        if given is not None:
            return Access("bearer", session, self._owner(given, client_in(scope), self._wrong_bearers))
        if named := people_in(scope):
            return Access("proxy", session, self._named(named))
        if self._is_in(session):
            return Access("session", session, self._current(self._sessions.person(session)))
        return Access("nobody", session)

    def _owner(self, given: str, client: str, wrong: Rates) -> Person | None:
        """Whose token it is, None for the server's; raise if it is nobody's.

        Repeated wrong tokens are rate limited. The right token is still accepted: another person behind the same
        address may have it. Nothing shorter than 16 letters is a token, so guesses lead nowhere at the rate of
        requests.
        """
        if self._token_hash is not None and same(hashed(given), self._token_hash):
            return None
        person = None if self._people is None else self._people.with_token(given)
        if person is None:
            check_pace(wrong.take(client), TOO_OFTEN)
            raise Refused(401, WRONG, {"WWW-Authenticate": "Bearer"})
        return person

    def _named(self, names: tuple[str, ...]) -> Person:
        """The person that a proxy names."""
        if len(names) > 1:
            raise Refused(400, "the proxy passes on the name that its client sent; it must replace that header")
        person = self._current(None if self._people is None else self._people.named(names[0]))
        if person is None:
            raise Refused(403, f"{names[0]!r} is not among the people of this server; hentropy people add lets them in")
        return person

    def _current(self, person: Person | None) -> Person | None:
        """The person with today's rights."""
        return None if person is None or self._people is None else self._people.named(person.name)

    def _is_in(self, session: str) -> bool:
        """Whether a session is open, and the token with which it began is still one."""
        if not self._sessions.is_open(session):
            return False
        began = self._sessions.person(session)
        now = self._current(began)
        return began is None or (now is not None and now.token_hash == began.token_hash)

    def log_in(self, given: str, client: str) -> str:
        """The id of a new session for somebody who has a token: never one that was there before."""
        return self._sessions.begin(self._owner(given, client, self._wrong_forms))

    def still_in(self, access: Access) -> bool:
        """Whether somebody who was let in is so still: a session may have ended since, or a person been removed."""
        if access.how == "session":
            return self._is_in(access.session)
        now = self._current(access.person)
        if access.how == "bearer" and access.person is not None:
            return now is not None and now.token_hash == access.person.token_hash
        return access.person is None or now is not None

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

CHANGES: tuple[tuple[str, str, Right], ...] = (
    ("POST", r"/api/check", Right.READ),
    ("POST", r"/logout", Right.READ),
    ("POST", r"/api/studies", Right.DEFINE),
    ("POST", r"/new", Right.DEFINE),
    ("DELETE", r"/api/studies/[^/]+", Right.ADMINISTER),
    ("POST", r"/api/studies/[^/]+/(ask|decide|worth|what_if|predict)", Right.RUN),
    ("POST", r"/api/studies/[^/]+/(attach|attach\.csv|import)", Right.RUN),
    ("POST", r"/api/studies/[^/]+/trials/[^/]+/(tell|fail|withdraw)", Right.RUN),
    ("DELETE", r"/api/jobs/[^/]+", Right.RUN),
    ("POST", r"/studies/[^/]+/(ask|look|own|attach)", Right.RUN),
    ("POST", r"/studies/[^/]+/trials/[^/]+", Right.RUN),
    ("POST", r"/studies/[^/]+/jobs/[^/]+/cancel", Right.RUN),
)
"""What may change something, and the right that it needs: one table for the page and the API."""


def needed(method: str, path: str) -> Right:
    """The right to make a request; what is not in the table and may change something needs the highest."""
    if method in SAFE:
        return Right.READ
    found = (right for verb, pattern, right in CHANGES if verb == method and re.fullmatch(pattern, path))
    return next(found, Right.ADMINISTER)


FOR_PROGRAMS = ("application/json", "text/csv", "application/x-ndjson")
"""The types that programs send; a page of somebody else cannot have a browser send one of these."""

STATIC = "/static/"
OPEN = (LOGIN, "/favicon.ico", "/health", "/ready")
"""What everybody may have, with the scripts and styles."""

TOKEN = "token"
"""What a link calls the token that it holds."""


class AuthMiddleware:
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
        everybody = path in OPEN or path.startswith(STATIC)
        access = self._access_control.recognise(scope, headers)
        scope[KEY] = replace(access, read_only=self._access_control.read_only)
        changing = scope["method"] not in SAFE
        page = not (everybody or api or changing or self._access_control.open)
        if page and (entered := self._by_link(scope, access)):
            await entered(scope, receive, send)
            return
        if not access.may and not everybody:
            if api or changing or path == METRICS:  # before any of a body is read
                raise Refused(401, NEEDS_TOKEN, {"WWW-Authenticate": "Bearer"})
            await RedirectResponse(f"{LOGIN}?next={quote(_whole_path(scope))}", 303)(scope, receive, send)
            return
        if changing:
            if api and scope["method"] != "DELETE" and content_type(headers) not in FOR_PROGRAMS:
                raise Refused(415, f"the content type must be one of {', '.join(FOR_PROGRAMS)}")
            check_source(headers, known=access.how == "bearer" or (api and access.how == "open"))
        if not everybody:
            check_right(access, scope["method"], path)
        with written_by(access.name):
            await self.app(scope, receive, send)

    def _by_link(self, scope: Scope, access: Access) -> RedirectResponse | None:
        """The way on for a link with a token, as the server prints it: to the same page, in a session, without it.

        Who is in already stays who they are: nobody is made somebody else by following a link.
        """
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == TOKEN]
        if not given:
            return None
        rest = urlencode([(name, value) for name, value in query if name != TOKEN])
        headers = {}
        if not access.may:
            session = self._access_control.log_in(given[0].strip(), client_in(scope))
            headers["set-cookie"] = self._access_control.cookie_for(session, scope)
        place = "/" + quote(scope["path"].lstrip("/"))  # //x would be another site
        return RedirectResponse(f"{place}?{rest}" if rest else place, 303, headers)


NEEDS_TOKEN = "this needs the server's token: hentropy serve prints it when it starts, as a part of the link"


def check_right(access: Access, method: str, path: str) -> None:
    """Refuse what somebody has no right to."""
    right = needed(method, path)
    if access.right < right:
        raise Refused(
            403,
            f"{access.name} may {access.right.sentence}; this needs the right to {right.sentence}. Who runs the server"
            f" can give it: hentropy people add {access.name} --rights {right.word}",
        )


def _whole_path(scope: Scope) -> str:
    """The path of a request with its query, as it was written."""
    query = scope.get("query_string", b"")
    return str((scope["raw_path"] + (b"?" + query if query else b"")).decode("latin-1"))
