"""The parts of a BoTorch exact Gaussian process, copied and frozen, and the belief made of them.

A part is a copy: training the model later does not move a belief, and no gradient reaches the model's parameters.
"""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass
from typing import Any

from hentropy.core.beliefs import Frame, Gaussian
from hentropy.core.beliefs.kernels import from_gpytorch
from hentropy.errors import ModelError
from hentropy.lazy import Tensor, botorch, gpytorch, torch


@dataclass(frozen=True)
class Transform:
    """A frozen input transform, or none: points ... x d to model inputs ... x d'."""

    module: torch.nn.Module | None

    def __call__(self, x: Tensor) -> Tensor:
        """As the model transforms points that it predicts at."""
        return x if self.module is None else self.module(x)


@dataclass(frozen=True)
class ModuleMean:
    """A GPyTorch mean module: inputs ... x m x d to H x ... x m; `batched` says that it carries H components itself."""

    module: torch.nn.Module
    batched: bool

    def __call__(self, inputs: Tensor) -> Tensor:
        """The prior mean of each component."""
        if not self.batched:
            return self.module(inputs).unsqueeze(0)
        # GPyTorch aligns a module's batch with the last batch dimension of its inputs; ours stands first
        return self.module(inputs.unsqueeze(-3)).movedim(-2, 0)


@dataclass(frozen=True)
class Untransform:
    """What a model calls an outcome, to the user's units: ... to ... ."""

    module: botorch.models.transforms.outcome.OutcomeTransform

    def __call__(self, values: Tensor) -> Tensor:
        """The inverse of the outcome transform."""
        return self.module.untransform(values.unsqueeze(-1))[0].squeeze(-1)


def child(model: torch.nn.Module, name: str) -> torch.nn.Module | None:
    """A frozen copy of one of the model's modules, in evaluation mode; None where it has none of that name."""
    module = dict(model.named_children()).get(name)
    return None if module is None else copy.deepcopy(module).requires_grad_(False).eval()


def raw_inputs(model: botorch.models.SingleTaskGP) -> Tensor:
    """The designs a model was given, in the user's units; in evaluation mode BoTorch keeps transformed ones instead."""
    if model._has_transformed_inputs:
        # a model that was moved to another device took these along only in its other form
        return model._original_train_inputs.detach().to(model.train_targets).clone()
    return model.train_inputs[0].detach().clone()


def is_exact(model: torch.nn.Module) -> bool:
    """Whether the model is mean + kernel + Gaussian noise and predicts as such, so that its parts are all there is."""
    likelihood = dict(model.named_children()).get("likelihood")
    usual = (gpytorch.likelihoods.GaussianLikelihood, gpytorch.likelihoods.FixedNoiseGaussianLikelihood)
    if type(likelihood) not in usual and not _has_outliers(likelihood):
        return False
    if isinstance(model, botorch.models.fully_bayesian.AbstractFullyBayesianSingleTaskGP):
        return type(model).forward is botorch.models.fully_bayesian.AbstractFullyBayesianSingleTaskGP.forward
    if (
        not isinstance(model, botorch.models.SingleTaskGP)
        or type(model).forward is not botorch.models.SingleTaskGP.forward
    ):
        return False
    return model.num_outputs == 1 and _transforms_alike(model)


def _transforms_alike(model: botorch.models.SingleTaskGP) -> bool:
    """Whether training designs and points to predict at enter the model the same way (a belief has one transform)."""
    transform: Any = child(model, "input_transform")
    X = raw_inputs(model)
    if transform is None:
        return True
    trained, predicted = transform.preprocess_transform(X), transform(X)
    return trained.shape == predicted.shape and torch.allclose(trained, predicted)


def outcome_transform(model: torch.nn.Module) -> botorch.models.transforms.outcome.OutcomeTransform | None:
    """A frozen copy of the model's outcome transform."""
    return child(model, "outcome_transform")


def is_linear(transform: botorch.models.transforms.outcome.OutcomeTransform | None) -> bool:
    """Whether the outcome is shift + scale x model value everywhere."""
    if transform is None:
        return True
    return transform._is_linear and not isinstance(transform, botorch.models.transforms.outcome.StratifiedStandardize)


def gaussian(
    model: botorch.models.SingleTaskGP,
    noise_std: float | None,
    transform: botorch.models.transforms.outcome.OutcomeTransform | None,
) -> Gaussian:
    """The belief in units of a linear outcome transform, or in the model's own where it is None."""
    X, targets = raw_inputs(model), model.train_targets.detach().clone()
    if X.dim() == 3:
        X, targets = _unbatched(model, X, targets)
    mean_module, kernel = child(model, "mean_module"), model.covar_module
    assert mean_module is not None
    components = max(1, kernel.batch_shape.numel())
    noise, usual = (part.reshape(-1, part.shape[-1]).expand(components, X.shape[0]) for part in _noise(model, X))
    shift, scale = _line(transform, X)
    future = usual.mean(-1) if noise_std is None else noise.new_full((components,), noise_std**2) / scale.square()
    return Gaussian.from_data(
        X,
        targets,
        noise,
        future,
        from_gpytorch(kernel),
        ModuleMean(mean_module, batched=len(kernel.batch_shape) > 0),
        Frame(Transform(child(model, "input_transform")), shift, scale),
        noise.new_full((components,), 1.0 / components),
    )


def _has_outliers(likelihood: Any) -> bool:
    """Whether the noise is that of relevance pursuit, some observations being outliers."""
    sparse = sys.modules.get("botorch.models.likelihoods.sparse_outlier_noise")  # who has such a model has imported it
    return sparse is not None and isinstance(likelihood, sparse.SparseOutlierGaussianLikelihood)


def _noise(model: botorch.models.SingleTaskGP, X: Tensor) -> tuple[Tensor, Tensor]:
    """The noise variances of the observations at X, and those that an observation to come has: ... x n or 1 each.

    They differ where relevance pursuit found outliers, each with a variance of its own.
    """
    if not _has_outliers(model.likelihood):
        noise = model.likelihood.noise.detach().clone()
        return noise, noise
    sparse = model.likelihood.noise_covar
    with torch.no_grad():
        usual, outlying = sparse.base_noise.noise.detach().clone(), sparse.rho
        if sparse.convex_parameterization:  # then it is relative to the variance of the observation
            prior = model.covar_module(Transform(child(model, "input_transform"))(X), diag=True)
            outlying = (prior + usual) * outlying
        return usual + outlying, usual


def _line(transform: botorch.models.transforms.outcome.OutcomeTransform | None, like: Tensor) -> tuple[Tensor, Tensor]:
    """Shift and scale of a linear outcome transform: what it makes of 0 and of 1."""
    ends = torch.tensor([0.0, 1.0], dtype=like.dtype, device=like.device)
    if transform is not None:
        # members of an ensemble share their data, so all are alike
        ends = Untransform(transform)(ends).reshape(-1, 2)[0]
    return ends[0], ends[1] - ends[0]


def _unbatched(model: botorch.models.SingleTaskGP, X: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The common data of an ensemble whose members carry a copy each (H x n x d, H x n): n x d and n."""
    same = all(torch.allclose(v, v[:1].expand_as(v), rtol=1e-9, atol=1e-12) for v in (X, targets))
    if not (model._is_ensemble and same):
        raise ModelError(
            f"the model has {X.shape[0]} batches of data; a belief is about one function: fit one model per batch"
        )
    return X[0], targets[0]
