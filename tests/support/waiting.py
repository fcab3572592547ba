"""Waiting for what happens elsewhere: until it has, however busy the machine is."""

import time
from collections.abc import Callable

PATIENCE = 300.0
"""Seconds after which something that should have happened never will; what would hang in tests hangs for longer."""
LATE = 15.0
"""A timeout that ends what hangs in a test, and that a process which answers at once keeps on any machine."""


def until(condition: Callable[[], object], what: str = "it", seconds: float = PATIENCE) -> None:
    """Return once the condition holds; fail if it does not within the seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} took too long"
        time.sleep(0.01)
