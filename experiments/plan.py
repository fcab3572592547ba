"""Which runs a command is about, and what they found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from experiments.ledger import Ledger
from experiments.methods import TASKS, Task
from experiments.run import RunJob, RunKey, Step
from hentropy.bench.problems.base import named
from hentropy.errors import InputError

SLOWEST_FIRST = ("one-shot-paper", "botorch-qkg", "hentropy-default", "hentropy-mixture")
QUICK_QUERIES = 2
QUICK_SEEDS = 2
MOST_SEEDS = 10_000

MakeJob = Callable[[Task, str, int, bool], RunJob]
"""A task, a method by name, a seed, and whether it is a quick run."""


@dataclass(frozen=True)
class Plan:
    """Tasks by name, and the seeds of each; `quick` asks a few queries only, with small settings.

    `job` makes the run of a task, a method and a seed.
    """

    tasks: tuple[Task, ...]
    seeds: Sequence[int]
    quick: bool = False
    job: MakeJob = RunKey

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        seeds: Sequence[int] | None = None,
        quick: bool = False,
        tasks: Mapping[str, Task] = TASKS,
        job: MakeJob = RunKey,
    ) -> "Plan":
        """The plan for these tasks, with seeds 0 to 19 (0 and 1 if quick) unless told otherwise."""
        seeds = range(QUICK_SEEDS if quick else 20) if seeds is None else seeds
        if not 1 <= len(seeds) <= MOST_SEEDS:
            raise InputError(f"at least 1 seed is needed, and no more than {MOST_SEEDS} are taken; got {len(seeds)}")
        chosen = [named(name, tasks, "task") for name in dict.fromkeys(names)]
        if quick:
            chosen = [replace(each, queries=min(each.queries, QUICK_QUERIES)) for each in chosen]
        return cls(tuple(chosen), seeds, quick, job)

    def jobs(self) -> list[RunJob]:
        """All runs, those that take longest first, so that no worker is left alone with one in the end."""
        jobs = [
            self.job(each, method, seed, self.quick)
            for seed in self.seeds
            for each in self.tasks
            for method in each.methods
        ]
        return sorted(jobs, key=_turn)

    def only(self, tasks: Sequence[str] | None, methods: Sequence[str] | None) -> "Plan":
        """Those of its tasks and methods that are among the given ones; None is all."""
        kept = [each for each in self.tasks if tasks is None or each.problem in tasks]
        own = [tuple(name for name in each.methods if methods is None or name in methods) for each in kept]
        pairs = zip(kept, own, strict=True)
        return replace(self, tasks=tuple(replace(each, methods=names) for each, names in pairs if names))

    def task(self, name: str) -> Task:
        """A task of the plan, as long as the plan has it."""
        return next(each for each in self.tasks if each.problem == name)


def _turn(job: RunJob) -> int:
    return SLOWEST_FIRST.index(job.method) if job.method in SLOWEST_FIRST else len(SLOWEST_FIRST)


@dataclass(frozen=True)
class Results:
    """What the runs of a plan found."""

    ledger: Ledger
    plan: Plan

    def runs(self, name: str, method: str) -> dict[int, list[Step]]:
        """The runs of a method on a task of the plan, by seed; those that failed or are not done have fewer steps."""
        task = self.plan.task(name)
        jobs = {seed: self.plan.job(task, method, seed, self.plan.quick) for seed in self.plan.seeds}
        return {seed: self.ledger.steps(job) for seed, job in jobs.items()}

    @property
    def versions(self) -> str:
        """By which versions of hentropy these runs were recorded."""
        found = {self.ledger.version(job) for job in self.plan.jobs()} - {None}
        return ", ".join(sorted(map(str, found)))

    def failures(self) -> dict[RunJob, str]:
        """The runs that ended by an error, with their tracebacks."""
        told = ((job, self.ledger.failure(job)) for job in self.plan.jobs())
        return {job: why for job, why in told if why is not None}
