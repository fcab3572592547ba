"""What came of one evaluation: a small frozen value."""

from dataclasses import dataclass

TAIL = 4_000
"""How many characters of a log are kept: its end says most."""


@dataclass(frozen=True)
class Outcome:
    """The value of an experiment with its standard error, or why there is none.

    `lost` says that whoever evaluated it disappeared, which is not the experiment's fault: it may be run again.
    `log` is the end of what was written to standard error, and `seconds` is how long it took.
    """

    value: float | None
    std_error: float | None
    failed: str | None
    lost: bool = False
    log: str = ""
    seconds: float = 0.0


def failure(why: str, lost: bool = False) -> Outcome:
    """An outcome without a value."""
    return Outcome(None, None, why, lost)
