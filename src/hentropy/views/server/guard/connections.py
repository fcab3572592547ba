"""Connections: how long one may wait without a request, and how many there may be.

A server that waits for the rest of a request for ever can be shut by anybody who begins requests and never ends them.
"""

from collections import Counter
from math import inf
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from hentropy.views.server.guard.answers import Catching, Headers
from hentropy.views.server.guard.rates import client_of
from hentropy.views.server.problems import RETRY, Refused
from hentropy.views.server.settings import ServerLimits, Settings

SPARE = 64
"""The connections beyond a limit that are told so; more than these are cut off without a word."""


class GuardedConfig(uvicorn.Config):
    """How uvicorn serves an app: its settings, and the connections that are open, by client."""

    def __init__(self, app: ASGIApp, settings: Settings, **more: Any) -> None:
        self.limits: ServerLimits = settings.limits
        self.proxies = settings.proxies
        self.full = Headers(Catching(_full))
        self.clients: Counter[str] = Counter()
        super().__init__(
            app,
            http=BoundedConnection,
            ws="none",
            lifespan="on",
            log_config=None,
            server_header=False,
            # from anybody else, the word of who they are is not taken
            proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=list(settings.proxies),
            **more,
        )

    def excess(self, address: str, connections: int) -> int:
        """How many connections too many there are, of this client or of all; a proxy stands for many clients."""
        own = 0 if address in self.proxies else self.clients[client_of(address)] - self.limits.connections_of_one
        return max(own, connections - self.limits.connections)


class BoundedConnection(H11Protocol):
    """A connection that is closed if it keeps the server waiting."""

    config: GuardedConfig

    def connection_made(self, transport: Any) -> None:
        """Count it; one too many is told so with its first request."""
        super().connection_made(transport)
        self._late: Any = None
        self._unread = inf
        address = self.client[0] if self.client else ""
        self._client = client_of(address)
        self.config.clients[self._client] += 1
        excess = self.config.excess(address, len(self.connections))
        if excess > SPARE:
            transport.abort()
        elif excess > 0:
            self.app = self.config.full
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        self._unwatch()
        self.config.clients[self._client] -= 1
        if not self.config.clients[self._client]:
            del self.config.clients[self._client]

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request: the time goes on until its head is whole."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """An answer was given: from now on the next request is waited for."""
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Let the time run while there is no request to answer; single bytes do not stop it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._unwatch()
        elif self._late is None:
            self._unread = inf
            self._late = self.loop.call_later(self.config.limits.head_seconds, self._too_late)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        """Close it, unless the last answer is still being read."""
        left = self.transport.get_write_buffer_size()
        if 0 < left < self._unread:
            self._unread = left
            self._late = self.loop.call_later(self.config.limits.head_seconds, self._too_late)
        else:
            self.transport.abort()


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"Retry-After": str(RETRY), "BoundedConnection": "close"}
    raise Refused(503, "too many connections are open; close pages that are not needed, and try again", headers)
