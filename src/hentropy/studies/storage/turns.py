"""The right to ask: one asker has it at a time, and only as long as it is heard of.

Turns are numbered. Who has one renews it while it computes; who waits takes over a turn that was not renewed while the
waiter watched for the length of a lease, by its own steady clock: clocks that jump or differ do no harm. So a process
that was stopped or cut off loses its turn. The store refuses new trials that come with the number of an earlier one.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from hentropy.core.clock import Clock
from hentropy.errors import Overtaken, StorageError
from hentropy.studies.records.owners import is_gone, new_owner, who

POLL = 0.1
"""Seconds after which one who waits looks again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TurnTerms:
    """How long a turn lasts without renewal, after how many seconds those who wait are told, and how long they wait.

    `patience` is for one turn of somebody who goes on renewing it. `tell` is called with a sentence for a person.
    """

    lease: float = 30.0
    notice: float = 5.0
    patience: float = 3600.0
    tell: Callable[[str], None] = log.warning


@dataclass(frozen=True)
class Turn:
    """One asker's time: its number, who has it, since when by the store's clock, and how often it was renewed."""

    number: int = 0
    holder: str | None = None
    since: float = 0.0
    renewals: int = 0

    def check(self, number: int) -> None:
        """`Overtaken` unless this is the turn of that number."""
        if self.number != number:
            now = "nobody has it now" if self.holder is None else str(self)
            raise Overtaken(
                "the right to ask was lost: it was not renewed in time, and others have had it since. Was this process"
                f" stopped, or cut off from the store? Nothing was asked: ask again ({now})"
            )

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        return f"{who(self.holder or 'nobody')} has had the right to ask since {since}"


TurnRule = Callable[[Turn, float], Turn]
"""From the turn as it stands and the time by the store's clock to the turn as it shall be."""


@contextmanager
def taken(look: Callable[[], Turn], change: Callable[[TurnRule], Turn], terms: TurnTerms) -> Iterator[int]:
    """A turn of one's own, renewed until the end; its number."""
    mine = _take(look, change, terms)

    def renewed(old: Turn, now: float) -> Turn:
        return replace(old, renewals=old.renewals + 1) if old.number == mine.number else old

    def ended(old: Turn, now: float) -> Turn:
        return replace(old, holder=None) if old.number == mine.number else old

    try:
        with every(terms.lease / 3, lambda: change(renewed)):
            yield mine.number
    finally:
        with suppress(StorageError):  # without an answer, the turn ends as if we had been stopped
            change(ended)


def _take(look: Callable[[], Turn], change: Callable[[TurnRule], Turn], terms: TurnTerms) -> Turn:
    """Wait for the turn of whoever has it to end, or for silence."""
    holder = new_owner()
    seen, told = look(), False
    asking, silence = Clock(), Clock(terms.lease)
    while True:
        if seen.holder is None or is_gone(seen.holder) or silence.expired:
            now = change(_succeed(seen, holder))
            if now.holder == holder:
                return now
        else:
            time.sleep(POLL)
            now = look()
        if now != seen:
            silence = Clock(terms.lease)
        if now.number != seen.number:
            asking, told = Clock(), False
        seen = now
        if asking.spent > terms.notice and seen.holder is not None and not told:
            terms.tell(f"waiting: {seen}; without a sign of life it is over after {terms.lease:g} s")
            told = True
        if asking.spent > terms.patience:
            raise StorageError(f"{seen}, and still has it after {terms.patience:g} s: if that process hangs, end it")


def _succeed(seen: Turn, holder: str) -> TurnRule:
    """The next turn, if nothing has happened since one looked."""
    return lambda old, now: Turn(old.number + 1, holder, now) if old == seen else old


@contextmanager
def every(seconds: float, action: Callable[[], object]) -> Iterator[None]:
    """Do something again and again while something else goes on.

    A store that does not answer now may do so the next time; if not, what is not renewed ends, as it should.
    """
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(seconds):
            with suppress(StorageError):
                action()

    thread = threading.Thread(target=beat, name="hentropy heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5.0)
