"""What people give, checked at the door: numbers, counts, seeds and tables; a value of another kind is named."""

import math
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np

from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

Best = Literal["low", "high"]
"""Which outcomes a decision looks for."""

Tails = Literal["heavy"]
"""What may be said of the tails of noise; without a word they are those of a normal distribution."""

TAILS: tuple[str, ...] = get_args(Tails)

SEEDS = 2**32
"""Seeds of a study are below this; those of single proposals, which it adds up, are below the other."""
LARGE_SEEDS = 2**52

MOST_AT_ONCE, MOST_FIRST, MOST_WORKERS = 10_000, 1_000_000, 1_000
"""Experiments asked for at once, first designs of a study, and workers: more are a slip of the hand."""


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not a truth value or text."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known word that was probably meant, whatever its capitals; None where none is close."""
    spelt = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), spelt, n=1, cutoff=cutoff)
    return spelt[close[0]] if close else None


def is_count(value: Any) -> bool:
    """Whether a value is a whole number of at least 1."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def check_at_once(what: str, value: Any, most: int = MOST_AT_ONCE) -> None:
    """A number of experiments that are chosen or run at once."""
    if not is_count(value) or value > most:
        raise InputError(f"{what} must be a whole number from 1 to {most}, got {value!r}")


def check_tails(tails: Any) -> None:
    """Refuse what is said of no tails."""
    if tails is not None and tails not in TAILS:
        raise InputError(f"tails is {tails!r}; write 'heavy' where gross errors occur, or leave it out")


def is_finite(value: Any) -> bool:
    """Whether a value is a number that a float can hold."""
    if isinstance(value, Tensor) and value.dim() == 0:
        value = value.item()
    try:
        return is_number(value) and math.isfinite(value)
    except OverflowError:
        return False


def check_seed(seed: Any, below: int = LARGE_SEEDS) -> None:
    """A seed, from which all random numbers come."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < below:
        raise InputError(f"the seed must be a whole number from 0 to {below - 1}, got {seed!r}")


def as_table(name: str, values: Any) -> Tensor:
    """Numbers of any kind as a tensor in double precision, without a gradient."""
    try:
        if isinstance(values, Tensor) and values.is_complex():
            raise TypeError("it has complex numbers")
        tensor = values.detach() if isinstance(values, Tensor) else torch.from_numpy(real_array(values))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a table of numbers ({error}); give a tensor, an array or lists") from None
    return tensor.to(torch.float64)


def as_device(device: Any) -> torch.device | None:
    """A device that can be used, "cuda" or "cpu", or an `InputError`; None stays None."""
    if device is None:
        return None
    try:
        return torch.empty(0, device=torch.device(device)).device
    except (RuntimeError, AssertionError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise InputError(f"the device {device!r} cannot be used ({why}); leave it out for the processor") from None


def real_array(values: Any) -> np.ndarray:
    """A copy in double precision; a `TypeError` or `ValueError` for what is no table of real numbers.

    NumPy alone would drop imaginary parts and take the text "1_5" for 15.
    """
    given = np.asarray(values)
    if np.iscomplexobj(given):
        raise TypeError("it has complex numbers")
    if given.dtype.kind in "OUS":
        for value in given.flat:
            if np.iscomplexobj(value):
                raise TypeError(f"{value!r} is a complex number")
            if isinstance(value, str | bytes) and "_" in str(value):
                raise ValueError(f"{str(value)!r} is not a number")
    return np.array(values, dtype=np.float64)
