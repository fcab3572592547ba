"""What a belief is: a weighted set of components, each of which is Gaussian at any finite set of points.

A Gaussian process is one component; a mixture over hyperparameters is several; a set of sampled functions is many whose
covariance is zero. All losses and closed forms see the same `Moments`, so a decision is written once for all of them.

    H  components        b  designs looked at        N  outcomes of each        K  points of an action
    n  observations      q  designs observed together                           d  parameters of a design
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs.linalg import robust_root
from hentropy.core.beliefs.nodes import Nodes

FEW = 2
"""Components of a mixture that a first look takes."""


class Needs(IntEnum):
    """What of a belief a loss depends on; more costs more.

    MEAN means that the loss is affine in f, so that its expectation depends on the means alone.
    """

    MEAN = 0
    VARIANCE = 1
    JOINT = 2


@dataclass(frozen=True)
class Moments:
    """A belief at points: component weights (H x ...), means (H x ... x m), variances and covariances where asked for.

    The batch dimensions of the fields broadcast against each other. `point_mass` says that all covariances are zero.
    """

    weights: Tensor
    mean: Tensor
    var: Tensor | None = None
    cov: Tensor | None = None
    point_mass: bool = False

    def expect(self, values: Tensor) -> Tensor:
        """The average over components of values that each component has: H x ... to ... ."""
        return values[0] if values.shape[0] == 1 else (self.weights * values).sum(0)

    def expect_vector(self, values: Tensor) -> Tensor:
        """The average over components of vectors: H x ... x m to ... x m."""
        return values[0] if values.shape[0] == 1 else (self.weights.unsqueeze(-1) * values).sum(0)

    @property
    def variance(self) -> Tensor:
        """Each component's variances: H x ... x m."""
        if self.var is None:
            raise ValueError("these moments were asked for without variances")
        return self.var

    @property
    def covariance(self) -> Tensor:
        """Each component's covariance: H x ... x m x m."""
        if self.cov is None:
            raise ValueError("these moments were asked for without covariances")
        return self.cov

    def averaged(self) -> "Moments":
        """The means alone, averaged over the components: 1 x ... x m, all that an affine loss needs."""
        return (
            self if self.mean.shape[0] == 1 else Moments(self.weights[:1], self.expect_vector(self.mean).unsqueeze(0))
        )

    def total(self) -> tuple[Tensor, Tensor]:
        """Mean and variance over all components together: ... x m each."""
        mean = self.expect_vector(self.mean)
        second = self.expect_vector(self.variance + (self.mean - mean).square())
        return mean, second


class Fantasy(ABC):
    """A batch b x N of beliefs: each of b designs observed with each of N outcomes.

    With `Needs.MEAN` the moments may come averaged over the components already (H = 1): the expectation of a loss that
    is affine in f depends on that average alone.
    """

    weights: Tensor
    """The integration weights of the outcomes: N."""

    @abstractmethod
    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K."""

    @abstractmethod
    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K."""

    @abstractmethod
    def some(self, index: Tensor) -> "Fantasy":
        """The beliefs after some of the outcomes, by their index."""

    @property
    @abstractmethod
    def values(self) -> Tensor:
        """The outcomes themselves, in the user's units: b x N x q."""


class LookAhead(ABC):
    """Everything about observing at designs x (b x q x d) that does not depend on the outcome."""

    @abstractmethod
    def fantasy(self, nodes: Nodes) -> Fantasy:
        """The beliefs after the outcomes that the nodes stand for."""


class Belief(ABC):
    """What is known about the unknown function f, given the data."""

    X: Tensor
    """The designs observed so far: n x d."""

    noise_std: float
    """The standard deviation of the noise of an observation to come, in the user's units."""

    @cached_property
    def found(self) -> dict[Any, Any]:
        """What was worked out from this belief, for those who ask again: a belief does not change."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found: who asked is known by the places of objects in the memory of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "found"}

    @property
    @abstractmethod
    def components(self) -> int:
        """H: one for a Gaussian process."""

    @abstractmethod
    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m."""

    @abstractmethod
    def look_ahead(self, x: Tensor) -> LookAhead:
        """Prepare to observe at x: b x q x d."""

    @abstractmethod
    def condition(self, x: Tensor, y: Tensor) -> "Belief":
        """The belief after observing the values y (m) at x (m x d), hyperparameters kept."""

    @abstractmethod
    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief: points ... x m x d to count x ... x m."""

    def typical(self, count: int = FEW) -> "Belief":
        """A belief of `count` components that together come close to all, for a first look that all would make slow.

        A belief that cannot be divided is returned as it is.
        """
        return self

    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        """Joint draws of f at points m x d: count x m."""
        return joint_draws(self.moments(points, Needs.JOINT), count, torch.Generator().manual_seed(seed))


def joint_draws(moments: Moments, count: int, generator: torch.Generator) -> Tensor:
    """Draws of f at m points from their moments (H x m), components by weight: count x m."""
    weights, mean = moments.weights.reshape(-1), moments.mean
    component = torch.multinomial(weights.cpu(), count, replacement=True, generator=generator).to(mean.device)
    if moments.point_mass:
        return mean[component]
    noise = torch.randn(count, mean.shape[-1], generator=generator, dtype=torch.float64).to(mean)
    root = robust_root(moments.covariance)
    draws = torch.empty_like(noise)
    for h in range(mean.shape[0]):  # a root for each draw would take count x m x m numbers
        own = component == h
        draws[own] = mean[h] + noise[own] @ root[h].mT
    return draws
