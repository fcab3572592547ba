"""Night light over Pennsylvania as a satellite saw it in 2012.

The raster is a crop of NASA's composite of 2012 (Suomi NPP, VIIRS day-night band) from dnb_land_ocean_ice_2012.png of
NASA's library WorldWind 0.11.1, (R + G) / 2, scaled to 0 .. 1 over the crop. Pixels of 0.1 degree were interpolated
from 0.176 degree, so the map is smoother than NASA's finest.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from torch import Tensor

from hentropy.bench.problems.base import Problem
from hentropy.bench.problems.levels import best_labels, grid
from hentropy.bench.problems.regions import PENNSYLVANIA
from hentropy.core.decisions import LevelSets

CREDIT = "NASA Earth Observatory / NOAA NGDC, Suomi NPP VIIRS day-night band, 2012"

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


def night_light() -> Problem:
    """Where Pennsylvania is at least half as bright as its brightest place, on 15 x 15 points."""
    function, space = pennsylvania_at_night(), PENNSYLVANIA.space
    decision = LevelSets(0.5, at=grid(space, 15, 0.02, 0.98))
    best = best_labels(function, space, decision)
    return Problem("night-light-one-level", function, space, decision, best, CREDIT)
