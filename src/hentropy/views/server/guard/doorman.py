"""Who somebody is: by the token in a header, by the cookie of a session, or by being on this machine."""

import re

from hentropy.errors import MissingExtra
from hentropy.views.server.guard.access import Access, How
from hentropy.views.server.guard.hosts import name_in
from hentropy.views.server.guard.pace import check_pace
from hentropy.views.server.guard.rates import Rates
from hentropy.views.server.guard.sessions import Sessions
from hentropy.views.server.guard.tokens import ID, FormTokens, bearer_in, new_token, same
from hentropy.views.server.problems import Refused
from hentropy.views.server.settings import Settings

try:
    from starlette.datastructures import Headers
    from starlette.requests import cookie_parser
    from starlette.types import Scope
except ImportError:
    raise MissingExtra("fastapi", "server") from None

WRONG = "the token is not the right one"
TOO_OFTEN = "the token was wrong too often"
ELSEWHERE = "this request comes from another page than the server's own"


class Doorman:
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

        Who guesses is soon told to wait. The right one is always let in: many clients may share an address, and a
        guess among 64^16 is not made likelier by an answer.
        """
        if self._token is None or not same(given, self._token):
            check_pace(wrong.take(client), TOO_OFTEN)
            raise Refused(401, WRONG, {"WWW-Authenticate": "Bearer"})

    def log_in(self, given: str, client: str) -> str:
        """The id of a new session for somebody who has the token: never one that was there before."""
        self._check(given, client, self._wrong_forms)
        return self._sessions.begin()

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
