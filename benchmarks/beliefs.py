"""How good beliefs are: density, error and coverage at outcomes that they have not seen, over 17 sources of data.

    python -m benchmarks.beliefs --tables FOLDER --out out/beliefs.jsonl

FOLDER holds the tables that are not shipped (docs/problems.md says where they come from); without it 14 sources are
left. A line is written per source, number of observations, draw of data and belief; what is written is not computed
again. Choose between designs of a belief by draws from 100 on (`--first-draw 100`); report draws 0 to 4.

With `--ten` the sources are six published functions of ten parameters. With `--noise 0.1 0.2` outcomes have a noise of
so many standard deviations of the function, of which the default belief is told nothing, and the table shows the share
of *measured* designs whose true values lie in their 90 % intervals; the prior was chosen by draws 200 to 299.

With `--errors` 4 % of the outcomes that a belief sees (at least one) are wrong by 5 to 10 of their standard deviations,
up or down; those held out are right.

All figures are in units of the standard deviation of the held-out outcomes: `loss` is minus the mean log density,
`error` the root mean square of outcome less mean, `covered` the share inside the central 95 % interval.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import hentropy as he
from benchmarks.sweeps import one_quiet_thread, read_rows, recorded
from hentropy.bench.problems import (
    alpine,
    fullerenes_top_k,
    lab_table,
    photo_pce10_top_k,
    published_minimum,
    standard,
)
from hentropy.bench.problems.measurements import Measurements
from hentropy.core.beliefs import Gaussian, Needs, Transformed
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.spaces import DesignSpace

FUNCTIONS = (
    "ackley-4",
    "levy-4",
    "rosenbrock-4",
    "griewank-5",
    "cosine-8",
    "hartmann-6",
    "styblinski-tang-3",
    "michalewicz-5",
    "dixon-price-4",
    "shekel",
    "branin",
)
TEN = ("StyblinskiTang", "logStyblinskiTang", "Rosenbrock", "logRosenbrock", "GSobol", "logGSobol")
NOISY = ("ackley-4", "levy-4", "rosenbrock-4", "hartmann-6", "styblinski-tang-3", "branin")
NOISY_SIZES = (6, 12, 20, 40)
TABLES = ("agnp", "crossed_barrel", "oer_plate_4098")
SIZES = (20, 50, 100)
HELD_OUT = 300


@dataclass(frozen=True)
class Source:
    """A function on a box, or a table of measurements whose rows are the designs."""

    name: str
    space: DesignSpace
    function: Callable[[Tensor], Tensor]

    def draw(self, n: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """n designs at random, their outcomes, and up to 300 others with theirs."""
        generator = torch.Generator().manual_seed(seed)
        if isinstance(self.function, Measurements):
            order = torch.randperm(len(self.function.values), generator=generator)[: n + HELD_OUT]
            X, Y = self.function.space.points[order], self.function.values[order]
        else:
            low, high = self.space.bounds
            X = low + (high - low) * torch.rand(n + HELD_OUT, len(low), generator=generator, dtype=torch.float64)
            Y = self.function(X)
        return X[:n], Y[:n], X[n:], Y[n:]


def sources(tables: Path | None, ten: bool = False) -> list[Source]:
    """The twelve functions, the two tables that are shipped, and three of the user's folder; or those of ten."""
    if ten:
        return [Source(name, one.space, one.function) for name in TEN for one in [published_minimum(name)]]
    problems = [alpine(3), *map(standard, FUNCTIONS), fullerenes_top_k(), photo_pce10_top_k()]
    problems += [] if tables is None else [lab_table(name, tables) for name in TABLES]
    return [Source(problem.name, problem.space, problem.function) for problem in problems]


def botorch(X: Tensor, Y: Tensor, space: DesignSpace) -> Gaussian:
    """BoTorch's SingleTaskGP as shipped, inputs in the unit cube."""
    scaled = Normalize(X.shape[-1], bounds=space.bounds)
    model = SingleTaskGP(X, Y.unsqueeze(-1), input_transform=scaled, outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    belief = he.from_botorch(model.eval())
    assert isinstance(belief, Gaussian)
    return belief


BELIEFS: dict[str, Callable[[Tensor, Tensor, DesignSpace], Gaussian | Transformed]] = {
    "botorch": botorch,
    "map": lambda X, Y, space: he.fit(X, Y, space=space, hyperparameters="map"),
    "mixture": lambda X, Y, space: he.fit(X, Y, space=space, hyperparameters="mixture"),
    "families": lambda X, Y, space: he.fit(X, Y, space=space, hyperparameters="families"),
    "transformed": lambda X, Y, space: he.fit(X, Y, space=space, hyperparameters="transformed"),
}


def with_errors(Y: Tensor, seed: int, share: float = 0.04) -> Tensor:
    """The outcomes (n) with a share of gross errors."""
    generator = torch.Generator().manual_seed(1000 + seed)
    wrong = torch.randperm(len(Y), generator=generator)[: max(1, round(share * len(Y)))]
    size = 5.0 + 5.0 * torch.rand(len(wrong), generator=generator, dtype=torch.float64)
    sign = torch.randint(2, (len(wrong),), generator=generator) * 2.0 - 1.0
    return Y.index_add(0, wrong, sign * size * Y.std())


def score(belief: Gaussian | Transformed, X: Tensor, Y: Tensor) -> dict[str, float]:
    """What the belief says of observations Y at X."""
    spread = float(Y.std())
    latent = belief.latent if isinstance(belief, Transformed) else belief
    moments = latent.moments(X, Needs.VARIANCE)
    sd = (moments.variance + latent.noise_variance.unsqueeze(-1)).sqrt()
    weights = latent.weights.unsqueeze(-1).expand_as(sd)
    expected = belief.means(X).mean[0]
    if isinstance(belief, Transformed):
        each = belief.predicted(moments.mean, sd, Y)
        low, high = belief.quantiles((0.025, 0.975), weights, moments.mean, sd)
    else:
        each = torch.distributions.Normal(moments.mean, sd).log_prob(Y)
        low, high = mixture_quantiles((0.025, 0.975), weights, moments.mean, sd)
    return {
        "loss": -float(torch.logsumexp(weights.log() + each, 0).mean()) - math.log(spread),
        "error": float((Y - expected).square().mean().sqrt()) / spread,
        "covered": float(((low <= Y) & (high >= Y)).double().mean()),
    }


def inside_at_measured(source: Source, n: int, draw: int, noise: float) -> float:
    """The share of n measured designs whose true values lie in the 90 % intervals of the default belief.

    The noise is in standard deviations of the function, and the belief is told nothing about it.
    """
    X, true, _, others = source.draw(n, draw)
    generator = torch.Generator().manual_seed(3000 + draw)
    Y = true + noise * float(others.std()) * torch.randn(n, generator=generator, dtype=torch.float64)
    belief = he.fit(X, Y, space=source.space)
    latent = belief.latent if isinstance(belief, Transformed) else belief
    moments = latent.moments(X, Needs.VARIANCE)
    each = (moments.weights.unsqueeze(-1), moments.mean, moments.variance.clamp_min(0.0).sqrt())
    quantiles = belief.quantiles if isinstance(belief, Transformed) else mixture_quantiles
    low, high = quantiles((0.05, 0.95), *each)
    return float(((low <= true) & (high >= true)).double().mean())


def noise_table(noises: Sequence[float], draws: Sequence[int]) -> str:
    """Those shares by noise and number of designs, over seven functions, as Markdown."""
    functions = [Source(one.name, one.space, one.function) for one in [alpine(3), *map(standard, NOISY)]]
    lines = [f"| noise | {' | '.join(f'n = {n}' for n in NOISY_SIZES)} |", "|---" * (1 + len(NOISY_SIZES)) + "|"]
    for noise in noises:
        cells = []
        for n in NOISY_SIZES:
            each = [inside_at_measured(source, n, draw, noise) for source in functions for draw in draws]
            cells.append(f"{statistics.mean(each):.2f}")
        lines.append(f"| {noise:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """Means over sources and draws as Markdown, and the loss by source."""
    beliefs, sizes = list(dict.fromkeys(row["belief"] for row in rows)), sorted({row["n"] for row in rows})

    def mean(key: str, **where: Any) -> str:
        values = [row[key] for row in rows if all(row[name] == value for name, value in where.items())]
        return f"{statistics.mean(values):.2f}" if values else ""

    def cells(key: str, **where: Any) -> str:
        return " / ".join(mean(key, n=n, **where) for n in sizes)

    lines = ["| belief | loss | error | covered | seconds |", "|---|---|---|---|---|"]
    for name in beliefs:
        keys = ("loss", "error", "covered", "seconds")
        lines.append(f"| {name} | " + " | ".join(cells(key, belief=name) for key in keys) + " |")
    lines += ["", f"| loss by source | {' | '.join(beliefs)} |", "|---" * (len(beliefs) + 1) + "|"]
    for source in dict.fromkeys(row["source"] for row in rows):
        own = " | ".join(cells("loss", belief=name, source=source) for name in beliefs)
        lines.append(f"| {source} | {own} |")
    return "\n".join(lines)


Place = tuple[str, int, int, str]


def run(
    names: Sequence[str],
    draws: Iterable[int],
    tables: Path | None = None,
    sizes: Sequence[int] = SIZES,
    errors: bool = False,
    done: Collection[Place] = (),
    ten: bool = False,
) -> Iterator[dict[str, Any]]:
    """A row for each draw of data, source, number of observations and belief, but those that are done."""
    for draw in draws:
        for source in sources(tables, ten):
            for n in sizes:
                X, Y, others, held_out = source.draw(n, draw)
                Y = with_errors(Y, draw) if errors else Y
                for name in names:
                    if (source.name, n, draw, name) in done:
                        continue
                    began = time.process_time()
                    belief = BELIEFS[name](X, Y, source.space)
                    seconds = time.process_time() - began
                    row = {"source": source.name, "n": n, "draw": draw, "belief": name, "seconds": seconds}
                    yield row | score(belief, others, held_out)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tables", type=Path, help="folder with agnp.csv, crossed_barrel.csv and oer_plate_4098.csv")
    options.add_argument("--beliefs", nargs="+", choices=BELIEFS, default=list(BELIEFS))
    options.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    options.add_argument("--first-draw", type=int, default=0)
    options.add_argument("--draws", type=int, default=5)
    options.add_argument("--errors", action="store_true", help="gross errors among the outcomes that a belief sees")
    options.add_argument("--ten", action="store_true", help="six functions of ten parameters instead")
    options.add_argument(
        "--noise", nargs="+", type=float, metavar="SD", help="intervals at designs measured with noise"
    )
    options.add_argument("--out", type=Path, default=Path("out/beliefs.jsonl"))
    given = options.parse_args()
    one_quiet_thread()
    draws = range(given.first_draw, given.first_draw + given.draws)
    if given.noise is not None:
        print(noise_table(given.noise, draws))
        return
    rows = read_rows(given.out)
    done = {(row["source"], row["n"], row["draw"], row["belief"]) for row in rows}
    new = run(given.beliefs, draws, given.tables, given.sizes, given.errors, done, given.ten)
    rows += recorded(new, given.out)
    print(table(rows))


if __name__ == "__main__":
    main()
