"""Distances between designs, by name or by a function of the user's own."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor

from hentropy.errors import DecisionError, InputError

Distance = Literal["l1", "l2"] | Callable[[Tensor, Tensor], Tensor]


def l1(a: Tensor, b: Tensor) -> Tensor:
    """Sum of absolute differences: ... x d and ... x d to ... ."""
    return (a - b).abs().sum(-1)


def l2(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean distance, with a gradient of zero where the points coincide."""
    square = (a - b).square().sum(-1)
    positive = square > 0
    return square.where(positive, square.new_ones(())).sqrt() * positive


def distance_function(distance: Distance) -> Callable[[Tensor, Tensor], Tensor]:
    """The function that a name stands for; a function stands for itself."""
    if callable(distance):
        return distance
    named = {"l1": l1, "l2": l2}
    if distance not in named:
        raise InputError(f'the distance {distance!r} is not known; use "l1", "l2" or a function of two tensors')
    return named[distance]


def between(function: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    """The distance, with its shape checked: a user's function may have reduced too much."""
    value = function(a, b)
    if value.shape != a.shape[:-1]:
        raise DecisionError(
            f"the distance returned shape {tuple(value.shape)} for points of shape {tuple(a.shape)}; it must return"
            f" {tuple(a.shape[:-1])}: reduce over the last dimension only"
        )
    return value
