"""Continuous action spaces in unit coordinates, where descent takes place."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from hentropy.core.spaces import DesignSpace, sobol


class Domain(ABC):
    """A continuous set of actions as a unit cube of `size` coordinates."""

    size: int
    event: tuple[int, ...]

    @abstractmethod
    def to_action(self, u: Tensor) -> Tensor:
        """Unit coordinates ... x size to actions ... x event."""

    @abstractmethod
    def to_unit(self, a: Tensor) -> Tensor:
        """Actions to unit coordinates."""

    @abstractmethod
    def project(self, a: Tensor) -> Tensor:
        """The nearest action that can really be taken."""

    def sample(self, count: int, seed: int) -> Tensor:
        """Actions that fill the domain evenly: count x event."""
        return self.project(self.to_action(sobol(count, self.size, seed)))


@dataclass(frozen=True)
class PointsDomain(Domain):
    """k points of a design space."""

    space: DesignSpace
    k: int

    @property
    def size(self) -> int:  # type: ignore[override]
        """k d."""
        return self.k * self.space.dim

    @property
    def event(self) -> tuple[int, ...]:  # type: ignore[override]
        """(k, d)."""
        return (self.k, self.space.dim)

    def to_action(self, u: Tensor) -> Tensor:
        """... x kd to ... x k x d."""
        return self.space.from_unit(u.reshape(*u.shape[:-1], *self.event))

    def to_unit(self, a: Tensor) -> Tensor:
        """... x k x d to ... x kd."""
        return self.space.to_unit(a).flatten(-2)

    def project(self, a: Tensor) -> Tensor:
        """Clamped and rounded as the space says."""
        return self.space.project(a)


@dataclass(frozen=True)
class BoxDomain(Domain):
    """A box of vectors: bounds 2 x p."""

    bounds: Tensor

    @property
    def size(self) -> int:  # type: ignore[override]
        """p."""
        return self.bounds.shape[-1]

    @property
    def event(self) -> tuple[int, ...]:  # type: ignore[override]
        """(p,)."""
        return (self.size,)

    def to_action(self, u: Tensor) -> Tensor:
        """Unit coordinates to the box."""
        low, high = self.bounds.to(u)
        return low + (high - low) * u

    def to_unit(self, a: Tensor) -> Tensor:
        """The box to unit coordinates."""
        low, high = self.bounds.to(a)
        return (a - low) / (high - low)

    def project(self, a: Tensor) -> Tensor:
        """Clamped to the box."""
        low, high = self.bounds.to(a)
        return a.clamp(low, high)
