"""Secrets and sessions: the server's token, sessions of people who have given it, and what a request may do.

Sessions are kept on the server, bounded in number and time. `Access` says who makes a request, as was found out at the
door; routes read it, and never decide it themselves.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from cachetools import TTLCache


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


KEY = "hentropy.access"

LOGIN = "/login"
"""Where somebody gives the token: the one form that is taken from everybody."""

How = Literal["open", "bearer", "session", "nobody"]


@dataclass(frozen=True)
class Access:
    """How somebody got in: an open server, a bearer token, a session, or not yet.

    `session` is what the cookie of a session says.
    """

    how: How
    session: str

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
    """Who is logged in. Only hashes of the ids are kept; the session that was unused for longest makes room."""

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._open: TTLCache[bytes, bool] = TTLCache(most, seconds, timer=clock)
        self._lock = Lock()

    def begin(self) -> str:
        """The id of a new session."""
        session = new_token()
        with self._lock:
            self._open[_hash(session)] = True
        return session

    def is_open(self, session: str) -> bool:
        """Whether a session was begun, has not ended and is not too old."""
        with self._lock:
            return self._open.get(_hash(session), False)

    def end(self, session: str) -> None:
        """Log out."""
        with self._lock:
            self._open.pop(_hash(session), None)

    def __len__(self) -> int:
        return len(self._open)


def _hash(session: str) -> bytes:
    return hashlib.sha256(session.encode()).digest()
