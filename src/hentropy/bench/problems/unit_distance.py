"""Distances that do not depend on the units of the parameters."""

from dataclasses import dataclass

from torch import Tensor

from hentropy.core.spaces import DesignSpace


@dataclass(frozen=True, repr=False)
class UnitL1:
    """The sum of absolute differences in the unit coordinates of a space: every axis has length 1."""

    space: DesignSpace

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Designs ... x d and ... x d: ... ."""
        return (self.space.to_unit(a) - self.space.to_unit(b)).abs().sum(-1)

    def __repr__(self) -> str:
        return "UnitL1()"
