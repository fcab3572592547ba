"""Sessions of people who have given a token, and what a request may do.

Sessions are kept on the server, bounded in number and time. `Access` says who makes a request, as was found out at the
door; routes read it, and never decide it themselves.
"""

import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

from cachetools import TTLCache

from hentropy.views.server.guard.people import Person, Right, hashed, new_token


def bearer_in(authorization: str) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


KEY = "hentropy.access"

LOGIN = "/login"
"""Where somebody gives the token: the one form that is taken from everybody."""

How = Literal["open", "bearer", "session", "proxy", "nobody"]


@dataclass(frozen=True)
class Access:
    """How somebody got in: an open server, a bearer token, a session, the word of a trusted proxy, or not yet.

    `session` is what the cookie of a session says. Without a `person`, it is the account of the server. Of one that is
    `read_only`, pages have no forms for changes, whoever it is; requests for them are refused by the store.
    """

    how: How
    session: str
    person: Person | None = None
    read_only: bool = False

    @property
    def may(self) -> bool:
        """Whether this one may use the server."""
        return self.how != "nobody"

    @property
    def right(self) -> Right:
        """What this one may do: whoever has the token of the server, or its machine, may do everything."""
        return Right.ADMINISTER if self.person is None else self.person.right

    @property
    def name(self) -> str | None:
        """Who it is, if that is known."""
        return None if self.person is None else self.person.name


def access_of(scope: MutableMapping[str, Any]) -> Access:
    """Who makes a request, which the access control has written down."""
    found = scope[KEY]
    assert isinstance(found, Access)
    return found


Clock = Callable[[], float]


class Sessions:
    """Who is logged in. Only hashes of the ids are kept; the session that was unused for longest makes room."""

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._open: TTLCache[str, Person | None] = TTLCache(most, seconds, timer=clock)
        self._lock = Lock()

    def begin(self, person: Person | None = None) -> str:
        """The id of a new session of somebody; of the token of the server without a person."""
        session = new_token()
        with self._lock:
            self._open[hashed(session)] = person
        return session

    def is_open(self, session: str) -> bool:
        """Whether a session was begun, has not ended and is not too old."""
        with self._lock:
            return self._open.get(hashed(session), ...) is not ...  # to ask is to use it

    def person(self, session: str) -> Person | None:
        """Whose session it is, as of its beginning."""
        with self._lock:
            return self._open.get(hashed(session))

    def end(self, session: str) -> None:
        """Log out."""
        with self._lock:
            self._open.pop(hashed(session), None)

    def __len__(self) -> int:
        return len(self._open)
