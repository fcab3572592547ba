"""How long and how much: the bounds on a piece of work."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from hentropy.core.given import is_number
from hentropy.errors import InputError
from hentropy.lazy import torch

DEFAULT_MEMORY = 64 * 2**20
"""Bytes that a search holds in its largest arrays, unless a lower bound is given: larger ones are not faster."""


CACHE = 4 * 2**20
"""Bytes of an array that a processor's cache holds: work on long lists is cut into pieces of this size."""

GPU_PIECE = 512 * 2**20
"""Bytes of such a piece on another device: a GPU has no use for its many threads in small arrays."""


@dataclass(frozen=True)
class Clock:
    """Work that has to end `seconds` after its start, by the time that `now` tells."""

    seconds: float = math.inf
    now: Callable[[], float] = time.monotonic
    start: float = math.nan

    def __post_init__(self) -> None:
        if math.isnan(self.start):
            object.__setattr__(self, "start", self.now())

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self.spent > self.seconds

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self.now() - self.start

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return math.isfinite(self.seconds)

    def share(self, part: float) -> "Clock":
        """A clock that expires after this part of the time: what comes later needs the rest."""
        return replace(self, seconds=part * self.seconds)


def pieces(numbers_per_row: int, device: torch.device) -> int:
    """How many rows of this many float64 numbers a device works on at once."""
    room = CACHE if device.type == "cpu" else GPU_PIECE
    return max(16, room // (8 * max(1, numbers_per_row)))


@dataclass(frozen=True)
class Limits:
    """Bounds on a proposal: seconds, and bytes of its largest arrays."""

    max_seconds: float | None = None
    max_memory: int | None = None

    def __post_init__(self) -> None:
        if self.max_seconds is not None and not (is_number(self.max_seconds) and self.max_seconds > 0):
            raise InputError(
                f"max_seconds must be a number above 0, got {self.max_seconds!r}; leave it out for no bound"
            )
        if self.max_memory is not None and not (is_number(self.max_memory) and self.max_memory >= 2**20):
            raise InputError(f"max_memory is in bytes and must be at least 1 MiB (1048576), got {self.max_memory!r}")

    def clock(self) -> Clock:
        """A clock that starts now."""
        return Clock() if self.max_seconds is None else Clock(self.max_seconds)

    def rows(self, numbers_per_row: int) -> int:
        """How many rows of this many float64 numbers may be worked on at once."""
        return max(1, min(self.max_memory or DEFAULT_MEMORY, DEFAULT_MEMORY) // (8 * max(1, numbers_per_row)))
