"""A bound on the processor time of a computation, for the main thread of a process."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SHORTEST = 0.001
"""Seconds; a timer of 0 would never ring."""


class TooLong(BaseException):
    """A computation has had all its time. Like an interrupt, it is no error that others catch by accident."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """`TooLong` once this process has computed for so many seconds; waiting does not count."""

    def ring(_: int, __: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, max(SHORTEST, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
