"""What people give, checked at the door: a value of another kind is an `InputError` that names it."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.errors import InputError

SEEDS = 2**32
"""Seeds of a study are below this; those of single proposals, which it adds up, are below the other."""
LARGE_SEEDS = 2**52


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not a truth value or text."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def is_count(value: Any) -> bool:
    """Whether a value is a whole number of at least 1."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


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


def as_table(what: str, values: Any) -> Tensor:
    """Numbers of any kind as a tensor."""
    try:
        return torch.as_tensor(values, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"{what} are {values!r}, which is no table of numbers ({error})") from None
