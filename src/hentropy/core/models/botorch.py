"""`from_botorch`: the belief that a fitted BoTorch model stands for.

    exact Gaussian process, linear outcome transform       `Gaussian`    fast: its parts are copied, the rest is ours
    the same, fully Bayesian or an ensemble                `Gaussian`    a mixture of equal weights
    the same, any other outcome transform (a logarithm)    `Samples`     paths drawn before the transform
    any other model with one Gaussian output               `Posterior`   the model is asked for every set of points
    several outputs, each an exact Gaussian process        `Several`     their beliefs beside each other, by name

The model that is handed in stays as it is, and training it later changes no belief.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace

from hentropy.core.beliefs import Belief, Gaussian, Posterior, Samples, Several
from hentropy.core.models.exact import Untransform, gaussian, is_exact, is_linear, outcome_transform, raw_inputs
from hentropy.errors import InputError, ModelError
from hentropy.lazy import Tensor, botorch, torch

SAMPLES_INSTEAD = "draw functions from the model and hand them to he.Samples instead"


def from_botorch(
    model: botorch.models.model.Model,
    noise_std: float | None = None,
    *,
    names: Sequence[str] | None = None,
    draws: int = 512,
    seed: int = 0,
) -> Belief:
    """The belief of a fitted BoTorch model, in the units of its posterior.

    `names` are those of its outputs, which a model with several needs; the outputs are independent of each other.
    `noise_std` is the noise standard deviation of a future observation, if not that of the model; after
    a non-linear outcome transform it is in the transformed units, where the noise is Gaussian. Such a model is
    represented by sampled paths: `draws` is their number, `seed` their seed.
    """
    if noise_std is not None and not (math.isfinite(noise_std) and noise_std >= 0):
        raise InputError(f"noise_std must be a number not below 0, got {noise_std}")
    if not isinstance(model, botorch.models.model.Model):
        raise ModelError(f"from_botorch takes a fitted BoTorch model, got {type(model).__name__}; {SAMPLES_INSTEAD}")
    if (
        isinstance(model, botorch.models.fully_bayesian.AbstractFullyBayesianSingleTaskGP)
        and model.covar_module is None
    ):
        raise ModelError(f"{type(model).__name__} has not been fitted: call fit_fully_bayesian_model_nuts(model) first")
    if names is not None and (isinstance(names, str) or len(names) != model.num_outputs):
        raise InputError(
            f"names are {names!r}, and {type(model).__name__} has {model.num_outputs} outputs; give one for each"
        )
    if model.num_outputs != 1:
        return _several(model, noise_std, names, draws, seed)
    single = model.models[0] if isinstance(model, botorch.models.ModelListGP) else model
    belief = _single(single, noise_std, draws, seed)
    return belief if names is None else replace(belief, outcomes=tuple(names))  # type: ignore[type-var]


def _several(
    model: botorch.models.model.Model, noise_std: float | None, names: Sequence[str] | None, draws: int, seed: int
) -> Several:
    """The outputs beside each other, each by its name."""
    kind, count = type(model).__name__, model.num_outputs
    if names is None:
        listed = ", ".join(f'"output {i}"' for i in range(count))
        raise ModelError(
            f"{kind} has {count} outputs; name them, such as names=[{listed}], or take one: model.subset_output([i])"
        )
    if isinstance(model, botorch.models.ModelListGP):
        singles = list(model.models)
    elif isinstance(model, botorch.models.SingleTaskGP) and not isinstance(model, botorch.models.MultiTaskGP):
        training = model.training
        # in evaluation mode, subsets keep the designs of all outputs
        model.train()
        try:
            singles = [model.subset_output([i]) for i in range(count)]
        finally:
            model.train(training)
    else:
        raise ModelError(
            f"the outputs of {kind} are correlated, which from_botorch does not know; fit he.fit_outcomes to the data,"
            " or take one output, model.subset_output([i])"
        )
    parts = []
    for name, single in zip(names, singles, strict=True):
        part = from_botorch(single, noise_std, names=[name], draws=draws, seed=seed)
        if not isinstance(part, Gaussian):
            raise ModelError(
                f"the output {name} of {kind} is no exact Gaussian process with a linear outcome transform, which alone"
                " can stand beside others; fit one, or decide about this output alone"
            )
        parts.append(part)
    return Several(tuple(parts), tuple(names))


def _single(model: botorch.models.model.Model, noise_std: float | None, draws: int, seed: int) -> Belief:
    """The belief of a model with one output."""
    if not is_exact(model):
        return _posterior(model, noise_std)
    transform = outcome_transform(model)
    if is_linear(transform):
        return _in_double(gaussian(model, noise_std, transform))
    if transform is None or isinstance(transform, botorch.models.transforms.outcome.StratifiedStandardize):
        return _posterior(model, noise_std)
    return _samples(gaussian(model, noise_std, None), Untransform(transform), draws, seed)


def _in_double(belief: Gaussian) -> Gaussian:
    if belief.X.dtype is torch.float64:
        return belief
    raise ModelError(
        f"the model's data are {belief.X.dtype}; conditioning needs float64: build the model of X.double(), Y.double()"
    )


def _samples(belief: Gaussian, outcome: Untransform, draws: int, seed: int) -> Samples:
    """Paths before the transform, read after it."""
    belief = _in_double(belief)
    weights = belief.X.new_full((draws,), 1.0 / draws)
    return Samples(belief.X, belief.paths(draws, seed), weights, belief.noise_std, outcome, seed=seed)


def _posterior(model: botorch.models.model.Model, noise_std: float | None) -> Posterior:
    """Any other model, copied and frozen, if its posterior is Gaussian."""
    if not isinstance(model, botorch.models.gpytorch.GPyTorchModel):
        raise ModelError(
            f"{type(model).__name__} has no Gaussian posterior that observations can update; {SAMPLES_INSTEAD}"
        )
    frozen = _frozen(model)
    X = _designs(frozen)
    with torch.no_grad():
        given = frozen.posterior(X)
    if type(given) is not botorch.posteriors.GPyTorchPosterior or isinstance(
        given, botorch.posteriors.fully_bayesian.GaussianMixturePosterior
    ):
        raise ModelError(
            f"the posterior of {type(model).__name__} is a {type(given).__name__}, which is not one Gaussian;"
            f" {SAMPLES_INSTEAD}"
        )
    if tuple(given.mean.shape) != (X.shape[0], 1):
        raise ModelError(
            f"the posterior of {type(model).__name__} at {X.shape[0]} designs has shape {tuple(given.mean.shape)}:"
            " batched models and input transforms that add rows are not supported; fit one model, without them"
        )
    noise = noise_std**2 if noise_std is not None else _noise(frozen, X, given)
    return Posterior(frozen, X, noise, X[:0], X.new_empty(0))


def _frozen(model: botorch.models.gpytorch.GPyTorchModel) -> botorch.models.gpytorch.GPyTorchModel:
    """A copy in evaluation mode without gradients; the model's own mode is put back."""
    training = model.training
    # predicting leaves caches on a model that cannot be copied; training mode drops them
    model.train()
    try:
        frozen = copy.deepcopy(model)
    except RuntimeError as error:
        raise ModelError(
            f"{type(model).__name__} cannot be copied ({str(error).splitlines()[0]}); {SAMPLES_INSTEAD}"
        ) from error
    finally:
        model.train(training)
    return frozen.requires_grad_(False).eval()


def _designs(model: botorch.models.gpytorch.GPyTorchModel) -> Tensor:
    """The designs observed so far in the user's units: n x d."""
    if isinstance(model, botorch.models.ApproximateGPyTorchModel):
        X = model.model.train_inputs[0].detach()  # kept after the input transform only
        transform = dict(model.named_children()).get("input_transform")
        return X if transform is None else transform.untransform(X)
    X = raw_inputs(model)
    if isinstance(model, botorch.models.MultiTaskGP):
        task = model._task_feature
        of_output = X[:, task] == float(model._output_tasks[0])
        return torch.cat([X[:, :task], X[:, task + 1 :]], -1)[of_output]
    return X


def _noise(
    model: botorch.models.gpytorch.GPyTorchModel, X: Tensor, given: botorch.posteriors.GPyTorchPosterior
) -> float:
    """The noise variance of an observation, averaged over the designs."""
    try:
        with torch.no_grad():
            noisy = model.posterior(X, observation_noise=True)
    except (NotImplementedError, RuntimeError) as error:
        raise ModelError(
            f"the noise of {type(model).__name__} cannot be read from its likelihood ({error}); give noise_std"
        ) from error
    return float((noisy.variance - given.variance).mean().clamp_min(0.0))
