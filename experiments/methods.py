"""The tasks of the comparisons and the methods that are compared on them.

A task is a problem, how it begins, how long it runs, and who takes part. A method is a name, how
it looks in figures, and the solver that chooses its queries.

All methods see the belief that is fitted to their data at each step by the same procedure (the most probable
hyperparameters), so that only the choice of the query differs. The exceptions are `hentropy-mixture`, which has
a mixture over the hyperparameters of one kernel, and `hentropy-default`, which has the default belief of a study.
`hentropy-points` may query only the points that level sets are about, as the probability of misclassification does by
its nature.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hentropy.bench import baselines
from hentropy.bench.baselines.maximise import require_level_sets
from hentropy.bench.problems import Alpine, Problem
from hentropy.bench.problems.base import named
from hentropy.core.decisions import TopK
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Cost, Finalists, Finite, Solver
from hentropy.core.spaces import Pool


@dataclass(frozen=True)
class OnLevelPoints(Solver):
    """The greatest gain among the points of `LevelSets`: each query then settles a label, however wrong the model."""

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The points with the greatest gain."""
        points = require_level_sets(appraisal.decision, "OnLevelPoints").settled_points
        pool = Pool.among(appraisal.space, points)
        return Finite().search(replace(appraisal, space=pool), q, cost)


MakeSolver = Callable[[Problem], Solver]


@dataclass(frozen=True)
class Method:
    """How one contender chooses its queries, and how it is drawn.

    `own` marks this project's search, whose time is that of the whole proposal with its audit. `quick` is a smaller
    solver for quick runs, where the real one takes minutes for an answer.
    """

    name: str
    label: str
    colour: str
    marker: str
    solver: MakeSolver
    quick: MakeSolver | None = None
    hyperparameters: str = "map"
    own: bool = False

    def make(self, problem: Problem, quick: bool) -> Solver:
        """The solver for a problem."""
        return (self.quick or self.solver)(problem) if quick else self.solver(problem)


def largest(problem: Problem) -> bool:
    """Whether great values are wanted; they are unless the decision says otherwise."""
    return problem.decision.largest if isinstance(problem.decision, TopK) else True


def paper_rate(problem: Problem) -> float:
    """The rate of the paper's search in unit coordinates: the authors take 0.1 in those of the problem.

    Theirs are [0, 5] for Alpine and the unit square for the others.
    """
    return 0.02 if isinstance(problem.function, Alpine) else 0.1


METHODS = {
    method.name: method
    for method in (
        Method("hentropy", "hentropy (EHIG)", "#0072b2", "o", lambda _: Auto(), own=True),
        Method(
            "hentropy-mixture",
            "hentropy (mixture)",
            "#56b4e9",
            "D",
            lambda _: Auto(),
            hyperparameters="mixture",
            own=True,
        ),
        Method(
            "hentropy-default",
            "hentropy (default belief)",
            "#1b9e9e",
            "h",
            lambda _: Auto(),
            hyperparameters="auto",
            own=True,
        ),
        Method(
            "one-shot-paper",
            "one-shot as in the paper",
            "#d55e00",
            "s",
            lambda p: baselines.PaperOneShot(rate=paper_rate(p)),
            quick=lambda p: baselines.PaperOneShot(restarts=8, steps=15, rate=paper_rate(p)),
        ),
        Method(
            "one-shot-published",
            "the same, with BoTorch's model as published",
            "#a33c00",
            "p",
            lambda p: baselines.PaperOneShot(rate=paper_rate(p), model="botorch"),
            quick=lambda p: baselines.PaperOneShot(restarts=8, steps=15, rate=paper_rate(p), model="botorch"),
        ),
        Method("random", "random search", "#7f7f7f", "x", lambda _: baselines.RandomSearch()),
        Method("uncertainty", "uncertainty sampling", "#000000", "+", lambda _: baselines.UncertaintySampling()),
        Method("kg", "knowledge gradient", "#009e73", "^", lambda p: baselines.KnowledgeGradient(largest(p))),
        Method("ei", "expected improvement", "#cc79a7", "v", lambda p: baselines.ExpectedImprovement(largest(p))),
        Method(
            "pi",
            "probability of improvement",
            "#8c564b",
            "<",
            lambda p: baselines.ProbabilityOfImprovement(largest(p)),
        ),
        Method(
            "mes", "max-value entropy search", "#e69f00", ">", lambda p: baselines.MaxValueEntropySearch(largest(p))
        ),
        Method("botorch-logei", "LogEI (BoTorch)", "#9467bd", "P", lambda p: baselines.BotorchLogEI(largest(p))),
        Method(
            "botorch-qkg",
            "qKG (BoTorch)",
            "#00563b",
            "*",
            lambda p: baselines.BotorchKG(largest(p)),
            quick=lambda p: baselines.BotorchKG(largest(p), fantasies=4, restarts=2, raw_samples=16),
        ),
        Method(
            "hentropy-points",
            "hentropy (on the points)",
            "#003f66",
            "d",
            lambda _: OnLevelPoints(),
            own=True,
        ),
        Method("pom", "probability of misclassification", "#e69f00", ">", lambda _: baselines.Misclassification()),
        Method("straddle", "straddle", "#009e73", "^", lambda _: baselines.Straddle()),
        Method("efi", "expected feasibility", "#cc79a7", "v", lambda _: baselines.ExpectedFeasibility()),
    )
}


def method(name: str) -> Method:
    """The method of that name; an unknown name is answered with the known ones."""
    return named(name, METHODS, "method")


OWN = ("hentropy", "hentropy-mixture")
PAPER = ("one-shot-paper",)
PLAIN = ("random", "uncertainty")
CLASSIC = ("kg", "ei", "pi", "mes", "botorch-logei")
LEVELS = ("hentropy-points", "pom", "straddle", "efi")
SLOW = ("botorch-qkg",)
"""Minutes for each query beyond two parameters, for what `kg` does in a fifth of a second."""


@dataclass(frozen=True)
class Task:
    """A problem by its name in the catalogue, the number of first designs and of queries after them, the methods."""

    problem: str
    first: int
    queries: int
    methods: tuple[str, ...]


TASKS = {
    task.problem: task
    for task in (
        Task("alpine-2-top-5", 10, 40, (*OWN, *PAPER, *CLASSIC, *SLOW, *PLAIN)),
        Task("alpine-3-top-3", 10, 40, (*OWN, *PAPER, *CLASSIC, *PLAIN)),
        Task("alpine-5-top-5", 10, 50, (*OWN, *PAPER, *CLASSIC, *PLAIN)),
        Task("vaccination-pennsylvania-top-5", 5, 40, (*OWN, *PAPER, *CLASSIC, *PLAIN)),
        Task("multihills-two-levels", 5, 30, (*OWN, *PAPER, *LEVELS, *PLAIN)),
        Task("multihills-one-level", 5, 30, (*OWN, *PAPER, *LEVELS, *PLAIN)),
        Task("alpine-2-one-level", 10, 40, (*OWN, *LEVELS, *PLAIN)),
        Task("alpine-2-two-levels", 10, 40, (*OWN, *LEVELS, *PLAIN)),
        Task("night-light-one-level", 10, 40, (*OWN, *PAPER, *LEVELS, *PLAIN)),
        Task("vaccination-pennsylvania-sequence", 5, 40, (*OWN, *PAPER, "kg", "ei", *PLAIN)),
        Task("multihills-sequence", 5, 40, (*OWN, *PAPER, "kg", "ei", *PLAIN)),
    )
}

BELIEFS = ("hentropy-mixture", "hentropy-default")
"""A mixture over one kernel, once the default belief of a study, and today's default."""

BELIEF_TASKS = {
    task.problem: task
    for task in (
        *(replace(task, methods=BELIEFS) for task in TASKS.values()),
        Task("night-light-one-level", 10, 40, (*BELIEFS, "pom", "straddle", "random")),
        Task("night-light-level-labels", 10, 40, (*BELIEFS, "pom", "straddle", "random")),
        Task("levy-4-two-levels", 10, 40, (*BELIEFS, "pom", "straddle", "random")),
        Task("griewank-5-min-max", 10, 40, BELIEFS),
        Task("styblinski-tang-3-top-4", 10, 40, BELIEFS),
        Task("ackley-10-top-3", 20, 40, BELIEFS),
        Task("branin-3-guesses", 10, 40, BELIEFS),
        Task("rosenbrock-4", 10, 40, BELIEFS),
    )
}
"""What two beliefs are compared on: the tasks of the paper, and those that one kernel had lost."""

PUBLISHED = ("hentropy-default", "hentropy-mixture", "hentropy", "pom", "straddle")

LEVEL_TASKS = {
    task.problem: task
    for task in (Task("exp-sin-level", 10, 150, PUBLISHED), Task("levy-10-level", 30, 300, PUBLISHED))
}
"""Level sets on which others published results, with as many queries as they had."""
