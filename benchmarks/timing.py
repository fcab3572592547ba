"""Times of several contenders on the same task, interleaved, and their ratios."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import hentropy as he
from hentropy.core.beliefs import Gaussian, Transformed
from hentropy.core.spaces import DesignSpace


@dataclass(frozen=True)
class Timed:
    """Seconds on the clock and of the processor (all threads), and the result."""

    seconds: float
    cpu_seconds: float
    result: Any


def proposed(decision: he.Decision, belief: Gaussian | Transformed, space: DesignSpace, **options: Any) -> he.Proposal:
    """A proposal under a new belief of the same content: nothing that an earlier turn has found out is known."""
    return he.propose(decision, replace(belief), space, **options)


def timed(function: Callable[[], Any]) -> Timed:
    start, cpu_start = time.perf_counter(), time.process_time()
    result = function()
    return Timed(time.perf_counter() - start, time.process_time() - cpu_start, result)


def repeated(function: Callable[[], Any], repeats: int) -> Timed:
    """The median time of several runs, the result of the last."""
    runs = [timed(function) for _ in range(repeats)]
    return middle(runs)


def middle(runs: Sequence[Timed]) -> Timed:
    """The median times of several runs, and the result of the last."""
    seconds, cpu_seconds = (
        statistics.median(times) for times in zip(*((r.seconds, r.cpu_seconds) for r in runs), strict=True)
    )
    return Timed(seconds, cpu_seconds, runs[-1].result)


def median_ratio(slow: list[float], fast: list[float]) -> float:
    """The median over posteriors of the ratio of times within the same posterior."""
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))
