"""Signals that end a run: SIGTERM does what Ctrl-C does."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """The run was ended by SIGTERM, as services are, not by somebody's Ctrl-C."""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Terminated


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Within, SIGTERM raises a `KeyboardInterrupt` (`Terminated`), so that what is in hand is given back."""
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
