"""`Samples` against `Gaussian`: made of its paths, and in the linear-Gaussian case where both regimes are known."""

import pytest
import torch
from torch import Tensor

from hentropy.core.beliefs import Gaussian, Needs, Nodes, Samples, outcome_nodes
from hentropy.errors import InputError, ModelError
from support.beliefs import designs, gaussian, tensor, truth, two_sided

pytestmark = pytest.mark.numerics

S = 4000


def of_paths(belief: Gaussian, count: int = S, **options: float) -> Samples:
    """Paths of a belief as samples, with the belief's own noise."""
    weights = torch.full((count,), 1.0 / count, dtype=torch.float64)
    return Samples(belief.X, belief.paths(count, seed=1), weights, belief.noise_std, **options)  # type: ignore[arg-type]


# noise variance to come, in shares of about the prior's: weighted, moved
REGIMES = [pytest.param(2.0, id="weighted"), pytest.param(1e-3, id="moved")]


def effective(weights: Tensor) -> Tensor:
    return 1.0 / weights.square().sum(0)


@pytest.mark.parametrize("future_noise", REGIMES)
@pytest.mark.parametrize("q", [1, 2])
def test_many_paths_are_the_gaussian_belief(q: int, future_noise: float) -> None:
    # An average of S' effective draws has standard error std / sqrt(S'); 2 x 2 x 4 x 6 of them, and a factor of 2 for
    # the estimated covariance of the moved samples: a false alarm for less than 1e-4 of seeds.
    belief = gaussian(1, 0.3, future_noise, n=4)
    samples = of_paths(belief)
    x, pool = designs(2, q, seed=2), designs(2, 3, seed=3)
    z = torch.cat([tensor([[-1.5], [0.0], [0.7], [1.5]])] * q, -1)
    nodes = Nodes(z, torch.full((4,), 0.25, dtype=torch.float64), torch.full((4,), 0.5, dtype=torch.float64))
    fantasy = samples.look_ahead(x).fantasy(nodes)
    values = fantasy.values
    after = fantasy.shared_moments(pool, Needs.VARIANCE)
    own = fantasy.moments(pool.expand(2, 4, 2, 3, 2), Needs.MEAN)
    once = fantasy.moments(pool.expand(2, 1, 2, 3, 2), Needs.MEAN)
    assert after.point_mass
    mean, spread = after.total()
    for other in (own, once):
        torch.testing.assert_close(other.expect_vector(other.mean), mean)
    moved = future_noise < 1.0
    weights = after.weights.expand(S, 2, 4, 1)
    assert bool((effective(weights) > 0.2 * S).all())
    assert torch.equal(after.weights.std() < 1e-12, torch.tensor(moved))
    bound = two_sided(1e-4, 96) * (2.0 if moved else 1.0)
    for b in range(2):
        for k in range(4):
            exact = belief.condition(x[b], values[b, k])
            expected = exact.moments(pool, Needs.VARIANCE)
            allowed = bound * (belief.moments(pool, Needs.VARIANCE).variance[0] / effective(weights)[b, k]).sqrt()
            assert bool(((mean[b, k] - expected.mean[0]).abs() < allowed).all())
            torch.testing.assert_close(spread[b, k], expected.variance[0], rtol=0.2, atol=0.05)
            condition = samples.condition(x[b], values[b, k]).moments(pool, Needs.MEAN)
            torch.testing.assert_close(condition.expect_vector(condition.mean), mean[b, k])


@pytest.mark.parametrize("noise_std", [0.05, 0.5, 5.0])
def test_the_moved_update_is_right_for_linear_functions(noise_std: float) -> None:
    """Functions w x with w of exact mean m and variance v: observing at x, the mean of w is Kalman's, for any count."""
    w = torch.randn(50, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = torch.rand(50, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weights = weights / weights.sum()
    samples = Samples(tensor([[0.0]]), lambda p: w.view(50, *[1] * (p.dim() - 1)) * p[..., 0], weights, noise_std,
                      least_effective=1.1)  # always moved  # fmt: skip
    m = weights @ w
    v = weights @ (w - m).square()
    for x, y in [(0.5, 2.0), (-2.0, 1.0)]:
        after = samples.condition(tensor([[x]]), tensor([y]))
        moments = after.moments(tensor([[1.0]]), Needs.MEAN)
        expected = m + v * x / (v * x * x + noise_std**2) * (y - m * x)
        torch.testing.assert_close(moments.expect_vector(moments.mean)[0], expected)


def test_the_weighted_update_is_bayes_rule() -> None:
    levels, y, noise_std = tensor([0.0, 1.0, 3.0]), tensor([0.8, 0.9]), 0.7
    prior = tensor([0.2, 0.5, 0.3])
    samples = Samples(
        tensor([[0.0]]), lambda p: levels.view(3, *[1] * (p.dim() - 1)).expand(3, *p.shape[:-1]), prior, noise_std,
        least_effective=0.0,
    )  # fmt: skip
    density = torch.distributions.Normal(levels[:, None], noise_std).log_prob(y).sum(-1).exp()
    after = samples.condition(tensor([[0.0], [5.0]]), y)
    torch.testing.assert_close(after.weights, prior * density / (prior * density).sum())
    assert after.X.shape == (3, 1)


def test_few_remaining_functions_are_moved_and_many_weighted() -> None:
    samples = of_paths(gaussian(1, 0.3, 1e-4, n=4), 200, least_effective=0.25)
    x = designs(1, 1, seed=5)
    assert bool(
        samples.look_ahead(x).fantasy(outcome_nodes(4, 1, 200)).shared_moments(x, Needs.MEAN).weights.std() < 1e-12
    )
    never = of_paths(gaussian(1, 0.3, 1e-4, n=4), 200, least_effective=0.0)
    weights = never.look_ahead(x).fantasy(outcome_nodes(4, 1, 200)).shared_moments(x, Needs.MEAN).weights
    assert bool((effective(weights) < 50).all())


@pytest.mark.parametrize("future_noise", REGIMES)
@pytest.mark.parametrize("needs", list(Needs))
def test_shapes_are_those_of_a_mixture(needs: Needs, future_noise: float) -> None:
    samples = of_paths(gaussian(1, 0.3, future_noise), 20)
    moments = samples.moments(designs(2, 3, 4, seed=1), needs)
    assert moments.mean.shape == (20, 2, 3, 4)
    assert moments.weights.dim() == 3
    fantasy = samples.look_ahead(designs(3, 2, seed=1)).fantasy(outcome_nodes(5, 2, 20))
    assert fantasy.values.shape == (3, 5, 2)
    assert fantasy.weights.shape == (5,)
    for after, shape in [
        (fantasy.moments(designs(3, 5, 4, seed=2), needs), (20, 3, 5, 4)),
        (fantasy.moments(designs(3, 1, 2, 4, seed=2), needs), (20, 3, 5, 2, 4)),
        (fantasy.shared_moments(designs(2, 4, seed=2), needs), (20, 3, 5, 2, 4)),
    ]:
        whole = torch.broadcast_shapes((*after.weights.shape, 1), after.mean.shape)
        # means alone may come averaged over the functions
        assert whole == shape or (needs is Needs.MEAN and whole == (1, *shape[1:]))
        assert (after.var is None) == (needs is Needs.MEAN)
        if needs is Needs.JOINT:
            assert after.covariance.shape == (*after.mean.shape, shape[-1])
            assert not after.covariance.any()


@pytest.mark.parametrize("future_noise", REGIMES)
def test_gradients_are_finite_differences(future_noise: float) -> None:
    samples = of_paths(gaussian(1, 0.3, future_noise), 8)
    nodes = outcome_nodes(3, 1, 8, seed=1)
    inputs = [designs(2, 1, seed=1).requires_grad_(), designs(2, 3, 1, seed=2).requires_grad_()]

    def f(x: Tensor, a: Tensor) -> Tensor:
        fantasy = samples.look_ahead(x).fantasy(nodes)
        own, pool = fantasy.moments(a, Needs.MEAN), fantasy.shared_moments(a[0], Needs.MEAN)
        values = torch.cat([own.expect_vector(own.mean).flatten(), pool.expect_vector(pool.mean).flatten()])
        return values @ torch.linspace(-1, 2, len(values), dtype=torch.float64)

    # slopes are up to 100, and values have rounding errors of 1e-9
    assert torch.autograd.gradcheck(f, inputs, eps=1e-5, atol=5e-3, rtol=1e-3)


def test_paths_are_functions_drawn_by_weight() -> None:
    levels = tensor([0.0, 1.0, 2.0])
    samples = Samples(tensor([[0.0]]), lambda p: levels.view(3, *[1] * (p.dim() - 1)).expand(3, *p.shape[:-1]),
                      tensor([1.0, 0.0, 3.0]), 1.0, outcome=torch.exp)  # fmt: skip
    paths = samples.paths(10000, seed=0)(tensor([[0.0], [1.0]]))
    assert torch.equal(paths[:, 0], paths[:, 1])
    # a share of 10000 draws is within 5 standard errors for all but 1e-6 of seeds
    assert abs(float((paths[:, 0] == 1.0).double().mean()) - 0.25) < 5 * (0.25 * 0.75 / 10000) ** 0.5
    assert not (paths == levels[1].exp()).any()
    torch.testing.assert_close(samples.moments(tensor([[0.0]]), Needs.MEAN).mean[:, 0], levels.exp())


@pytest.mark.parametrize(
    ("weights", "noise_std", "message"),
    [
        ([0.5, 0.5], 0.0, "needs noise_std above 0 to weigh them, got 0.0"),
        ([1.0], 1.0, r"at least 2 weights, got shape \(1,\)"),
        ([[0.5, 0.5]], 1.0, r"at least 2 weights, got shape \(1, 2\)"),
        ([-0.5, 1.5], 1.0, "must not be negative"),
        ([0.0, 0.0], 1.0, "not all zero"),
        ([float("nan"), 1.0], 1.0, "weights of the samples"),
    ],
)
def test_bad_input_is_named(weights: list[float], noise_std: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Samples(tensor([[0.0]]), lambda p: p[..., 0], tensor(weights), noise_std)


def test_functions_of_a_wrong_shape_are_named() -> None:
    samples = Samples(tensor([[0.0]]), lambda p: p[..., 0], tensor([0.5, 0.5]), 1.0)
    with pytest.raises(ModelError, match=r"gave shape \(4,\) where \(2, 4\) was expected"):
        samples.moments(tensor([[0.0]] * 4), Needs.MEAN)


def test_truth_is_found_by_conditioning_again_and_again() -> None:
    """Six observations with little noise: the mean at them comes to within three noise levels of what was seen."""
    samples = of_paths(gaussian(1, 0.3, 1e-3, n=4), 1000)
    x = designs(6, seed=8)
    for row in x:
        samples = samples.condition(row[None], truth(row[None]))
    moments = samples.moments(x, Needs.MEAN)
    assert float((moments.expect_vector(moments.mean) - truth(x)).abs().max()) < 3 * samples.noise_std
