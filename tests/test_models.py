"""The default model: its log posterior, the sampler, and what a fit promises."""

import math
from collections.abc import Callable
from dataclasses import replace

import gpytorch
import pytest
import torch
from torch import Tensor

from hentropy.core.beliefs import Gaussian, Needs, Transformed
from hentropy.core.beliefs.kernels import Profile
from hentropy.core.models import Hyperparameters, fit, fit_with
from hentropy.core.models.ensemble import explore, representatives
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.hyperparameters import (
    NEARLY,
    NOISE_FLOOR,
    SUBSET,
    LogPosterior,
    ascend,
    common_share,
    summits,
)
from hentropy.core.spaces import Integer, Real, Space
from hentropy.errors import InputError


def data(n: int = 12, d: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
    X = torch.rand(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return X, torch.sin(5 * X[:, 0]) + X.square().sum(-1)


def target(profile: Profile = Profile.MATERN52, given: bool = False, n: int = 12, d: int = 2) -> LogPosterior:
    X, Y = data(n, d)
    noise = torch.linspace(0.01, 0.2, n, dtype=torch.float64) if given else None
    return LogPosterior(X, (Y - Y.mean()) / Y.std(correction=0), noise, profile)


def rows(posterior: LogPosterior, count: int, seed: int = 0) -> Tensor:
    return posterior.prior_draws(count, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("given", [False, True])
def test_log_posterior_is_gpytorchs_marginal_likelihood_plus_the_priors(profile: Profile, given: bool) -> None:
    posterior = target(profile, given)
    theta = rows(posterior, 5)
    if not given:
        theta[:, -1].clamp_(min=-8.0)  # a matrix near singular has no digits to compare
    X, y = posterior.inputs, posterior.outcomes
    expected = []
    for row in theta:
        base = (
            gpytorch.kernels.RBFKernel(ard_num_dims=2)
            if profile.twice_smoothness is None
            else gpytorch.kernels.MaternKernel(profile.twice_smoothness / 2, ard_num_dims=2)
        )
        kernel = gpytorch.kernels.ScaleKernel(base).double()
        kernel.outputscale, base.lengthscale = row[2].exp(), row[:2].exp()
        noise = posterior.noise if posterior.noise is not None else (NOISE_FLOOR + row[-1].exp()).expand(len(y))
        covariance = kernel(X).to_dense() + torch.diag(noise)
        with torch.no_grad():
            normal = torch.distributions.MultivariateNormal(row[3].expand(len(y)), covariance)
            expected.append(normal.log_prob(y))
    constant = 0.5 * len(y) * math.log(2 * math.pi)
    torch.testing.assert_close(posterior.log_likelihood(theta), torch.stack(expected) + constant, rtol=1e-7, atol=1e-7)
    location = [math.log(0.5 * math.sqrt(2))] * 2 + [0.0, 0.0, math.log(1e-4)]
    width = [1.3, 1.3, 1.0, 1.0, 3.0]
    p = posterior.size
    covariance = torch.tensor(width[:p], dtype=torch.float64).square().diag()
    priors = torch.distributions.MultivariateNormal(torch.tensor(location[:p], dtype=torch.float64), covariance)
    gap = posterior(theta) - posterior.log_likelihood(theta) - priors.log_prob(theta)
    torch.testing.assert_close(gap, gap[:1].expand(5))


def test_length_scales_of_many_coordinates_have_a_part_in_common() -> None:
    """The prior of a family: each as wide as alone; the mean of ten varies more, and differences less."""
    posterior = replace(
        LogPosterior(torch.rand(4, 10).double(), torch.zeros(4).double(), None, Profile.MATERN32), common=0.9
    )
    alone = replace(posterior, common=0.0)
    theta = posterior.prior_draws(20_000, torch.Generator().manual_seed(0))[:, :10]
    spread = theta.std(0)
    torch.testing.assert_close(spread, torch.full_like(spread, 1.3), rtol=0.03, atol=0.0)
    assert float(theta.mean(-1).std()) == pytest.approx(1.3 * math.sqrt(0.9 + 0.1 / 10), rel=0.03)
    rows = posterior.prior_draws(3, torch.Generator().manual_seed(1))
    normal = torch.distributions.MultivariateNormal(posterior.priors[0], posterior.prior_covariance)
    gap = posterior.log_prior(rows) - normal.log_prob(rows)
    torch.testing.assert_close(gap, gap[:1].expand(3))
    torch.testing.assert_close(alone.prior_covariance, torch.diag(alone.priors[1].square()))
    assert common_share(2) == 0.0
    assert common_share(10) == 0.9


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("given", [False, True])
def test_gradient_equals_finite_differences(profile: Profile, given: bool) -> None:
    posterior = target(profile, given)
    theta = rows(posterior, 4, seed=3).requires_grad_()
    assert torch.autograd.gradcheck(posterior, (theta,), eps=1e-6, atol=1e-4, rtol=1e-4)


def test_rows_that_fail_are_minus_infinity_and_leave_the_others_alone() -> None:
    X = torch.zeros(4, 1, dtype=torch.float64)
    # equal designs without noise: a singular matrix
    posterior = LogPosterior(X, torch.arange(4.0, dtype=torch.float64), torch.zeros(4).double(), Profile.MATERN52)
    assert posterior(rows(posterior, 3)).tolist() == [-math.inf] * 3
    mixed = target()
    theta = rows(mixed, 3)
    theta[1] = torch.tensor([0.0, 0.0, 800.0, 0.0, 0.0])  # exp(800) overflows
    theta.requires_grad_()
    value = mixed(theta)
    value[[0, 2]].sum().backward()
    assert value[1] == -math.inf
    assert theta.grad is not None
    assert bool(theta.grad[[0, 2]].isfinite().all())


def _skewed(x: Tensor) -> Tensor:
    """Independent log-gamma(2) variables: mean digamma(2), variance trigamma(2)."""
    return (2.0 * x - x.exp()).sum(-1)


def _correlated(x: Tensor) -> Tensor:
    rho, p = 0.95, x.shape[-1]
    precision = torch.linalg.inv(rho * torch.ones(p, p).double() + (1 - rho) * torch.eye(p).double())
    return -0.5 * ((x @ precision) * x).sum(-1)


@pytest.mark.parametrize(
    ("log_density", "mean", "variance", "correlation"),
    [(_correlated, 0.0, 1.0, 0.95), (_skewed, 0.42278434, 0.64493407, 0.0)],
    ids=["correlated", "skewed"],
)
@pytest.mark.parametrize("share", [0.0, 0.75, 1.0])
def test_sampler_recovers_known_moments(
    log_density: Callable[[Tensor], Tensor], mean: float, variance: float, correlation: float, share: float
) -> None:
    """4000 sweeps x 40 chains have at least 900 effective draws (worst case: stretch moves alone, autocorrelation 170).

    Means are allowed 6 standard errors, variances and correlations 6 x sqrt(2) (skewed: sqrt(4)): with 3 + 3 + 3
    comparisons each, false alarms are below 1e-7 for normal errors.
    """
    p, generator = 3, torch.Generator().manual_seed(4)
    start = torch.randn(40, p, generator=generator, dtype=torch.float64)
    explored = explore(log_density, start, 4000, generator, burn_in=300, difference_share=share)
    pool = explored.kept.flatten(0, 1)
    error = 6 / math.sqrt(900)
    assert bool(((pool.mean(0) - mean).abs() < error * math.sqrt(variance)).all())
    assert bool(((pool.var(0) / variance - 1).abs() < 2 * error).all())
    correlations = torch.corrcoef(pool.mT)[torch.triu_indices(p, p, 1).unbind()]
    assert bool(((correlations - correlation).abs() < error).all())
    torch.testing.assert_close(explored.last.log_density, log_density(explored.last.chains))


def test_sampler_checks_its_chains() -> None:
    with pytest.raises(InputError, match="at least 8"):
        explore(_skewed, torch.zeros(6, 3).double(), 1, torch.Generator())


def test_few_representatives_stand_for_many_states() -> None:
    """8 chosen states give a mean nearer to that of all than 95 % of 200 random choices of 8 do."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(300, 4, generator=generator, dtype=torch.float64)
    states[:, 0] = states[:, 0].exp()
    chosen = representatives(states, 8)
    assert len(set(chosen.tolist())) == 8
    gap = ((states[chosen].mean(0) - states.mean(0)) / states.std(0)).norm()
    random = [states[torch.randperm(300, generator=generator)[:8]].mean(0) - states.mean(0) for _ in range(200)]
    gaps = torch.stack([(r / states.std(0)).norm() for r in random])
    assert float((gaps < gap).double().mean()) < 0.05


TREATMENTS = ["map", "mixture"]


@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize("profile", list(Profile))
def test_fit_predicts(treatment: str, profile: Profile) -> None:
    X, Y = data(30)
    belief = fit(X, Y, hyperparameters=treatment, profile=profile)  # type: ignore[call-overload]
    assert isinstance(belief, Gaussian)
    assert belief.components == (1 if treatment == "map" else 8)
    a, truth = data(20, seed=8)
    mean, variance = belief.moments(a, Needs.VARIANCE).total()
    assert float((mean - truth).abs().max()) < 0.1
    assert bool(((mean - truth).abs() < 6 * variance.sqrt() + 1e-3).all())


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_units_of_outcomes_and_designs_do_not_matter(treatment: str) -> None:
    X, Y = data(15)
    a = data(6, seed=2)[0]
    plain = fit(X, Y, space=Space.box([0, 0], [1, 1]), hyperparameters=treatment)  # type: ignore[call-overload]
    low, width, shift, scale = torch.tensor([-3.0, 100.0]).double(), torch.tensor([7.0, 1e-3]).double(), -40.0, 1e4
    space = Space.box(low.tolist(), (low + width).tolist())
    moved = fit(low + width * X, shift + scale * Y, space=space, hyperparameters=treatment)  # type: ignore[call-overload]
    one, two = plain.moments(a, Needs.JOINT), moved.moments(low + width * a, Needs.JOINT)
    torch.testing.assert_close(two.mean, shift + scale * one.mean, rtol=1e-4, atol=1e-4 * scale)
    torch.testing.assert_close(two.covariance, scale**2 * one.covariance, rtol=1e-3, atol=1e-4 * scale**2)
    assert moved.noise_std == pytest.approx(scale * plain.noise_std, rel=1e-3)


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_same_seed_same_belief_and_global_randomness_untouched(treatment: str) -> None:
    X, Y = data()
    state = torch.random.get_rng_state()
    one, two = (fit(X, Y, hyperparameters=treatment, seed=3) for _ in range(2))  # type: ignore[call-overload]
    assert one.alpha.equal(two.alpha)
    assert state.equal(torch.random.get_rng_state())


def test_the_maximum_is_one() -> None:
    X, Y = data(20)
    _, found = fit_with(X, Y, hyperparameters="map", space=Space.box([0, 0], [1, 1]))
    posterior = target(n=20)
    theta = found.theta.clone().requires_grad_()
    value = posterior(theta)
    (slope,) = torch.autograd.grad(value.sum(), theta)
    assert float(slope.abs().max()) < 1e-2
    assert float(value.detach().max()) >= float(posterior(rows(posterior, 2000)).max())


class Counted(LogPosterior):
    """Counts how often all observations are evaluated with a slope."""

    evaluations = 0

    def value_and_slope(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        type(self).evaluations += len(self.outcomes) > SUBSET
        return super().value_and_slope(theta)


def test_with_many_observations_the_climb_ends_just_below_the_summit() -> None:
    generator = torch.Generator().manual_seed(3)
    X = torch.rand(SUBSET + 60, 2, generator=generator, dtype=torch.float64)
    noise = 0.01 * torch.randn(SUBSET + 60, generator=generator, dtype=torch.float64)
    Y = torch.sin(9.0 * X[:, 0]) + (X[:, 1] - 0.3).square() + noise
    Counted.evaluations = 0
    target = Counted(X, (Y - Y.mean()) / Y.std(), None, Profile.MATERN52)
    found = summits(target, X.new_empty(0, target.size), generator)
    few, Counted.evaluations = Counted.evaluations, 0
    value = float(target(found.theta))
    assert float(found.value) == pytest.approx(value, abs=NEARLY)
    summit = ascend(target, found.theta)  # until it is flat
    assert float(summit.value) < value + 3.0 * NEARLY
    from_prior = ascend(target, target.priors[0].unsqueeze(0))
    assert float(from_prior.value) < value + 3.0 * NEARLY
    assert few < 20  # some observations, and the tolerance, spare most of the evaluations of all


def test_a_start_is_taken_up() -> None:
    X, Y = data(14)
    for treatment in TREATMENTS:
        _, start = fit_with(X[:13], Y[:13], hyperparameters=treatment)  # type: ignore[arg-type]
        assert isinstance(start, Hyperparameters)
        belief, _ = fit_with(X, Y, start, hyperparameters="mixture")
        assert belief.components == 8
        assert fit(X, Y, start=start, hyperparameters="map").components == 1
        # noise that is given now, and was fitted before
        given, second = fit_with(X, Y, start, noise=0.1, hyperparameters="families")
        assert second.theta.shape[-1] == 4
        assert fit_with(X, Y, second)[1].theta.shape[-1] == 5
        assert given.noise_std == pytest.approx(0.1)
    with pytest.raises(InputError, match="2 length scales, these have 1"):
        fit(X[:, :1], Y, start=start)


def test_warm_and_cold_mixtures_agree() -> None:
    """The same posterior from either start. A fit's log variances scatter by about 0.45, the averages of 4 by 0.23.

    Five deviations of the difference are allowed: 1.6 for 5 points, false alarms below 1e-5.
    """
    X, Y = data(12)
    a = data(5, seed=5)[0]

    def log_variance(belief: Gaussian | Transformed) -> Tensor:
        return belief.moments(a, Needs.VARIANCE).total()[1].log()

    fits = [fit_with(X, Y, seed=seed) for seed in range(4)]
    cold = torch.stack([log_variance(belief) for belief, _ in fits]).mean(0)
    warm = torch.stack([log_variance(fit(X, Y, start=start, seed=9 + i)) for i, (_, start) in enumerate(fits)]).mean(0)
    assert float((cold - warm).abs().max()) < 1.6


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_odd_but_honest_data(treatment: str) -> None:
    def run(X: object, Y: object, **options: object) -> Gaussian:
        belief = fit(X, Y, hyperparameters=treatment, **options)  # type: ignore[call-overload]
        moments = belief.moments(belief.X + 0.1, Needs.JOINT)
        assert bool(moments.mean.isfinite().all())
        assert bool(moments.covariance.isfinite().all())
        return belief

    run([[0.3, 5.0]], [2.0])  # one observation
    assert float(run([[0.0], [1.0], [2.0]], [[4.0], [4.0], [4.0]]).frame.scale) == 1.0  # constant outcomes
    run([[0.1]] * 5 + [[0.2]], [1.0, 1.0, 1.0, 1.0, 1.0, 2.0])  # repeated designs
    run([[0.1]] * 4, [1.0, 2.0, 3.0, 4.0])  # nothing but repeats that differ
    run([[0.0], [1.0], [2.0]], [1.0, 2.0, 1.5], noise=0.0)
    run(data(6)[0].numpy(), data(6)[1].float())
    run([[1.0, 3], [10.0, 1]], [0.0, 1.0], space=Space(x=Real(1, 100, log=True), k=Integer(1, 4)))


def test_given_standard_errors_are_used_in_outcome_units() -> None:
    X, Y = data(10)
    errors = torch.linspace(0.1, 0.5, 10, dtype=torch.float64)
    belief = fit(X, Y, noise=errors, hyperparameters="families")
    torch.testing.assert_close(belief.noise[0].sqrt() * belief.frame.scale, errors)
    assert belief.noise_std == pytest.approx(float(errors.square().mean().sqrt()))
    assert fit(X, Y, noise=0.3).noise_std == pytest.approx(0.3)


def test_noise_is_found_where_there_is_some_and_not_where_there_is_none() -> None:
    """60 observations with noise 0.3 tell it to about 10 %: a factor of two is allowed. Without noise, below 0.03."""
    X, Y = data(60)
    noisy = Y + 0.3 * torch.randn(60, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert 0.15 < fit(X, noisy).noise_std < 0.6
    assert fit(X, Y).noise_std < 0.03


def test_auto_integrates_over_few_data_only() -> None:
    """Families have as many draws together, and one row each where the data are many."""
    X, Y = data(129)
    assert 4 <= fit(X[:20], Y[:20]).components <= 8
    assert fit(X[:20], Y[:20], draws=1).components == 2
    assert fit(X, Y).components == 2
    assert fit(X[:20], Y[:20], hyperparameters="mixture", draws=3).components == 3
    assert fit(X[:20], Y[:20], hyperparameters="map").components == 1
    assert fit(X[:20], Y[:20], profile="matern32").components == 8
    assert fit(X, Y, profile="matern32").components == 1
    with pytest.raises(InputError, match="kernels of their own"):
        fit(X, Y, hyperparameters="families", profile="matern32")


def test_constant_mean_shapes() -> None:
    mean = ConstantMean(torch.tensor([1.0, 2.0]))
    assert mean(torch.zeros(5, 3)).shape == (2, 5)
    assert mean(torch.zeros(4, 5, 3))[1].unique().item() == 2.0


@pytest.mark.parametrize(
    ("X", "Y", "options", "message"),
    [
        ([[0.0], [math.nan]], [1.0, 2.0], {}, "row 1 of X"),
        ([[0.0], [1.0]], [math.inf, 2.0], {}, "row 0 of Y"),
        ([0.0, 1.0], [1.0, 2.0], {}, r"n x d.*\(2,\)"),
        ([[0.0], [1.0]], [1.0, 2.0, 3.0], {}, r"\(3,\)"),
        ([[0.0], [1.0]], [[1.0, 2.0], [1.0, 2.0]], {}, r"\(2, 2\)"),
        ([["a"], ["b"]], [1.0, 2.0], {}, "not a table of numbers"),
        ([[0.0], [1.0]], [1.0, 2.0], {"noise": [0.1, math.nan]}, "observation 1 is nan"),
        ([[0.0], [1.0]], [1.0, 2.0], {"noise": -0.1}, "observation 0"),
        ([[0.0], [1.0]], [1.0, 2.0], {"noise": "constant"}, "noise.*not a table of numbers"),
        ([[0.0], [1.0]], [1.0, 2.0], {"noise": [0.1, 0.1, 0.1]}, r"\(3,\)"),
        ([[0.0], [1.0]], [1.0, 2.0], {"hyperparameters": "mcmc"}, "mcmc"),
        ([[0.0], [1.0]], [1.0, 2.0], {"profile": "cubic"}, "cubic.*matern52"),
        ([[0.0], [1.0]], [1.0, 2.0], {"draws": 0}, "a whole number of at least 1"),
        ([[0.0], [3.0]], [1.0, 2.0], {"space": Space(x=Real(0, 1))}, "outside"),
    ],
)
def test_bad_input_says_what_is_wrong(X: object, Y: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit(X, Y, **options)  # type: ignore[call-overload]


def test_outcomes_whose_spread_no_number_can_hold_are_refused() -> None:
    with pytest.raises(InputError, match=r"range from 0 to 1e\+300.*correct the one that is wrong"):
        fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 1e300])
