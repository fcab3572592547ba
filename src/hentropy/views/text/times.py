"""Times for a person, and for a file."""

import time
from datetime import UTC, datetime


def iso(seconds: float | None) -> str | None:
    """A time as ISO 8601 in UTC."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(text: str) -> float:
    """The time that ISO 8601 says; without a zone it is in UTC."""
    read = datetime.fromisoformat(text)
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def clock(seconds: float) -> str:
    """A time by the clock of this place."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def ago(seconds: float) -> str:
    """How long ago a time was, in words."""
    passed = max(0.0, time.time() - seconds)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if passed >= length:
            count = int(passed // length)
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return f"{int(passed)} s ago"
