"""Fronts: hypervolumes against BoTorch's, expected hypervolumes against brute force, and what is asked of them."""

import math
import re
from dataclasses import replace

import pytest
import torch
from botorch.utils.multi_objective.hypervolume import Hypervolume
from torch import Tensor

from hentropy import DecisionError, InputError, Pareto
from hentropy.core.action_search.base import listed_moments
from hentropy.core.action_search.exchange import replacement_losses
from hentropy.core.beliefs import Moments, Needs, value_draws
from hentropy.core.beliefs.linalg import robust_root
from hentropy.core.clock import pieces
from hentropy.core.decisions.base import drawn_values, monte_carlo_loss
from hentropy.core.decisions.hypervolume import area, area_with, hypervolume, sorting_network
from support.beliefs import designs, two_sided
from support.value_moments import average_loss, moments

pytestmark = pytest.mark.smoke

WAYS = {"a": "max", "b": "min", "c": "max"}
REFERENCE = {"a": -0.7, "b": 0.8, "c": -0.5}


def front(k: int, m: int) -> Pareto:
    names = list(WAYS)[:m]
    return Pareto(k, {name: WAYS[name] for name in names}, {name: REFERENCE[name] for name in names})  # type: ignore[misc]


def corners(*shape: int, seed: int) -> Tensor:
    """Corners of boxes, a few of them flat: shape."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).clamp_min(-0.5) + 0.5


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_the_volume_is_that_of_botorch(k: int, m: int) -> None:
    y = corners(4, k, m, seed=k + m)
    exact = [Hypervolume(torch.zeros(m, dtype=torch.float64)).compute(_undominated(each)) for each in y]
    assert hypervolume(y).tolist() == pytest.approx(exact, rel=1e-12)


def _undominated(y: Tensor) -> Tensor:
    at_least, above = (y.unsqueeze(0) >= y.unsqueeze(1)).all(-1), (y.unsqueeze(0) > y.unsqueeze(1)).any(-1)
    return y[~(at_least & above).any(-1)]


def test_the_volume_of_two_boxes_by_hand() -> None:
    y = torch.tensor([[3.0, 1.0], [2.0, 4.0]], dtype=torch.float64)
    assert float(hypervolume(y)) == 3.0 + 8.0 - 2.0
    assert float(hypervolume(torch.cat([y, y]))) == 9.0


@pytest.mark.parametrize("m", [2, 3, 4])
def test_the_volume_has_its_gradient(m: int) -> None:
    y = torch.rand(3, 4, m, generator=torch.Generator().manual_seed(m), dtype=torch.float64)
    assert torch.autograd.gradcheck(hypervolume, y.requires_grad_())


def apart(y: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Corners ... x k x 2, each by itself."""
    return [each[..., 0] for each in y.unbind(-2)], [each[..., 1] for each in y.unbind(-2)]


@pytest.mark.parametrize("k", range(1, 21))
def test_a_network_sorts_all_values_of_zeros_and_ones(k: int) -> None:
    """Which sorts these sorts anything; beyond 2^10 of them, some at random."""
    every = torch.arange(2**k) if k <= 10 else torch.randint(2**k, (1000,), generator=torch.Generator().manual_seed(k))
    columns = [(every >> j) & 1 for j in range(k)]
    for i, j in sorting_network(k):
        columns[i], columns[j] = torch.maximum(columns[i], columns[j]), torch.minimum(columns[i], columns[j])
    assert bool((torch.stack(columns).diff(dim=0) <= 0).all())


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 20])
def test_areas_are_volumes_of_two_outcomes_with_the_same_gradient(k: int) -> None:
    y = torch.rand(30, k, 2, generator=torch.Generator().manual_seed(k), dtype=torch.float64)
    by_slices, sorted_together = y.clone().requires_grad_(), y.clone().requires_grad_()
    slow, quick = hypervolume(by_slices), area(*apart(sorted_together))
    assert torch.allclose(quick, slow, rtol=1e-12)
    weights = torch.arange(1.0, 31.0).double()
    one, other = torch.autograd.grad(weights @ slow, by_slices), torch.autograd.grad(weights @ quick, sorted_together)
    assert torch.allclose(one[0], other[0], rtol=1e-9, atol=1e-12)
    flat = corners(30, k, 2, seed=k)
    twice = torch.cat([flat, flat[:, :1]], 1)
    assert torch.allclose(area(*apart(twice)), hypervolume(flat), rtol=1e-12)


PIECE = pieces(2 * 3, torch.device("cpu"))


@pytest.mark.parametrize("shape", [(PIECE + 5,), (3, PIECE // 2, 1), (2 * PIECE, 2)])
def test_areas_of_many_fronts_are_those_of_each(shape: tuple[int, ...]) -> None:
    y = corners(*shape, 3, 2, seed=2)
    assert torch.allclose(area(*apart(y)), hypervolume(y), rtol=1e-12)


def test_areas_have_their_gradients() -> None:
    y = torch.rand(4, 5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda y: area(*apart(y)), y.requires_grad_())


@pytest.mark.parametrize("k", [0, 1, 4, 19])
def test_the_area_with_another_corner_is_that_of_all(k: int) -> None:
    kept, new = corners(3, 4, k, 2, seed=k), corners(3, 1, 7, 2, seed=9)
    both = torch.cat([kept.unsqueeze(-3).expand(3, 4, 7, k, 2), new.unsqueeze(-2).expand(3, 4, 7, 1, 2)], -2)
    assert torch.allclose(area_with(kept, new), hypervolume(both), rtol=1e-12)


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize("k", [2, 5])
def test_expected_areas_are_those_of_the_same_draws(k: int, components: int) -> None:
    decision, there, a = front(k, 2), moments(k, 2, components, seed=k), designs(k, seed=k)
    draws = value_draws(64 * components, 2 * k, seed=1)
    slow = monte_carlo_loss(decision, there, a, draws)
    assert torch.allclose(decision.expected_loss(there, a, draws), slow, rtol=1e-9)


@pytest.mark.parametrize("k", [2, 6])
def test_outcomes_that_are_independent_need_no_joint_root(k: int) -> None:
    decision, there, a = front(k, 2), moments(k, 2, 3, seed=k), designs(k, seed=k)
    same = torch.eye(2, dtype=torch.bool).repeat(k, k)  # each outcome of a design with the same one of another
    mean, cov = there.mean.requires_grad_(), torch.where(same, there.covariance, 0.0).requires_grad_()
    draws, found = value_draws(48, 2 * k, seed=1), []
    for independent in (False, True):
        own = Moments(there.weights, mean, cov.diagonal(dim1=-2, dim2=-1), cov, outcomes=2, apart=independent)
        loss = decision.expected_loss(own, a, draws)
        by_mean, by_cov = torch.autograd.grad(loss.sum(), [mean, cov])
        found.append((loss, by_mean, torch.where(same, by_cov, 0.0)))
    for joint, separate in zip(*found, strict=True):
        assert torch.allclose(separate, joint, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("k", "m"), [(2, 2), (5, 2), (3, 3)])
def test_members_replaced_are_whole_actions(k: int, m: int) -> None:
    decision, points = front(k, m), designs(9, seed=1)
    drawn = listed_moments(decision, moments(9, m, 2, seed=k), k)
    index = torch.stack([torch.arange(k), torch.arange(9 - k, 9)])
    nothing = drawn.mean[..., :0]
    for member in range(k):
        trial = index.unsqueeze(1).repeat(1, 9, 1)
        trial[..., member] = torch.arange(9)
        f = drawn.mean.unflatten(-1, (9, m))[:, trial]  # H x 2 x 9 x k x m
        whole = torch.einsum("h,hst->st", drawn.weights.flatten(), decision.loss(f, points[trial]))
        found = replacement_losses(decision, drawn, points, index, member, nothing)
        assert torch.allclose(found, whole, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("components", [1, 3])
@pytest.mark.parametrize(("k", "m"), [(1, 2), (1, 3), (2, 2), (5, 2), (3, 3)])
def test_expected_losses_are_averages_of_losses(k: int, m: int, components: int) -> None:
    decision, there, a = front(k, m), moments(k, m, components, seed=k), designs(k, seed=k)
    average, error = average_loss(decision, there, a, 50_000)
    found = decision.expected_loss(there, a, value_draws(2**15 * components, k * m, seed=1))
    slack = two_sided(1e-6, 20) * error + (1e-2 * average.abs() if decision.needs is Needs.JOINT else 1e-9)
    assert bool(((found - average).abs() <= slack).all()), (found, average, error)


@pytest.mark.parametrize(("k", "m"), [(1, 2), (4, 2), (3, 3)])
def test_expected_losses_have_gradients(k: int, m: int) -> None:
    decision, there, a = front(k, m), moments(k, m, seed=k), designs(k, seed=k)
    mean, cov = there.mean.clone().requires_grad_(), there.covariance.clone().requires_grad_()
    with_gradient = Moments(there.weights, mean, cov.diagonal(dim1=-2, dim2=-1), cov, outcomes=m)
    loss = decision.expected_loss(with_gradient, a, value_draws(64, k * m, seed=1)).sum()
    gradients = torch.autograd.grad(loss, [mean, cov])
    assert all(bool(torch.isfinite(gradient).all()) and bool((gradient != 0).any()) for gradient in gradients)


def test_covariances_that_rounding_made_negative_have_a_root_with_a_gradient() -> None:
    """Of designs that coincide: eigenvalues below zero, equal ones among them, whose own slopes are no numbers."""
    above = torch.tensor(1.0 + 1e-6).double().requires_grad_()
    pair = torch.stack([torch.ones_like(above), above, above, torch.ones_like(above)]).view(2, 2)
    cov = torch.block_diag(pair, pair)
    root = robust_root(cov)
    assert torch.allclose(root @ root.mT, cov, atol=1e-5)
    (slope,) = torch.autograd.grad(root.sum() + above, above)
    assert math.isfinite(float(slope))


@pytest.mark.parametrize("components", [1, 3])
def test_draws_of_independent_outcomes_are_those_of_the_joint_root(components: int) -> None:
    decision, there, draws = front(4, 2), moments(4, 2, components, seed=4), value_draws(24, 8, seed=1)
    same = torch.eye(2, dtype=torch.bool).repeat(4, 4)  # each outcome of a design with the same one of another
    cov = torch.where(same, there.covariance, 0.0)
    joint, apart = (replace(there, cov=cov, apart=independent) for independent in (False, True))
    assert torch.allclose(drawn_values(decision, apart, draws), drawn_values(decision, joint, draws), atol=1e-9)


def test_the_order_of_designs_and_of_outcomes_does_not_matter() -> None:
    f = 2.0 * torch.randn(50, 4, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    a, decision = designs(4, seed=1), front(4, 3)
    turned = Pareto(4, {name: WAYS[name] for name in "cab"}, REFERENCE)  # type: ignore[misc]
    assert turned.outcomes == ("c", "a", "b")
    loss = decision.loss(f, a)
    assert torch.allclose(decision.loss(f[:, [2, 0, 3, 1]], a[[2, 0, 3, 1]]), loss)
    assert torch.allclose(turned.loss(f[..., [2, 0, 1]], a), loss)
    assert bool((loss < 0).any())


def test_nothing_counts_below_the_reference() -> None:
    decision = Pareto(1, {"a": "max", "b": "min"}, {"a": 1.0, "b": 2.0})
    f = torch.tensor([[[3.0, 1.5]], [[3.0, 2.5]], [[0.5, 1.5]]], dtype=torch.float64)
    assert decision.loss(f, torch.zeros(3, 1, 1)).tolist() == [-1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("k", "outcomes", "reference", "said"),
    [
        (0, {"a": "max", "b": "max"}, None, "at least 1"),
        (21, {"a": "max", "b": "max"}, None, "at most 20"),
        (2, {"a": "max"}, None, "at least two outcomes"),
        (2, ["a", "b"], None, "at least two outcomes"),
        (2, {"a": "max", "b": "more"}, None, '"max" or "min"'),
        (2, {"yield": "max", "b": "min"}, {"yeild": 1.0, "b": 0.0}, "did you mean yield?"),
        (2, {"a": "max", "b": "min"}, {"a": 1.0}, "finite number for b"),
        (2, {"a": "max", "b": "min"}, {"a": 1.0, "b": math.inf}, "finite number for b"),
    ],
)
def test_what_is_no_front_is_named(k: int, outcomes: object, reference: object, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        Pareto(k, outcomes, reference)  # type: ignore[arg-type]


def test_the_reference_has_to_be_settled() -> None:
    with pytest.raises(DecisionError, match="no reference yet"):
        Pareto(2, {"a": "max", "b": "max"}).loss(torch.zeros(2, 2), torch.zeros(2, 1))
