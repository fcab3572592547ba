"""`Gaussian` against dense inverses and beliefs rebuilt from scratch; letters as in `hentropy.core.beliefs.base`."""

from dataclasses import replace
from itertools import combinations

import pytest
import torch
from torch import Tensor

from hentropy.core.beliefs import Gaussian, Moments, Needs, Nodes, outcome_nodes
from hentropy.core.beliefs.kernels import Kernel, Profile, Stationary
from support.beliefs import WIDTH, bayes_weights, dense, designs, gaussian, kernel, rebuilt, tensor, truth

pytestmark = pytest.mark.numerics

B, N, K = 4, 3, 2


def close(actual: Tensor, expected: Tensor, tol: float = 1e-8) -> None:
    torch.testing.assert_close(actual, expected, rtol=tol, atol=tol)


def same_moments(actual: Moments, expected: Moments, needs: Needs) -> None:
    close(actual.mean, expected.mean)
    assert (actual.var is None) == (needs is Needs.MEAN)
    assert (actual.cov is None) == (needs is not Needs.JOINT)
    if needs is not Needs.MEAN:
        close(actual.variance, expected.variance)
    if needs is Needs.JOINT:
        close(actual.covariance, expected.covariance)


def queries(belief: Gaussian, q: int) -> Tensor:
    """Designs to observe: anywhere, at a datum, 1e-6 of the range beside one, far outside; the last repeated in q."""
    x = designs(B, q, seed=11)
    x[1, 0] = belief.X[2]
    x[2, 0] = belief.X[3] + 1e-6 * WIDTH
    x[3, 0] = belief.X[0] + 50.0 * WIDTH
    if q > 1:
        x[0, 1] = x[0, 0] + 1e-6 * WIDTH
        x[1, 1] = x[1, 0]
    return x


@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("noise", [1e-2, torch.logspace(-4, 0, 7, dtype=torch.float64)], ids=["equal", "per datum"])
def test_moments_are_the_textbook_formula(H: int, noise: float | Tensor) -> None:
    belief = gaussian(H, noise)
    points = torch.cat([belief.X[:2], belief.X[:1] + 1e-6 * WIDTH, designs(4, seed=5)])
    mean, cov = dense(belief, points)
    for needs in Needs:
        moments = belief.moments(points, needs)
        var = cov.diagonal(dim1=-2, dim2=-1)
        same_moments(moments, Moments(moments.weights, mean, var, cov), needs)
        close(moments.weights, belief.weights)


@pytest.mark.parametrize("H", [1, 3])
def test_a_batch_of_points_is_a_loop(H: int) -> None:
    belief, points = gaussian(H), designs(2, 3, K, seed=6)
    batch = belief.moments(points, Needs.JOINT)
    assert batch.weights.shape == (H, 1, 1)
    for i in range(2):
        for j in range(3):
            one = belief.moments(points[i, j], Needs.JOINT)
            close(batch.mean[:, i, j], one.mean)
            close(batch.covariance[:, i, j], one.covariance)


@pytest.mark.covering(2)
@pytest.mark.parametrize("needs", list(Needs))
@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("noise", [1e-2, 1e-5])
def test_a_fantasy_is_the_belief_rebuilt(H: int, q: int, needs: Needs, noise: float) -> None:
    belief = gaussian(H, noise, noise)
    x, nodes = queries(belief, q), outcome_nodes(N, q, H, seed=1)
    fantasy = belief.look_ahead(x).fantasy(nodes)
    values = fantasy.values
    assert values.shape == (B, N, q)
    shared = designs(2, K, seed=8)  # P = 2
    shared[0, 0], shared[1, 0] = belief.X[1], x[0, 0]
    own = designs(B, N, 2, K, seed=9)
    own[:, :, 0, 0], own[:, :, 1, 0] = x[:, None, 0], belief.X[4]
    common = own[:, :1]
    of_own, of_common = fantasy.moments(own, needs), fantasy.moments(common, needs)
    flat, pool = fantasy.moments(own[:, :, 0], needs), fantasy.shared_moments(shared, needs)
    shown = 1 if needs is Needs.MEAN else H  # means alone come averaged over the components
    assert of_own.mean.shape == of_common.mean.shape == pool.mean.shape == (shown, B, N, 2, K)
    for b in range(B):
        for k in range(N):
            after = rebuilt(belief, x[b], values[b, k])
            for moments, points in [
                (of_own, own[b, k]),
                (of_common, common[b, 0]),
                (pool, shared),
                (flat, own[b, k, 0]),
            ]:
                expected = after.moments(points, needs)
                same_moments(at(moments, b, k), expected.averaged() if needs is Needs.MEAN else expected, needs)
                if needs is not Needs.MEAN:
                    close(at(moments, b, k).weights.reshape(-1), after.weights)


def at(moments: Moments, b: int, k: int) -> Moments:
    """The moments of design b after outcome k; fields that do not depend on the outcome have one in its place."""

    def pick(field: Tensor | None) -> Tensor | None:
        return None if field is None else field[:, min(b, field.shape[1] - 1), min(k, field.shape[2] - 1)]

    weights, mean = pick(moments.weights), pick(moments.mean)
    assert weights is not None
    assert mean is not None
    return Moments(weights, mean, pick(moments.var), pick(moments.cov))


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("H", [1, 3])
def test_looking_at_many_designs_is_looking_at_each(H: int, q: int) -> None:
    belief = gaussian(H)
    x, nodes, pool = queries(belief, q), outcome_nodes(N, q, H, seed=2), designs(4, K, seed=1)
    together = belief.look_ahead(x).fantasy(nodes).shared_moments(pool, Needs.VARIANCE)
    for b in range(B):
        alone = belief.look_ahead(x[b : b + 1]).fantasy(nodes).shared_moments(pool, Needs.VARIANCE)
        close(together.mean[:, b], alone.mean[:, 0])
        close(together.variance[:, b], alone.variance[:, 0])
        close(together.expect_vector(together.mean)[b], alone.expect_vector(alone.mean)[0])


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("H", [1, 3])
def test_whitened_cross_explains_the_fall_of_the_covariance(H: int, q: int) -> None:
    belief = gaussian(H)
    x, points = queries(belief, q), designs(K, seed=4)
    look = belief.look_ahead(x)
    root = look.whitened_cross(points)
    close(look.whitened_own_cross(points.expand(B, K, 2)), root, 1e-10)
    for b in range(B):
        after = rebuilt(belief, x[b], truth(x[b]))
        fall = belief.moments(points, Needs.JOINT).covariance - after.moments(points, Needs.JOINT).covariance
        close(root[:, b] @ root[:, b].mT, fall)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("covariance", [None, "squared exponential"])
def test_conditioning_is_a_refit(H: int, m: int, covariance: str | None) -> None:
    belief = gaussian(H, covariance=kernel(H, Profile.SQUARED_EXPONENTIAL) if covariance else None)
    x = queries(belief, m).reshape(-1, 2)
    points = designs(K, seed=7)
    conditioned, expected = belief.condition(x, truth(x)), rebuilt(belief, x, truth(x))
    same_moments(conditioned.moments(points, Needs.JOINT), expected.moments(points, Needs.JOINT), Needs.JOINT)
    close(conditioned.weights, expected.weights)
    close(conditioned.root_inverse, expected.root_inverse, 1e-6)
    close(conditioned.alpha, expected.alpha, 1e-6)
    close(conditioned.noise, expected.noise)
    twice = belief.condition(x[:1], truth(x[:1])).condition(x[1:], truth(x[1:]))
    close(twice.moments(points, Needs.MEAN).mean, expected.moments(points, Needs.MEAN).mean)
    close(twice.weights, expected.weights)


def test_bayes_rule_prefers_the_component_that_foresaw_the_outcome() -> None:
    belief, x = gaussian(3), designs(1, seed=20)
    mean, _ = dense(belief, x)
    for h in range(3):
        y = mean[h]
        after = belief.condition(x, y).weights
        close(after, bayes_weights(belief, x, y))
        close(after.sum(), tensor(1.0))


@pytest.mark.parametrize("q", [1, 2])
def test_the_mean_is_expected_not_to_move(q: int) -> None:
    belief, pool = gaussian(1), designs(2, K, seed=5)
    fantasy = belief.look_ahead(queries(belief, q)).fantasy(outcome_nodes(8, q, 1))
    moments = fantasy.shared_moments(pool, Needs.MEAN)
    average = torch.einsum("n,bnpk->bpk", fantasy.weights, moments.expect_vector(moments.mean))
    close(average, belief.moments(pool, Needs.MEAN).mean.expand(B, 2, K), 1e-12)


def test_the_mean_of_a_mixture_is_expected_not_to_move() -> None:
    # Quasi-random nodes: their error is far below that of plain draws, and the seed is fixed: no false alarms.
    belief, pool = gaussian(3), designs(2, K, seed=5)
    nodes = outcome_nodes(4096, 1, 3, seed=3)
    moments = belief.look_ahead(designs(2, 1, seed=4)).fantasy(nodes).shared_moments(pool, Needs.VARIANCE)
    mean, variance = moments.total()
    before_mean, before_variance = belief.moments(pool, Needs.VARIANCE).total()
    close(mean.mean(1), before_mean.expand(2, 2, K), 2e-3)
    spread = (mean - before_mean).square().mean(1)
    close(variance.mean(1) + spread, before_variance.expand(2, 2, K), 1e-2)  # law of total variance


def grads(value: Tensor, *inputs: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(value, inputs, retain_graph=True))


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("H", [1, 3])
def test_what_is_known_moves_nothing(H: int, q: int) -> None:
    belief = gaussian(H, 0.0, 0.0)
    x = belief.X[:q].expand(2, q, 2).clone().requires_grad_()
    pool = designs(2, K, seed=6).requires_grad_()
    look = belief.look_ahead(x)
    fantasy = look.fantasy(outcome_nodes(N, q, H, seed=0))
    before = belief.moments(pool, Needs.JOINT)
    for after in (fantasy.shared_moments(pool, Needs.JOINT), fantasy.moments(pool.expand(2, 1, 2, K, 2), Needs.JOINT)):
        close(after.mean, before.mean[:, None, None].expand(H, 2, N, 2, K), 1e-12)
        close(after.covariance, before.covariance[:, None, None].expand(after.covariance.shape), 1e-12)
        close(after.weights.expand(H, 2, N, 1), belief.weights.view(H, 1, 1, 1).expand(H, 2, N, 1))
        total = after.mean.square().sum() + after.covariance.sum() + after.variance.sum() + after.weights.square().sum()
        assert all(bool(torch.isfinite(g).all()) for g in grads(total, x, pool))
    close(fantasy.values, truth(belief.X[:q]).expand(2, N, q))
    assert not look.whitened_cross(pool.reshape(-1, 2)).any()
    again = belief.condition(belief.X[:q], truth(belief.X[:q]))
    same_moments(again.moments(pool, Needs.JOINT), before, Needs.JOINT)
    close(again.weights, belief.weights)


@pytest.mark.parametrize("H", [1, 3])
def test_a_noiseless_design_asked_twice_at_once_counts_once(H: int) -> None:
    belief, pool = gaussian(H, 0.0, 0.0), designs(2, K, seed=6)
    x = designs(2, 1, seed=12)
    z = tensor([[-1.0], [0.4], [0.6]])
    doubled = Nodes(torch.cat([z, -3.0 * z], -1), torch.full((3,), 1 / 3, dtype=torch.float64), tensor([0.1, 0.6, 0.9]))
    x2 = x.expand(2, 2, 2).clone().requires_grad_()
    twice = belief.look_ahead(x2).fantasy(doubled)
    moments = twice.shared_moments(pool, Needs.JOINT)
    close(twice.values[..., 1], twice.values[..., 0])
    for b in range(2):
        for k in range(3):
            once = rebuilt(belief, x[b], twice.values[b, k, :1].detach())
            same_moments(at(moments, b, k), once.moments(pool, Needs.JOINT), Needs.JOINT)
            close(at(moments, b, k).weights.reshape(-1), once.weights)
    (slope,) = grads(twice.shared_moments(pool, Needs.VARIANCE).variance.sum(), x2)
    assert bool(torch.isfinite(slope).all())


def test_components_that_disagree_on_what_is_known() -> None:
    """Noise in one component only: the others are refuted by most outcomes, move hardly, and nothing is NaN."""
    certain = gaussian(3, 0.0, 0.0)
    belief = Gaussian.from_data(
        certain.X,
        (truth(certain.X) - 3.0) / 2.5,
        torch.zeros(3, 7, dtype=torch.float64),
        tensor([0.0, 0.1, 0.0]),
        certain.kernel,
        certain.prior_mean,
        certain.frame,
        certain.weights,
    )
    fantasy = belief.look_ahead(belief.X[:1, None]).fantasy(outcome_nodes(16, 1, 3))
    moments = fantasy.shared_moments(designs(2, K, seed=1), Needs.VARIANCE)
    assert bool(torch.isfinite(moments.mean).all() and torch.isfinite(moments.variance).all())
    close(moments.weights.sum(0), torch.ones(1, 16, 1, dtype=torch.float64))
    before = belief.moments(designs(2, K, seed=1), Needs.MEAN).mean
    close(moments.mean, before[:, None, None].expand(moments.mean.shape), 1e-2)


def summary(moments: Moments) -> Tensor:
    """Numbers that depend on every field."""
    fields = [field for field in (moments.weights, moments.mean, moments.var, moments.cov) if field is not None]
    return torch.stack([(f * torch.linspace(-1, 1, f.numel(), dtype=f.dtype).view(f.shape)).sum() for f in fields])


@pytest.mark.covering(2)
@pytest.mark.parametrize("needs", list(Needs))
@pytest.mark.parametrize(("H", "q"), [(1, 1), (1, 2), (3, 1), (3, 2)])
def test_gradients_are_finite_differences(H: int, q: int, needs: Needs) -> None:
    belief = gaussian(H, 1e-2, 1e-1, n=4)
    nodes = outcome_nodes(3, q, H, seed=4)
    x, own, pool = designs(2, q, seed=1), designs(2, 3, 2, seed=2), designs(2, 2, seed=3)
    x[0, 0] = belief.X[0]  # an observation repeated
    own[0, 0, 0], own[1, 1, 1], pool[0, 0] = x[0, 0], belief.X[2], x[1, -1]  # actions at a design and at a datum
    inputs = [v.requires_grad_() for v in (x, own, pool)]

    def f(x: Tensor, own: Tensor, pool: Tensor) -> Tensor:
        fantasy = belief.look_ahead(x).fantasy(nodes)
        parts = [fantasy.moments(own, needs), fantasy.moments(own[:, :1], needs), fantasy.shared_moments(pool, needs)]
        values = fantasy.values
        return torch.stack([torch.cat([summary(part) for part in parts]).sum(), values.sum() + values.square().sum()])

    assert torch.autograd.gradcheck(f, inputs, eps=1e-6, atol=1e-5, rtol=1e-4)


def test_kernel_evaluations_are_counted() -> None:
    """A look ahead asks for the kernel once, and so do moments but for the prior covariance of joint ones."""
    calls: list[tuple[int, ...]] = []

    class Counting:
        def __init__(self, inner: Kernel) -> None:
            self.inner = inner

        def __call__(self, a: Tensor, b: Tensor) -> Tensor:
            calls.append(tuple(a.shape))
            return self.inner(a, b)

        def diagonal(self, a: Tensor) -> Tensor:
            return self.inner.diagonal(a)

        def some(self, components: list[int]) -> Kernel:
            return self.inner.some(components)

    belief = gaussian(1, covariance=Counting(kernel(1)))
    nodes = outcome_nodes(N, 1, 1)
    for needs, expected in [(Needs.MEAN, 1), (Needs.VARIANCE, 1), (Needs.JOINT, 2)]:
        calls.clear()
        fantasy = belief.look_ahead(designs(B, 1, seed=1)).fantasy(nodes)
        assert len(calls) == 1
        for moments, points in [
            (fantasy.moments, designs(B, N, K, seed=2)),
            (fantasy.shared_moments, designs(2, K, seed=2)),
        ]:
            calls.clear()
            moments(points, needs)
            assert len(calls) == expected


def test_draws_have_the_moments_of_the_belief() -> None:
    # 2 x 6 averages within 5 standard errors: a false alarm in less than 1e-5 of all seeds.
    belief, count = gaussian(3), 20000
    points = torch.cat([designs(2, seed=8), belief.X[:1]])
    mean, variance = belief.moments(points, Needs.VARIANCE).total()
    draws = belief.sample(points, count, seed=0)
    assert draws.shape == (count, 3)
    assert bool(((draws.mean(0) - mean).abs() < 5 * (variance / count).sqrt()).all())
    fourth = (draws - mean).square().std(0) / count**0.5
    assert bool(((draws - mean).square().mean(0) - variance).abs().lt(5 * fourth).all())
    assert torch.equal(draws, belief.sample(points, count, seed=0))


def test_draws_of_what_is_known_are_what_is_known() -> None:
    belief = gaussian(1, 0.0, 0.0)
    points = torch.cat([belief.X[:2], belief.X[:2]])
    close(belief.sample(points, 5, seed=0), truth(points).expand(5, 4), 1e-6)


def test_noise_std_is_in_the_users_units() -> None:
    assert gaussian(1, future_noise=0.04).noise_std == pytest.approx(0.2 * 2.5)


def test_shifted_designs_change_nothing() -> None:
    """The same belief with inputs far from the origin: squared distances must not lose digits there."""
    near, away = gaussian(1, covariance=kernel(1)), tensor([1e5, -1e5])
    inputs = near.inputs + away
    far = Gaussian.from_data(
        inputs,
        (near.residual + near.prior_mean(near.inputs))[0],
        near.noise,
        near.future_noise,
        Stationary(Profile.MATERN52, kernel(1).lengthscale, kernel(1).outputscale),
        lambda a: near.prior_mean(a - away),
        near.frame.__class__(lambda x: x, near.frame.shift, near.frame.scale),
        near.weights,
    )
    points = designs(K, seed=2)
    there = near.frame.transform(points) + away
    close(far.moments(there, Needs.MEAN).mean, near.moments(points, Needs.MEAN).mean, 1e-7)


def test_a_component_alone_is_a_gaussian_process() -> None:
    belief, points = gaussian(3), designs(2, K, seed=3)
    together = belief.moments(points, Needs.JOINT)
    for h in range(3):
        alone = belief.component(h)
        moments = alone.moments(points, Needs.JOINT)
        assert alone.components == 1
        close(moments.mean[0], together.mean[h])
        close(moments.covariance[0], together.covariance[h])


def test_two_typical_components_are_near_all_together() -> None:
    """The nearest pair, compared elsewhere than where it was chosen, and nearer than any one component."""
    belief = gaussian(3)
    two = belief.typical(2)
    assert two.components == 2
    assert belief.typical(3) is belief
    assert belief.typical(2) is two
    close(two.weights.sum(), torch.tensor(1.0, dtype=torch.float64))
    points = designs(40, seed=9)
    aim = belief.moments(points, Needs.VARIANCE).total()[0]

    def miss(other: Gaussian) -> float:
        return float((other.moments(points, Needs.VARIANCE).total()[0] - aim).norm())

    assert miss(two) == pytest.approx(min(miss(belief.some(list(pair))) for pair in combinations(range(3), 2)))
    assert miss(two) < min(miss(belief.component(h)) for h in range(3))


def test_components_without_weight_are_not_typical() -> None:
    belief = gaussian(3)
    known = replace(belief, weights=torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64))
    two = known.typical(2)
    points = designs(K, seed=2)
    close(two.moments(points, Needs.VARIANCE).total()[0], belief.component(1).moments(points, Needs.MEAN).mean[0])


@pytest.mark.parametrize("H", [1, 3])
def test_means_are_those_of_the_components_averaged(H: int) -> None:
    belief, points = gaussian(H), torch.rand(2, 5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    each = belief.moments(points, Needs.MEAN)
    slow = (belief.weights.view(-1, 1, 1) * each.mean).sum(0, keepdim=True)
    torch.testing.assert_close(belief.means(points).mean, slow, rtol=1e-12, atol=1e-12)
    points.requires_grad_()
    slopes = [
        torch.autograd.grad(value.square().sum(), points)
        for value in (belief.means(points).mean, belief.moments(points, Needs.MEAN).averaged().mean)
    ]
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("H", [1, 3])
def test_covariances_are_those_of_all_points_together(H: int) -> None:
    belief, points = gaussian(H), torch.rand(7, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    together = belief.moments(points, Needs.JOINT).covariance
    torch.testing.assert_close(belief.covariances(points[:3], points[3:]), together[:, :3, 3:], rtol=1e-9, atol=1e-9)
