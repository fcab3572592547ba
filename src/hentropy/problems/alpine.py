"""Alpine: a sum of rough one-dimensional hills, with many local maxima that differ in height."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.errors import InputError
from hentropy.spaces import Real, Space


@dataclass(frozen=True)
class Alpine:
    """0.05 sum |t sin t + 0.1 t| with t = 2 x, over d parameters in [0, 5]: scaled as in the paper."""

    d: int

    def __post_init__(self) -> None:
        if self.d < 1:
            raise InputError(f"Alpine needs at least 1 parameter, got d = {self.d}")

    @property
    def space(self) -> Space:
        """[0, 5]^d."""
        return Space(**{f"x{i + 1}": Real(0.0, 5.0) for i in range(self.d)})

    def __call__(self, x: Tensor) -> Tensor:
        """Values at designs ... x d: ... ."""
        t = 2.0 * x
        return 0.05 * (t * torch.sin(t) + 0.1 * t).abs().sum(-1)

    def at(self, **params: float) -> float:
        """The value of one design given by name."""
        return float(self(torch.tensor([params[name] for name in self.space.names], dtype=torch.float64)))


def alpine(d: int) -> Alpine:
    """The Alpine function of d parameters."""
    return Alpine(d)
