"""Secrets and sessions: the server's token, sessions of people who have given it, and what a request may do.

Sessions are kept on the server, bounded in number and time. `Access` says who makes a request, as was found out at the
door; routes read it, and never decide it themselves.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

ID = re.compile(r"[A-Za-z0-9_-]{43}")
"""How the id of a session looks: 32 random bytes as text."""


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(32)


def same(given: str, right: str) -> bool:
    """Whether two secrets are equal; how long it takes does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), right.encode())


def bearer_in(authorization: str) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


class FormTokens:
    """Tokens for forms: a keyed hash of the session's id, so that only a page of that session has the right one."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, session: str) -> str:
        """The token for the forms of a session."""
        return hmac.new(self._key, session.encode(), hashlib.sha256).hexdigest()

    def right(self, given: str, session: str) -> bool:
        """Whether a form came from a page of the session."""
        return same(given, self.of(session))


KEY = "hentropy.access"

FIELD = "csrf_token"
"""The field of a form that carries its token."""

HEADER = "x-csrf-token"
"""The header that carries it in requests of scripts."""

LOGIN = "/login"
"""Where somebody gives the token: the one form that is taken from everybody."""

How = Literal["open", "bearer", "session", "nobody"]


@dataclass(frozen=True)
class Access:
    """How somebody got in: an open server, a bearer token, a session, or not yet.

    `session` is the id of the session, also of an anonymous one; forms carry `csrf_token`, which is bound to it.
    """

    how: How
    session: str
    csrf_token: str

    @property
    def may(self) -> bool:
        """Whether this one may use the server."""
        return self.how != "nobody"


def access_of(scope: MutableMapping[str, Any]) -> Access:
    """Who makes a request, which the access control has written down."""
    found = scope[KEY]
    assert isinstance(found, Access)
    return found


Clock = Callable[[], float]


class Sessions:
    """Who is logged in. Only hashes of the ids are kept; the oldest session makes room for a new one."""

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._ends: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()

    def begin(self) -> str:
        """The id of a new session."""
        session = new_token()
        with self._lock:
            while len(self._ends) >= self._most:
                self._ends.popitem(last=False)
            self._ends[_hash(session)] = self._clock() + self._seconds
        return session

    def is_open(self, session: str) -> bool:
        """Whether a session was begun, has not ended and is not too old."""
        key = _hash(session)
        with self._lock:
            ends = self._ends.get(key)
            if ends is not None and ends <= self._clock():
                del self._ends[key]
                return False
            return ends is not None

    def end(self, session: str) -> None:
        """Log out."""
        with self._lock:
            self._ends.pop(_hash(session), None)

    def __len__(self) -> int:
        return len(self._ends)


def _hash(session: str) -> bytes:
    return hashlib.sha256(session.encode()).digest()
