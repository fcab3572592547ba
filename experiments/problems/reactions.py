"""Fit the functions behind the reactions to the experiments that were published.

    python -m experiments.problems.reactions DATA.csv --reaction reizman-suzuki-1 --out FILE.npz

DATA.csv has a row per experiment, with the parameters of the reaction and the column yld. Settings that miss the bounds
of the space a little (a loading of 0.496 mol% where 0.5 was meant) count as the bound.

The function is the mean of `fit` for the log-odds of the yields, with the most probable hyperparameters: one length
scale for each choice and for each number. Yields within `edge` per cent of 0 or 100 count as that far away: their
log-odds would be arbitrary. The edge is chosen by cross-validation. The held-out error is then measured on other folds
of the same experiments (which had a say in the choice, so it is a little too small), beside that of two simple rules:
the mean of the other experiments, and the nearest other experiment with the same options.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.bench.problems.base import named
from hentropy.bench.problems.measurements import read_cells
from hentropy.bench.problems.reactions import REACTIONS, Emulator, Reaction
from hentropy.core.action_search import descend
from hentropy.core.beliefs.kernels import Stationary
from hentropy.core.clock import Clock
from hentropy.core.models import fit
from hentropy.core.spaces import Choice, Space, sobol
from hentropy.errors import InputError

YIELD = "yld"
EDGES = (0.5, 1.0, 2.0, 3.0, 5.0)
FOLDS = 10

REPEATS = 4
"""Ways to deal the experiments out to folds: with 96 of them, one way is luck."""

STARTS, STEPS = 256, 200
"""Descents for each combination of options, and their steps."""

Rule = Callable[[Tensor, Tensor], Callable[[Tensor], Tensor]]
"""Designs and yields of known experiments (n x d, n): yields of any designs."""


@dataclass(frozen=True)
class Experiments:
    """Designs (n x d) and their yields in per cent (n)."""

    designs: Tensor
    yields: Tensor


def read_experiments(path: str | Path, reaction: Reaction) -> Experiments:
    """The experiments in a CSV file."""
    space = reaction.space
    cells = read_cells(path, (*space.names, YIELD))
    columns = [
        cells.texts(field.name)
        if field.options
        else [min(max(value, field.low), field.high) for value in cells.numbers(field.name)]
        for field in space.fields
    ]
    designs = [dict(zip(space.names, row, strict=True)) for row in zip(*columns, strict=True)]
    yields = reaction.per_cent * torch.tensor(cells.numbers(YIELD), dtype=torch.float64)
    return Experiments(space.encode_many(designs), yields.clamp(0.0, 100.0))


def fitted(edge: float, space: Space, designs: Tensor, yields: Tensor) -> Emulator:
    """The function for experiments n x d with yields n."""
    odds = torch.logit(yields.clamp(edge, 100.0 - edge) / 100.0)
    belief = fit(designs, odds, space=space, hyperparameters="map")
    kernel, frame = belief.kernel, belief.frame
    assert isinstance(kernel, Stationary)
    weights = frame.scale * kernel.outputscale[0] * belief.alpha[0]
    level = frame.shift + frame.scale * belief.prior_mean(belief.inputs[:1])[0, 0]
    return Emulator(space, belief.inputs, weights, kernel.lengthscale[0].clone(), level)


def mean(designs: Tensor, yields: Tensor) -> Callable[[Tensor], Tensor]:
    """The mean yield everywhere."""
    return lambda x: yields.mean().expand(x.shape[0])


def nearest(space: Space, designs: Tensor, yields: Tensor) -> Callable[[Tensor], Tensor]:
    """The yield of the nearest experiment; another option is farther than any number."""
    weight = torch.ones(space.dim, dtype=torch.float64)
    for name, parameter in space.parameters.items():
        if isinstance(parameter, Choice):
            weight[space.places[name]] = 10.0
    known = weight * space.to_unit(designs)
    return lambda x: yields[torch.cdist(weight * space.to_unit(x), known).argmin(-1)]


def held_out(rule: Rule, known: Experiments, seed: int) -> tuple[float, float]:
    """R² and the root mean square error in percentage points, on experiments that a rule was not shown."""
    count, missed = len(known.yields), []
    for repeat in range(REPEATS):
        generator = torch.Generator().manual_seed(REPEATS * seed + repeat)
        fold = torch.randperm(count, generator=generator) % FOLDS
        for out in fold == torch.arange(FOLDS).unsqueeze(-1):
            function = rule(known.designs[~out], known.yields[~out])
            missed.append(function(known.designs[out]) - known.yields[out])
    square = float(torch.cat(missed).square().mean())
    return 1.0 - square / float(known.yields.var(correction=0)), square**0.5


def peak(emulator: Emulator) -> Tensor:
    """The design with the greatest yield: d. Descents over the numbers, for each combination of options."""
    space = emulator.space
    numbers = Space(**{name: p for name, p in space.parameters.items() if not isinstance(p, Choice)})
    columns = torch.cat([torch.arange(space.dim)[space.places[name]] for name in numbers.parameters])
    start, middle = sobol(STARTS, numbers.cube, 0), numbers.decode(numbers.sample(1, 0)[0])
    choices = {field.name: field.options for field in space.fields if field.options}
    found = []
    for options in product(*choices.values()):
        base = space.encode({**dict(zip(choices, options, strict=True)), **middle})

        def design(u: Tensor, base: Tensor = base) -> Tensor:
            return base.expand(len(u), -1).index_copy(-1, columns, numbers.from_cube(u))

        u, _ = descend(lambda u, design=design: -emulator(design(u)), start, STEPS, Clock())  # type: ignore[misc]
        ends = space.project(design(u))
        found.append(ends[emulator(ends).argmax()])
    best = torch.stack(found)
    return best[emulator(best).argmax()]


@dataclass(frozen=True)
class TrainedReaction:
    """A function, its edge, and R² and error on experiments left out: its own, the mean's, the nearest experiment's."""

    emulator: Emulator
    edge: float
    own: tuple[float, float]
    constant: tuple[float, float]
    near: tuple[float, float]
    best: Tensor


def trained(path: str | Path, reaction: Reaction, edges: Sequence[float] = EDGES, seed: int = 0) -> TrainedReaction:
    """The function of a reaction, its edge chosen by cross-validation and its held-out error measured on new folds."""
    known, space = read_experiments(path, reaction), reaction.space
    errors = {edge: held_out(partial(fitted, edge, space), known, seed)[1] for edge in edges}
    print(*(f"edge {edge:g}: held out {error:.2f}" for edge, error in errors.items()), sep="\n", flush=True)
    edge = min(errors, key=errors.__getitem__)
    emulator = fitted(edge, space, known.designs, known.yields)
    rules: list[Rule] = [partial(fitted, edge, space), mean, partial(nearest, space)]
    own, constant, near = (held_out(rule, known, seed + 1) for rule in rules)
    return TrainedReaction(emulator, edge, own, constant, near, peak(emulator))


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print what was found and store it."""
    parser = argparse.ArgumentParser(description="Fit the function behind a reaction.")
    parser.add_argument("data", help=f"a CSV file with the parameters of the reaction and the column {YIELD}")
    parser.add_argument("--reaction", required=True, help=f"one of {', '.join(sorted(REACTIONS))}")
    parser.add_argument("--out", required=True, help="the npz file to write")
    options = parser.parse_args(arguments)
    try:
        result = trained(options.data, named(options.reaction, REACTIONS, "reaction"))
    except InputError as error:
        parser.error(str(error))
    print(f"chosen: edge {result.edge:g}")
    for what, (r2, rmse) in {"function": result.own, "mean": result.constant, "nearest": result.near}.items():
        print(f"held out, {what}: R2 {r2:.3f}, RMSE {rmse:.2f} percentage points")
    best = result.emulator.space.decode(result.best)
    print(f"greatest yield: {float(result.emulator(result.best)):.2f} at {best}")
    stored: dict[str, Any] = {
        **result.emulator.arrays(),
        "held_out": np.array([result.own, result.constant, result.near]),
        "edge": np.array(result.edge),
        "best": result.best.numpy(),
    }
    np.savez(options.out, **stored)


if __name__ == "__main__":
    main()
