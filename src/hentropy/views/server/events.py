"""Server-sent events: an open page is told what changes in its study."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from hentropy.views.server.guard.rates import client_in
from hentropy.views.server.services import Here, Visitor, check_identity
from hentropy.views.server.watcher import Subscriber
from hentropy.views.text.formats import json_text

HEARTBEAT = 5.0
"""Seconds without news after which a comment is sent: proxies close what is silent; who is gone or out is noticed."""

PACE = 0.25
"""Seconds between two deliveries to a page at least: what happens meanwhile is told once."""

DELIVERIES = 20.0
"""The most deliveries in a second to all pages together, in the long run: each page then fetches what is new."""

RETRY = 2_000
"""Milliseconds after which a browser that lost the connection comes again."""

router = APIRouter()


async def listening(
    study_id: int, here: Here, request: Request, response: Response, begun: str = ""
) -> AsyncIterator[Subscriber]:
    """A listener for as long as the answer lasts; what cannot be listened to is refused before it begins."""
    case = await run_in_threadpool(here.study_service.snapshot, study_id)
    if begun:
        check_identity(case.record, begun)
    subscriber = here.watcher.join(case.record, client=client_in(request.scope), computable=case.computable is None)
    response.headers["Cache-Control"] = "no-store"  # beside no-cache, which FastAPI says
    try:
        yield subscriber
    finally:
        here.watcher.leave(subscriber)


@router.get("/studies/{study_id}/events", response_class=EventSourceResponse, include_in_schema=False)
async def events(
    subscriber: Annotated[Subscriber, Depends(listening)], here: Here, visitor: Visitor
) -> AsyncIterator[ServerSentEvent]:
    """What changes in a study, for as long as the page is open and its session; `begun` says which one it shows."""

    def pace() -> float:
        return max(PACE, here.watcher.listeners / DELIVERIES)

    async for event in stream(subscriber, pace, lambda: here.access_control.still_in(visitor), HEARTBEAT):
        yield event


async def stream(
    subscriber: Subscriber, pace: Callable[[], float], still_in: Callable[[], bool], heartbeat: float
) -> AsyncIterator[ServerSentEvent]:
    """Events, with comments while there are none; `pace` says how many seconds to wait after each delivery.

    Who is no longer `still_in` is told nothing more.
    """
    yield ServerSentEvent(retry=RETRY)
    while True:
        taken = await subscriber.take(heartbeat)
        if not still_in():
            return
        for event in taken:
            yield ServerSentEvent(event=event.name, raw_data=json_text(event.data))
        if not taken:
            yield ServerSentEvent(comment="nothing new")
        if subscriber.ended:
            return
        await subscriber.rest(pace())
