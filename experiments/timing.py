"""The timing table: how long one choice of a query takes, as ratios to this project's own search.

All contenders choose on the same beliefs, in turn, several times; the ratio is taken within a repetition, where the
machine was the same for all, and the median over repetitions and beliefs is reported.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from experiments.methods import METHODS
from experiments.run import Stopwatch
from experiments.tables import markdown_table
from hentropy.bench.problems import Problem, problem
from hentropy.core.beliefs import Gaussian
from hentropy.core.models import fit
from hentropy.core.solvers import propose

CONTENDERS = (
    "hentropy",
    "kg",
    "ei",
    "uncertainty",
    "botorch-logei",
    "botorch-qkg",
    "one-shot-paper",
    "one-shot-published",
)
PROBLEM = "alpine-2-top-5"
OBSERVATIONS = 30


@dataclass(frozen=True)
class Timing:
    """Median seconds of a choice, and the median ratio to the seconds of this project's search in the same round."""

    method: str
    seconds: float
    ratio: float
    rounds: int


def timings(
    beliefs: int = 3, repeats: int = 2, quick: bool = False, say: Callable[[str], None] = lambda _: None
) -> list[Timing]:
    """Every contender on every belief, `repeats` times."""
    on = problem(PROBLEM)
    taken: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for seed in range(beliefs):
        X = on.space.sample(OBSERVATIONS, seed)
        belief = fit(X, on(X), space=on.space, hyperparameters="map", seed=seed)
        for repeat in range(repeats):
            for name in CONTENDERS:
                say(f"{METHODS[name].label}, belief {seed + 1} of {beliefs}, round {repeat + 1} of {repeats}")
                taken[name].append(_seconds(name, on, belief, seed + 100 * repeat, quick))
    own = taken["hentropy"]
    return [
        Timing(
            name,
            statistics.median(spent),
            statistics.median(each / reference for each, reference in zip(spent, own, strict=True)),
            len(spent),
        )
        for name, spent in taken.items()
    ]


def _seconds(name: str, on: Problem, belief: Gaussian, seed: int, quick: bool) -> float:
    """The time of one choice: this project's with the whole proposal and its audit, the others' without."""
    method = METHODS[name]
    watch = Stopwatch(method.make(on, quick))
    start = time.perf_counter()
    propose(on.decision, replace(belief), on.space, seed=seed, solver=watch)  # a new one: nothing is found yet
    return time.perf_counter() - start if method.own else watch.seconds


def timing_markdown(rows: list[Timing]) -> str:
    """The table as Markdown."""
    cells = [(METHODS[row.method].label, f"{row.seconds:.3g}", f"{row.ratio:.2f}") for row in rows]
    table = markdown_table(("method", "median s", "times hentropy's"), cells)
    return f"Seconds to choose a query: {PROBLEM}, {OBSERVATIONS} observations.\n\n{table}"
