"""The share of people vaccinated against COVID-19, as a smooth map of counties.

The function is a small neural network that `train_vaccination` fitted to the shares of fully vaccinated people that the
CDC published by county; the counties themselves are not here. Pennsylvania is the state of 16 September 2021, with the
counties around it. The United States are those of 25 January 2023: in 2021 the CDC had no counties of Texas.

Counties differ much from their neighbours, and the network follows them only as far as counties left out support. Root
mean square error on counties left out, in percentage points (`held_out` in the stored file):

    region          network   mean of the others   nearest county
    pennsylvania       7.40                 8.83             9.85
    united-states      9.55                12.86            11.75
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Function, Problem
from hentropy.bench.problems.network import Network
from hentropy.bench.problems.regions import region_named
from hentropy.bench.problems.unit_distance import UnitL1
from hentropy.core.decisions import Sequence, TopK

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
"""Found by `optima`."""
