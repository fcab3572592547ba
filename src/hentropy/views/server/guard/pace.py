"""Requests of one client in a time: more than are allowed are sent away with the time to wait."""

import math

from hentropy.errors import MissingExtra
from hentropy.views.server.guard.rates import Rates, client_of
from hentropy.views.server.problems import Refused
from hentropy.views.server.settings import Limits

try:
    from starlette.types import ASGIApp, Receive, Scope, Send
except ImportError:
    raise MissingExtra("fastapi", "server") from None


class Pace:
    """Counts the requests of each client."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self._rates = Rates(limits.per_second, limits.burst, limits.clients)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in those who do not come too often."""
        if scope["type"] == "http":
            check_pace(self._rates.take(client_in(scope)), "these are too many requests at once")
        await self.app(scope, receive, send)


def client_in(scope: Scope) -> str:
    """The client of a request; those without an address, as through a socket of the system, are one."""
    client = scope.get("client")
    return client_of(client[0]) if client else ""


def check_pace(seconds: float, what: str) -> None:
    """Send somebody away who has to wait."""
    if seconds > 0:
        wait = str(max(1, math.ceil(seconds)))
        raise Refused(429, f"{what}; try again in {wait} s", {"Retry-After": wait})
