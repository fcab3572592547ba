"""Correlated normal values within limits, against plain averages and products of Gauss-Legendre nodes."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch import Tensor
from torch.testing import assert_close

from hentropy.core.decisions import boxes
from hentropy.core.decisions.boxes import (
    _one_within,
    bivariate,
    box_chance,
    box_draws,
    box_moments,
    one_within,
    positive_product,
    trivariate,
)
from support.beliefs import tensor

pytestmark = pytest.mark.smoke
INF = torch.inf
MEAN = tensor([0.4, -0.3])
BOXES = {
    "a quadrant": ([0.0, -INF], [INF, 0.2]),
    "a strip": ([-INF, -0.5], [INF, 0.4]),
    "a box": ([-0.2, -1.0], [1.5, 0.3]),
    "everything": ([-INF, -INF], [INF, INF]),
}


def covariance(r: float, s: tuple[float, float] = (1.3, 0.7)) -> Tensor:
    return tensor([[s[0] ** 2, r * s[0] * s[1]], [r * s[0] * s[1], s[1] ** 2]])


def integrated(mean: Tensor, cov: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same by a product of 400 Legendre nodes on 9 standard deviations."""
    x, w = np.polynomial.legendre.leggauss(400)
    sd = cov.diagonal().sqrt()
    axes, weights = [], []
    for i in range(2):
        a, b = (float(v.clamp(mean[i] - 9 * sd[i], mean[i] + 9 * sd[i])) for v in (low[i], high[i]))
        axes.append(tensor(0.5 * (b - a) * (x + 1) + a))
        weights.append(tensor(0.5 * (b - a) * w))
    grid = torch.cartesian_prod(*axes)
    each = (
        torch.cartesian_prod(*weights).prod(-1) * torch.distributions.MultivariateNormal(mean, cov).log_prob(grid).exp()
    )
    gap = grid - mean
    return each.sum(), each @ gap, torch.einsum("n,ni,nj->ij", each, gap, gap)


@pytest.mark.parametrize("r", [-0.999, -0.7, 0.0, 0.3, 0.95])
def test_the_bivariate_distribution_function_is_scipys(r: float) -> None:
    points = torch.randn(40, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = [
        multivariate_normal.cdf(p, cov=[[1.0, r], [r, 1.0]], abseps=1e-11, releps=1e-11) for p in points.numpy()
    ]
    assert_close(
        bivariate(points[:, 0], points[:, 1], torch.full((40,), r).double()), tensor(expected), atol=2e-6, rtol=0
    )


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("r", [-0.9, 0.0, 0.6])
def test_moments_of_two_values_are_those_of_an_integral(box: str, r: float) -> None:
    low, high = (tensor(side) for side in BOXES[box])
    found = box_moments(MEAN, covariance(r), low, high)
    for one, other in zip(found, integrated(MEAN, covariance(r), low, high), strict=True):
        assert_close(one, other, atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("box", BOXES)
def test_a_value_that_is_known_counts_if_it_holds(box: str) -> None:
    low, high = (tensor(side) for side in BOXES[box])
    chance, first, second = box_moments(MEAN, tensor([[1.69, 0.0], [0.0, 0.0]]), low, high)
    alone = box_moments(MEAN, tensor([[1.69, 0.0], [0.0, 1e-20]]), low, high)
    assert_close((chance, first, second), alone, atol=1e-9, rtol=1e-7)
    assert_close((first[1], second[1]), (tensor(0.0), tensor([0.0, 0.0])), atol=1e-9, rtol=0.0)


@pytest.mark.parametrize("r", [-0.9, 0.5])
def test_more_values_than_two_by_nodes(r: float) -> None:
    """Three values, the third independent: a product of the exact moments of two and of one; errors below 1 %."""
    low, high = tensor([-0.2, -INF, -1.0]), tensor([1.5, 0.3, 1.0])
    mean, cov = torch.cat([MEAN, tensor([0.1])]), torch.zeros(3, 3, dtype=torch.float64)
    cov[:2, :2], cov[2, 2] = covariance(r), 0.5
    chance, first, second = box_moments(mean, cov, low, high)
    two = box_moments(mean[:2], cov[:2, :2], low[:2], high[:2])
    alone = float(torch.distributions.Normal(0.1, 0.5**0.5).cdf(tensor([1.0, -1.0])).diff().abs())
    assert_close(chance, alone * two[0], atol=4e-3, rtol=0)
    assert_close(first[:2], alone * two[1], atol=4e-3, rtol=0)
    assert_close(second[:2, :2], alone * two[2], atol=8e-3, rtol=0)
    values = box_draws(mean, cov, low, high)[1]
    assert bool(((values >= low - 1e-9) & (values <= high + 1e-9)).all())


def test_the_order_of_the_values_matters_little() -> None:
    """A value far outside of its bound decides alone where the others are: 3 % at most, if it is last as if first."""
    mean, low = tensor([1.0, 0.5, -2.0]), torch.full((3,), -INF, dtype=torch.float64)
    high = tensor([1.2, INF, INF])
    low[2] = 0.0
    cov = tensor([[1.0, 0.3, 0.8], [0.3, 1.0, 0.5], [0.8, 0.5, 1.0]])
    two = torch.tensor([0, 2])
    exact = box_moments(mean[two], cov[two][:, two], low[two], high[two])[0]
    for order in torch.tensor([[0, 1, 2], [2, 1, 0], [1, 2, 0]]):
        found = box_moments(mean[order], cov[order][:, order], low[order], high[order])[0]
        assert_close(found, exact, rtol=0.03, atol=0.0)


@pytest.mark.parametrize("r", [-0.9, 0.0, 0.6])
def test_products_of_positive_parts(r: float) -> None:
    z = torch.randn(400_000, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    mean, cov = torch.cat([MEAN, tensor([0.5])]), 0.3 * torch.ones(3, 3, dtype=torch.float64)
    cov[:2, :2], cov[2, 2] = covariance(r), 1.0
    cov[0, 2] = cov[2, 0] = cov[1, 2] = cov[2, 1] = 0.2
    drawn = (mean + z @ torch.linalg.cholesky(cov).mT).clamp_min(0.0)
    for m in (2, 3):
        products = drawn[:, :m].prod(-1)
        error = float(products.std()) / len(products) ** 0.5
        found = positive_product(mean[:m], cov[:m, :m])
        assert float(found) == pytest.approx(float(products.mean()), abs=5 * error + (0.0 if m == 2 else 5e-3))


SIX = (
    tensor([0.4, -0.3, 0.2, 0.5, -0.1, 0.3]),
    tensor([-INF, -INF, -0.9, -INF, -INF, 0.0]),
    tensor([0.6, 0.2, INF, 0.8, 0.5, INF]),
)


def in_groups(*groups: list[int]) -> Tensor:
    """Covariances of six values that depend on those of their group only: 3 x 6 x 6."""
    root = torch.randn(3, 6, 6, generator=torch.Generator().manual_seed(2)).double()
    own = torch.zeros(6, 6, dtype=torch.bool)
    for group in groups:
        own[torch.tensor(group)[:, None], group] = True
    return torch.where(own, root @ root.mT / 3.0, 0.0)


@pytest.mark.parametrize("limited", [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 3]])
@pytest.mark.parametrize(
    "groups", [[[0], [1, 2, 3], [4], [5]], [[0, 4], [1, 3], [2, 5]], [[0], [1], [2], [3], [4], [5]]]
)
def test_values_that_are_independent_are_looked_at_apart(groups: list[list[int]], limited: list[int]) -> None:
    """As if they were looked at together, up to the error of the 4,096 nodes that this takes."""
    (mean, low, high), cov = SIX, in_groups(*groups)
    mean = mean.expand(3, 6)
    bounds = low[limited].expand(3, -1), high[limited].expand(3, -1)
    found = one_within(mean, cov, limited, *bounds, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boxes, "BOX_NODES", 4096)
        together = _one_within(mean, cov, limited, *bounds, 0)
    for apart, whole in zip(found, together, strict=True):
        assert_close(apart, whole, atol=0.002, rtol=0.01)


@pytest.mark.parametrize("seed", range(6))
def test_the_trivariate_distribution_function_is_scipys(seed: int) -> None:
    """Of 20 points each; the further the correlations are from those of a plane, the smaller the error.

    SciPy's own error is about 1e-6, a tenth of what is allowed.
    """
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(3, 4, generator=generator).double()
    cov = root @ root.mT
    r = cov / (cov.diagonal().sqrt().unsqueeze(-1) * cov.diagonal().sqrt())
    b = torch.randn(20, 3, generator=generator).double()
    expected = [multivariate_normal.cdf(each, cov=r.numpy(), abseps=1e-6, releps=0.0, maxpts=10**6) for each in b]
    assert_close(trivariate(b, r.expand(20, 3, 3)), tensor(expected), atol=1e-5, rtol=0)
    slopes = [each.expand(2, *each.shape[-2:]).clone().requires_grad_() for each in (b[:2].unsqueeze(0), cov)]
    assert torch.autograd.gradcheck(lambda at, c: box_chance(at[0], c, tensor([-INF] * 3), tensor([1.0] * 3)), slopes)


def test_only_values_that_depend_on_each_other_need_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    (mean, low, high), nodes = SIX, boxes._nodes
    asked: list[tuple[int, ...]] = []

    def counted(*given: Any) -> tuple[Tensor, Tensor | None]:
        asked.append(tuple(given[0].shape))
        return nodes(*given)

    monkeypatch.setattr(boxes, "_nodes", counted)
    for groups in ([[0], [1, 2, 3], [4], [5]], [[0, 3, 4], [1, 5]], [[0], [1, 2, 3, 4], [5]]):
        one_within(mean.expand(3, 6), in_groups(*groups), range(1, 6), low[1:], high[1:])
    assert asked == [(3, 4)]


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_the_chance_alone_is_that_of_all_moments(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many boxes in pieces, too; with the same slopes."""
    monkeypatch.setattr(boxes, "pieces", lambda numbers, device: 2)
    (mean, low, high), cov = SIX, in_groups(list(range(6)))
    at = mean[:count].expand(3, count).clone().requires_grad_()
    given = at, cov[:, :count, :count], low[:count], high[:count]
    with torch.no_grad():
        in_pieces = box_chance(*given)
    whole = box_moments(*given)[0]
    assert_close(in_pieces, whole.detach(), atol=1e-9, rtol=1e-9)
    slopes = [torch.autograd.grad(chance.sum(), at)[0] for chance in (box_chance(*given), whole)]
    assert_close(*slopes, atol=1e-9, rtol=1e-7)


def test_gradients_are_those_of_differences() -> None:
    low, high = (tensor(side) for side in BOXES["a box"])

    def total(mean: Tensor, r: Tensor) -> Tensor:
        cov = torch.stack([tensor(1.69), 0.91 * r, 0.91 * r, tensor(0.49)]).view(2, 2)
        return sum(part.sum() for part in box_moments(mean, cov, low, high))  # type: ignore[return-value]

    assert torch.autograd.gradcheck(total, (MEAN.clone().requires_grad_(), tensor(-0.6).requires_grad_()))


def test_gradients_of_several_values_without_bounds_on_one_side_or_known() -> None:
    """Limits such as "impurity <= 3" have no lower bound, and a value may be known: their slopes are numbers too."""
    mean = tensor([0.2, -0.4, 0.1, -0.3])
    low, high = torch.full_like(mean, -torch.inf), torch.zeros_like(mean)
    root = torch.tensor([[0.9, 0, 0, 0], [0.4, 0.5, 0, 0], [0.2, 0.1, 0.7, 0], [0, 0, 0, 0]], dtype=torch.float64)

    def total(mean: Tensor, scale: Tensor) -> Tensor:
        chance, first, second = box_moments(mean, scale * root @ root.mT, low, high)
        return chance + first.sum() + second[:3, :3].sum()

    scale = tensor(1.1)
    at = mean.clone().requires_grad_(), scale.clone().requires_grad_()
    by_mean, by_scale = torch.autograd.grad(total(*at), at)
    assert bool(by_mean.isfinite().all())
    step = 1e-5
    wider = total(mean, scale + step) - total(mean, scale - step)
    assert float(by_scale) == pytest.approx(float(wider) / (2 * step), rel=1e-4, abs=1e-6)
    for i, move in enumerate(step * torch.eye(4, dtype=torch.float64)[:3]):
        higher = total(mean + move, scale) - total(mean - move, scale)
        assert float(by_mean[i]) == pytest.approx(float(higher) / (2 * step), rel=1e-4, abs=1e-6)
