"""Tables of numbers as people hand them in."""

from typing import Any

import numpy as np


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
