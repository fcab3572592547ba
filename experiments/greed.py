"""Runs beside a published table, De Ath et al. 2021 ("Greed is good"): twelve functions, paired by first designs.

maximize             a study with its defaults that minimises the function; nothing is said about noise
maximize-noiseless   the same, with a noise of 0 stated
best-observed        a study with its defaults that decides for the best design measured (expected improvement)

What counts is the true value of the recommended design, and the best value seen; the table has the best value seen by
six rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from experiments.peers import GREED, GREED_METHODS
from experiments.plan import Results
from experiments.run import RunJob, Step
from experiments.tables import markdown_table
from hentropy.bench.problems.published_minima import CHECKPOINTS, published_results

Table = Mapping[tuple[str, str, int], Mapping[int, float]]
"""The best value seen after each checkpoint, by problem, method and run."""

EI, SPACE_FILLING = "EI", "LHS"
DIGITS = 6
"""Significant digits of the published values: ours are compared after the same rounding."""

CLEAR = 0.05
"""A difference is clear if the two-sided Wilcoxon test of the paired runs has a p-value below it."""

TARGETS = {"EI": 12, "clear": 6, "best": 9}
"""On how many problems the recommended value should be as good as EI's, clearly better, as good as the best rule's."""


@dataclass(frozen=True)
class GreedRow:
    """One run: the value recommended and the best value seen after `first`, `first` + 1, ... evaluations."""

    problem: str
    run: int
    method: str
    first: int
    recommended: tuple[float, ...]
    seen: tuple[float, ...]

    @classmethod
    def of(cls, job: RunJob, steps: Sequence[Step]) -> "GreedRow":
        """What the steps of a run found; the published runs count from 1."""
        return cls(
            job.task.problem,
            job.seed + 1,
            job.method,
            job.task.first,
            tuple(-step.score for step in steps),
            tuple((step.observed or [np.nan])[0] for step in steps),
        )

    @property
    def evaluations(self) -> int:
        """How many it got through."""
        return self.first + len(self.seen) - 1


@dataclass(frozen=True)
class Against:
    """Paired runs: `ours` better in `wins`, worse in `losses`, equal in the others; Wilcoxon's two-sided p-value."""

    ours: float
    theirs: float
    wins: int
    losses: int
    p: float

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> "Against":
        """Small values are good; medians and pairs are compared with the digits that were published."""
        a, b = (np.array([float(f"{value:.{DIGITS}g}") for value in each]) for each in (ours, theirs))
        gaps = a - b
        p = float(wilcoxon(gaps).pvalue) if gaps.any() else 1.0
        return cls(float(np.median(a)), float(np.median(b)), int((gaps < 0).sum()), int((gaps > 0).sum()), p)

    @property
    def as_good(self) -> bool:
        """Whether our median is at most theirs."""
        return self.ours <= self.theirs

    @property
    def better(self) -> bool:
        """Whether it is lower, and clearly."""
        return self.ours < self.theirs and self.p < CLEAR


@dataclass(frozen=True)
class GreedResult:
    """A method on a problem after so many evaluations, over runs: medians, and pairs with the published rules."""

    problem: str
    method: str
    at: int
    runs: int
    seen: float
    worse_than_seen: int
    against_ei: Against
    best_rule: str
    against_best: Against


def greed_results(rows: Iterable[GreedRow], table: Table, at: int) -> list[GreedResult]:
    """What the runs that got through `at` evaluations found, by method and problem in their order."""
    known = list(rows)
    found = []
    for method in GREED_METHODS:
        for problem in GREED:
            runs = {
                row.run: row
                for row in known
                if (row.problem, row.method) == (problem, method) and row.evaluations >= at >= row.first
            }
            if runs:
                found.append(_result(problem, method, at, runs, table))
    return found


def _result(problem: str, method: str, at: int, runs: Mapping[int, GreedRow], table: Table) -> GreedResult:
    recommended = [row.recommended[at - row.first] for row in runs.values()]
    seen = [row.seen[at - row.first] for row in runs.values()]
    rules = sorted({rule for each, rule, _ in table if each == problem} - {SPACE_FILLING})
    theirs = {rule: [table[problem, rule, run][at] for run in runs] for rule in rules}
    best = min(rules, key=lambda rule: float(np.median(theirs[rule])))
    return GreedResult(
        problem=problem,
        method=method,
        at=at,
        runs=len(runs),
        seen=float(np.median(seen)),
        worse_than_seen=sum(ours > best_seen for ours, best_seen in zip(recommended, seen, strict=True)),
        against_ei=Against.of(recommended, theirs[EI]),
        best_rule=best,
        against_best=Against.of(recommended, theirs[best]),
    )


HEADS = (
    "problem",
    "runs",
    "recommended",
    "best seen",
    "recommended worse than best seen",
    "EI, best seen",
    "wins : losses against EI",
    "p",
    "best rule, best seen",
    "wins : losses against it",
)


def greed_markdown(results: Results, data: str | Path) -> str:
    """Tables for every checkpoint that some recorded run of a plan reached, beside the published ones in a folder."""
    table, plan = published_results(data), results.plan
    rows = [
        GreedRow.of(plan.job(task, method, seed, plan.quick), steps)
        for task in plan.tasks
        for method in task.methods
        for seed, steps in results.runs(task.problem, method).items()
        if steps
    ]
    return _tables([each for at in CHECKPOINTS for each in greed_results(rows, table, at)])


def _tables(results: Sequence[GreedResult]) -> str:
    """A table for each method and number of evaluations, with the three targets under it."""
    said = []
    for method, at in dict.fromkeys((each.method, each.at) for each in results):
        chosen = [each for each in results if (each.method, each.at) == (method, at)]
        said += [
            f"### {method}, {at} evaluations",
            "",
            markdown_table(HEADS, map(_cells, chosen)),
            _targets(chosen),
            "",
        ]
    return "\n".join(said)


def _cells(found: GreedResult) -> tuple[str, ...]:
    ei, best = found.against_ei, found.against_best
    return (
        found.problem,
        str(found.runs),
        f"{ei.ours:.{DIGITS}g}",
        f"{found.seen:.{DIGITS}g}",
        str(found.worse_than_seen),
        f"{ei.theirs:.{DIGITS}g}",
        f"{ei.wins} : {ei.losses}",
        f"{ei.p:.2g}",
        f"{best.theirs:.{DIGITS}g} ({found.best_rule})",
        f"{best.wins} : {best.losses}",
    )


def _targets(results: Sequence[GreedResult]) -> str:
    """The three targets and what was reached."""
    counts = {
        "EI": sum(each.against_ei.as_good for each in results),
        "clear": sum(each.against_ei.better for each in results),
        "best": sum(each.against_best.as_good for each in results),
    }
    behind = [each.problem for each in results if not each.against_ei.as_good]
    where = f"; not on {', '.join(behind)}" if behind else ""
    return (
        f"Medians over runs, on {len(results)} of {len(GREED)} problems. Recommended at least as good as EI's best"
        f" seen: {counts['EI']} (target {TARGETS['EI']}{where}). Clearly better (p < {CLEAR:g}): {counts['clear']}"
        f" (target {TARGETS['clear']}). At least as good as the best of their rules: {counts['best']}"
        f" (target {TARGETS['best']})."
    )
