"""The parts of the Earth that maps of real data are used on: rectangles in degrees."""

from dataclasses import dataclass

from hentropy.bench.problems.names import named
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
