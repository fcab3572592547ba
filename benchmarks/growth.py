"""How `TopK(5)` grows with the number of observations: factorisation, proposal, peak memory (d = 6)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import hentropy as he
from benchmarks.memory import peak_memory
from benchmarks.posteriors import alpine_case
from benchmarks.timing import proposed, repeated, timed

SIZES = (50, 200, 1000, 2000)
DECISION = he.TopK(5, weight=10.0, cap=1.25)


def measure(n: int) -> he.Proposal:
    """One proposal, for the memory measurement in a process of its own."""
    case = alpine_case(6, n, seed=0, fitted=False)
    return proposed(DECISION, case.belief, case.problem.space)


def run(repeats: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for n in SIZES:
        say(f"TopK(5) on Alpine-6 with n = {n}")
        case = alpine_case(6, n, seed=0, fitted=False)
        space = case.problem.space
        factorised = timed(partial(he.from_botorch, case.model))
        proposed = repeated(partial(he.propose, DECISION, case.belief, space), repeats)
        fitted = timed(partial(he.fit, case.X, case.Y, space=space, hyperparameters="map"))
        yield {
            "name": "TopK(5) on Alpine-6",
            "n": n,
            "seconds": proposed.seconds,
            "factorise_seconds": factorised.seconds,
            "fit_seconds": fitted.seconds,
            "peak_mib": peak_memory("benchmarks.growth", "measure", n),
        }
