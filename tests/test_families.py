"""A belief over families: its posteriors, its weights by brute force, and which family the data speak for."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs, Several
from hentropy.core.beliefs.gaussian import NO_NOISE
from hentropy.core.beliefs.kernels import Composed, Profile
from hentropy.core.beliefs.terms import Basis
from hentropy.core.models.families import (
    FAMILIES,
    basis_of,
    carried,
    evened,
    families_of,
    fit_families,
    leave_one_out,
    stacked,
)
from hentropy.core.models.hyperparameters import MANY, NOISE_FLOOR, LogPosterior
from hentropy.studies.testing import check_belief
from support.studies import hill

pytestmark = pytest.mark.numerics

SPACE = he.Space(x=he.Real(-1.0, 3.0), y=he.Real(0.0, 2.0), z=he.Real(1.0, 5.0))


def additive(x: Tensor) -> Tensor:
    """A sum of functions of one coordinate each, none of them a parabola."""
    u = SPACE.to_unit(x)
    return 7.0 + torch.sin(9.0 * u[:, 0]) + torch.cos(7.0 * u[:, 1]) + torch.sin(5.0 * u[:, 2])


@pytest.fixture(scope="module")
def belief() -> Gaussian:
    X = SPACE.sample(25, seed=1)
    return he.fit(X, additive(X), space=SPACE, hyperparameters="families")


def posterior(n: int, given: bool) -> LogPosterior:
    generator = torch.Generator().manual_seed(n)
    X = torch.rand(n, 2, generator=generator, dtype=torch.float64)
    noise = torch.linspace(0.01, 0.2, n, dtype=torch.float64) if given else None
    return LogPosterior(X, torch.sin(5 * X[:, 0]) + X[:, 1], noise, Profile.MATERN32, None, Basis(2, (0, 1)))


def test_a_family_that_foresees_nothing_keeps_no_more_than_its_pseudo_counts() -> None:
    """Whatever the evidence says about noise: it divides the weight of a family, and moves none between them."""
    X = torch.rand(60, 2, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    belief = he.fit(X, torch.sin(3.0 * X[:, 0]) + X[:, 1].square(), hyperparameters="families")
    weights, H = carried(belief), belief.components
    assert weights["rough"] < 1.5 * H / (60.0 + H)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("n", [9, MANY + 2])
def test_the_posterior_of_a_family_with_terms_is_that_of_its_kernel(n: int, given: bool) -> None:
    target = posterior(n, given)
    theta = target.prior_draws(3, torch.Generator().manual_seed(0)).clamp(-4.0, 4.0)
    assert theta.shape[-1] == 2 + 2 + 5 + (not given)
    K = target.kernel(theta)(target.inputs, target.inputs) + torch.diag_embed(target.noise_variance(theta))
    mean = theta[:, 3, None].expand(3, n)
    expected = torch.distributions.MultivariateNormal(mean, K).log_prob(target.outcomes)
    constant = 0.5 * n * torch.log(torch.tensor(2.0 * torch.pi, dtype=torch.float64))
    torch.testing.assert_close(target.log_likelihood(theta), expected + constant, rtol=1e-6, atol=1e-6)


def test_slopes_in_the_hyperparameters_of_terms() -> None:
    target = posterior(6, False)
    theta = target.prior_draws(2, torch.Generator().manual_seed(1)).clamp(-3.0, 3.0).requires_grad_()
    assert torch.autograd.gradcheck(target, [theta], eps=1e-6, atol=1e-4, rtol=1e-4)


def test_densities_left_out_are_those_of_beliefs_that_never_saw_the_observation(belief: Gaussian) -> None:
    found = leave_one_out(belief).log_density
    values = belief.observed
    for i in (0, 11):
        rest = torch.arange(25) != i
        without = Gaussian.from_data(
            belief.X[rest],
            (values[rest] - belief.frame.shift) / belief.frame.scale,
            belief.noise[:, rest],
            belief.future_noise,
            belief.kernel,
            belief.prior_mean,
            belief.frame,
            belief.weights,
        )
        at = without.moments(belief.X[[i]], Needs.VARIANCE)
        sd = (at.variance[:, 0] + belief.frame.scale.square() * belief.noise[:, i]).sqrt()
        expected = torch.distributions.Normal(at.mean[:, 0], sd).log_prob(values[i])
        torch.testing.assert_close(found[:, i], expected, rtol=1e-3, atol=1e-3)


def test_stacked_weights_maximise_the_density_of_the_mixture() -> None:
    log_density = 2.0 * torch.randn(2, 15, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    share = torch.linspace(0.0005, 0.9995, 1000, dtype=torch.float64)
    weights = torch.stack([share, 1.0 - share])
    mixture = torch.logsumexp(weights.log().unsqueeze(-1) + log_density.unsqueeze(1), 0).sum(-1)
    best = share[(mixture + 0.5 * weights.log().sum(0)).argmax()]
    found = stacked(log_density, 0.5)
    assert float(found[0]) == pytest.approx(float(best), abs=2e-3)
    assert float(found.sum()) == pytest.approx(1.0)
    assert stacked(torch.zeros(4, 6, dtype=torch.float64)).tolist() == pytest.approx([0.25] * 4)


def in_families(belief: Gaussian) -> list[Tensor]:
    """Which components (H) belong to each family."""
    names = families_of(belief)
    return [torch.tensor([name == family.name for name in names]) for family in FAMILIES]


def test_the_weights_are_stacked_and_follow_an_outcome_by_its_likelihood(belief: Gaussian) -> None:
    quiet, weights = belief.future_noise < NO_NOISE, stacked(leave_one_out(belief).log_density)
    assert 0 < int(quiet.sum()) < belief.components
    for family in in_families(belief):
        torch.testing.assert_close(belief.weights[family].sum(), weights[family].sum())
        for own in (family & quiet, family & ~quiet):  # how probable noise is in a family follows from the evidence
            given, found = belief.weights[own], weights[own]
            torch.testing.assert_close(given / given.sum(), found / found.sum())
    x = SPACE.sample(1, seed=4)
    y = additive(x) + 0.2
    at = belief.moments(x, Needs.VARIANCE)
    sd = (at.variance + belief.frame.scale.square() * belief.future_noise.unsqueeze(-1)).sqrt()
    density = torch.distributions.Normal(at.mean, sd).log_prob(y)[:, 0]
    expected = torch.softmax(belief.weights.log() + density, 0)
    torch.testing.assert_close(belief.condition(x, y).weights, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_a_belief_over_families_does_not_contradict_itself(belief: Gaussian) -> None:
    check_belief(belief, SPACE, tolerance=1e-5)


def test_a_sum_of_functions_is_foreseen(belief: Gaussian) -> None:
    """With 25 observations; the stationary kernel alone errs by about half of the spread."""
    points = SPACE.sample(100, seed=7)
    moments = belief.moments(points, Needs.MEAN)
    error = (moments.expect_vector(moments.mean) - additive(points)).square().mean().sqrt()
    assert float(error) < 0.25 * float(additive(points).std())
    assert carried(belief)["rough"] < 0.3


def test_the_family_that_foresees_best_carries_the_weight() -> None:
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(30, 1, generator=generator, dtype=torch.float64)
    steps = torch.where(X[:, 0] > 0.37, 1.0, 0.0) - torch.where(X[:, 0] > 0.71, 2.0, 0.0)
    rough = carried(he.fit(X, steps, hyperparameters="families"))
    smooth = carried(he.fit(X, torch.exp(X[:, 0]) * X[:, 0] ** 3, hyperparameters="families"))
    assert set(rough) == {family.name for family in FAMILIES}
    assert sum(rough.values()) == pytest.approx(1.0)
    assert smooth["smooth"] > 0.7
    assert rough["smooth"] < smooth["smooth"]
    assert carried(he.fit(X, steps, hyperparameters="map")) == {}


@pytest.mark.parametrize("given", [False, True])
def test_widened_rows_expect_the_same_with_greater_standard_deviations(given: bool) -> None:
    target = posterior(9, given)
    theta = target.prior_draws(2, torch.Generator().manual_seed(3)).clamp(-3.0, 3.0)
    wide = target.widened(theta, 3.0)
    torch.testing.assert_close(target.covariance(wide), 9.0 * target.covariance(theta))
    torch.testing.assert_close(wide[:, 3], theta[:, 3])  # the mean
    v, widened = ((target.noise_variance(rows) - (0.0 if given else NOISE_FLOOR)) for rows in (theta, wide))
    torch.testing.assert_close(widened, v if given else 9.0 * v)


def test_options_have_no_waves() -> None:
    space = he.Space(x=he.Real(0, 1), dye=he.Choice(["red", "green", "blue"]), t=he.Real(0, 1))
    assert basis_of(5, space.scales).waving == (0, 4)
    X = space.sample(14, seed=0)
    belief = he.fit(X, X[:, 0] + 2.0 * X[:, 1], space=space, hyperparameters="families")
    assert isinstance(belief.kernel, Composed)
    assert belief.kernel.terms.variance.shape[-1] == sum(basis_of(5, space.scales).sizes)
    points = space.sample(30, seed=1)
    moments = belief.moments(points, Needs.MEAN)
    error = moments.expect_vector(moments.mean) - points[:, 0] - 2.0 * points[:, 1]
    assert float(error.abs().max()) < 0.2


def test_options_alone_have_slopes() -> None:
    space = he.Space(dye=he.Choice(["red", "green", "blue"]), shape=he.Choice(["round", "flat", "long"]))
    X = space.sample(9, seed=0)
    belief = he.fit(X, X[:, 0] + 2.0 * X[:, 4], space=space, hyperparameters="families")
    x = space.sample(3, seed=1).requires_grad_()
    (slope,) = torch.autograd.grad(belief.moments(x, Needs.MEAN).mean.sum(), x)
    step = 1e-6 * torch.eye(x.shape[-1], dtype=torch.float64)
    at = x.detach().unsqueeze(1)
    with torch.no_grad():
        up, down = (belief.moments(at + sign * step, Needs.MEAN).mean for sign in (1.0, -1.0))
    torch.testing.assert_close(slope, (up - down).sum(0) / 2e-6, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_and_constant_data(n: int) -> None:
    X = SPACE.sample(n, seed=2)
    for Y in (additive(X), torch.full((n,), 4.0, dtype=torch.float64)):
        moments = he.fit(X, Y, space=SPACE, hyperparameters="families").moments(SPACE.sample(4, seed=3), Needs.JOINT)
        assert bool(moments.mean.isfinite().all())
        assert bool(moments.covariance.isfinite().all())


def test_many_observations_have_one_fit_of_each_family() -> None:
    target = posterior(20, False)
    fitted = fit_families(target, 1, torch.Generator().manual_seed(0))
    assert [one.theta.shape[0] for one in fitted] == [1, 1]
    assert [one.target.profile for one in fitted] == [family.profile for family in FAMILIES]


@pytest.mark.parametrize("components", [[0], [4], [0, 4]])
def test_slopes_in_the_points(belief: Gaussian, components: list[int]) -> None:
    kernel = belief.some(components).kernel
    a = torch.rand(2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: kernel(x, belief.inputs[:3]), [a], eps=1e-6, atol=1e-4, rtol=1e-4)


def test_evened_mixtures_stand_for_the_weights(belief: Gaussian) -> None:
    even = evened(belief, 400)
    assert even.weights.tolist() == pytest.approx([1 / 400] * 400)
    points = SPACE.sample(3, seed=5)
    exact, near = (each.moments(points, Needs.VARIANCE).total() for each in (belief, even))
    torch.testing.assert_close(near[0], exact[0], rtol=0.01, atol=0.01)


def test_several_outcomes_share_their_weights() -> None:
    X = SPACE.sample(12, seed=1)
    Y = torch.stack([additive(X), X[:, 0].square()], -1)
    both = he.fit_outcomes(X, Y, ["a", "b"], space=SPACE, hyperparameters="families", draws=4)
    assert isinstance(both, Several)
    assert both.components == 4
    assert both.weights.tolist() == pytest.approx([0.25] * 4)


def test_a_stored_study_keeps_its_families_and_goes_on_as_before(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    space = he.Space(x=he.Real(-1.0, 3.0))
    made, plain = (
        he.Study(space, he.Maximize(), name="hill", first=4, seed=5, hyperparameters="families", storage=storage)
        for storage in (url, None)
    )
    for row in space.sample(5, seed=7):
        for each in (made, plain):
            each.attach(space.decode(row), hill(**space.decode(row)))
    made.close()
    again = he.load_study("hill", url)
    assert isinstance(again.belief, Gaussian)
    assert isinstance(plain.belief, Gaussian)
    assert sum(carried(again.belief).values()) == pytest.approx(1.0)
    torch.testing.assert_close(again.belief.weights, plain.belief.weights)
    trial, expected = again.ask(), plain.ask()
    assert trial.gain is not None
    assert trial.params == pytest.approx(expected.params)
    again.close()


def test_an_observation_left_out_hardly_moves_the_stacked_weights(belief: Gaussian) -> None:
    """Weights by likelihood are divided by what the observation contributed; stacked ones have one share of n + H."""
    found = leave_one_out(belief)
    for i in (3, 17):
        others = [j for j in range(25) if j != i]
        without, quiet = stacked(found.log_density[:, others]), belief.future_noise < NO_NOISE
        for family in in_families(belief):
            for own in (family & quiet, family & ~quiet):
                expected = belief.weights[own].sum() * without[own] / without[own].sum()
                off = 1.0 / (25 + belief.components)
                torch.testing.assert_close(found.weights[own, i], expected, rtol=0, atol=off)
    assert evened(belief, 4).stacked
