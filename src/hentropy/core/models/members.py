"""Ensembles of fitted regressors as weighted functions: `forest` and `ensemble`, for models of scikit-learn.

Each member is a function with the same weight (see `Samples`). The members are fitted to designs in the unit cube and
to standardised outcomes.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hentropy.core.beliefs import Samples
from hentropy.core.given import is_count
from hentropy.core.models.own import ModelData
from hentropy.errors import InputError
from hentropy.lazy import AutogradFunction, Tensor, torch

LEAST_NOISE = 0.01
"""Of an observation, as a share of the spread of the outcomes: samples cannot be weighted without any."""

SEEDS = 2**32
"""Random states of scikit-learn are below this."""

STEP = 1e-4
"""Of the differences that stand for derivatives, in the unit cube."""


class Regressor(Protocol):
    """What scikit-learn calls a regressor."""

    def fit(self, X: Any, y: Any) -> Any:
        """To X (n x d) and y (n)."""

    def predict(self, X: Any) -> Any:
        """At X (m x d): m."""


class Forest(Regressor, Protocol):
    """A regressor that averages others, such as a RandomForestRegressor."""

    @property
    def estimators_(self) -> Sequence[Regressor]:
        """The others."""


@dataclass(frozen=True)
class Members:
    """Fitted regressors as functions: points ... x d to S x ..., differentiable by differences if they are `smooth`."""

    regressors: tuple[Regressor, ...]
    to_unit: Callable[[Tensor], Tensor]
    shift: float
    scale: float
    smooth: bool

    def __call__(self, points: Tensor) -> Tensor:
        """At points ... x d: S x ... ."""
        u = self.to_unit(points)
        values: Tensor = _Predicted.apply(u.reshape(-1, u.shape[-1]), self)
        return (self.shift + self.scale * values).reshape(-1, *points.shape[:-1])

    def predict(self, u: Tensor) -> Tensor:
        """At inputs m x d, in the regressors' own units: S x m."""
        table = u.detach().cpu().numpy()
        return torch.from_numpy(np.stack([np.asarray(one.predict(table), float) for one in self.regressors])).to(u)


class _Predicted(AutogradFunction):
    """Inputs m x d to S x m. Steps have no slope; that of a smooth function is a central difference."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, members: Members) -> Tensor:
        ctx.members = members
        ctx.save_for_backward(u)
        return members.predict(u)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (u,) = ctx.saved_tensors
        if not ctx.members.smooth:
            return torch.zeros_like(u), None
        step = STEP * torch.eye(u.shape[-1]).to(u)
        slopes = [(ctx.members.predict(u + h) - ctx.members.predict(u - h)) / (2.0 * STEP) for h in step]
        return torch.stack([(grad * slope).sum(0) for slope in slopes], -1), None


@dataclass(frozen=True)
class EnsembleModel:
    """The model of an ensemble: how the members are fitted (inputs, outcomes, seed), whether they are smooth."""

    fitted: Callable[[Any, Any, int], Sequence[Regressor]]
    smooth: bool
    noise_std: float | None

    def __call__(self, data: ModelData) -> Samples:
        """The members, fitted, with equal weights."""
        shift, scale = float(data.Y.mean()), data.scale
        inputs, outcomes = data.space.to_unit(data.X).numpy(), ((data.Y - shift) / scale).numpy()
        regressors = tuple(self.fitted(inputs, outcomes, data.seed))
        if len(regressors) < 2:
            raise InputError(f"an ensemble needs at least 2 members, got {len(regressors)}")
        members = Members(regressors, data.space.to_unit, shift, scale, self.smooth)
        weights = data.X.new_ones(len(regressors))
        noise = self.noise_std or data.told_noise
        if noise is None:  # what the members together leave unexplained
            left = float((data.Y - members(data.X).mean(0)).square().mean().sqrt())
            noise = max(left, LEAST_NOISE * scale)
        return Samples(data.X, members, weights, noise, seed=data.seed)


def forest(estimator: Forest, *, noise_std: float | None = None) -> EnsembleModel:
    """A scikit-learn random forest, for `Study(model=...)`: its trees are the functions.

    `estimator` is an unfitted ensemble, such as RandomForestRegressor(200, min_samples_leaf=2). It is
    copied, and fitted with the study's seed. `noise_std` is the standard error of an observation; by default, that
    of the values told, or the residual error of the forest. Trees are step functions without gradients: they work best
    on a pool.
    """
    _check_noise(noise_std)

    def fitted(inputs: Any, outcomes: Any, seed: int) -> Sequence[Regressor]:
        own: Any = copy.deepcopy(estimator)
        own.set_params(random_state=seed % SEEDS)
        return list(own.fit(inputs, outcomes).estimators_)

    return EnsembleModel(fitted, False, noise_std)


def ensemble(
    make: Callable[[int], Regressor], members: int, *, bootstrap: bool = False, noise_std: float | None = None
) -> EnsembleModel:
    """An ensemble of smooth scikit-learn regressors, such as a deep ensemble, for `Study(model=...)`.

    `make(seed)` returns an unfitted regressor: lambda seed: MLPRegressor(random_state=seed). Each
    of the `members` is fitted to all data, or to a `bootstrap` sample of them. `noise_std` as in `forest`.
    """
    _check_noise(noise_std)
    if not is_count(members) or members < 2:
        raise InputError(f"members must be a whole number of at least 2, got {members!r}")

    def fitted(inputs: Any, outcomes: Any, seed: int) -> Sequence[Regressor]:
        draws = np.random.default_rng(seed)
        n, found = len(outcomes), []
        for own in range(members):
            rows = draws.integers(0, n, n) if bootstrap else slice(None)
            regressor = make((seed * members + own) % SEEDS)
            regressor.fit(inputs[rows], outcomes[rows])
            found.append(regressor)
        return found

    return EnsembleModel(fitted, True, noise_std)


def _check_noise(noise_std: float | None) -> None:
    if noise_std is not None and not (math.isfinite(noise_std) and noise_std > 0):
        raise InputError(f"noise_std must be a finite number above 0, or left out; got {noise_std}")
