"""The experiment: how well something bakes at a temperature."""

import math


def bake(*, temperature: float) -> float:
    """A sharp peak of 10 at 70 degrees, and a broad one of 7 at 40."""
    return 10.0 * math.exp(-(((temperature - 70.0) / 3.0) ** 2)) + 7.0 * math.exp(-(((temperature - 40.0) / 15.0) ** 2))
