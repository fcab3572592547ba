"""Every decision: the time of a proposal in units of BoTorch's LogEI, and its audited gain.

    .venv/bin/python -m benchmarks.decisions --rows "LevelSets" "Estimate" --posteriors 3 --out out/decisions.json
    .venv/bin/python -m benchmarks.decisions --audit out/decisions.json

The second command audits again, with the source at hand, the designs that a run (perhaps of another version of the
source) proposed: two versions are compared by one auditor, on the same beliefs. The belief is the default one of `fit`
and `Study`; `--hyperparameters mixture` takes another.
"""

import argparse
import json
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, qLogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import hentropy as he
from benchmarks.timing import Timed, median_ratio, middle, proposed, timed
from hentropy.core.beliefs import Gaussian, Transformed
from hentropy.core.gain import Effort
from hentropy.core.models.gp import TREATMENTS, Treatment

DIM, OBSERVED = 6, 100
SPACE = he.Space(**{f"x{i}": he.Real(0.0, 1.0) for i in range(DIM)})

STRONG = Effort(replicates=8, outcomes=32, draws=256, steps=20)
AUDIT_SEED = 12_345


@dataclass(frozen=True)
class Case:
    """One posterior: data, the belief made of them, and BoTorch's model of the same data."""

    seed: int
    X: Tensor
    Y: Tensor
    belief: Gaussian | Transformed
    model: SingleTaskGP
    hyperparameters: Treatment


def hartmann_case(seed: int, hyperparameters: Treatment = "auto") -> Case:
    """Scrambled Sobol designs on Hartmann-6, negated so that greater is better."""
    X = SPACE.sample(OBSERVED, seed)
    Y = Hartmann(DIM, negate=True).to(X)(X).unsqueeze(-1)
    belief = he.fit(X, Y, space=SPACE, hyperparameters=hyperparameters, seed=seed)
    model = SingleTaskGP(X, Y, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return Case(seed, X, Y, belief, model, hyperparameters)


def log_ei(case: Case, q: int, seed: int) -> Tensor:
    """What BoTorch proposes with 10 restarts and 512 raw samples: q x d."""
    torch.manual_seed(seed)
    best = case.Y.max()
    acquisition: AcquisitionFunction = (
        LogExpectedImprovement(case.model, best) if q == 1 else qLogExpectedImprovement(case.model, best)
    )
    bounds = SPACE.bounds
    x, _ = optimize_acqf(acquisition, bounds, q=q, num_restarts=10, raw_samples=512)
    return x


@dataclass(frozen=True)
class Row:
    """A decision, made for the data of a case, and the multiple of LogEI that its proposal may take."""

    name: str
    asked: float
    decision: Callable[[Case], he.Decision]
    sizes: tuple[int, ...] = (1, 4)


def _level(case: Case) -> float:
    return float(torch.quantile(case.Y, 0.8))


def _targets(case: Case) -> list[float]:
    return torch.quantile(case.Y.flatten(), torch.tensor([0.25, 0.5, 0.9], dtype=case.Y.dtype)).tolist()


def _least_of_two(f: Tensor, a: Tensor) -> Tensor:
    return -f.min(-1).values


def _levels(count: int, relation: Any, case: Case) -> he.Decision:
    return he.LevelSets(_level(case), at=SPACE.sample(count, 0), relation=relation)


ROWS = (
    Row("Maximize", 4, lambda case: he.Maximize()),
    Row("MinMax", 4, lambda case: he.MinMax()),
    Row("TopK(5)", 4, lambda case: he.TopK(5, weight=1.0, cap=1.25)),
    Row("Sequence(3)", 4, lambda case: he.Sequence(_targets(case))),
    Row("BestObserved", 4, lambda case: he.BestObserved()),
    Row("LevelSets", 4, partial(_levels, 400, "difference")),
    Row("Estimate", 4, lambda case: he.Estimate(SPACE.sample(400, 0))),
    Row("KGuesses(2)", 10, lambda case: he.KGuesses(2)),
    Row("KGuesses(3)", 10, lambda case: he.KGuesses(3)),
    Row("misclassification", 10, partial(_levels, 400, "misclassification")),
    Row('Identify("max")', 10, lambda case: he.Identify("max")),
    Row('Identify("argmax")', 10, lambda case: he.Identify("argmax")),
    Row("own, Points(2)", 10, lambda case: he.decision(_least_of_two, actions=he.Points(2))),
    Row("LevelSets, 10,000 points", 20, partial(_levels, 10_000, "difference"), (1,)),
    Row("misclassification, 10,000 points", 20, partial(_levels, 10_000, "misclassification"), (1,)),
    Row("Estimate, 10,000 points", 20, lambda case: he.Estimate(SPACE.sample(10_000, 0)), (1,)),
)


def chosen_rows(names: Sequence[str] | None) -> list[Row]:
    """The rows with these names, or whose names begin so with a star at the end; all without names."""
    if not names:
        return list(ROWS)

    def wanted(row: Row) -> bool:
        return any(row.name == name or (name[-1] == "*" and row.name.startswith(name[:-1])) for name in names)

    return [row for row in ROWS if wanted(row)]


def measure(row: Row, case: Case, q: int, repeats: int) -> tuple[Timed, Timed]:
    """Proposal and peer in turn, so that both see the same load."""
    decision = row.decision(case)
    propose = partial(proposed, decision, case.belief, SPACE, q=q, seed=case.seed)
    propose()
    log_ei(case, q, seed=repeats)
    ours: list[Timed] = []
    theirs: list[Timed] = []
    for turn in range(repeats):
        theirs.append(timed(partial(log_ei, case, q, turn)))
        ours.append(timed(propose))
    return middle(ours), middle(theirs)


def audited(row: Row, case: Case, x: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The gain of designs (q x d) by a thorough audit, and its standard error."""
    designs = torch.tensor(x, dtype=torch.float64).unsqueeze(0)
    gain = he.gain(row.decision(case), case.belief, designs, SPACE, seed=AUDIT_SEED, effort=STRONG)
    return float(gain.value), float(gain.std_error)


def compare(row: Row, cases: Sequence[Case], q: int, repeats: int, audit: bool = True) -> dict[str, Any]:
    """One row on all posteriors."""
    ours, theirs = zip(*(measure(row, case, q, repeats) for case in cases), strict=True)
    result = {
        "name": row.name,
        "q": q,
        "hyperparameters": cases[0].hyperparameters,
        "asked": row.asked,
        "multiple": median_ratio([run.seconds for run in ours], [run.seconds for run in theirs]),
        "cpu_multiple": median_ratio([run.cpu_seconds for run in ours], [run.cpu_seconds for run in theirs]),
        "seconds": [run.seconds for run in ours],
        "peer_seconds": [run.seconds for run in theirs],
        "posteriors": [case.seed for case in cases],
        "x": [run.result.x.tolist() for run in ours],
        "stated": [run.result.gain for run in ours],
    }
    return with_audit(result, row, cases) if audit else result


def with_audit(result: dict[str, Any], row: Row, cases: Sequence[Case]) -> dict[str, Any]:
    """The same with the audited gain of each posterior's designs."""
    gains = [audited(row, case, x) for case, x in zip(cases, result["x"], strict=True)]
    return {**result, "gain": [value for value, _ in gains], "std_error": [error for _, error in gains]}


def run(
    posteriors: int,
    repeats: int,
    say: Callable[[str], None],
    names: Sequence[str] | None = None,
    sizes: Sequence[int] = (1, 4),
    audit: bool = True,
    hyperparameters: Treatment = "auto",
) -> Iterator[dict[str, Any]]:
    """All rows, one design and four at a time, on so many posteriors of Hartmann-6."""
    cases = [hartmann_case(seed, hyperparameters) for seed in range(posteriors)]
    for q in sizes:
        for row in chosen_rows(names):
            if q in row.sizes:
                say(f"{row.name}, q = {q}")
                yield compare(row, cases, q, repeats, audit)


def table(results: Sequence[dict[str, Any]]) -> str:
    """The results as Markdown, one design and four in a row: medians over posteriors for times, means for gains."""
    sizes = sorted({row["q"] for row in results})
    each = " | ".join(f"q = {q}: x LogEI | CPU time, x LogEI | seconds | audited gain" for q in sizes)
    lines = [f"| decision | asked, x LogEI | {each} |", "|---|---|" + "---|" * 4 * len(sizes)]
    for name in dict.fromkeys(row["name"] for row in results):
        own = {row["q"]: row for row in results if row["name"] == name}
        asked = next(iter(own.values()))["asked"]
        cells = " | ".join(_cells(own[q]) if q in own else " | | |" for q in sizes)
        lines.append(f"| {name} | {asked:g} | {cells} |")
    return "\n".join(lines) + "\n"


def _cells(row: dict[str, Any]) -> str:
    gain = f"{statistics.mean(row['gain']):.4g}" if "gain" in row else ""
    seconds = statistics.median(row["seconds"])
    return f"{row['multiple']:.1f} | {row['cpu_multiple']:.1f} | {seconds:.2f} | {gain}"


def audit_again(path: Path, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The results of a file with the gains of its designs audited anew, under the beliefs of that run."""
    rows = {row.name: row for row in ROWS}
    case = cache(hartmann_case)
    for result in json.loads(path.read_text()):
        say(f"{result['name']}, q = {result['q']}")
        belief = result.get("hyperparameters", "mixture")  # earlier versions had no other one
        cases = [case(seed, belief) for seed in result["posteriors"]]
        yield with_audit(result, rows[result["name"]], cases)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", nargs="*", help="names of rows, 'Level*' for all that begin so; all by default")
    options.add_argument("--q", nargs="*", type=int, default=[1, 4], help="sizes of batches")
    options.add_argument("--hyperparameters", choices=TREATMENTS, default="auto", help="the belief, as in `fit`")
    options.add_argument("--posteriors", type=int, default=3)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--no-audit", action="store_true", help="times alone")
    options.add_argument("--audit", type=Path, metavar="FILE", help="audit the designs of an earlier run again")
    options.add_argument("--out", type=Path, default=Path("out/decisions.json"))
    given = options.parse_args()
    warnings.simplefilter("ignore")

    def say(what: str) -> None:
        print(what, file=sys.stderr, flush=True)

    rows = (
        run(given.posteriors, given.repeats, say, given.rows, given.q, not given.no_audit, given.hyperparameters)
        if given.audit is None
        else audit_again(given.audit, say)
    )
    given.out.parent.mkdir(parents=True, exist_ok=True)
    results = []
    for row in rows:
        results.append(row)
        given.out.write_text(json.dumps(results, indent=1) + "\n")
        say(table([row]).splitlines()[-1])
    print(table(results))


if __name__ == "__main__":
    main()
