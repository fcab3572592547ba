"""Kernels against GPyTorch's."""

import gpytorch
import pytest
import torch
from gpytorch.kernels import Kernel as GPyTorchKernel
from gpytorch.kernels import LinearKernel, MaternKernel, PeriodicKernel, RBFKernel, ScaleKernel
from torch import Tensor

from hentropy.core.beliefs.kernels import Kernel, Stationary, Wrapped, from_gpytorch
from hentropy.errors import ModelError

pytestmark = pytest.mark.numerics

D = 3


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def randomised(kernel: GPyTorchKernel) -> GPyTorchKernel:
    """The kernel in double precision with unequal hyperparameters."""
    kernel = kernel.double()
    with torch.no_grad():
        for i, parameter in enumerate(kernel.parameters()):
            parameter.copy_(2.0 * draw(*parameter.shape, seed=i) - 1.0)
    return kernel


def batch(H: int | None) -> torch.Size:
    return torch.Size([] if H is None else [H])


def fast_kernels() -> list[GPyTorchKernel]:
    made: list[GPyTorchKernel] = []
    for H in (None, 1, 3):
        for ard in (None, D):
            for plain in (
                MaternKernel(2.5, ard_num_dims=ard, batch_shape=batch(H)),
                MaternKernel(1.5, ard_num_dims=ard, batch_shape=batch(H)),
                RBFKernel(ard_num_dims=ard, batch_shape=batch(H)),
            ):
                made += [randomised(plain), randomised(ScaleKernel(plain, batch_shape=batch(H)))]
    made.append(randomised(ScaleKernel(RBFKernel(), batch_shape=batch(3))))
    return made


def slow_kernels() -> list[GPyTorchKernel]:
    return [
        randomised(kernel)
        for kernel in (
            MaternKernel(0.5),
            MaternKernel(2.5, active_dims=(0, 2)),
            ScaleKernel(RBFKernel(active_dims=(1,))),
            ScaleKernel(PeriodicKernel() + MaternKernel(0.5)),
            LinearKernel(),
            ScaleKernel(RBFKernel(active_dims=(1,), batch_shape=batch(3)), batch_shape=batch(3)),
            ScaleKernel(LinearKernel(batch_shape=batch(3)), batch_shape=batch(3)),
            MaternKernel(0.5, batch_shape=batch(1)),
            MaternKernel(2.5, batch_shape=batch(3)) * LinearKernel(),
        )
    ]


def oracle(kernel: GPyTorchKernel, a: Tensor, b: Tensor) -> Tensor:
    """GPyTorch's own values at points ... x m x d, its batch moved to the front: H x ... x m x p."""
    if not kernel.batch_shape:
        return kernel(a, b).to_dense().unsqueeze(0)
    dense = kernel(a.unsqueeze(-3), b.unsqueeze(-3)).to_dense()
    return dense.movedim(-3, 0)


def oracle_diagonal(kernel: GPyTorchKernel, a: Tensor) -> Tensor:
    """GPyTorch's own variances at points ... x m x d, its batch moved to the front: H x ... x m."""
    if not kernel.batch_shape:
        return kernel(a, a, diag=True).unsqueeze(0)
    return kernel(a.unsqueeze(-3), a.unsqueeze(-3), diag=True).movedim(-2, 0)


@pytest.mark.covering
@pytest.mark.parametrize("kernel", fast_kernels() + slow_kernels())
@pytest.mark.parametrize("lead", [(), (4,), (2, 4)])
def test_values_and_slopes_are_gpytorchs(kernel: GPyTorchKernel, lead: tuple[int, ...]) -> None:
    ours = from_gpytorch(kernel)
    a, b = draw(*lead, 5, D, seed=1).requires_grad_(), draw(*lead, 6, D, seed=2).requires_grad_()
    value, expected = ours(a, b), oracle(kernel, a, b)
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ours.diagonal(a), oracle_diagonal(kernel, a), rtol=1e-12, atol=1e-12)
    # in the full matrix the distance of a point to itself may be the root of a rounding error: sqrt(1e-15) = 3e-8
    diagonal = oracle(kernel, a, a).diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(ours.diagonal(a), diagonal, rtol=1e-6, atol=1e-6)
    weight = draw(*value.shape, seed=3)
    actual = torch.autograd.grad((weight * value).sum(), (a, b))
    torch.testing.assert_close(actual, torch.autograd.grad((weight * expected).sum(), (a, b)), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kernel", fast_kernels() + slow_kernels())
def test_a_shared_right_side_broadcasts(kernel: GPyTorchKernel) -> None:
    ours, a, b = from_gpytorch(kernel), draw(4, 5, D, seed=1), draw(6, D, seed=2)
    each = torch.stack([ours(row, b) for row in a], 1)
    torch.testing.assert_close(ours(a, b.expand(4, 6, D)), each)
    torch.testing.assert_close(ours(a, b), each)


@pytest.mark.parametrize(("kernels", "form"), [(fast_kernels(), Stationary), (slow_kernels(), Wrapped)])
def test_the_fast_form_is_taken_exactly_where_it_may(kernels: list[GPyTorchKernel], form: type[Kernel]) -> None:
    assert all(type(from_gpytorch(kernel)) is form for kernel in kernels)


@pytest.mark.parametrize("kernel", [*fast_kernels()[:4], *slow_kernels()[:2]])
def test_a_belief_does_not_change_when_its_model_is_trained_on(kernel: GPyTorchKernel) -> None:
    ours, a = from_gpytorch(kernel), draw(4, D)
    before = ours(a, a)
    assert not before.requires_grad
    with torch.no_grad():
        for parameter in kernel.parameters():
            parameter.add_(1.0)
    assert torch.equal(ours(a, a), before)


def test_two_batch_dimensions_are_refused() -> None:
    with pytest.raises(ModelError, match=r"RBFKernel has batch shape \(2, 3\)"):
        from_gpytorch(gpytorch.kernels.RBFKernel(batch_shape=torch.Size([2, 3])))


@pytest.mark.parametrize("kernel", fast_kernels()[:12])
def test_slopes_where_points_coincide_and_in_hyperparameters(kernel: GPyTorchKernel) -> None:
    fast = from_gpytorch(kernel)
    assert isinstance(fast, Stationary)
    a = draw(3, D, seed=1)
    b = torch.cat([a[:2], draw(2, D, seed=2)])
    inputs = [v.clone().requires_grad_() for v in (a, b, fast.lengthscale, fast.outputscale)]

    def f(a: Tensor, b: Tensor, lengthscale: Tensor, outputscale: Tensor) -> Tensor:
        return Stationary(fast.profile, lengthscale, outputscale)(a, b)

    # the kernel is even around a coincidence: central differences are exact there to third order
    assert torch.autograd.gradcheck(f, inputs, eps=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", fast_kernels() + slow_kernels())
def test_a_component_alone(kernel: GPyTorchKernel) -> None:
    ours, a, b = from_gpytorch(kernel), draw(4, 5, D, seed=1), draw(4, 6, D, seed=2)
    together = ours(a, b)
    for h in range(together.shape[0]):
        torch.testing.assert_close(ours.some([h])(a, b), together[h : h + 1], rtol=1e-12, atol=1e-12)
