"""Where the names of labels are written on a map of labels."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt

from hentropy.views.plots.marks import Heat

LEAST = 0.05
"""How deep an area must be for a name to be written in it, as a share of the sides of the map."""


@dataclass(frozen=True)
class LabelPlace:
    """A name and where it is written."""

    name: str
    x: float
    y: float


def label_places(heat: Heat) -> list[LabelPlace]:
    """For each label with an area wide enough, the place of that area that is farthest from its border."""
    places = []
    cell = tuple(1.0 / length for length in heat.z.shape)
    for label, name in enumerate(heat.names):
        if not (heat.z == label).any():
            continue
        inside = np.pad(heat.z == label, 1)
        depth = np.asarray(distance_transform_edt(inside, sampling=cell))[1:-1, 1:-1]
        # along a strip many places are as deep: the one in their middle
        deepest = np.argwhere(depth >= 0.98 * depth.max())
        j, i = deepest[np.abs((deepest - deepest.mean(0)) * cell).sum(1).argmin()]
        if depth[j, i] > LEAST:
            places.append(LabelPlace(name, float(heat.x[i]), float(heat.y[j])))
    return places
