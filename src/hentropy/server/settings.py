"""`Settings`: what a server is told when it starts, checked at once; no part of it ever comes from a request."""

import ipaddress
from dataclasses import dataclass, field, fields

from hentropy.errors import InputError

SHORTEST_TOKEN = 16
"""Letters; a token that can be guessed protects nothing."""

PORT = 8470


@dataclass(frozen=True)
class Limits:
    """How much a server takes from its clients; all of it bounded."""

    body_bytes: int = 1_000_000
    """The most bytes of a request."""
    upload_bytes: int = 5_000_000
    """The most bytes of a request that carries a file."""
    upload_rows: int = 5_000
    """The most rows of data in a request."""
    body_seconds: float = 60.0
    """The most time that a client may take to send a request."""
    per_second: float = 100.0
    """The requests of one client that are answered in a second, in the long run."""
    burst: int = 400
    """The requests of one client that are answered at once."""
    clients: int = 10_000
    """The clients whose rates are remembered."""
    wrong_tokens: int = 10
    """The wrong tokens of one client that are answered at once; then one in `wrong_pause` seconds."""
    wrong_pause: float = 10.0
    sessions: int = 1_000
    """The people who may be logged in at once."""
    session_seconds: float = 12 * 3600.0
    """The time after which they have to log in again."""
    jobs: int = 50
    """The computations that may wait."""
    count: int = 50
    """The most experiments that are asked for at once."""
    connections: int = 1_000
    """The connections at once, open pages included."""
    listeners: int = 500
    """The open pages that are told what changes."""
    threads: int = 15
    """The requests that use the store at once: as many as it has connections."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if not getattr(self, limit.name) > 0:
                raise InputError(f"the limit {limit.name} is {getattr(self, limit.name)!r}; it must be above 0")


@dataclass(frozen=True)
class Settings:
    """Where a server listens, what store it shows, and what it asks of its clients.

    Without a token everybody who reaches the address may do everything: that is allowed on this machine alone. `hosts`
    are further names under which browsers may call it; `secure` says that a proxy in front of it speaks https.
    """

    store: str = field(repr=False)  # the URL may hold a password
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    secure: bool = False
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.store == "memory://":
            raise InputError("a store in memory has nothing to show; give sqlite:///FILE or postgresql://HOST/DATABASE")
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise InputError(
                f"the token has {len(self.token)} letters; it must have at least {SHORTEST_TOKEN}, or others guess it"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise InputError("the token has letters that a header cannot carry; use letters, digits and signs")
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines, and there is no token; give one with --token or in"
                " HENTROPY_TOKEN, or let --new-token make one"
            )


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
