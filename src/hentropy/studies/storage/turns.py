"""The right to ask: one process holds it at a time, and only while it renews it.

Turns are numbered, and processes that wait are served in order. The holder of a turn renews it while it computes. A
process that waits takes over a turn that it has seen without a renewal for the length of a lease, by its own monotonic
clock: clocks that jump or differ do no harm. So a process that was stopped or cut off loses its turn, and the store
refuses the trials that it adds under its old number.

Holders have names by which others on the same machine can tell whether their process is still alive.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from hentropy.core.clock import Clock
from hentropy.errors import Overtaken, StorageError

UNSEEN = "unseen"
"""The start of a process that is there, but cannot be looked at."""


def new_owner() -> str:
    """A name for one worker of this process: machine, process, its start, and a part that no other worker has."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}|{_machine()}|{pid}|{_start(pid)}|{uuid.uuid4().hex[:8]}"


def who(owner: str) -> str:
    """An owner in words for a person."""
    parts = owner.split("|")
    return f"process {parts[2]} on {parts[0]}" if len(parts) == 5 else owner


def is_gone(owner: str | None) -> bool:
    """Whether the process of an owner surely has ended: only for those of this machine can that be known."""
    return _lives(owner) is False


def is_alive(owner: str | None) -> bool:
    """Whether the process of an owner surely lives, on this machine."""
    return _lives(owner) is True


def _lives(owner: str | None) -> bool | None:
    try:
        _, machine, pid, start, _ = (owner or "").split("|")
        number = int(pid)
    except ValueError:
        return None
    if machine != _machine():
        return None
    return _start(number) in (start, UNSEEN)


def _machine() -> str:
    """This machine since it was started, and this name space of processes: within it a process has one number."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}{os.readlink('/proc/self/ns/pid').removeprefix('pid:')}"
    except OSError:
        return f"{uuid.getnode():x}"


def _start(pid: int) -> str:
    """When a process was started, in words of the system; empty where there is none with this number."""
    try:
        # the name of the program, in parentheses, may hold blanks; the start is the 20th word after it
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if words[0] in "ZX" else words[19]  # one that has ended, and waits for its parent to notice
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)  # asks only; some systems show /proc only to the owner of a process, or have none
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return UNSEEN


POLL, SELDOM = 0.03, 2.0
"""Seconds after which the next in line looks again, and those far back; the others as soon as it may be their turn."""

ABSENCE = 3.0
"""Seconds after which those are passed over whose turn it is, and who do not come."""

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
    """One asker's time: its number, who has it, since when by the store's clock, and how often it was renewed.

    `drawn` is the last number that somebody has drawn who waits.
    """

    number: int = 0
    holder: str | None = None
    since: float = 0.0
    renewals: int = 0
    drawn: int = 0

    @property
    def pulse(self) -> tuple[int, str | None, int]:
        """What changes as long as somebody is there."""
        return self.number, self.holder, self.renewals

    def check(self, number: int) -> None:
        """`Overtaken` unless this is the turn of that number."""
        if self.number != number:
            now = "nobody holds it now" if self.holder is None else str(self)
            raise Overtaken(
                "the right to ask was lost: it was not renewed in time, and others have had it since. Was this process"
                f" stopped, or cut off from the store? Nothing was asked: ask again ({now})"
            )

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        return f"{who(self.holder or 'nobody')} has held the right to ask since {since}"


@dataclass
class HeldTurn:
    """The turn of somebody who asks: its number, and whether it has ended with what was asked."""

    number: int
    ended: bool = False


TurnRule = Callable[[Turn, float], Turn]
"""From the current turn and the time by the store's clock to the new turn."""


@contextmanager
def taken(look: Callable[[], Turn], change: Callable[[TurnRule], Turn], terms: TurnTerms) -> Iterator[HeldTurn]:
    """A turn, renewed until the end."""
    mine, process = HeldTurn(_take(look, change, terms).number), os.getpid()

    def renewed(old: Turn, now: float) -> Turn:
        return replace(old, renewals=old.renewals + 1) if old.number == mine.number else old

    def ended(old: Turn, now: float) -> Turn:
        return replace(old, holder=None) if old.number == mine.number else old

    try:
        with every(terms.lease / 3, lambda: change(renewed)):
            yield mine
    finally:
        if os.getpid() == process and not mine.ended:  # a process that was forked from this one leaves the turn alone
            with suppress(StorageError):  # without an answer, the turn ends as if we had been stopped
                change(ended)


def _take(look: Callable[[], Turn], change: Callable[[TurnRule], Turn], terms: TurnTerms) -> Turn:
    """Wait for the turn, or until its owner stops renewing it."""
    holder = new_owner()
    seen = change(_draw(holder))
    mine, told, first = seen.drawn, False, seen.number
    waiting, asking, silence = Clock(), Clock(), Clock()
    while seen.holder != holder:
        if seen.number >= mine:  # passed over, as one who did not come
            now = change(_draw(holder))
            mine = now.drawn
        elif _is_free(seen, mine, silence.spent, terms.lease):
            now = change(_succeed(seen, mine, holder))
        else:
            pace = waiting.spent / max(1, seen.number - first)  # seconds that a turn has taken
            time.sleep(min(max(POLL, pace / 2 * (mine - seen.number - 1)), SELDOM))
            now = look()
        if now.pulse != seen.pulse:
            silence = Clock()
        if now.number != seen.number:
            asking, told = Clock(), False
        seen = now
        if seen.holder not in (None, holder) and asking.spent > terms.notice and not told:
            terms.tell(f"waiting: {seen}; it loses it if it shows no sign of life for {terms.lease:g} s")
            told = True
        if seen.holder not in (None, holder) and asking.spent > terms.patience:
            raise StorageError(f"{seen}, and still has it after {terms.patience:g} s: if that process hangs, end it")
    return seen


def _is_free(seen: Turn, mine: int, silence: float, lease: float) -> bool:
    if seen.holder is None:
        return seen.number == mine - 1 or silence > ABSENCE
    return is_gone(seen.holder) or silence > lease


def _draw(holder: str) -> TurnRule:
    """The next turn at once, if nobody asks or waits; else a number."""

    def rule(old: Turn, now: float) -> Turn:
        number = max(old.number, old.drawn) + 1
        return (
            Turn(number, holder, now, 0, number)
            if old.holder is None and old.drawn <= old.number
            else replace(old, drawn=number)
        )

    return rule


def _succeed(seen: Turn, mine: int, holder: str) -> TurnRule:
    """The turn with the caller's number, if it has not changed since it was read."""
    return lambda old, now: Turn(mine, holder, now, 0, old.drawn) if old.pulse == seen.pulse else old


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
