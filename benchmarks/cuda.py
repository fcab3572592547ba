"""The same gains on the CPU and on a GPU, for every decision; and the time of a proposal on both.

Run it on a machine with CUDA: `python -m benchmarks.cuda`.
"""

import warnings

import torch

import hentropy as he
from benchmarks.posteriors import alpine_case
from benchmarks.timing import proposed, repeated
from hentropy.bench.problems import alpine

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


def agreement(kind: str) -> None:
    """Gains of five designs under beliefs of the same data, and a proposal on the GPU, for every decision."""
    problem = alpine(2)
    X = problem.space.sample(40, 0)
    fitted = he.fit(X, problem(X), space=problem.space, hyperparameters=kind)  # type: ignore[arg-type]
    there = he.fit(X.cuda(), problem(X).cuda(), space=problem.space, hyperparameters=kind)  # type: ignore[arg-type]
    designs = problem.space.sample(5, 3)
    for decision in DECISIONS:
        here = he.gain(decision, fitted, designs, problem.space)
        away = he.gain(decision, there, designs.cuda(), problem.space)
        apart = float((here.value - away.value.cpu()).abs().max()) / max(float(here.value.abs().max()), 1e-12)
        proposal = he.propose(decision, there, problem.space)
        print(f"{kind:8s} {decision!r:60.60s} relative difference {apart:.1e}, on {proposal.x.device}", flush=True)


def speed(n: int) -> None:
    """A proposal of `TopK(5)` on Alpine-6 after n observations."""
    case = alpine_case(6, n, seed=0, fitted=False)
    for device in ("cpu", "cuda"):
        belief = he.from_botorch(case.model.to(device))
        he.propose(DECISIONS[0], belief, case.problem.space)
        run = repeated(lambda belief=belief: proposed(DECISIONS[0], belief, case.problem.space), 3)  # type: ignore[misc]
        print(f"n = {n}, {device}: {run.seconds:.3f} s, gain {run.result.gain:.4f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(torch.cuda.get_device_name())
    agreement("map")
    agreement("mixture")
    speed(200)
    speed(2000)
