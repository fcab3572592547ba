"""The time for the head of a request: a client that sends none, or only a part of it, does not keep its connection.

uvicorn ends a connection that is idle after an answer, but waits for ever for the first request, and for the rest of a
head that has begun.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class TimedHeads(H11Protocol):
    """A connection that ends unless the head of a request comes in `head_seconds`."""

    head_seconds: float
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take what came; wait no more once the head is there."""
        super().data_received(data)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _wait_for_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._timer is None:  # parts of a head do not prolong the wait
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def timed_heads(seconds: float) -> type[TimedHeads]:
    """The protocol with this time."""

    class Timed(TimedHeads):
        head_seconds = seconds

    return Timed
