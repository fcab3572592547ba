"""How often a client may come: more than is allowed is sent away with the time to wait, in bounded memory."""

import ipaddress
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache
from starlette.types import ASGIApp, Receive, Scope, Send

from hentropy.views.server.problems import Refused
from hentropy.views.server.settings import ServerLimits

Clock = Callable[[], float]


@dataclass
class _Bucket:
    left: float
    at: float


class Rates:
    """Each client may do `burst` things at once and `per_second` in the long run.

    Of more than `clients`, those that were not seen for longest are forgotten: they begin with a full bucket again.
    """

    def __init__(self, per_second: float, burst: int, clients: int, clock: Clock = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: LRUCache[str, _Bucket] = LRUCache(clients)

    def wait(self, client: str) -> float:
        """Seconds until this client may do one more thing; 0 if it may now."""
        return max(0.0, (1.0 - self._filled(client).left) / self._per_second)

    def take(self, client: str) -> float:
        """One thing is done, if it may be: as `wait`, and it is counted if that is 0."""
        seconds = self.wait(client)
        if not seconds:
            self._buckets[client].left -= 1.0
        return seconds

    def _filled(self, client: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(client, _Bucket(self._burst, now))
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._per_second)
        bucket.at = now
        return bucket

    def __len__(self) -> int:
        return len(self._buckets)


def client_of(address: str) -> str:
    """A client by its address; one with version 6 may have any address of a network of 64 bits, so that counts.

    An address of version 4 that came in by version 6 is the one of version 4: all of them share one network of 64 bits.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 6 and parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    if parsed.version == 6 and not parsed.is_loopback:
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


class RateLimit:
    """Counts the requests of each client."""

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self.app = app
        self._rates = Rates(limits.per_second, limits.burst, limits.clients)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in those who do not come too often."""
        if scope["type"] == "http":
            check_pace(self._rates.take(client_in(scope)), "too many requests at once")
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
