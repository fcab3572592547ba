"""`Access`: who makes a request, as the doorman found out; routes read it, and never decide it themselves."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Literal

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
    """Who makes a request, which the doorman has written down."""
    found = scope[KEY]
    assert isinstance(found, Access)
    return found
