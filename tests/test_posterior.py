"""`Posterior` against `Gaussian` on the same BoTorch model."""

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Standardize
from torch import Tensor

from hentropy.core.beliefs import Frame, Gaussian, Needs, Posterior, outcome_nodes
from hentropy.core.beliefs.kernels import from_gpytorch
from hentropy.errors import ModelError
from support.beliefs import designs, gaussian, tensor, truth

pytestmark = pytest.mark.numerics

NOISE = 0.03


def pair(n: int = 8) -> tuple[Gaussian, Posterior]:
    """The same fitted-looking GP twice: by its kernel, and by its posterior only."""
    X = gaussian(n=n).inputs
    Y = truth(designs(n, seed=3))[:, None]
    model = SingleTaskGP(X, Y, torch.full_like(Y, NOISE), outcome_transform=Standardize(1))
    model.eval()
    model.covar_module.lengthscale = tensor([[0.4, 0.8]])
    model.mean_module.initialize(constant=0.3)
    shift, scale = Y.mean(), Y.std()
    future = NOISE / scale**2
    exact = Gaussian.from_data(
        X,
        ((Y - shift) / scale).squeeze(-1),
        future.expand(1, n),
        future.expand(1),
        from_gpytorch(model.covar_module),
        lambda a: torch.full((1, *a.shape[:-1]), 0.3, dtype=torch.float64),
        Frame(lambda x: x, shift, scale),
        torch.ones(1, dtype=torch.float64),
    )
    return exact, Posterior(model, X, NOISE, X[:0], Y[:0, 0])


def unit(*shape: int, seed: int) -> Tensor:
    return torch.rand(*shape, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def close(actual: Tensor | None, expected: Tensor | None) -> None:
    assert (actual is None) == (expected is None)
    if actual is not None and expected is not None:
        torch.testing.assert_close(actual, expected.expand(actual.shape), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("conditioned", [False, True])
@pytest.mark.parametrize("needs", list(Needs))
@pytest.mark.parametrize("q", [1, 2])
def test_it_is_the_gaussian_belief(q: int, needs: Needs, conditioned: bool) -> None:
    exact, seen = pair()
    if conditioned:
        x, y = unit(3, seed=5), tensor([4.0, 3.0, 6.0])
        x[2] = x[1]
        exact = exact.condition(x, y)
        seen = seen.condition(x[:1], y[:1]).condition(x[1:], y[1:])
        close(seen.X, exact.X)
    for points in (unit(4, seed=1), unit(2, 3, 4, seed=2)):
        a, b = exact.moments(points, needs), seen.moments(points, needs)
        assert b.mean.shape == (1, *points.shape[:-1])
        assert b.weights.dim() == b.mean.dim() - 1
        for field, other in ((b.mean, a.mean), (b.var, a.var), (b.cov, a.cov)):
            close(field, other)
    x, nodes = unit(3, q, seed=4), outcome_nodes(5, q, 1, seed=1)
    x[0, 0] = exact.X[0]
    expected, fantasy = exact.look_ahead(x).fantasy(nodes), seen.look_ahead(x).fantasy(nodes)
    close(fantasy.values, expected.values)
    close(fantasy.weights, expected.weights)
    for own in (unit(3, 5, 2, 4, seed=6), unit(3, 1, 2, 4, seed=7), unit(3, 5, 4, seed=8)):
        a, b = expected.moments(own, needs), fantasy.moments(own, needs)
        close(b.mean, a.mean)
        assert b.mean.shape == a.mean.shape
        close(b.var, a.var)
        close(b.cov, a.cov)
    a, b = expected.shared_moments(unit(2, 4, seed=9), needs), fantasy.shared_moments(unit(2, 4, seed=9), needs)
    for field, other in ((b.mean, a.mean), (b.var, a.var), (b.cov, a.cov)):
        close(field, other)


def test_only_designs_and_actions_ask_for_gradients() -> None:
    exact, seen = pair()
    nodes = outcome_nodes(5, 1, 1)
    assert not seen.moments(unit(2, seed=1), Needs.VARIANCE).mean.requires_grad
    x, a = unit(3, 1, seed=1).requires_grad_(), unit(3, 5, 2, seed=2).requires_grad_()
    slopes = []
    for belief in (exact, seen):
        moments = belief.look_ahead(x).fantasy(nodes).moments(a, Needs.VARIANCE)
        slopes.append(torch.autograd.grad(moments.mean.square().sum() + moments.variance.sum(), [x, a]))
    torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("q", [1, 2])
def test_what_is_known_moves_nothing(q: int) -> None:
    _, seen = pair()
    x = unit(1, seed=5)
    certain = Posterior(seen.model, seen.X, 0.0, seen.new_X, seen.new_Y).condition(x, tensor([4.0]))
    at_x = x.expand(1, q, 2).clone().requires_grad_()
    fantasy = certain.look_ahead(at_x).fantasy(outcome_nodes(4, q, 1))
    points = unit(2, 3, seed=6)
    before, after = certain.moments(points, Needs.JOINT), fantasy.shared_moments(points, Needs.JOINT)
    torch.testing.assert_close(after.mean, before.mean[:, None, None].expand(1, 1, 4, 2, 3), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(after.covariance[0, 0, 0], before.covariance[0], rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(fantasy.values, torch.full((1, 4, q), 4.0, dtype=torch.float64))
    (slope,) = torch.autograd.grad(after.mean.sum() + after.variance.sum(), at_x)
    assert bool(torch.isfinite(slope).all())
    again = certain.condition(x, tensor([4.0])).moments(points, Needs.JOINT)
    torch.testing.assert_close(again.covariance, before.covariance, rtol=1e-8, atol=1e-8)


def test_paths_are_joint_draws() -> None:
    # 4 means and 4 variances within 5 standard errors: a false alarm for less than 1e-5 of seeds.
    exact, seen = pair()
    points, count = unit(2, 2, seed=3), 10000
    draws = seen.paths(count, seed=0)(points)
    assert draws.shape == (count, 2, 2)
    moments = exact.moments(points, Needs.VARIANCE)
    assert bool(((draws.mean(0) - moments.mean[0]).abs() < 5 * (moments.variance[0] / count).sqrt()).all())
    off = draws.var(0) / moments.variance[0] - 1
    assert float(off.abs().max()) < 5 * (2 / count) ** 0.5
    torch.testing.assert_close(draws, seen.paths(count, seed=0)(points))


def test_a_model_of_two_outcomes_is_refused() -> None:
    X = unit(6, seed=1)
    model = SingleTaskGP(X, torch.stack([X.sum(-1), X.prod(-1)], -1), outcome_transform=Standardize(2))
    with pytest.raises(ModelError, match=r"SingleTaskGP at points of shape \(4, 2\) has shape \(4, 2\)"):
        Posterior(model, X, 0.1, X[:0], X[:0, 0]).moments(unit(4, seed=2), Needs.MEAN)
