"""Runs beside other programs, on real reactions and with cheap fidelities: one method from one seed, step by step.

tables     rows of measured reactions (direct arylation, Suzuki): hentropy, BayBE, random rows
mixed      reactions with options and numbers, as fitted functions: the same, and BoTorch's mixed model
fidelity   the least value of Branin and Hartmann-6, with a cheap fidelity: hentropy, and BoTorch's multi-fidelity KG
failures   a simulator that crashes in a corner: hentropy, hentropy that does not learn from failures, random designs
outcomes   the best design that holds limits, and fronts of five: hentropy, BoTorch's constrained qLogNEI and qLogNEHVI
greed      the least values of twelve functions: hentropy, from the first designs of a published table of runs

All methods of a seed begin with the same designs, given to them as data: drawn at random, or as published. Each has its
own model, so the seconds of a query are those of the fit and the choice. Who states no decision has decided for the
best design seen. A run that was stopped resumes from its recorded steps; BayBE then gets all of them at once, and draws
other numbers, and a study no longer knows what it had predicted of them.
"""

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.methods import Task
from experiments.plan import Plan
from experiments.run import Step, Stopwatch, Value, as_outcomes, measured
from hentropy.bench.baselines.botorch_models import BotorchMixed, MultiFidelityKG
from hentropy.bench.baselines.botorch_outcomes import BotorchConstrained, BotorchFront
from hentropy.bench.baselines.with_baybe import Baybe
from hentropy.bench.problems import FidelityProblem, Problem, lab_table, problem, two_fidelities
from hentropy.bench.problems.fidelities import COSTS
from hentropy.bench.problems.published_minima import MINIMA, RUNS, designs_file, first_designs, published_minimum
from hentropy.core.decisions import BestObserved, Maximize, Minimize, Pareto, TopK
from hentropy.core.spaces import DesignSpace, Params
from hentropy.errors import InputError
from hentropy.studies.outcomes import Outcome
from hentropy.studies.study import Failed, State, Study, Trial

TABLES = ("direct-arylation", "suzuki-edbo")
MIXED = ("reizman-suzuki-1", "reizman-suzuki-2", "baumgartner-aniline")
FIDELITIES = ("branin", "hartmann-6")
FAILING = ("crash-12",)
LIMITED = ("gardner", "gramacy", "welded-beam")
FRONTS = ("branin-currin", "dtlz2-4", "reizman-front-1")
GREED = tuple(MINIMA)
COMPARISONS = {
    "tables": TABLES,
    "mixed": MIXED,
    "fidelity": FIDELITIES,
    "failures": FAILING,
    "outcomes": (*LIMITED, *FRONTS),
    "greed": GREED,
}
"""The tasks of each comparison."""

BUDGET = 40.0
"""Runs with fidelities end when they have spent so much: two values at the fidelity that counts, or 40 cheap ones."""

GREED_METHODS = ("maximize", "maximize-noiseless", "best-observed")
GREED_EVALUATIONS = 50


def greed_task(name: str, evaluations: int = GREED_EVALUATIONS) -> Task:
    """A function of the published table, with so many evaluations, of which the first 2 d are given."""
    first = 2 * published_minimum(name).space.dim
    if evaluations <= first:
        raise InputError(f"{name} begins with {first} designs; at least {first + 1} evaluations are needed")
    return Task(name, first, evaluations - first, GREED_METHODS)


PEER_TASKS = {
    task.problem: task
    for task in (
        *(Task(name, 10, 30, ("hentropy", "hentropy-top-3", "baybe", "random")) for name in TABLES),
        *(Task(name, 10, 30, ("hentropy", "baybe", "botorch-mixed", "random")) for name in MIXED),
        *(Task(name, 10, round(BUDGET), ("hentropy", "botorch-mfkg")) for name in FIDELITIES),
        *(Task(name, 300, 20, ("hentropy", "hentropy-ignore", "random")) for name in FAILING),
        *(Task(name, 10, 30, ("hentropy", "botorch-qlognei")) for name in LIMITED),
        *(Task(name, 10, 20, ("hentropy", "botorch-qlognehvi")) for name in FRONTS),
        *(greed_task(name) for name in GREED),
    )
}

QUICK_FIRST = 60
"""The most first designs of a quick run."""

TOP = 3
"""So many designs are decided on by `hentropy-top-3`; and so many of the best values seen are recorded."""

BOTORCH_MIXED = (BotorchMixed(), BotorchMixed(restarts=1, raw_samples=8))
MFKG = (MultiFidelityKG(COSTS, fantasies=32), MultiFidelityKG(COSTS, 2, restarts=1, raw_samples=8, iterations=4))
RULES: dict[str, tuple[object, object]] = {"botorch-mixed": BOTORCH_MIXED, "botorch-mfkg": MFKG}
"""BoTorch's rules, and smaller ones for quick runs. BoTorch's example of the knowledge gradient has 128 fantasies."""


@dataclass(frozen=True)
class PeerRun:
    """Which run; `data` is the folder of the tables that are not shipped, `baybe` the Python that has BayBE."""

    task: Task
    method: str
    seed: int
    quick: bool = False
    data: str = ""
    baybe: str = ""

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.task.problem} / {self.method} / seed {self.seed}"

    def settings(self) -> dict[str, Any]:
        """What the steps depend on: a table by its contents, wherever it lies."""
        told = {"problem": self.task.problem, "method": self.method, "seed": self.seed, "first": self.task.first}
        if self.task.problem in TABLES:
            told["table"] = sha256(_table(self).read_bytes()).hexdigest()[:16]
        if self.task.problem in GREED:
            told["table"] = sha256(designs_file(self.data).read_bytes()).hexdigest()[:16]
        if self.method in RULES:
            told["rule"] = repr(RULES[self.method][self.quick])
        if self.task.problem in COMPARISONS["outcomes"]:
            told["decision"] = repr(problem(self.task.problem).decision)
        return told

    def steps(self, done: Sequence[Step] = ()) -> Iterator[Step]:
        """The steps that are still to do."""
        spent = sum(step.cost or 0.0 for step in done)
        if len(done) > self.task.queries or spent >= BUDGET:
            return
        arena = Arena.of(self)
        asked = [(step.query, step.value) for step in done if step.query is not None]
        first = arena.first(self)
        with closing(CHOOSERS[self.method](self, arena, first, asked)) as chooser:
            data = [*first, *asked]
            if not done:
                yield arena.step(0, data, chooser)
            for number in range(max(1, len(done)), self.task.queries + 1):
                query, seconds = chooser.ask()
                data.append((query, arena.value(query)))
                chooser.tell(data[-1][1])
                step = arena.step(number, data, chooser, seconds)
                yield step
                spent += step.cost or 0.0
                if spent >= BUDGET:
                    return


Measured = tuple[Params, Value]
"""A design and what it gave."""

Data = Sequence[Measured]
Values = list[tuple[Params, float]]


def _values(data: Data) -> Values:
    """The data of experiments with one value that did not fail."""
    return [(params, value) for params, value in data if isinstance(value, float)]


@dataclass(frozen=True)
class Arena:
    """The problem of a run: what can be asked, what it gives and costs, and what a decision is worth."""

    on: Problem | FidelityProblem

    @classmethod
    def of(cls, job: PeerRun) -> "Arena":
        """The problem of a task."""
        name = job.task.problem
        if name in TABLES:
            return cls(lab_table(_table(job).stem, job.data))
        if name in GREED:
            return cls(published_minimum(name))
        return cls(two_fidelities(name) if name in FIDELITIES else problem(name))

    @property
    def decided(self) -> Problem:
        """The problem that the decision is about."""
        return self.on.decided if isinstance(self.on, FidelityProblem) else self.on

    @property
    def sign(self) -> float:
        """1 if great values are wanted, -1 if small ones are."""
        return -1.0 if isinstance(self.decided.decision, Minimize) else 1.0

    def first(self, job: PeerRun) -> list[Measured]:
        """The first designs of a seed, the same for all methods, with their values."""
        space, count = self.on.space, job.task.first
        if job.task.problem in GREED:
            rows = first_designs(job.task.problem, job.seed + 1, job.data)  # their runs count from 1
        elif space.points is None:
            rows = space.sample(count, job.seed)
        else:
            rows = _shuffled(space.points, job.seed)[:count]
        return [(params, self.value(params)) for params in map(space.decode, rows)]

    @torch.no_grad()
    def value(self, params: Params) -> Value:
        """What an experiment gives; None where it fails."""
        row = self.on.space.encode(params)
        if not isinstance(self.on, Problem):
            return float(self.on(row))
        return None if self.on.fails is not None and bool(self.on.fails(row)) else self.on.value(row)

    def rows(self, designs: Sequence[Params]) -> Tensor:
        """Designs as rows: k x d."""
        return torch.stack([self.on.space.encode(params) for params in designs])

    def step(self, number: int, data: Data, chooser: "Chooser", seconds: float | None = None) -> Step:
        """What is known after the last of the data."""
        ranked = sorted(_values(data), key=lambda each: -self.sign * each[1])
        action, expected_loss = chooser.decide() or (self.rows([ranked[0][0]]), None)
        cost = None
        if isinstance(self.on, FidelityProblem):
            cost = float(self.on.cost(self.rows([data[-1][0]]))) if number else 0.0
        there = action[..., : self.decided.space.dim]  # without the fidelity
        several = bool(self.decided.decision.outcomes)
        return Step(
            number=number,
            query=data[-1][0] if number else None,
            value=data[-1][1] if number else None,
            score=-self.decided.loss(there) if several else self.sign * float(self.decided(there).sum()),
            regret=self.decided.regret(there) if len(there) == 1 else None,
            expected_loss=expected_loss,
            gain=chooser.gain if number else None,
            gain_error=None,
            fit_seconds=chooser.fit_seconds,
            acquisition_seconds=seconds,
            decided=[self.on.space.decode(row) for row in action],
            observed=None if several else [value for _, value in ranked[:TOP]],
            cost=cost,
        )


def _shuffled(rows: Tensor, seed: int) -> Tensor:
    return rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))]


def _table(job: PeerRun) -> Path:
    if not job.data:
        raise InputError("the tables are not shipped; say with --data in which folder they are")
    path = Path(job.data) / f"{job.task.problem.replace('-', '_')}.csv"
    if not path.is_file():
        lab_table(path.stem, job.data)  # which says how to make it
    return path


class Chooser(ABC):
    """Chooses designs one after the other, each told its value before the next is asked."""

    gain: float | None = None
    fit_seconds = 0.0
    process: Baybe | None = None

    @abstractmethod
    def ask(self) -> tuple[Params, float]:
        """The next design, and the seconds that it took, those of fitting the model included."""

    @abstractmethod
    def tell(self, value: Value) -> None:
        """What the last design gave; None where it failed."""

    def decide(self) -> tuple[Tensor, float | None] | None:
        """The designs decided on (k x d) and their expected loss; None is the best design seen."""
        return None

    def close(self) -> None:
        """End what runs beside this process."""
        if self.process is not None:
            self.process.close()


class StudyChooser(Chooser):
    """A study with its defaults, or with another solver: then its own seconds count, and the best seen is decided."""

    def __init__(
        self, job: PeerRun, space: DesignSpace, first: Data, asked: Data, peer: Stopwatch | None = None, **options: Any
    ) -> None:
        # those that failed would be made up for by designs that fill the space
        options |= {"space": space, "seed": job.seed, "first": sum(value is not None for _, value in first)}
        options |= {} if peer is None else {"solver": peer, "hyperparameters": "map"}
        begun = Study(**options)
        begun.attach_many([(params, Failed("crashed") if value is None else value) for params, value in first])
        later = [
            Trial(number, query, State.FAILED)
            if value is None
            else Trial(number, query, State.COMPLETE, measured(value))
            for number, (query, value) in enumerate(asked, start=len(first))
        ]
        self.study = Study(records=[*begun.records, *later], **options)
        self.peer = peer

    def ask(self) -> tuple[Params, float]:
        """As the study asks."""
        start = time.perf_counter()
        self.trial = self.study.ask()
        seconds = self.fit_seconds + time.perf_counter() - start
        self.gain = self.trial.gain
        return self.trial.params, seconds if self.peer is None else self.peer.seconds

    def tell(self, value: Value) -> None:
        """To the study."""
        self.study.tell(self.trial, value, failed="crashed" if value is None else None)

    def decide(self) -> tuple[Tensor, float | None] | None:
        """The verdict of the study."""
        if self.peer is not None:
            return None
        start = time.perf_counter()
        _ = self.study.belief  # fitted here, and kept for the next query
        self.fit_seconds = time.perf_counter() - start
        verdict = self.study.decide()
        return verdict.raw, verdict.expected_loss


class BaybeChooser(Chooser):
    """BayBE with its defaults."""

    def __init__(self, job: PeerRun, arena: Arena, new: Values) -> None:
        self.process = self.baybe = Baybe(job.baybe, arena.on.space, job.seed)
        self.new = new

    def ask(self) -> tuple[Params, float]:
        """As BayBE recommends, its own seconds."""
        self.query, seconds = self.baybe.ask(self.new)
        return self.query, seconds

    def tell(self, value: Value) -> None:
        """With the next question."""
        self.new = _values([(self.query, value)])


class RandomChooser(Chooser):
    """Designs at random; of a table, rows that were not among the first."""

    def __init__(self, job: PeerRun, arena: Arena, number: int) -> None:
        self.job, self.space, self.number = job, arena.on.space, number

    def ask(self) -> tuple[Params, float]:
        """The next draw."""
        seed, points = self.job.seed, self.space.points
        if points is None:
            row = self.space.sample(1, (seed + 1) * 10_000 + self.number)[0]
        else:
            row = _shuffled(points, seed)[(self.job.task.first + self.number) % len(points)]
        return self.space.decode(row), 0.0

    def tell(self, value: Value) -> None:
        """It does not matter."""
        self.number += 1


class FidelityChooser(Chooser):
    """BoTorch's multi-fidelity knowledge gradient per cost; it decides for the greatest mean at the top fidelity."""

    def __init__(self, job: PeerRun, arena: Arena, data: Values) -> None:
        if not isinstance(arena.on, FidelityProblem):
            raise InputError(f"{job.task.problem} has no fidelities")
        self.on, self.seed, self.sign = arena.on, job.seed, arena.sign
        self.rule = MFKG[job.quick]
        self.X = self._unit(arena.rows([params for params, _ in data]))
        self.Y = self.sign * torch.tensor([value for _, value in data], dtype=torch.float64)

    def _unit(self, rows: Tensor) -> Tensor:
        return torch.cat([self.on.decided.space.to_unit(rows[..., :-1]), rows[..., -1:]], -1)

    def _params(self, row: Tensor) -> Params:
        design = self.on.decided.space.from_cube(row[:-1])
        return self.on.space.decode(self.on.space.project(torch.cat([design, row[-1:]])))

    def ask(self) -> tuple[Params, float]:
        """As the rule chooses, its model fitted on the way."""
        start = time.perf_counter()
        self.row = self.rule.next_row(self.X, self.Y, self.seed + len(self.Y))
        return self._params(self.row), time.perf_counter() - start

    def tell(self, value: Value) -> None:
        """One more row, if there is a value."""
        if not isinstance(value, float):
            return
        self.X = torch.cat([self.X, self.row.unsqueeze(0)])
        self.Y = torch.cat([self.Y, self.Y.new_tensor([self.sign * value])])

    def decide(self) -> tuple[Tensor, float | None] | None:
        """The recommendation of the model."""
        row = self.rule.recommended(self.X, self.Y, self.seed)
        return self.on.space.encode(self._params(row)).unsqueeze(0), None


class OutcomesChooser(Chooser):
    """A rule of BoTorch for several outcomes; its own model decides."""

    def __init__(self, job: PeerRun, arena: Arena, data: Data) -> None:
        self.space, self.seed = arena.on.space, job.seed
        sizes = (1, 8) if job.quick else (10, 512)
        decision = arena.decided.decision
        self.rule: BotorchConstrained | BotorchFront
        if isinstance(decision, Pareto):
            self.rule = BotorchFront(decision, *sizes)
        elif isinstance(decision, Minimize):
            self.rule = BotorchConstrained(decision, *sizes)
        else:
            raise InputError(f"BoTorch's rules for several outcomes do not know {decision!r}")
        self.X = arena.rows([params for params, _ in data])
        self.Y = torch.tensor([list(as_outcomes(value).values()) for _, value in data if value is not None]).to(self.X)

    def ask(self) -> tuple[Params, float]:
        """As the rule chooses, its models fitted on the way."""
        start = time.perf_counter()
        row = self.rule.next_design(self.space, self.X, self.Y, self.seed + len(self.Y))
        self.query = self.space.decode(row)
        return self.query, time.perf_counter() - start

    def tell(self, value: Value) -> None:
        """One more row."""
        if value is None:
            raise InputError("BoTorch's rules for several outcomes do not know failures")
        self.X = torch.cat([self.X, self.space.encode(self.query).unsqueeze(0)])
        self.Y = torch.cat([self.Y, self.Y.new_tensor([list(as_outcomes(value).values())])])

    def decide(self) -> tuple[Tensor, float | None] | None:
        """The recommendation of the model."""
        return self.rule.recommended(self.space, self.X, self.Y, self.seed), None


MakeChooser = Callable[[PeerRun, Arena, Data, Data], Chooser]
"""A run, its problem, the first designs and those asked so far, with their values."""


def _hentropy(job: PeerRun, arena: Arena, first: Data, asked: Data, **more: Any) -> Chooser:
    options: dict[str, Any] = {"decision": arena.decided.decision, **more}
    if isinstance(arena.on, FidelityProblem):
        (cheap, low), (top, high) = sorted(arena.on.costs.items())
        options |= {"decide_on": {"fidelity": top}, "cost": f"{low:g} if fidelity <= {cheap:g} else {high:g}"}
    if arena.decided.decision.outcomes:
        options["outcomes"] = {name: Outcome() for name in arena.decided.decision.outcomes}
    return StudyChooser(job, arena.on.space, first, asked, **options)


def _greed(job: PeerRun, arena: Arena, first: Data, asked: Data, **more: Any) -> Chooser:
    # all methods of the table have the same number of evaluations
    return _hentropy(job, arena, first, asked, stop_when_exhausted=False, **more)


def _top(job: PeerRun, arena: Arena, first: Data, asked: Data) -> Chooser:
    return StudyChooser(job, arena.on.space, first, asked, decision=TopK(TOP, weight=0.0))


def _mixed(job: PeerRun, arena: Arena, first: Data, asked: Data) -> Chooser:
    return StudyChooser(job, arena.on.space, first, asked, Stopwatch(BOTORCH_MIXED[job.quick]), decision=Maximize())


CHOOSERS: dict[str, MakeChooser] = {
    "hentropy": _hentropy,
    "hentropy-top-3": _top,
    "hentropy-ignore": partial(_hentropy, failures="ignore"),
    "baybe": lambda job, arena, first, asked: BaybeChooser(job, arena, _values([*first, *asked])),
    "botorch-mixed": _mixed,
    "botorch-mfkg": lambda job, arena, first, asked: FidelityChooser(job, arena, _values([*first, *asked])),
    "botorch-qlognei": lambda job, arena, first, asked: OutcomesChooser(job, arena, [*first, *asked]),
    "botorch-qlognehvi": lambda job, arena, first, asked: OutcomesChooser(job, arena, [*first, *asked]),
    "random": lambda job, arena, _, asked: RandomChooser(job, arena, len(asked)),
    "maximize": _greed,
    "maximize-noiseless": partial(_greed, noise=0.0),
    "best-observed": partial(_greed, decision=BestObserved(largest=False)),
}


def peer_plan(
    what: str,
    seeds: Sequence[int] | None,
    quick: bool,
    data: Path | None,
    baybe: str | None,
    evaluations: int = GREED_EVALUATIONS,
    chosen: Sequence[str] | None = None,
    recorded: bool = False,
) -> Plan:
    """The runs of a comparison, or of its `chosen` tasks; those of BayBE only with a Python that has it.

    `evaluations` are those of greed. If only what is `recorded` is wanted, neither data nor BayBE is needed.
    """
    if baybe is not None and shutil.which(baybe) is None:
        raise InputError(f"{baybe} is not a program; say with --baybe which Python has BayBE")
    left_out = () if baybe or recorded else ("baybe",)
    tasks = {
        name: replace(task, methods=tuple(each for each in task.methods if each not in left_out))
        for name, task in PEER_TASKS.items()
        if name in COMPARISONS[what] and (chosen is None or name in chosen)
    }
    if what == "greed":
        tasks = {task: greed_task(task, evaluations) for task in tasks}
        seeds = range(RUNS) if seeds is None and not quick else seeds
        if seeds and max(seeds) >= RUNS:
            raise InputError(f"the published table has {RUNS} runs, seeds 0 to {RUNS - 1}; got seed {max(seeds)}")
    elif quick:
        tasks = {name: replace(task, first=min(task.first, QUICK_FIRST)) for name, task in tasks.items()}
    job = partial(PeerRun, data="" if data is None else str(data.absolute()), baybe=baybe or "")
    plan = Plan.of(tasks, seeds, quick, tasks, job)
    for each in () if recorded else plan.tasks:
        job(each, each.methods[0], 0, quick).settings()  # a table that is not there is said before anything is run
    return plan
