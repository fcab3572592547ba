"""Values of functions drawn from a belief, at points of any shape."""

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief

JOINT_POINTS = 1024
"""At more points than these the joint covariance costs too much, and drawn functions are evaluated instead."""


@torch.no_grad()
def function_values(belief: Belief, points: Tensor, count: int, seed: int) -> Tensor:
    """So many functions drawn from the belief, at points ... x d: count x ... .

    Exact joint draws where the different points are few; beyond, paths that approximate the prior by features.
    """
    flat = points.to(belief.X).reshape(-1, points.shape[-1])
    different, where = torch.unique(flat, dim=0, return_inverse=True)
    if different.shape[0] <= JOINT_POINTS:
        values = belief.sample(different, count, seed)
    else:
        values = belief.paths(count, seed)(different)
    return values[:, where].reshape(count, *points.shape[:-1])
