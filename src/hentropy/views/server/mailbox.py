"""What one listener has not heard yet: only the newest of each subject, so that a slow one holds nothing up."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """Something that happened; a newer one of the same name and subject makes it void."""

    name: str
    data: Mapping[str, Any] = field(compare=False)
    subject: str = ""


class Mailbox:
    """Events for one listener, by subject; the `owner` is the client that listens. Used only in the event loop."""

    def __init__(self, owner: str = "") -> None:
        self.owner = owner
        self._events: dict[tuple[str, str], Event] = {}
        self._there = asyncio.Event()
        self._over = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more."""
        return self._over.is_set()

    def put(self, event: Event) -> None:
        """Keep an event until it is taken, after all that came before it."""
        key = (event.name, event.subject)
        self._events.pop(key, None)
        self._events[key] = event
        self._there.set()

    def end(self) -> None:
        """Nothing will come any more."""
        self._over.set()
        self._there.set()

    async def take(self, seconds: float) -> list[Event]:
        """All that has come, waited for at most so many seconds; nothing if nothing came, or at the end."""
        try:
            await asyncio.wait_for(self._there.wait(), seconds)
        except TimeoutError:
            return []
        events = list(self._events.values())
        self._events.clear()
        if not self.ended:
            self._there.clear()
        return events

    async def rest(self, seconds: float) -> None:
        """Let so many seconds pass, but none after the end."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)
