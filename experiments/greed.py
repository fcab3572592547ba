"""Runs beside a published table, De Ath et al. 2021 ("Greed is good"): twelve functions, paired by first designs.

maximize             a study with its defaults that minimises the function; nothing is said about noise
maximize-noiseless   the same, with a noise of 0 stated
best-observed        a study with its defaults that decides for the best design measured (expected improvement)

What counts is the true value of the recommended design, and the best value seen; the table has the best value seen by
six rules. `hentropy reproduce greed` records every step and resumes. This module also runs by itself, without the
command line, and appends one line for each run to a file; runs that the file has are not run again:

    python -m experiments.greed --data DIR --out FILE.jsonl --workers 16 --runs 40-51 --max-seconds 570
    python -m experiments.greed --data DIR --out FILE.jsonl --summary
"""

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from scipy.stats import wilcoxon

from experiments.executors import one_thread
from experiments.peers import GREED, GREED_EVALUATIONS, GREED_METHODS, PeerRun, greed_task
from experiments.plan import Results
from experiments.run import RunJob, Step
from hentropy._version import __version__
from hentropy.bench.problems.published_minima import CHECKPOINTS, RUNS, published_results
from hentropy.errors import InputError

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
    seconds: float = 0.0
    error: str = ""
    version: str = __version__

    @classmethod
    def of(cls, job: RunJob, steps: Sequence[Step], seconds: float = 0.0, error: str = "") -> "GreedRow":
        """What the steps of a run found."""
        return cls(
            job.task.problem,
            job.seed + 1,
            job.method,
            job.task.first,
            tuple(-step.score for step in steps),
            tuple((step.observed or [np.nan])[0] for step in steps),
            seconds,
            error,
        )

    @property
    def evaluations(self) -> int:
        """How many it got through."""
        return self.first + len(self.seen) - 1

    @classmethod
    def from_json(cls, line: str) -> "GreedRow":
        """From a line of a file."""
        values = json.loads(line)
        return cls(**{**values, "recommended": tuple(values["recommended"]), "seen": tuple(values["seen"])})

    def to_json(self) -> str:
        """A line of a file."""
        return json.dumps(asdict(self))


def greed_job(problem: str, run: int, method: str, evaluations: int, data: str | Path) -> PeerRun:
    """A run of a method from the first designs of a published run, 1 to 51; its seed is that of the study."""
    if not 1 <= run <= RUNS:
        raise InputError(f"the published runs are 1 to {RUNS}; got {run}")
    return PeerRun(greed_task(problem, evaluations), method, run - 1, data=str(data))


def run_one(job: PeerRun, until: float = float("inf")) -> GreedRow:
    """One run in this process, in memory; it ends early, with what it has, at `until` (seconds since the epoch)."""
    start, steps, error = time.perf_counter(), [], ""
    try:
        if time.time() < until:
            for step in job.steps():
                steps.append(step)
                if time.time() >= until:
                    break
    except Exception:  # one run must not end the others
        error = traceback.format_exc()
    return GreedRow.of(job, steps, time.perf_counter() - start, error)


def run_all(jobs: Sequence[PeerRun], workers: int, until: float) -> Iterator[GreedRow]:
    """The runs as they end, so many at a time with one thread each: in fresh processes, or one worker in this one."""
    if workers == 1:
        with one_thread():
            yield from (row for job in jobs if (row := run_one(job, until)).seen or row.error)
        return
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
    with get_context("spawn").Pool(workers, torch.set_num_threads, (1,)) as pool:
        rows = pool.imap_unordered(partial(run_one, until=until), jobs)
        yield from (row for row in rows if row.seen or row.error)


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


def greed_markdown(results: Sequence[GreedResult]) -> str:
    """A table for each method and number of evaluations, with the three targets under it."""
    said = []
    for method, at in dict.fromkeys((each.method, each.at) for each in results):
        chosen = [each for each in results if (each.method, each.at) == (method, at)]
        said += [f"### {method}, {at} evaluations", "", f"| {' | '.join(HEADS)} |", "|" + "---|" * len(HEADS)]
        said += [f"| {' | '.join(_cells(each))} |" for each in chosen]
        said += ["", _targets(chosen), ""]
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


def recorded_rows(results: Results) -> list[GreedRow]:
    """What a ledger has of the runs of a plan."""
    return [
        GreedRow.of(results.plan.job(task, method, seed, results.plan.quick), steps)
        for task in results.plan.tasks
        for method in task.methods
        for seed, steps in results.runs(task.problem, method).items()
        if steps
    ]


def summary(rows: Sequence[GreedRow], data: str | Path) -> str:
    """Tables for every checkpoint that some run reached."""
    table = published_results(data)
    results = [each for at in CHECKPOINTS for each in greed_results(rows, table, at)]
    failed = [f"{row.problem} / {row.method} / run {row.run}" for row in rows if row.error]
    ended = f"\nEnded by an error: {', '.join(failed)}.\n" if failed else ""
    return greed_markdown(results) + ended


def read_rows(path: Path) -> list[GreedRow]:
    """The rows of a file; of the same run, the longest."""
    longest: dict[tuple[str, int, str], GreedRow] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        row = GreedRow.from_json(line)
        key = (row.problem, row.run, row.method)
        if key not in longest or len(row.seen) >= len(longest[key].seen):
            longest[key] = row
    return list(longest.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """The runs that a command line names, into a file of one line each."""
    options = _parser().parse_args(arguments)
    done = {(row.problem, row.run, row.method): row for row in read_rows(options.out)}
    if options.summary:
        print(summary(list(done.values()), options.data))
        return
    low, _, high = options.runs.partition("-")
    runs = range(int(low), int(high or low) + 1)
    # run by run, so that all problems and methods are equally far whenever the time is up
    jobs = [
        greed_job(problem, run, method, options.evaluations, options.data)
        for run in runs
        for problem in options.problems
        for method in options.methods
    ]
    todo = [job for job in jobs if not _reached(done, job)]
    until = time.time() + options.max_seconds
    with options.out.open("a") as file:
        for count, row in enumerate(run_all(todo, options.workers, until), start=1):
            file.write(row.to_json() + "\n")
            file.flush()
            last = row.error.strip().splitlines()[-1:] or [f"recommended {row.recommended[-1]:.6g}"]
            told = f"{count}/{len(todo)} {row.problem} {row.method} run {row.run}: {row.evaluations} evaluations"
            print(f"{told}, {row.seconds:.0f} s, {last[0]}", file=sys.stderr, flush=True)
    print(summary(read_rows(options.out), options.data))


def _reached(done: Mapping[tuple[str, int, str], GreedRow], job: PeerRun) -> bool:
    row = done.get((job.task.problem, job.seed + 1, job.method))
    return row is not None and row.evaluations >= job.task.first + job.task.queries


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.greed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", required=True, type=Path, help="folder with the published designs and results")
    parser.add_argument("--out", required=True, type=Path, help="file of results, one line for each run")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--runs", default=f"1-{RUNS}", help="published runs, as 7 or 40-51")
    parser.add_argument("--problems", nargs="+", choices=GREED, default=GREED, metavar="NAME")
    parser.add_argument("--methods", nargs="+", choices=GREED_METHODS, default=GREED_METHODS, metavar="NAME")
    parser.add_argument("--evaluations", type=int, default=GREED_EVALUATIONS)
    parser.add_argument("--max-seconds", type=float, default=float("inf"), help="runs end then, with what they have")
    parser.add_argument("--summary", action="store_true", help="only print the tables of a file")
    return parser


if __name__ == "__main__":
    main()
