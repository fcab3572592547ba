"""Distances between designs, by name or by a function of the user's own."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from hentropy.errors import DecisionError

Distance = Literal["l1", "l2"] | Callable[[Tensor, Tensor], Tensor]


def l2(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance, with a gradient of zero where the points coincide."""
    square = (a - b).square().sum(-1)
    positive = square > 0
    return square.where(positive, square.new_ones(())).sqrt() * positive


def all_pairs(distance: Distance, a: Tensor) -> Tensor:
    """Distances between all k points of actions ... x k x d: ... x k x k, zero between a point and itself."""
    if distance in ("l1", "l2"):
        # one call forward and one backward, several times faster than differences of broadcast points
        return torch.cdist(a, a, p=1.0 if distance == "l1" else 2.0, compute_mode="donot_use_mm_for_euclid_dist")
    value = _own(distance, a.unsqueeze(-2), a.unsqueeze(-3))
    return value.masked_fill(torch.eye(a.shape[-2], dtype=torch.bool, device=a.device), 0.0)


def between(distance: Distance, a: Tensor, b: Tensor) -> Tensor:
    """Distances from each of m points to each of p, and back: m x d and p x d to m x p, the mean of both ways."""
    if distance in ("l1", "l2"):
        return torch.cdist(a, b, p=1.0 if distance == "l1" else 2.0, compute_mode="donot_use_mm_for_euclid_dist")
    a, b = a.unsqueeze(-2), b.unsqueeze(-3)
    return 0.5 * (_own(distance, a, b) + _own(distance, b, a))


def _own(distance: Distance, a: Tensor, b: Tensor) -> Tensor:
    """A function of the user's own, checked."""
    first, second = torch.broadcast_tensors(a, b)
    value = distance(first, second)  # type: ignore[operator]
    if value.shape != first.shape[:-1]:
        raise DecisionError(
            f"the distance returned shape {tuple(value.shape)} for points of shape {tuple(first.shape)}; it must return"
            f" {tuple(first.shape[:-1])}: reduce over the last dimension only"
        )
    return value
