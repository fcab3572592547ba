"""The fixed points at which some decisions report: given by the user, or spread over the space."""

from typing import Any

import torch
from torch import Tensor

from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError

Places = Any
"""None, or anything that makes a tensor m x d."""

FILLING = 512


def as_places(at: Places) -> Tensor | None:
    """A tensor m x d, checked, or None."""
    if at is None:
        return None
    places = torch.as_tensor(at, dtype=torch.float64)
    if places.dim() != 2 or places.shape[0] == 0:
        raise InputError(f"the points must have shape m x d with at least one row, got {tuple(places.shape)}")
    if not bool(torch.isfinite(places).all()):
        raise InputError("a point has a value that is NaN or infinite; drop that row")
    return places


def places_in(space: DesignSpace, at: Tensor | None, count: int = FILLING) -> Tensor:
    """The given points, checked against the space; all designs of a list; or points that fill the space."""
    if at is not None:
        if at.shape[-1] != space.dim:
            raise InputError(f"the points have {at.shape[-1]} values each, the designs of the space {space.dim}")
        return at
    return space.sample(count, seed=0) if space.points is None else space.points
