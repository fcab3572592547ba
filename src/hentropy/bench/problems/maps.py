"""Problems on maps of real data: the share of people vaccinated against COVID-19, and night light over Pennsylvania.

The share is a small neural network, trained on counties, so that it is a smooth function of a place; night light is as
a satellite saw it in 2012. Maps are rectangles in degrees.
"""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Function, Problem, UnitL1, best_labels, grid, named
from hentropy.core.decisions import LevelSets, Sequence, TopK
from hentropy.core.decisions.level_sets import Relation
from hentropy.core.spaces import Real, Space


@dataclass(frozen=True)
class Region:
    """A rectangle of longitudes and latitudes in degrees, east and north positive."""

    name: str
    west: float
    east: float
    south: float
    north: float

    @property
    def space(self) -> Space:
        """The rectangle as a space with the parameters lon and lat."""
        return Space(lon=Real(self.west, self.east), lat=Real(self.south, self.north))


PENNSYLVANIA = Region("pennsylvania", west=-80.52, east=-74.70, south=39.72, north=42.23)
UNITED_STATES = Region("united-states", west=-124.7, east=-67.0, south=24.5, north=49.4)
"""The 48 states that lie together. The rectangle takes in sea, and land of Canada and Mexico."""

REGIONS = {region.name: region for region in (PENNSYLVANIA, UNITED_STATES)}


def region_named(name: str) -> Region:
    """The region with this name, or an `InputError` that lists those there are."""
    return named(name, REGIONS, "region")


@dataclass(frozen=True, eq=False)
class Network:
    """Layers of weights (in x out) and biases (out); the last one has a single output."""

    centre: Tensor
    scale: Tensor
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    def __call__(self, x: Tensor) -> Tensor:
        """Shares at places ... x d: ... ."""
        h = (x - self.centre.to(x)) / self.scale.to(x)
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = torch.tanh(h @ W.to(x) + b.to(x))
        return torch.sigmoid((h @ self.weights[-1].to(x) + self.biases[-1].to(x)).squeeze(-1))

    @property
    def hidden(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        return tuple(b.shape[0] for b in self.biases[:-1])

    @property
    def numbers(self) -> Tensor:
        """All weights, then all biases, in one row."""
        return torch.cat([part.reshape(-1) for part in (*self.weights, *self.biases)])

    def with_numbers(self, numbers: Tensor) -> "Network":
        """The same network with other weights and biases."""
        old = (*self.weights, *self.biases)
        parts = [new.view(part.shape) for new, part in zip(numbers.split([p.numel() for p in old]), old, strict=True)]
        return replace(self, weights=tuple(parts[: len(self.weights)]), biases=tuple(parts[len(self.weights) :]))

    @classmethod
    def drawn(cls, centre: Tensor, scale: Tensor, hidden: tuple[int, ...], seed: int) -> "Network":
        """A network with random weights: the outputs of each layer are about as large as its inputs."""
        generator = torch.Generator().manual_seed(seed)
        sizes = (centre.shape[0], *hidden, 1)
        weights = [torch.randn(n, m, generator=generator, dtype=torch.float64) / n**0.5 for n, m in pairwise(sizes)]
        biases = [torch.randn(m, generator=generator, dtype=torch.float64) for m in sizes[1:]]
        return cls(centre, scale, tuple(weights), (*biases[:-1], torch.zeros(1, dtype=torch.float64)))

    def arrays(self) -> dict[str, np.ndarray]:
        """What `from_arrays` needs, to be stored."""
        layers = {f"weight_{i}": W for i, W in enumerate(self.weights)} | {
            f"bias_{i}": b for i, b in enumerate(self.biases)
        }
        return {name: t.numpy() for name, t in {"centre": self.centre, "scale": self.scale, **layers}.items()}

    @classmethod
    def from_arrays(cls, stored: Any) -> "Network":
        """The network in a mapping of arrays, such as an npz file."""
        layers = sum(name.startswith("weight_") for name in stored)
        weights = [torch.from_numpy(stored[f"weight_{i}"]) for i in range(layers)]
        biases = [torch.from_numpy(stored[f"bias_{i}"]) for i in range(layers)]
        return cls(torch.from_numpy(stored["centre"]), torch.from_numpy(stored["scale"]), tuple(weights), tuple(biases))

    def __repr__(self) -> str:
        return f"Network(hidden={self.hidden})"


CREDIT = {
    "pennsylvania": "CDC COVID Data Tracker, counties on 16 September 2021; network trained by this project",
    "united-states": "CDC, COVID-19 Vaccinations in the United States, County, 25 January 2023; network trained by this"
    " project",
}

TARGETS = (0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True)
class Scaled:
    """A function's values less its least, over its range: 0 where it is least and 1 where it is greatest."""

    function: Function
    least: float
    greatest: float

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs ... x d: ... ."""
        return (self.function(x) - self.least) / (self.greatest - self.least)


@dataclass(frozen=True)
class Stored:
    """A trained network, its least and greatest value over its region, and its held-out error.

    `held_out` are root mean square errors in percentage points: the network's, the mean's and the nearest county's.
    """

    network: Network
    least: float
    greatest: float
    held_out: tuple[float, float, float]


@cache
def vaccination_network(region: str) -> Stored:
    """What the training stored for a region."""
    file = files("hentropy.bench.problems").joinpath("data", f"vaccination_{region_named(region).name}.npz")
    with file.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
        least, greatest = stored["extremes"].tolist()
        network, constant, near = stored["held_out"].tolist()
        return Stored(Network.from_arrays(stored), least, greatest, (network, constant, near))


def vaccination(region: str = "pennsylvania") -> Problem:
    """Five places with great shares, apart from each other; distances as parts of the region's width and height."""
    space = region_named(region).space
    decision = TopK(5, weight=20.0, cap=0.3, distance=UnitL1(space))
    name = f"vaccination-{region}-top-5"
    return Problem(name, vaccination_network(region).network, space, decision, BEST.get(name), CREDIT[region])


def vaccination_sequence(region: str = "pennsylvania") -> Problem:
    """Places whose shares run from low to high, as parts of the way from the region's least share to its greatest."""
    stored, name = vaccination_network(region), f"vaccination-{region}-sequence"
    function = Scaled(stored.network, stored.least, stored.greatest)
    return Problem(name, function, region_named(region).space, Sequence(TARGETS), BEST.get(name), CREDIT[region])


SEARCHED = "searched: thousands of descents, polish, hops until nothing better came; three seeds agree"
MET = "exact: every target is met, by bisection"

BEST = {
    "vaccination-pennsylvania-top-5": Best(
        -8.913799331327,
        SEARCHED,
        torch.tensor(
            [
                [-77.013415488416, 39.72],
                [-74.7, 40.228405638298],
                [-74.7, 40.981405638298],
                [-74.7, 41.734405638298],
                [-75.573, 40.604905638298],
            ],
            dtype=torch.float64,
        ),
    ),
    "vaccination-pennsylvania-sequence": Best(
        0.0,
        MET,
        torch.tensor(
            [
                [-76.9595202342, 41.378559457796],
                [-76.8689456046, 41.346621479355],
                [-76.778427044161, 41.314703271745],
                [-76.67479423608, 41.278160782916],
                [-76.522216534416, 41.224359587506],
            ],
            dtype=torch.float64,
        ),
    ),
    "vaccination-united-states-top-5": Best(
        -10.047787781302,
        SEARCHED,
        torch.tensor(
            [
                [-107.567851014942, 35.976869353282],
                [-124.7, 38.440589047111],
                [-124.7, 49.4],
                [-67.0, 45.097794392764],
                [-73.993216126339, 40.645664090266],
            ],
            dtype=torch.float64,
        ),
    ),
    "vaccination-united-states-sequence": Best(
        0.0,
        MET,
        torch.tensor(
            [
                [-103.854432055946, 39.218727621973],
                [-104.173994693632, 38.939745695541],
                [-105.714232434576, 37.595100103546],
                [-106.055085446837, 37.297531430690],
                [-106.328075522357, 37.059207896635],
            ],
            dtype=torch.float64,
        ),
    ),
}
"""Found by `experiments.problems.optima`."""


NIGHT_LIGHT_CREDIT = "NASA Earth Observatory / NOAA NGDC, Suomi NPP VIIRS day-night band, 2012"

WEST, NORTH, STEP = -80.8, 42.5, 0.1
"""The raster's outer edges and the size of its pixels, in degrees. Row 0 is in the north, column 0 in the west."""


@dataclass(frozen=True, eq=False)
class Raster:
    """A map of pixels (rows x columns), interpolated between their centres; beyond the outermost centres it is flat."""

    pixels: Tensor
    west: float
    north: float
    step: float

    def __call__(self, x: Tensor) -> Tensor:
        """Values at longitudes and latitudes ... x 2: ... ."""
        rows, columns = self.pixels.shape
        east = ((x[..., 0] - self.west) / self.step - 0.5).clamp(0.0, columns - 1.0)
        south = ((self.north - x[..., 1]) / self.step - 0.5).clamp(0.0, rows - 1.0)
        # the last centre belongs to the cell before it, so that every place has a neighbour to the east and south
        j, i = east.long().clamp_max(columns - 2), south.long().clamp_max(rows - 2)
        u, v = east - j, south - i
        z = self.pixels.to(x)
        upper = (1.0 - u) * z[i, j] + u * z[i, j + 1]
        lower = (1.0 - u) * z[i + 1, j] + u * z[i + 1, j + 1]
        return (1.0 - v) * upper + v * lower

    def __repr__(self) -> str:
        rows, columns = self.pixels.shape
        return f"Raster({rows} x {columns} pixels of {self.step:g} degrees)"


@cache
def pennsylvania_at_night() -> Raster:
    """Relative light, 0 where it is darkest and 1 where it is brightest."""
    with files("hentropy.bench.problems").joinpath("data", "night_lights_pennsylvania.npy").open("rb") as file:
        pixels = np.load(file, allow_pickle=False)
    return Raster(torch.from_numpy(pixels.astype(np.float64)), WEST, NORTH, STEP)


def night_light(relation: Relation = "difference") -> Problem:
    """Where Pennsylvania is at least half as bright as its brightest place, on 15 x 15 points."""
    function, space = pennsylvania_at_night(), PENNSYLVANIA.space
    decision = LevelSets(0.5, at=grid(space, 15, 0.02, 0.98), relation=relation)
    name = "night-light-one-level" if relation == "difference" else "night-light-level-labels"
    return Problem(name, function, space, decision, best_labels(function, space, decision), NIGHT_LIGHT_CREDIT)
