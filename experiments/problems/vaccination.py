"""Train the network behind `vaccination` on shares of vaccinated people by county, as published by the CDC.

    python -m experiments.problems.vaccination DATA.csv --region pennsylvania --out FILE.npz

DATA.csv has one row per county with the columns lon, lat (degrees), vaccination_pct (people fully vaccinated, per cent)
and completeness_pct (per cent of the state's vaccinated people whose county is known). Counties of states below 80 per
cent are dropped: their shares read far too low.

The loss of a network with shares s(x) is

    1/2 sum over counties of (s(x_i) - y_i)^2 / NOISE^2  +  decay/2 (sum of fan-in w^2 + sum of b^2)

A network that is left alone where there are no counties, over the sea and beyond the borders, rises to its greatest
values there. So places of a coarse grid that are far from every known county count as counties with the mean share.

Its settings are chosen by cross-validation. Counties differ more from their neighbours than any smooth map can follow,
so many settings do equally well on counties left out. Of those that are within one standard error of the best, the one
that follows the counties closest is taken. Its held-out error is then measured on other folds of the same counties
(which had a say in the choice, so it is a little too small), beside that of two simple rules: the mean of the other
counties, and the nearest other county.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from hentropy.bench.problems.base import grid
from hentropy.bench.problems.maps import REGIONS, Network, Region, region_named
from hentropy.bench.problems.measurements import read_columns
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError

COLUMNS = ("lon", "lat", "vaccination_pct", "completeness_pct")

COMPLETE = 80.0
MARGIN = 1.0
"""Degrees around the region from which counties are used too, so that the network knows how the map goes on."""

NOISE = 0.08
"""About how far the share of a county is from a smooth map; only its ratio to `decay` matters."""

FAR = 1.5
"""Degrees from the nearest known county beyond which the mean share is assumed; counties lie closer to each other."""

COARSE = 30
"""How many places per axis are looked at for that."""

FOLDS = 5
STEPS = 800
GRID = 401

STARTS = 20
"""How many places of the grid are followed to the nearest extreme."""

Map = Callable[[Tensor], Tensor]
"""Places m x 2: shares m."""

Rule = Callable[[Tensor, Tensor], Map]
"""Places and shares of known counties (n x 2, n): a map of all places."""


@dataclass(frozen=True)
class Setting:
    """Sizes of the hidden layers, units of input per half width of the region, and the weight of the penalty."""

    hidden: tuple[int, ...]
    stretch: float
    decay: float


SETTINGS = tuple(
    Setting(hidden, stretch, decay)
    for hidden, stretch, decay in product(((64,), (32, 32), (64, 64)), (3.0, 6.0), (0.03, 0.1, 0.3, 1.0))
)


@dataclass(frozen=True)
class Counties:
    """Places (n x 2, longitude and latitude), shares (n), and which places are inside the region itself (n)."""

    places: Tensor
    shares: Tensor
    inside: Tensor


@dataclass(frozen=True)
class Trained:
    """A network with its setting and held-out errors in percentage points: its own, the mean's, the nearest county's.

    `least` and `greatest` are its extremes over the region.
    """

    network: Network
    setting: Setting
    held_out: tuple[float, float, float]
    least: float
    greatest: float
    counties: int


def read_counties(path: str | Path, region: Region) -> Counties:
    """The counties in and around a region whose shares can be believed."""
    rows = read_columns(path, COLUMNS)
    space = region.space
    low, high = space.bounds
    near = ((rows[:, :2] >= low - MARGIN) & (rows[:, :2] <= high + MARGIN)).all(-1)
    rows = rows[near & (rows[:, 3] >= COMPLETE)]
    inside = ((rows[:, :2] >= low) & (rows[:, :2] <= high)).all(-1)
    if int(inside.sum()) < 2 * FOLDS:
        raise InputError(
            f"{path} has {int(inside.sum())} counties with completeness_pct >= {COMPLETE:g} in {region.name}; expected"
            f" at least {2 * FOLDS}: it may be a file of another place"
        )
    return Counties(rows[:, :2], rows[:, 2] / 100.0, inside)


def anchored(space: DesignSpace, places: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Counties, and places far from all of them with the mean share: places and shares."""
    coarse = grid(space, COARSE)
    far = coarse[torch.cdist(coarse, places).amin(-1) > FAR]
    return torch.cat([places, far]), torch.cat([shares, shares.mean().expand(len(far))])


def fitted(setting: Setting, space: DesignSpace, seed: int, places: Tensor, shares: Tensor) -> Network:
    """The network that the penalised squares lead to from a random start."""
    low, high = space.bounds
    start = Network.drawn((low + high) / 2, (high - low) / (2 * setting.stretch), setting.hidden, seed)
    middle = torch.logit(shares.mean()).reshape(1)
    start = start.with_numbers(torch.cat([start.numbers[:-1], middle]))
    penalty = torch.cat(
        [torch.full((W.numel(),), float(W.shape[0])) for W in start.weights]
        + [torch.ones(b.numel()) for b in start.biases]
    ).to(torch.float64)
    home = torch.cat([torch.zeros(penalty.numel() - 1, dtype=torch.float64), middle])
    places, shares = anchored(space, places, shares)

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        theta = torch.from_numpy(numbers).requires_grad_(True)
        miss = (start.with_numbers(theta)(places) - shares) / NOISE
        value = 0.5 * miss.square().sum() + 0.5 * setting.decay * (penalty * (theta - home).square()).sum()
        (gradient,) = torch.autograd.grad(value, theta)
        return float(value.detach()), gradient.numpy()

    options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "maxcor": 20}
    result = minimize(loss, start.numbers.numpy(), jac=True, method="L-BFGS-B", options=options)
    return start.with_numbers(torch.from_numpy(result.x))


def nearest(places: Tensor, shares: Tensor) -> Map:
    """The share of the nearest county, a degree of longitude counted as long as it is there."""

    def share(x: Tensor) -> Tensor:
        east = torch.cos(torch.deg2rad(x[:, None, 1])) * (x[:, None, 0] - places[:, 0])
        north = x[:, None, 1] - places[:, 1]
        return shares[(east.square() + north.square()).argmin(-1)]

    return share


def mean(places: Tensor, shares: Tensor) -> Map:
    """The mean share everywhere."""
    return lambda x: shares.mean().expand(x.shape[0])


@dataclass(frozen=True)
class Misses:
    """What rules said of counties, less the truth: of those left out (n), and of those known (FOLDS - 1 times n)."""

    left_out: Tensor
    known: Tensor


def cross_validated(rule: Rule, counties: Counties, seed: int) -> Misses:
    """How a rule does on counties that it was not shown, and on those that it was; folds of equal sizes, at random."""
    count = len(counties.shares)
    fold = torch.randperm(count, generator=torch.Generator().manual_seed(seed)) % FOLDS
    out = fold == torch.arange(FOLDS).unsqueeze(-1)  # FOLDS x n
    maps = [rule(counties.places[~left], counties.shares[~left]) for left in out]
    misses = torch.stack([share(counties.places) - counties.shares for share in maps])
    # the transpose brings the left-out ones into the order of the counties: each column has one of them
    return Misses(misses.T[out.T], misses[~out])


def rmse(misses: Tensor) -> float:
    """The root of the mean square, in percentage points."""
    return 100.0 * math.sqrt(float(misses.square().mean()))


def chosen(settings: Sequence[Setting], counties: Counties, space: DesignSpace, seed: int) -> Setting:
    """Of the settings within one standard error of the least held-out error, the one that follows counties closest."""
    tried = []
    for setting in settings:
        misses = cross_validated(partial(fitted, setting, space, seed), counties, seed)
        print(f"{setting}: held out {rmse(misses.left_out):.2f}, fitted {rmse(misses.known):.2f}", flush=True)
        tried.append(misses)
    best = min(tried, key=lambda misses: rmse(misses.left_out)).left_out.square()
    gaps = [misses.left_out.square() - best for misses in tried]
    good = [i for i, gap in enumerate(gaps) if float(gap.mean()) <= float(gap.std()) / math.sqrt(len(gap))]
    return settings[min(good, key=lambda i: rmse(tried[i].known))]


def extremes(function: Map, space: DesignSpace) -> tuple[float, float]:
    """The least and the greatest value of a smooth function over a space: the best of a grid, then descent."""
    u = grid(space, GRID)
    low, high = space.bounds.tolist()
    found = []
    for sign in (1.0, -1.0):
        values = sign * function(u)

        def signed(x: np.ndarray, sign: float = sign) -> tuple[float, np.ndarray]:
            place = torch.from_numpy(x).requires_grad_(True)
            value = sign * function(place)
            (gradient,) = torch.autograd.grad(value, place)
            return float(value.detach()), gradient.numpy()

        starts = u[values.topk(STARTS, largest=False).indices]
        ends = [
            minimize(signed, x, jac=True, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)))
            for x in starts.numpy()
        ]
        found.append(sign * min(float(values.min()), *(float(end.fun) for end in ends)))
    return found[0], found[1]


def trained(path: str | Path, region: Region, settings: Sequence[Setting] = SETTINGS, seed: int = 0) -> Trained:
    """The network for a region, its setting chosen by cross-validation and its held-out error measured on new folds."""
    counties, space = read_counties(path, region), region.space
    setting = chosen(settings, counties, space, seed)
    rules: list[Rule] = [partial(fitted, setting, space, seed), mean, nearest]
    errors = [rmse(cross_validated(rule, counties, seed + 1).left_out[counties.inside]) for rule in rules]
    network = fitted(setting, space, seed, counties.places, counties.shares)
    return Trained(network, setting, (errors[0], errors[1], errors[2]), *extremes(network, space), len(counties.shares))


def main(arguments: Sequence[str] | None = None, settings: Sequence[Setting] = SETTINGS) -> None:
    """Train, print what was found and store it."""
    parser = argparse.ArgumentParser(description="Train the network behind the vaccination problems.")
    parser.add_argument("data", help=f"a CSV file with the columns {', '.join(COLUMNS)}")
    parser.add_argument("--region", default="pennsylvania", help=f"one of {', '.join(sorted(REGIONS))}")
    parser.add_argument("--out", required=True, help="the npz file to write")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        result = trained(options.data, region_named(options.region), settings, options.seed)
    except InputError as error:
        parser.error(str(error))
    print(f"chosen: {result.setting}, {result.counties} counties")
    own, constant, near = result.held_out
    print(f"held-out RMSE in percentage points: network {own:.2f}, mean {constant:.2f}, nearest county {near:.2f}")
    print(f"shares over the region: {result.least:.4f} to {result.greatest:.4f}")
    stored: dict[str, Any] = {
        **result.network.arrays(),
        "held_out": np.array(result.held_out),
        "extremes": np.array([result.least, result.greatest]),
        "counties": np.array(result.counties),
        "setting": np.array(repr(result.setting)),
        "seed": np.array(options.seed),
    }
    np.savez(options.out, **stored)


if __name__ == "__main__":
    main()
