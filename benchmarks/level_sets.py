"""`LevelSets` with two thresholds on more and more points: time of one proposal and its peak memory."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

import hentropy as he
from benchmarks.memory import peak_memory
from benchmarks.posteriors import alpine_case
from benchmarks.timing import repeated

SIDES = (12, 50, 200)


def proposal(side: int) -> Callable[[], he.Proposal]:
    """A proposal on side x side points of Alpine-2 after 30 observations."""
    case = alpine_case(2, 30, seed=0, fitted=False)
    axis = torch.linspace(0.1, 4.9, side, dtype=torch.float64)
    decision = he.LevelSets([0.35, 0.6], at=torch.cartesian_prod(axis, axis))
    return lambda: he.propose(decision, case.belief, case.problem.space)


def measure(side: int) -> he.Proposal:
    """One proposal, for the memory measurement in a process of its own."""
    return proposal(side)()


def run(repeats: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for side in SIDES:
        say(f"LevelSets with 2 thresholds on {side * side} points")
        timed = repeated(proposal(side), repeats)
        yield {
            "name": "LevelSets, 2 thresholds",
            "points": side * side,
            "seconds": timed.seconds,
            "peak_mib": peak_memory("benchmarks.level_sets", "measure", side),
        }
