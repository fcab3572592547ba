"""Server-sent events: an open page is told what changes in its study."""

from collections.abc import AsyncIterator, Callable

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from hentropy.views.server.guard.rates import client_in
from hentropy.views.server.services import Here, Visitor, check_meant
from hentropy.views.server.watcher import Event, Subscriber, Watcher
from hentropy.views.text.formats import json_text

HEARTBEAT = 5.0
"""Seconds without news after which a comment is sent: proxies close what is silent; who is gone or out is noticed."""

PACE = 0.25
"""Seconds between two deliveries to a page at least: what happens meanwhile is told once."""

DELIVERIES = 20.0
"""The most deliveries in a second to all pages together, in the long run: each page then fetches what is new."""

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

router = APIRouter()


@router.get("/studies/{study_id}/events", include_in_schema=False)
async def events(study_id: int, here: Here, visitor: Visitor, request: Request, begun: str = "") -> StreamingResponse:
    """What changes in a study, for as long as the page is open and its session; `begun` says which one it shows."""
    case = await run_in_threadpool(here.study_service.case, study_id)
    if begun:
        check_meant(case.record, begun)
    subscriber = here.watcher.join(case.record, client=client_in(request.scope), computable=case.computable is None)
    return Events(here.watcher, subscriber, lambda: here.access_control.still_in(visitor))


class Events(StreamingResponse):
    """The events of a subscriber; whoever goes away is let go at once."""

    def __init__(self, watcher: Watcher, subscriber: Subscriber, still_in: Callable[[], bool]) -> None:
        super().__init__(
            stream(subscriber, self._pace, still_in, HEARTBEAT), headers=HEADERS, media_type="text/event-stream"
        )
        self._watcher = watcher
        self._subscriber = subscriber

    def _pace(self) -> float:
        return max(PACE, self._watcher.listeners / DELIVERIES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until either side ends it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._watcher.leave(self._subscriber)


async def stream(
    subscriber: Subscriber, pace: Callable[[], float], still_in: Callable[[], bool], heartbeat: float
) -> AsyncIterator[str]:
    """Events as text, with comments while there are none; `pace` says how many seconds to wait after each delivery.

    Who is no longer `still_in` is told nothing more.
    """
    yield "retry: 2000\n\n"
    while True:
        taken = await subscriber.take(heartbeat)
        if not still_in():
            return
        yield "".join(map(as_text, taken)) or ": nothing new\n\n"
        if subscriber.ended:
            return
        await subscriber.rest(pace())


def as_text(event: Event) -> str:
    """An event as it goes over the wire: JSON has no line breaks of its own."""
    return f"event: {event.name}\ndata: {json_text(event.data)}\n\n"
