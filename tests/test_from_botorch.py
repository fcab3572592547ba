"""A belief made from a BoTorch model is that model: same moments, same look-ahead, and the model is left alone."""

import copy
import math
from collections.abc import Callable
from typing import Any

import botorch.models.fully_bayesian as fully_bayesian
import gpytorch
import numpy
import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, MultiTaskGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.map_saas import EnsembleMapSaasSingleTaskGP
from botorch.models.model import Model
from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
from botorch.models.transforms import ChainedOutcomeTransform, Log, Normalize, Standardize
from botorch.models.transforms.input import Round
from gpytorch.kernels import (
    AdditiveKernel,
    Kernel,
    LinearKernel,
    MaternKernel,
    PeriodicKernel,
    ProductKernel,
    RBFKernel,
    RQKernel,
    ScaleKernel,
)
from torch import Tensor

from hentropy import Maximize, Real, Space, entropy
from hentropy.core.beliefs import Belief, Gaussian, Needs, Posterior, Samples, Several, outcome_nodes
from hentropy.core.models import from_botorch
from hentropy.errors import InputError, ModelError

D = 3
KERNELS: dict[str, Callable[[], Kernel]] = {
    "matern12": lambda: ScaleKernel(MaternKernel(0.5, ard_num_dims=D)),
    "matern32": lambda: ScaleKernel(MaternKernel(1.5, ard_num_dims=D)),
    "matern52": lambda: ScaleKernel(MaternKernel(2.5, ard_num_dims=D)),
    "matern52_one_lengthscale": lambda: ScaleKernel(MaternKernel(2.5)),
    "matern52_unscaled": lambda: MaternKernel(2.5, ard_num_dims=D),
    "rbf": lambda: ScaleKernel(RBFKernel(ard_num_dims=D)),
    "rbf_unscaled": lambda: RBFKernel(),
    "rational_quadratic": lambda: ScaleKernel(RQKernel()),
    "periodic": lambda: ScaleKernel(PeriodicKernel()),
    "linear": lambda: ScaleKernel(LinearKernel()) + ScaleKernel(RBFKernel()),
    "additive": lambda: AdditiveKernel(*[ScaleKernel(MaternKernel(2.5, active_dims=(i,))) for i in range(D)]),
    "product": lambda: ProductKernel(RBFKernel(active_dims=(0, 1)), MaternKernel(1.5, active_dims=(2,))),
    "active_dims": lambda: ScaleKernel(MaternKernel(2.5, ard_num_dims=2, active_dims=(0, 2))),
    "sum_of_products": lambda: (
        ScaleKernel(RBFKernel(active_dims=(0,)) * PeriodicKernel(active_dims=(1,))) + ScaleKernel(MaternKernel(0.5))
    ),
}


def data(n: int = 12, low: float = -1.0, high: float = 3.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(5)
    X = low + (high - low) * torch.rand(n, D, generator=generator, dtype=torch.float64)
    Y = 7.0 + 3.0 * (torch.sin(3 * X[:, :1]) + X[:, 1:2] * X[:, 2:] + 0.1 * torch.randn(n, 1, generator=generator))
    return X, Y


def build(kernel: Kernel | None = None, noise: bool = False, **options: Any) -> SingleTaskGP:
    X, Y = data()
    Yvar = torch.linspace(0.01, 0.3, X.shape[0], dtype=torch.float64).unsqueeze(-1) if noise else None
    transforms: dict[str, object] = {"input_transform": Normalize(D), "outcome_transform": Standardize(1)}
    model = SingleTaskGP(X, Y, Yvar, covar_module=kernel, **(transforms | options))
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():  # anywhere but at the defaults
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def points(m: int = 6, *batch: int) -> Tensor:
    return -1 + 4 * torch.rand(*batch, m, D, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


def assert_same(belief: Belief, model: Model, a: Tensor, tolerance: float = 1e-8) -> None:
    with torch.no_grad():
        posterior = model.posterior(a)
        mean, cov = posterior.mean.squeeze(-1), posterior.distribution.covariance_matrix
    moments = belief.moments(a, Needs.JOINT)
    torch.testing.assert_close(moments.mean[0], mean, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(moments.covariance[0], cov, rtol=tolerance, atol=tolerance)
    variance = belief.moments(a, Needs.VARIANCE).variance[0]
    torch.testing.assert_close(variance, posterior.variance.squeeze(-1), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [False, True], ids=["fitted_noise", "given_noise"])
def test_moments_are_the_models(name: str, noise: bool) -> None:
    model = build(KERNELS[name](), noise)
    belief = from_botorch(model)
    assert isinstance(belief, Gaussian)
    assert_same(belief, model, points())
    assert_same(belief, model, points(4, 3, 2))


@pytest.mark.parametrize("options", [{"input_transform": None}, {"outcome_transform": None}], ids=["raw_x", "raw_y"])
@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_moments_without_transforms(options: dict[str, Any]) -> None:
    model = build(None, **options)
    assert_same(from_botorch(model), model, points())


@pytest.mark.parametrize(
    "mean", [gpytorch.means.ConstantMean(), gpytorch.means.LinearMean(D), gpytorch.means.ZeroMean()], ids=type
)
def test_any_mean_module(mean: gpytorch.means.Mean) -> None:
    model = build(None, mean_module=mean)
    assert_same(from_botorch(model), model, points(4, 2))


def test_chained_linear_outcome_transforms() -> None:
    chain = ChainedOutcomeTransform(one=Standardize(1), two=Standardize(1))
    model = build(None, outcome_transform=chain)
    belief = from_botorch(model)
    assert isinstance(belief, Gaussian)
    assert_same(belief, model, points())


@pytest.mark.parametrize("name", ["matern52", "additive", "linear"])
@pytest.mark.parametrize("q", [1, 2])
def test_look_ahead_is_a_fresh_model_with_one_more_observation(name: str, q: int) -> None:
    # bounds of its own: learned ones would move with the observation
    bounds = torch.tensor([[-1.0] * D, [3.0] * D], dtype=torch.float64)
    model = build(KERNELS[name](), input_transform=Normalize(D, bounds=bounds))
    belief = from_botorch(model)
    x, a = points(q, 2), points(5)
    fantasy = belief.look_ahead(x).fantasy(outcome_nodes(3, q, 1, seed=1))
    after = fantasy.shared_moments(a.unsqueeze(0), Needs.JOINT)
    own = fantasy.moments(a.expand(2, 3, 5, D), Needs.JOINT)
    for i in range(2):
        for j in range(3):
            mean, cov = refitted(model, x[i], fantasy.values[i, j], a)
            for moments in (after.mean[0, i, j, 0], own.mean[0, i, j]):
                torch.testing.assert_close(moments, mean, rtol=1e-8, atol=1e-8)
            for moments in (after.covariance.expand(1, 2, 3, 1, 5, 5)[0, i, j, 0], own.covariance[0, i, j]):
                torch.testing.assert_close(moments, cov, rtol=1e-8, atol=1e-8)


def refitted(model: SingleTaskGP, x: Tensor, y: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and covariance at a of the same model with y (q) at x (q x d) among its data."""
    model.train()
    fresh = copy.deepcopy(model)
    transform = fresh.outcome_transform.eval()
    X = torch.cat([fresh.train_inputs[0], x])
    targets = torch.cat([fresh.train_targets, transform(y.unsqueeze(-1))[0].squeeze(-1)])
    fresh.set_train_data(X, targets, strict=False)
    with torch.no_grad():
        posterior = fresh.eval().posterior(a)
        return posterior.mean.squeeze(-1), posterior.distribution.covariance_matrix


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["exact", "posterior"])
def test_the_model_is_left_as_it_was(training: bool, kind: str) -> None:
    options = {"input_transform": Round(integer_indices=[0], transform_on_train=False)} if kind == "posterior" else {}
    X = data()[0]
    model = SingleTaskGP(X / 4 + 0.25, data()[1], **options) if kind == "posterior" else build(**options)
    if not training:
        model.eval()
        model.posterior(points())
    state = {name: value.clone() for name, value in model.state_dict().items()}
    inputs, parameters = model.train_inputs[0].clone(), [p.requires_grad for p in model.parameters()]
    belief = from_botorch(model)
    a = points().requires_grad_()
    belief.moments(a, Needs.JOINT).mean.sum().backward()
    assert a.grad is not None
    assert bool(a.grad.isfinite().all())
    assert isinstance(belief, Posterior if kind == "posterior" else Gaussian)
    assert model.training is training
    assert model.train_inputs[0].equal(inputs)
    assert [p.requires_grad for p in model.parameters()] == parameters
    assert all(p.grad is None for p in model.parameters())
    assert all(value.equal(state[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("name", ["matern52", "periodic"])
def test_training_the_model_later_does_not_move_the_belief(name: str) -> None:
    model = build(KERNELS[name]())
    belief = from_botorch(model)
    before = belief.moments(points(), Needs.JOINT)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5)
    after = belief.moments(points(), Needs.JOINT)
    assert after.mean.equal(before.mean)
    assert after.covariance.equal(before.covariance)


def test_noise_of_an_observation_to_come() -> None:
    assert from_botorch(build(), noise_std=0.25).noise_std == pytest.approx(0.25)
    model = build(noise=True)
    given = torch.linspace(0.01, 0.3, 12, dtype=torch.float64).mean().sqrt()
    assert from_botorch(model).noise_std == pytest.approx(float(given))


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_log_outcomes_become_samples() -> None:
    """Means of 4096 paths against the lognormal formula: six standard errors at 5 points, false alarms below 1e-8.

    The paths' Fourier features add an error of their own, about 1/sqrt(1024) of a prior's share: 5 % is allowed for it.
    """
    X, Y = data()
    model = SingleTaskGP(X, Y.abs() + 1, input_transform=Normalize(D), outcome_transform=Log())
    belief = from_botorch(model, draws=4096)
    assert isinstance(belief, Samples)
    a = points(5)
    exact = model.posterior(a)
    values = belief.moments(a, Needs.MEAN).mean
    error = values.std(0) / math.sqrt(4096)
    assert bool(((values.mean(0) - exact.mean.squeeze(-1)).abs() < 6 * error + 0.05 * values.std(0)).all())


def test_fully_bayesian_models_are_mixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    # drawing needs jax; loading draws and predicting with them does not
    monkeypatch.setattr(fully_bayesian, "_check_jax_available", lambda: None)
    monkeypatch.setattr(fully_bayesian, "jnp", numpy, raising=False)
    X, Y = data()
    model = fully_bayesian.SaasFullyBayesianSingleTaskGP(
        X, Y, input_transform=Normalize(D), outcome_transform=Standardize(1)
    )
    with pytest.raises(ModelError, match="has not been fitted"):
        from_botorch(model)
    generator = torch.Generator().manual_seed(1)
    draws = {
        "lengthscale": 0.3 + torch.rand(5, 1, D, generator=generator, dtype=torch.float64),
        "outputscale": 0.5 + torch.rand(5, generator=generator, dtype=torch.float64),
        "mean": torch.randn(5, generator=generator, dtype=torch.float64),
        "noise": 0.01 + torch.rand(5, 1, generator=generator, dtype=torch.float64),
    }
    model.load_mcmc_samples(draws)
    model.eval()
    belief = from_botorch(model)
    assert isinstance(belief, Gaussian)
    assert belief.components == 5
    a = points(4, 2)
    posterior = model.posterior(a)
    moments = belief.moments(a, Needs.JOINT)
    torch.testing.assert_close(moments.mean, posterior.mean.squeeze(-1).movedim(-2, 0), rtol=1e-8, atol=1e-8)
    cov = posterior.distribution.covariance_matrix.movedim(-3, 0)
    torch.testing.assert_close(moments.covariance, cov, rtol=1e-8, atol=1e-8)
    mean, variance = moments.total()
    torch.testing.assert_close(mean, posterior.mixture_mean.squeeze(-1))
    torch.testing.assert_close(variance, posterior.mixture_variance.squeeze(-1))


def test_ensembles_are_mixtures() -> None:
    X, Y = data()
    model = EnsembleMapSaasSingleTaskGP(
        X / 4 + 0.25, Y, num_taus=3, outcome_transform=Standardize(1, batch_shape=torch.Size([3]))
    )
    model.eval()
    belief = from_botorch(model)
    assert isinstance(belief, Gaussian)
    assert belief.components == 3
    a = points(4) / 4 + 0.25
    torch.testing.assert_close(
        belief.moments(a, Needs.MEAN).mean, model.posterior(a).mean.squeeze(-1), rtol=1e-8, atol=1e-8
    )


# from inside GPyTorch's indexed kernels
@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_other_gaussian_models_become_posteriors() -> None:
    X, Y = data()
    unit = X / 4 + 0.25
    Y = (Y - Y.mean()) / Y.std()
    variational = SingleTaskVariationalGP(unit, Y, inducing_points=unit[:6])
    variational.posterior(unit)  # the first call puts the variational distribution somewhere by chance
    variational.train()
    tasks = torch.cat([unit, torch.arange(12.0, dtype=torch.float64).remainder(2).unsqueeze(-1)], -1)
    multitask = MultiTaskGP(tasks, Y, task_feature=-1, output_tasks=[1])
    for model in (variational, multitask):
        belief = from_botorch(model)
        assert isinstance(belief, Posterior)
        model.eval()
        assert_same(belief, model, points() / 4 + 0.25)
        a = points() / 4 + 0.25
        with torch.no_grad():
            noise = (model.posterior(a, observation_noise=True).variance - model.posterior(a).variance).mean()
        assert belief.noise == pytest.approx(float(noise), rel=1e-6)
    torch.testing.assert_close(from_botorch(multitask).X, unit[1::2])
    given = from_botorch(variational, noise_std=0.5)
    assert isinstance(given, Posterior)
    assert given.noise == 0.25


def test_a_list_of_one_is_that_one() -> None:
    model = build()
    belief = from_botorch(ModelListGP(model))
    assert isinstance(belief, Gaussian)
    assert_same(belief, model, points())


@pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
def test_what_cannot_be_a_belief_says_why() -> None:
    X, Y = data()
    with pytest.raises(ModelError, match=r"he\.Samples"):
        from_botorch(GenericDeterministicModel(lambda x: x[..., :1]))
    with pytest.raises(ModelError, match="2 outputs"):
        from_botorch(SingleTaskGP(X, torch.cat([Y, Y], -1), input_transform=Normalize(D)))
    with pytest.raises(ModelError, match="BoTorch model"):
        from_botorch(torch.nn.Linear(2, 1))
    with pytest.raises(ModelError, match="float64"):
        from_botorch(SingleTaskGP(X.float(), Y.float(), input_transform=Normalize(D)))
    with pytest.raises(ModelError, match="one function"):
        from_botorch(SingleTaskGP(X.expand(2, -1, -1), Y.expand(2, -1, -1), input_transform=Normalize(D)))
    with pytest.raises(InputError, match="noise_std"):
        from_botorch(build(), noise_std=-1.0)


def two_outputs() -> SingleTaskGP:
    X, Y = data()
    Y = torch.cat([Y, -5.0 * Y + X[:, :1].square()], -1)
    return SingleTaskGP(X, Y, input_transform=Normalize(D), outcome_transform=Standardize(2)).eval()


@pytest.mark.parametrize("listed", [False, True], ids=["one_model", "list"])
def test_models_with_several_outputs_are_beliefs_side_by_side(listed: bool) -> None:
    Y = data()[1]
    model: Any = two_outputs()
    if listed:
        model = ModelListGP(build(), build(MaternKernel(1.5))).eval()
    belief = from_botorch(model, names=["yield", "impurity"])
    assert belief.outcomes == ("yield", "impurity")
    a = points(5)
    with torch.no_grad():
        posterior = model.posterior(a)
    for i, name in enumerate(belief.outcomes):
        mean, variance = belief.of(name).moments(a, Needs.VARIANCE).total()
        torch.testing.assert_close(mean, posterior.mean[:, i], rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(variance, posterior.variance[:, i], rtol=1e-6, atol=1e-8)
    space = Space(**{f"x{i}": Real(-1.0, 3.0) for i in range(D)})
    limit = float(Y.mean()) if listed else 0.0
    assert entropy(Maximize("yield", [f"impurity <= {limit}"]), belief, space).value < 0


def test_outputs_are_named_once_each() -> None:
    with pytest.raises(ModelError, match=r"SingleTaskGP has 2 outputs; name them, such as names="):
        from_botorch(two_outputs())
    with pytest.raises(InputError, match="has 2 outputs; give one for each"):
        from_botorch(two_outputs(), names=["yield"])
    with pytest.raises(InputError, match="two beliefs are about 'yield'"):
        from_botorch(two_outputs(), names=["yield", "yield"])
    assert from_botorch(build(), names=["yield"]).outcomes == ("yield",)


def test_beliefs_that_do_not_belong_together_are_refused_at_once() -> None:
    one, other = from_botorch(build(), names=["yield"]), from_botorch(build(), names=["impurity"])
    assert isinstance(one, Gaussian)
    assert isinstance(other, Gaussian)
    with pytest.raises(InputError, match="the outcomes are 'yield', 'impurity'; asked for 'yield', 'purity'"):
        Several((one, other), ("yield", "purity"))
    X, Y = data()
    flat = from_botorch(SingleTaskGP(X[:, :2], Y, input_transform=Normalize(2)), names=["impurity"])
    with pytest.raises(InputError, match="designs of 'yield' have 3 coordinates, and those of 'impurity' have 2"):
        Several((one, flat))  # type: ignore[arg-type]
    samples = Samples(X, one.paths(2, 0), torch.ones(2).double(), 0.1, outcomes=("impurity",))
    with pytest.raises(InputError, match="the belief about 'impurity' is a Samples"):
        Several((one, samples))  # type: ignore[arg-type]


@pytest.mark.parametrize("convex", [True, False])
@pytest.mark.filterwarnings("ignore")  # those of BoTorch itself
def test_a_model_with_outliers_is_the_same_belief(convex: bool) -> None:
    X, Y = data(20)
    Y[3] += 60.0
    model = RobustRelevancePursuitSingleTaskGP(
        X, Y, input_transform=Normalize(D), outcome_transform=Standardize(1), convex_parameterization=convex
    )
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    fit_gpytorch_mll(mll, numbers_of_outliers=[0, 1, 2])
    belief = from_botorch(model)
    assert isinstance(belief, Gaussian)
    assert_same(belief, model.eval(), points(), tolerance=1e-6)
    usual = model.likelihood.noise_covar.base_noise.noise.item() ** 0.5 * float(Y.std())
    assert belief.noise_std == pytest.approx(usual), "an outlier says nothing of the next observation"
