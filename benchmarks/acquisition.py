"""One acquisition: this project against the one-shot search of the paper, qKnowledgeGradient, and LogEI."""

import statistics
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

import hentropy as he
from benchmarks.posteriors import Case, alpine_case
from benchmarks.timing import median_ratio, proposed, repeated, timed
from hentropy.bench.baselines import BotorchKG, BotorchLogEI, PaperOneShot
from hentropy.core.gain import Appraisal, Effort
from hentropy.core.solvers import Solver

TOP_K = he.TopK(5, weight=10.0, cap=1.25)
STRONG = Effort(replicates=8, outcomes=32, draws=512, steps=40)


def compare(
    name: str, cases: list[Case], decision: he.Decision, peer: Solver, repeats: int, peer_repeats: int
) -> dict[str, Any]:
    """Times and audited gains of both on every posterior; each design is audited the same, thoroughly."""
    ours, theirs, gains, peer_gains = [], [], [], []
    for seed, case in enumerate(cases):
        space = case.problem.space
        proposed(decision, case.belief, space, seed=seed)
        prepared = Appraisal.prepare(decision, case.belief, space, seed=seed)  # a peer does without: it is not timed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = repeated(partial(peer.search, prepared, 1, None), peer_repeats)
        mine = repeated(partial(proposed, decision, case.belief, space, seed=seed), repeats)
        both = torch.cat([mine.result.x.unsqueeze(0), other.result.x])
        audited = he.gain(decision, case.belief, both, space, seed=12345, effort=STRONG)
        ours.append(mine.seconds)
        theirs.append(other.seconds)
        gains.append(float(audited.value[0]))
        peer_gains.append(float(audited.value[1]))
    return {
        "name": name,
        "case": cases[0].name,
        "posteriors": len(cases),
        "seconds": statistics.median(ours),
        "peer_seconds": statistics.median(theirs),
        "times_faster": median_ratio(theirs, ours),
        "gain": statistics.mean(gains),
        "peer_gain": statistics.mean(peer_gains),
    }


def mixture(cases: list[Case], repeats: int) -> dict[str, Any]:
    """A proposal with the mixture beside one with MAP; fitting and sampling apart."""
    rows: dict[str, list[float]] = {"map_fit": [], "mixture_fit": [], "map": [], "mixture": []}
    for seed, case in enumerate(cases):
        space = case.problem.space
        for kind in ("map", "mixture"):
            fitted = timed(partial(he.fit, case.X, case.Y, space=space, hyperparameters=kind, seed=seed))
            proposed(TOP_K, fitted.result, space, seed=seed)
            run = repeated(partial(proposed, TOP_K, fitted.result, space, seed=seed), repeats)
            rows[f"{kind}_fit"].append(fitted.seconds)
            rows[kind].append(run.seconds)
    return {
        "name": "TopK(5): mixture against MAP",
        "case": cases[0].name,
        **{key: statistics.median(values) for key, values in rows.items()},
        "mixture_over_map": median_ratio(rows["mixture"], rows["map"]),
    }


def run(
    posteriors: int, slow_posteriors: int, repeats: int, paper_steps: int, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """All comparisons on Alpine-2 with 30 and Alpine-5 with 100 observations.

    On Alpine-5 one answer of qKnowledgeGradient and of the paper's search takes minutes: fewer posteriors there.
    """

    # the authors' rate of 0.1 is on [0, 5]
    paper = PaperOneShot(steps=paper_steps, rate=0.02, model="botorch")
    for d, n, few in ((2, 30, posteriors), (5, 100, slow_posteriors)):
        cases = [alpine_case(d, n, seed) for seed in range(posteriors)]
        name = cases[0].name
        say(f"{name}: TopK(5) against LogEI")
        yield compare("TopK(5) / LogEI", cases, TOP_K, BotorchLogEI(), repeats, peer_repeats=repeats)
        say(f"{name}: mixture against MAP")
        yield mixture(cases, repeats)
        say(f"{name}: Maximize against qKnowledgeGradient")
        yield compare("Maximize / qKG", cases[:few], he.Maximize(), BotorchKG(), repeats, peer_repeats=1)
        say(f"{name}: TopK(5) against the one-shot search of the paper")
        yield compare("TopK(5) / one-shot as in the paper", cases[:few], TOP_K, paper, repeats, peer_repeats=1)
