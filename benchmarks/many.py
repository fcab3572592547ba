"""Many observations: what a fit and a proposal cost, and how good the belief is beside others that can be computed.

    python -m benchmarks.many --sizes 2000 10000 --out out/many.jsonl

Data are designs at random on the functions of `benchmarks.beliefs`, 1,000 others are held out. The beliefs:

    fit        he.fit: above 1,500 observations 1,000 inducing points
    families   he.fit(hyperparameters="families")
    part       the exact belief of the 1,000 observations to which the hyperparameters of `fit` were fitted
    nearest    each held-out outcome from its 100 nearest observations (Vecchia), with the same hyperparameters; it has
               no covariance between designs, so nothing can look ahead with it

Seconds are those of the processor, with one thread; a line is written per source, size and draw.
"""

import argparse
import math
import resource
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import hentropy as he
from benchmarks.beliefs import Source, score, sources
from benchmarks.sweeps import one_quiet_thread, read_rows, recorded
from hentropy.core.beliefs import Gaussian
from hentropy.core.beliefs.linalg import cholesky
from hentropy.core.solvers import Proposal

HELD_OUT = 1000
NEAR = 100


def drawn(source: Source, n: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    low, high = source.space.bounds
    X = low + (high - low) * torch.rand(n + HELD_OUT, len(low), generator=generator, dtype=torch.float64)
    return X, source.function(X)


def nearest(part: Gaussian, X: Tensor, Y: Tensor, others: Tensor, held_out: Tensor) -> dict[str, float]:
    """Held-out outcomes from their neighbours, with the hyperparameters of a belief of one component."""
    frame, kernel = part.frame, part.kernel
    scaled = [frame.transform(each) / kernel.lengthscale[0] for each in (X, others)]  # type: ignore[attr-defined]
    near = torch.cdist(scaled[1], scaled[0]).topk(NEAR, largest=False).indices
    data, u = frame.transform(X)[near], frame.transform(others).unsqueeze(1)
    residual = (Y[near] - frame.shift) / frame.scale - part.prior_mean(data)[0]
    noise = part.future_noise[0]
    root = cholesky(kernel(data, data)[0] + noise * torch.eye(NEAR).to(X), "kernel matrix of the neighbours")
    both = torch.linalg.solve_triangular(root, torch.cat([kernel(data, u)[0], residual.unsqueeze(-1)], -1), upper=False)
    mean = frame.shift + frame.scale * (part.prior_mean(u)[0, :, 0] + both.prod(-1).sum(-1))
    var = kernel.diagonal(u)[0, :, 0] - both[..., 0].square().sum(-1)
    sd = frame.scale * (var.clamp_min(0.0) + noise).sqrt()
    z, spread = (held_out - mean) / sd, float(held_out.std())
    density = -0.5 * z.square() - sd.log() - 0.5 * math.log(2.0 * math.pi)
    return {
        "loss": -float(density.mean()) - math.log(spread),
        "error": float((held_out - mean).square().mean().sqrt()) / spread,
        "covered": float((z.abs() <= 1.959964).double().mean()),
    }


def timed(run: Any) -> tuple[Any, float]:
    began = time.process_time()
    return run(), time.process_time() - began


def rows_of(source: Source, n: int, draw: int, families: bool) -> list[dict[str, Any]]:
    X, Y = drawn(source, n, draw)
    data, others = (X[:n], Y[:n]), (X[n:], Y[n:])
    where = {"source": source.name, "n": n, "draw": draw}
    rows = []
    for name in ("fit", "families") if families else ("fit",):
        treatment: Any = "auto" if name == "fit" else "families"
        belief, seconds = timed(lambda t=treatment: he.fit(*data, space=source.space, hyperparameters=t))
        again, warm = timed(
            lambda t=treatment, b=belief: he.fit(*data, space=source.space, hyperparameters=t, earlier=b)
        )
        assert again.components == belief.components
        proposal, ahead = timed(lambda b=belief: he.propose(he.TopK(5), b, source.space, seed=0))
        assert isinstance(proposal, Proposal)
        rows.append(where | {"belief": name, "fit": seconds, "warm": warm, "propose": ahead} | score(belief, *others))
        if name == "fit" and belief.summary is not None:
            rows.append(where | {"belief": "part"} | score(belief.summary.part, *others))
            rows.append(where | {"belief": "nearest"} | nearest(belief.summary.part, *data, *others))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [row | {"peak_gib": peak} for row in rows]


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| n, belief | loss | error | inside 95 % | fit | fit again | TopK(5) proposal |", "|---" * 7 + "|"]
    for n, name in dict.fromkeys((row["n"], row["belief"]) for row in rows):
        own = [row for row in rows if (row["n"], row["belief"]) == (n, name)]

        def mean(key: str, own: list[dict[str, Any]] = own) -> str:
            return f"{statistics.mean(row[key] for row in own):.2f}" if key in own[0] else ""

        keys = ("loss", "error", "covered", "fit", "warm", "propose")
        lines.append(f"| {n}, {name} | " + " | ".join(mean(key) for key in keys) + " |")
    lines += ["", "| loss by source, n | " + " | ".join(BELIEFS) + " |", "|---" * (len(BELIEFS) + 1) + "|"]
    for source, n in dict.fromkeys((row["source"], row["n"]) for row in rows):
        found = {row["belief"]: f"{row['loss']:.2f}" for row in rows if (row["source"], row["n"]) == (source, n)}
        lines.append(f"| {source}, {n} | " + " | ".join(found.get(name, "") for name in BELIEFS) + " |")
    return "\n".join([*lines, "", f"peak memory {max(row['peak_gib'] for row in rows):.1f} GiB"])


BELIEFS = ("fit", "families", "part", "nearest")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", nargs="+", type=int, default=[2000, 10000])
    options.add_argument("--sources", nargs="+", help="names of sources; all functions if left out")
    options.add_argument("--draws", type=int, default=1)
    options.add_argument("--families", action="store_true", help="also the belief over families")
    options.add_argument("--out", type=Path, default=Path("out/many.jsonl"))
    given = options.parse_args()
    one_quiet_thread()
    rows = read_rows(given.out)
    done = {(row["source"], row["n"], row["draw"]) for row in rows}
    # the last two are tables
    functions = [each for each in sources(None)[:-2] if given.sources is None or each.name in given.sources]
    new = (
        row
        for n in given.sizes
        for source in functions
        for draw in range(given.draws)
        if (source.name, n, draw) not in done
        for row in rows_of(source, n, draw, given.families)
    )
    rows += recorded(new, given.out)
    print(table(rows))


if __name__ == "__main__":
    main()
