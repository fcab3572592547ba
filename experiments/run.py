"""One run: a method on a task from one seed, step by step.

A run is a study like anyone's: the first designs fill the space and are the same for all methods of a seed, then every
query is asked of a study whose solver is the method. What a study asks depends on its records alone, so a run that was
killed goes on from its recorded steps as if nothing had happened.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from experiments.methods import Task, method
from experiments.scores import score, scored_labels
from hentropy.bench.problems import Problem, problem
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver
from hentropy.core.spaces import Params
from hentropy.studies.records import Measurement, predictions_of
from hentropy.studies.study import State, Study, Trial


class RunJob(Protocol):
    """A run as ledgers and crews know it: which one it is, what it depends on, and how it goes on."""

    @property
    def task(self) -> Task:
        """What it is a run of."""

    @property
    def method(self) -> str:
        """Who takes part, by name."""

    @property
    def seed(self) -> int:
        """Which of the runs of a method it is."""

    @property
    def name(self) -> str:
        """As people read it."""

    def settings(self) -> dict[str, Any]:
        """What the steps of the run depend on, to tell runs apart that must not be mixed."""

    def steps(self, done: Sequence["Step"] = ()) -> Iterator["Step"]:
        """The steps that are still to do, one after the other, given those that are done."""


@dataclass(frozen=True)
class RunKey:
    """Which run: the task, the method by name, the seed; `quick` methods take their smaller solver."""

    task: Task
    method: str
    seed: int
    quick: bool = False

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.task.problem} / {self.method} / seed {self.seed}"

    def settings(self) -> dict[str, Any]:
        """What the steps of the run depend on, to tell runs apart that must not be mixed."""
        contender = method(self.method)
        return {
            "problem": self.task.problem,
            "method": self.method,
            "seed": self.seed,
            "first": self.task.first,
            "hyperparameters": contender.hyperparameters,
            "solver": repr(contender.make(problem(self.task.problem), self.quick)),
        }

    def steps(self, done: Sequence["Step"] = ()) -> Iterator["Step"]:
        """The steps that are still to do, one after the other, given those that are done."""
        contender, on = method(self.method), problem(self.task.problem)
        watch = Stopwatch(contender.make(on, self.quick))
        study = replayed(self, on, done, watch)
        if not done:
            yield _step(study, on, 0, None, None)
        for number in range(max(1, len(done)), self.task.queries + 1):
            if study.stopped:
                return
            _ = study.belief  # fitted here where it is not yet: its time is not that of the choice
            start = time.perf_counter()
            trial = study.ask()
            seconds = time.perf_counter() - start if contender.own else watch.seconds
            trial = study.tell(trial, _measured(on, trial, self.seed))
            yield _step(study, on, number, trial, seconds)


Value = float | dict[str, float] | None
"""What an experiment gave: a value, or several outcomes by name; None where it failed."""


@dataclass(frozen=True)
class Step:
    """What is known after so many queries: the last query and what came of it, and what the decision is then worth.

    Step 0 is after the first designs: it has no query. `gain` is the audited gain of the query for the decision of the
    task, whoever chose it. `fit_seconds` are of the model after the query, `acquisition_seconds` of choosing it. Runs
    against peers also say what was decided, what the query cost, and the best values observed so far, the best first.
    `conservative` is the score of conservative labels, on problems whose labels are scored at points of their own.
    `predicted` is what the model said of the query before: a study that goes on learns from it.
    """

    number: int
    query: Params | None
    value: Value
    score: float
    regret: float | None
    expected_loss: float | None
    gain: float | None
    gain_error: float | None
    fit_seconds: float
    acquisition_seconds: float | None
    decided: list[Params] | None = None
    observed: list[float] | None = None
    cost: float | None = None
    conservative: float | None = None
    predicted: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Step":
        """From plain values, checked."""
        step = cls(**values)
        numbers = {name: value for name, value in values.items() if name not in NO_NUMBERS}
        if isinstance(values["value"], dict):
            numbers |= values["value"]
            del numbers["value"]
        bad = [name for name, value in numbers.items() if not isinstance(value, float | int | None)]
        bad += [name for name in ("score", "fit_seconds") if numbers[name] is None]
        if bad:
            raise ValueError(f"{bad[0]} is {numbers[bad[0]]!r}, not a number")
        if (step.query is None) != (step.number == 0):
            raise ValueError(f"step {step.number} has the query {step.query!r}")
        return step


NO_NUMBERS = ("number", "query", "decided", "observed", "predicted")


class Stopwatch(Solver):
    """A solver whose time is taken, apart from what `propose` does before and after it."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.seconds = 0.0

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """As the solver does."""
        start = time.perf_counter()
        found = self.solver.search(appraisal, q, cost)
        self.seconds = time.perf_counter() - start
        return found


def replayed(job: RunKey, on: Problem, done: Sequence[Step], solver: Solver | None = None) -> Study:
    """The study as it stood after the steps that are done."""
    options: dict[str, Any] = {
        "seed": job.seed,
        "first": job.task.first,
        "hyperparameters": method(job.method).hyperparameters,
        "solver": method(job.method).make(on, job.quick) if solver is None else solver,
        "stop_when_exhausted": False,  # all methods of a task ask as often
    }
    study = Study(on.space, on.decision, **options)
    for trial in study.ask_many(job.task.first):
        study.tell(trial, _measured(on, trial, job.seed))
    asked = [
        (step.query, step.value, predictions_of(step.predicted or {}))
        for step in done
        if step.query is not None and step.value is not None
    ]
    later = [
        Trial(number, query, State.COMPLETE, measured(value), predictions=predicted)
        for number, (query, value, predicted) in enumerate(asked, start=len(study.records))
    ]
    return Study(on.space, on.decision, records=[*study.records, *later], **options)


def _measured(on: Problem, trial: Trial, seed: int) -> float:
    """What the experiment of a trial gives; its noise is the same whenever the run resumes."""
    return on.measured(on.space.encode(trial.params), 100_000 * seed + trial.number)


def measured(value: float | dict[str, float]) -> dict[str, Measurement]:
    """A value, or outcomes by name, as records have them."""
    return {name: Measurement(each) for name, each in as_outcomes(value).items()}


def as_outcomes(value: float | dict[str, float]) -> dict[str, float]:
    """By name; a single value has none of its own."""
    return value if isinstance(value, dict) else {"value": value}


def _step(study: Study, on: Problem, number: int, trial: Trial | None, seconds: float | None) -> Step:
    start = time.perf_counter()
    _ = study.belief  # fitted here and kept
    fit_seconds = time.perf_counter() - start
    verdict = study.decide()
    labels = scored_labels(on, study.belief)
    action = verdict.raw if labels is None else labels[0]
    return Step(
        number=number,
        query=None if trial is None else trial.params,
        value=None if trial is None else trial.value,
        score=score(on, action),
        regret=on.regret(action),
        expected_loss=verdict.expected_loss,
        gain=None if trial is None else trial.gain,
        gain_error=None if trial is None else trial.gain_error,
        fit_seconds=fit_seconds,
        acquisition_seconds=seconds,
        conservative=None if labels is None else score(on, labels[1]),
        predicted=None if trial is None else {name: one.plain() for name, one in trial.predictions.items()},
    )
