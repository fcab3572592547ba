"""Values as text that is short, and yet tells apart what is different; and numbers that people type."""

import math
from typing import Any

import numpy as np

from hentropy.core.given import is_number
from hentropy.errors import Advice, InputError
from hentropy.lazy import Tensor

MIN_DIGITS = 5
BEYOND = 2
"""A number is written two digits beyond the first digit of its spread."""

FULL = 1e12
"""Whole numbers below this are written in full."""

WHOLE_PART = 1e10
"""Below this the whole part of a number is never rounded away."""

MAX_DIGITS = 15
"""A double holds no more digits than these for certain."""


def short(value: float, spread: float | None = None, least: int = MIN_DIGITS) -> str:
    """A number with at least this many significant digits, its whole part, and all that its spread calls for.

    The `spread` is how far the number may be off, or how far it and its like lie apart. Whole numbers are in full;
    only what is very large or very small has an exponent.
    """
    if isinstance(value, int):
        return str(value)
    number = float(value) + 0.0  # no negative zero
    size = abs(number)
    if not math.isfinite(number) or number == 0.0:
        return f"{number:g}"
    if size < FULL and number.is_integer():
        return f"{number:.0f}"
    first = math.floor(math.log10(size))
    digits = least
    known = spread is not None and math.isfinite(spread) and spread > 0.0
    if 10**least <= size < WHOLE_PART:
        digits = max(digits, first + (1 if known else 2))
    if spread is not None and known:
        digits = max(digits, first - math.floor(math.log10(spread)) + 1 + BEYOND)
    return f"{number:.{min(digits, MAX_DIGITS)}g}"


def plain_number(text: str) -> float:
    """The number that somebody typed, if it is written as everybody writes numbers; else a `ValueError`.

    Python takes 1_5 for 15 as well; nobody else does, so it is a slip of the hand.
    """
    return float(_without_underscores(text))


def plain_whole(text: str) -> int:
    """The whole number that somebody typed; else a `ValueError`."""
    return int(_without_underscores(text))


def _without_underscores(text: str) -> str:
    if "_" in text:
        raise ValueError(f"{text!r} is not a plain decimal number")
    return text


def value_text(value: Any, spread: float | None = None) -> str:
    """A value of a design as people write it: a number in short, an option as it is, nothing where there is none."""
    if value is None:
        return ""
    return short(value, spread) if is_number(value) else one_line(str(value), MAX_VALUE_LENGTH)


MAX_VALUE_LENGTH = 60
"""The most characters of a value in a message."""


def one_line(text: str, width: int) -> str:
    """Text on one line of at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def brief(value: object) -> str:
    """What somebody gave, in a message: as Python writes it, but on one line and not long."""
    return one_line(repr(value), MAX_VALUE_LENGTH)


def counted(count: int, noun: str) -> str:
    """A number of things: 1 trial, 2 trials."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def span(values: list[float]) -> float | None:
    """How far numbers lie apart: the spread to write them with; None where there are fewer than two."""
    finite = [value for value in values if math.isfinite(value)]
    return max(finite) - min(finite) if len(finite) > 1 else None


def number_told(value: Any) -> float | None:
    """A single number of any library, or None; text is not taken for a number.

    An `InputError` for whole numbers that no double can hold, which may be too long even to be written in a message.
    """
    if isinstance(value, str | bytes | complex | np.complexfloating):  # NumPy would drop the imaginary part
        return None
    try:
        return float(value.item() if isinstance(value, Tensor | np.ndarray) else value)
    except OverflowError:
        what = "the value is a whole number beyond double precision"
        raise InputError(what, Advice.GIVE_NUMBER) from None
    except (TypeError, ValueError, RuntimeError):
        return None


def checked_value(value: Any, of: str = "") -> tuple[float, float | None]:
    """A value told (`of` some outcome), as number and standard error, or an error that says what is wrong with it."""
    given, error = value if isinstance(value, tuple | list) and len(value) == 2 else (value, None)
    number = number_told(given)
    spread = None if error is None else number_told(error)
    if number is None or (error is not None and spread is None):
        raise InputError(f"the value told{of} is {(given if error is None else value)!r}", Advice.GIVE_NUMBER)
    if not math.isfinite(number):
        raise InputError(f"the value told{of} is {number}", Advice.TELL_FAILED)
    if spread is not None and not (math.isfinite(spread) and spread >= 0):
        raise InputError(f"the standard error told{of} is {spread}; it must be finite and not negative, or left out")
    return number, spread
