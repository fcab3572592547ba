"""Times of several contenders on the same task, interleaved, and their ratios."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Timed:
    seconds: float
    result: Any


def timed(function: Callable[[], Any]) -> Timed:
    start = time.perf_counter()
    result = function()
    return Timed(time.perf_counter() - start, result)


def repeated(function: Callable[[], Any], repeats: int) -> Timed:
    """The median time of several runs, the result of the last."""
    runs = [timed(function) for _ in range(repeats)]
    return Timed(statistics.median(run.seconds for run in runs), runs[-1].result)


def median_ratio(slow: list[float], fast: list[float]) -> float:
    """The median over posteriors of the ratio of times within the same posterior."""
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))
