"""Secrets: the server's token, the ids of sessions, and the tokens of forms that are bound to them."""

import hashlib
import hmac
import re
import secrets

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
