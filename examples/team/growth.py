"""The experiment: a simulation that takes a while. Every machine that works on the study needs this file."""

import math
import os
import time

SECONDS = float(os.environ.get("GROWTH_SECONDS", "1"))


def simulate(*, sugar: float, temperature: float) -> float:
    """How well it grows: best, 5.0, at 20 grams per litre and 30 degrees."""
    time.sleep(SECONDS)
    return 5.0 - (3.0 * math.log10(sugar / 20.0)) ** 2 - ((temperature - 30.0) / 6.0) ** 2
