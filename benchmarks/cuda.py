"""Gains on the CPU and on a GPU, for every decision, designs under conditions, and times of large proposals on both.

Run it on a machine with CUDA: `python -m benchmarks.cuda`; `--agreement` compares gains and conditions alone, `--times`
times alone.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import torch

import hentropy as he
from benchmarks.posteriors import alpine_case
from benchmarks.timing import proposed, timed
from hentropy.bench.problems import alpine, standard

DECISIONS = (
    he.TopK(5, weight=10.0, cap=1.25),
    he.Maximize(),
    he.Minimize(),
    he.MinMax(),
    he.KGuesses(2),
    he.KGuesses(3),
    he.Sequence([0.1, 0.3, 0.5]),
    he.LevelSets([0.35, 0.6]),
    he.LevelSets(0.4, relation="misclassification"),
    he.Estimate(),
    he.Identify("argmax"),
    he.Identify("max"),
    he.Identify([[1.0, 2.0], [4.0, 3.0]]),
    he.BestObserved(),
    he.Improve(0.8),
)
KINDS = ("map", "mixture", "families")

X_AND_Y = {"x": he.Real(0.0, 1.0), "y": he.Real(-1.0, 2.0)}
CONSTRAINED = {
    "linear": he.Space(**X_AND_Y, where=["x + y <= 1.5"]),
    "strict": he.Space(**X_AND_Y, where=["x < y"]),
    "equal": he.Space(**X_AND_Y, z=he.Real(0.0, 1.0), where=["x + z == 1"]),
    "narrow": he.Space(**X_AND_Y, where=["x + y <= -0.98"]),
    "nonlinear": he.Space(**X_AND_Y, where=["x * y <= 0.4"]),
    "maxima": he.Space(x=he.Integer(0, 9), y=he.Real(-1.0, 2.0), where=["x + 3 * y <= 5", "max(x, 2 * y) <= 8"]),
    "levels": he.Space(x=he.Levels([1.0, 2.0, 5.0]), y=he.Real(-1.0, 2.0), where=["x + 3 * y <= 5"]),
    "choice": he.Space(x=he.Real(0.0, 1.0), s=he.Choice(["a", "b"]), where=["s == 'a' or x <= 0.5"]),
    "table": he.Space(
        x=he.Real(0.0, 100.0),
        s=he.Choice(["a", "b"]),
        where=["x <= boiling[s]", "x >= boiling['a'] - 50"],
        tables={"boiling": {"a": 60.0, "b": 80.0}},
    ),
    "parts": he.Space(m=he.Fractions(["a", "b", "c"], high=0.6), t=he.Real(0.0, 1.0), where=["a + t <= 1"]),
    "few parts": he.Space(m=he.Fractions(["a", "b", "c", "d"], high=0.6, at_most=2), where=["a + b <= 0.7"]),
}
"""Spaces with conditions of every kind."""
REPEATS = 3


def agreement(kind: Any) -> None:
    """Gains of five designs under beliefs of the same data, and a proposal on the GPU, for every decision."""
    problem = alpine(2)
    X = problem.space.sample(40, 0)
    fitted = he.fit(X, problem(X), space=problem.space, hyperparameters=kind)
    there = he.fit(X, problem(X), space=problem.space, hyperparameters=kind, device="cuda")
    designs = problem.space.sample(5, 3)
    for decision in DECISIONS:
        here = he.gain(decision, fitted, designs, problem.space)
        away = he.gain(decision, there, designs.cuda(), problem.space)
        apart = float((here.value - away.value.cpu()).abs().max()) / max(float(here.value.abs().max()), 1e-12)
        proposal = he.propose(decision, there, problem.space)
        print(f"{kind:8s} {decision!r:60.60s} relative difference {apart:.1e}, on {proposal.x.device}", flush=True)


def moved_apart(space: he.Space, device: str) -> float:
    """By how much designs that are moved to hold the conditions differ between the devices."""
    u = torch.rand(64, space.cube, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    apart = 0.0
    for move in (space.from_cube, space.free_filling, lambda each: space.project(space.free_filling(each))):
        here, away = move(u), move(u.to(device))
        apart = max(apart, float((here - away.cpu()).abs().max()))
        if not torch.equal(space.holds(here), space.holds(away).cpu()):
            raise AssertionError(f"conditions hold on one device only: {space}")
    return apart


def proposed_on(space: he.Space, device: str) -> he.Proposal:
    """A proposal under conditions."""
    X = space.sample(12, 1)
    belief = he.fit(X, space.to_unit(X).sum(-1), space=space, hyperparameters="map", device=device)
    return he.propose(he.Maximize(), belief, space)


def constrained() -> None:
    """Every space with conditions."""
    for name, space in CONSTRAINED.items():
        apart, x = moved_apart(space, "cuda"), proposed_on(space, "cuda").x
        held = bool(space.holds(x).all())
        print(f"{name:10s} designs differ by {apart:.1e}, on {x.device}, conditions hold: {held}", flush=True)


def large() -> Iterator[tuple[str, Callable[[str], Callable[[], Any]]]]:
    """Pieces of work, each made for a device: what a study with its default belief does."""

    def million(device: str) -> Callable[[], Any]:
        rows = torch.rand(1_000_000, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        pool, X = he.Pool(rows), rows[:60]
        t = 10.0 * (X - 0.5)
        belief = he.fit(X, -(t * torch.sin(t) + 0.1 * t).abs().sum(-1), space=pool, device=device)
        return partial(proposed, he.TopK(10, weight=2.0, cap=1.0), belief, pool)

    hartmann = standard("hartmann-6")
    observed = hartmann.space.sample(100, 0)

    def on_hartmann(decision: he.Decision, device: str, **options: Any) -> Callable[[], Any]:
        belief = he.fit(observed, -hartmann(observed), space=hartmann.space, device=device)
        return partial(proposed, decision, belief, hartmann.space, **options)

    def exact(device: str) -> Callable[[], Any]:
        made = alpine_case(6, 2000, seed=0, fitted=False)
        belief = he.from_botorch(made.model.to(device))
        assert isinstance(belief, he.Gaussian)
        return partial(proposed, DECISIONS[0], belief, made.problem.space)

    def fitted(device: str) -> Callable[[], Any]:
        problem = alpine(6)
        X = problem.space.sample(1000, 0)
        return partial(he.fit, X, problem(X), space=problem.space, device=device)

    yield "TopK(10) on a pool of 1,000,000 rows, n = 60", million
    levels = he.LevelSets(0.5, at=hartmann.space.sample(10_000, 1))
    yield "LevelSets at 10,000 points, n = 100", partial(on_hartmann, levels)
    yield "TopK(5), one exact model, n = 2,000", exact
    yield "Maximize, a batch of 64 designs, n = 100", partial(on_hartmann, he.Maximize(), q=64)
    yield "fit, n = 1,000, 6 parameters", fitted


def times() -> None:
    """Seconds on the CPU and on the GPU, medians, after a first turn that does not count."""
    print(f"{torch.get_num_threads()} threads of the CPU; {torch.cuda.get_device_name()}")
    print("| work | CPU, s | GPU, s | times as fast |\n|---|---|---|---|")
    for name, make in large():
        seconds = {}
        for device in ("cpu", "cuda"):
            work = make(device)
            work()
            seconds[device] = median(timed(partial(_waited, work)).seconds for _ in range(REPEATS))
        fast = seconds["cpu"] / seconds["cuda"]
        print(f"| {name} | {seconds['cpu']:.2f} | {seconds['cuda']:.2f} | {fast:.1f} |", flush=True)


def _waited(work: Callable[[], Any]) -> Any:
    """The work, until the GPU has done it."""
    found = work()
    torch.cuda.synchronize()
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agreement", action="store_true", help="gains and conditions alone")
    parser.add_argument("--times", action="store_true", help="times alone")
    options = parser.parse_args()
    if not options.times:
        for each in KINDS:
            agreement(each)
        constrained()
    if not options.agreement:
        times()
