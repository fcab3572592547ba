"""MAP against the mixture: the quality of decisions over 40 queries (Alpine-3, TopK(3)), many seeds.

Run it with `python -m benchmarks.hyperparameters --seeds 20 --workers 2 --out out/hyperparameters.json`.
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import torch

import hentropy as he
from benchmarks.sweeps import results_of
from hentropy.bench.problems import alpine

DECISION = he.TopK(3, weight=10.0, cap=1.25)
CHECKPOINTS = (15, 30, 40)
STUCK_BELOW = 15.5
"""A seed whose score after the last query is below this has missed the best hills (the best score is 16.00)."""


def study(job: tuple[str, int, int]) -> dict[str, Any]:
    """One study of so many queries after 10 random designs: the true score of the decision after each checkpoint."""
    kind, seed, queries = job
    problem = alpine(3)
    generator = torch.Generator().manual_seed(seed)
    record = he.Study(problem.space, DECISION, seed=seed, first=10, hyperparameters=kind)
    for row in 5.0 * torch.rand(10, 3, generator=generator, dtype=torch.float64):
        record.attach(problem.space.decode(row), float(problem(row)))
    scores = {}
    for query in range(1, queries + 1):
        trial = record.ask()
        record.tell(trial, problem.at(**trial.params))
        if query in CHECKPOINTS or query == queries:
            action = record.decide().raw
            scores[query] = -float(DECISION.loss(problem(action), action))
    return {"kind": kind, "seed": seed, "scores": scores}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=20)
    options.add_argument("--queries", type=int, default=40)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--out", type=Path, default=Path("out/hyperparameters.json"))
    given = options.parse_args()
    jobs = [(kind, seed, given.queries) for seed in range(given.seeds) for kind in ("mixture", "map")]
    results = list(results_of(study, jobs, given.workers))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1))
    for kind in ("map", "mixture"):
        own = [result["scores"] for result in results if result["kind"] == kind]
        for query in sorted(own[0]):
            values = [scores[query] for scores in own]
            error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
            stuck = sum(value < STUCK_BELOW for value in values)
            print(
                f"{kind:8s} after {query:2d}: {statistics.mean(values):.3f} ± {error:.3f}, below {STUCK_BELOW}: {stuck}"
            )


if __name__ == "__main__":
    main()
