"""What level-set problems share: points on a grid, and the best labels, which are those of the true values."""

import torch
from torch import Tensor

from hentropy.bench.problems.base import Best, Function
from hentropy.core.decisions import LevelSets
from hentropy.core.spaces import DesignSpace


def grid(space: DesignSpace, count: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    """count points along each axis, from `low` to `high` in unit coordinates: count^d x d in the space's own units."""
    axis = torch.linspace(low, high, count, dtype=torch.float64)
    unit = torch.stack(torch.meshgrid(*[axis] * space.dim, indexing="ij"), -1).reshape(-1, space.dim)
    return space.from_unit(unit)


@torch.no_grad()
def best_labels(function: Function, space: DesignSpace, decision: LevelSets) -> Best:
    """The labels of the true values: no other labels have a smaller loss."""
    settled = decision.within(space)
    values = function(settled.settled_points)
    labels = (values > torch.tensor(settled.thresholds, dtype=values.dtype).unsqueeze(-1)).to(values)
    return Best(float(settled.loss(values, labels)), "exact: the labels of the true values", labels)
