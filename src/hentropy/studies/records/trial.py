"""Trials: one experiment each, a small frozen value."""

from dataclasses import dataclass
from enum import Enum

from hentropy.core.spaces import Params

Value = float | tuple[float, float]
"""A measured value, or a value with its standard error."""


class State(Enum):
    """Where a trial stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Trial:
    """One experiment: its number, its design, what was expected of it when it was asked, and what came of it."""

    number: int
    params: Params
    state: State = State.RUNNING
    value: float | None = None
    std_error: float | None = None
    gain: float | None = None
    gain_error: float | None = None
    entropy: float | None = None
    origin: str = "proposed"
    note: str = ""
