r"""Covariance functions, batched over H components, and their sums, for the inner loops of a search.

`Stationary` computes the Matern-5/2 and the squared exponential kernel from squared distances with a hand-written
derivative (one array is kept for the way back, where autograd would keep nine). `Wrapped` takes any GPyTorch kernel.

Every posterior mean is a sum of kernels, now and after an observation:

    mean(a)  = m + sum_i alpha_i k(a, X_i)                  mean'(a) = m + sum_i beta_i k(a, (X, x)_i)

After observing at x, beta is alpha - W V at the data and V at x itself. A search evaluates such sums thousands of times
at few points, where the calls around the arithmetic cost more than the arithmetic: one function for the whole sum,
forward and backward, with the centres prepared once.
"""

import copy
import math
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import gpytorch
import torch
from linear_operator.operators import LinearOperator
from torch import Tensor

from hentropy.errors import ModelError


class Kernel(Protocol):
    """k(a, b) for H components."""

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Points ... x m x d and ... x p x d: H x ... x m x p."""

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i) for points ... x m x d: H x ... x m."""

    def some(self, components: list[int]) -> "Kernel":
        """The kernel of some of the components."""


class _Matern52(torch.autograd.Function):
    """scale (1 + s + s^2/3) exp(-s) with s = sqrt(5 r2); in r2 its derivative -(5/6) scale (1 + s) exp(-s) is smooth.

    Rounding may leave a squared distance r2 just below zero: it counts as zero.
    """

    @staticmethod
    def forward(ctx: Any, r2: Tensor, scale: Tensor) -> Tensor:
        s = r2.clamp_min(0.0).mul_(5.0).sqrt_()
        decay = torch.exp(-s).mul_(scale)
        linear = s + 1.0
        value = torch.addcmul(linear, s, s, value=1.0 / 3.0).mul_(decay)
        keep_value = value if ctx.needs_input_grad[1] else None
        ctx.save_for_backward(linear.mul_(decay) if ctx.needs_input_grad[0] else None, keep_value, scale)
        return value

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        slope, value, scale = ctx.saved_tensors
        by_r2 = None if slope is None else (grad * slope).mul_(-5.0 / 6.0)
        return by_r2, None if value is None else (grad * value / scale).sum_to_size(scale.shape)


class _SquaredExponential(torch.autograd.Function):
    """scale exp(-r2 / 2)."""

    @staticmethod
    def forward(ctx: Any, r2: Tensor, scale: Tensor) -> Tensor:
        value = r2.clamp_min(0.0).mul_(-0.5).exp_().mul_(scale)
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(value, scale)
        return value

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        value, scale = ctx.saved_tensors
        flow = grad * value
        by_scale = (flow / scale).sum_to_size(scale.shape) if ctx.needs_input_grad[1] else None
        return (flow.mul_(-0.5) if ctx.needs_input_grad[0] else None), by_scale


class Profile(Enum):
    """How a stationary kernel falls off with distance."""

    MATERN52 = "matern52"
    SQUARED_EXPONENTIAL = "squared_exponential"

    def of_squared_distance(self, r2: Tensor, scale: Tensor) -> Tensor:
        """scale x profile, as a differentiable function of the squared scaled distance."""
        function = _Matern52 if self is Profile.MATERN52 else _SquaredExponential
        value: Tensor = function.apply(r2, scale)
        return value

    def value_and_slope(self, r2: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """scale x profile and its derivative in the squared distance, which is overwritten."""
        r2 = r2.clamp_min_(0.0)
        if self is Profile.SQUARED_EXPONENTIAL:
            value = r2.mul_(-0.5).exp_().mul_(scale)
            return value, -0.5 * value
        s = r2.mul_(5.0).sqrt_()
        decay = torch.exp(-s).mul_(scale)
        linear = s + 1.0
        value = torch.addcmul(linear, s, s, value=1.0 / 3.0).mul_(decay)
        return value, linear.mul_(decay).mul_(-5.0 / 6.0)


@dataclass(frozen=True)
class Stationary:
    """outputscale (H) x profile(distance of a/lengthscale and b/lengthscale); lengthscale H x d or H x 1."""

    profile: Profile
    lengthscale: Tensor
    outputscale: Tensor

    def scaled(self, a: Tensor, dims: int) -> Tensor:
        """a / lengthscale, H in front of as many dimensions as the other side has: H x ... x m x d."""
        return a / self.lengthscale.view(self.lengthscale.shape[0], *[1] * (dims - 1), -1)

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        # distances do not change with the origin, rounding errors do: measure from one of the points
        origin = b.detach()[(0,) * (b.dim() - 1)]
        dims = max(a.dim(), b.dim())
        a, b = self.scaled(a - origin, dims), self.scaled(b - origin, dims)
        # |a|^2 + |b|^2 - 2 a b as one product (... x m x (d + 2)) (... x (d + 2) x p), no pass over m x p needed
        a = torch.cat([a, a.square().sum(-1, keepdim=True), a.new_ones(*a.shape[:-1], 1)], -1)
        b = torch.cat([-2.0 * b, b.new_ones(*b.shape[:-1], 1), b.square().sum(-1, keepdim=True)], -1)
        r2 = a @ b.mT
        return self.profile.of_squared_distance(r2, self.outputscale.view(-1, *[1] * (r2.dim() - 1)))

    def diagonal(self, a: Tensor) -> Tensor:
        """The outputscale at every point: H x ... x m."""
        scale = self.outputscale
        return scale.view(-1, *[1] * (a.dim() - 1)).expand(scale.shape[0], *a.shape[:-1])

    def some(self, components: list[int]) -> "Stationary":
        """The kernel of some of the components."""
        return Stationary(self.profile, self.lengthscale[components], self.outputscale[components])


@dataclass(frozen=True)
class Wrapped:
    """Any GPyTorch kernel, through its plain `forward`; `batched` says that it carries H components itself."""

    kernel: gpytorch.kernels.Kernel
    batched: bool

    def _evaluate(self, a: Tensor, b: Tensor, diag: bool) -> Tensor:
        if self.kernel.active_dims is not None:
            a, b = a.index_select(-1, self.kernel.active_dims), b.index_select(-1, self.kernel.active_dims)
        if self.batched:
            # GPyTorch aligns a kernel's batch with the last batch dimension of its inputs; ours stands first.
            return self._dense(a.unsqueeze(-3), b.unsqueeze(-3), diag).movedim(-2 if diag else -3, 0)
        return self._dense(a, b, diag).unsqueeze(0)

    def _dense(self, a: Tensor, b: Tensor, diag: bool) -> Tensor:
        value = self.kernel.forward(a, b, diag=diag)
        return value.to_dense() if isinstance(value, LinearOperator) else value

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        return self._evaluate(a, b, diag=False)

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        return self._evaluate(a, a, diag=True)

    def some(self, components: list[int]) -> Kernel:
        """The kernel of some of the components."""
        return Some(self, tuple(components)) if self.batched else self


@dataclass(frozen=True)
class Some:
    """Some components of a batched kernel: all are computed, since GPyTorch cannot index active_dims."""

    kernel: Kernel
    components: tuple[int, ...]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        return self.kernel(a, b)[list(self.components)]

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        return self.kernel.diagonal(a)[list(self.components)]

    def some(self, components: list[int]) -> Kernel:
        """The kernel of some of these components."""
        return Some(self.kernel, tuple(self.components[h] for h in components))


def from_gpytorch(kernel: gpytorch.kernels.Kernel) -> Kernel:
    """The fast form of a Matern-5/2 or RBF kernel, scaled or not; any other kernel wrapped.

    Either is a copy: training the kernel further does not change a belief.
    """
    batch = kernel.batch_shape
    if len(batch) > 1:
        raise ModelError(
            f"the kernel {type(kernel).__name__} has batch shape {tuple(batch)}; a belief takes one batch dimension,"
            " that of its components: give the kernel a batch shape of at most one number"
        )
    scale, inner = torch.ones(1), kernel
    if type(kernel) is gpytorch.kernels.ScaleKernel:
        scale, inner = kernel.outputscale.detach(), kernel.base_kernel
    is_matern = type(inner) is gpytorch.kernels.MaternKernel and math.isclose(inner.nu, 2.5)
    is_rbf = type(inner) is gpytorch.kernels.RBFKernel
    if (is_matern or is_rbf) and inner.active_dims is None and kernel.active_dims is None:
        lengthscale = inner.lengthscale.detach().clone()
        lengthscale = lengthscale.reshape(-1, lengthscale.shape[-1])
        profile = Profile.MATERN52 if is_matern else Profile.SQUARED_EXPONENTIAL
        H = max(lengthscale.shape[0], scale.numel())
        outputscale = scale.to(lengthscale).clone().reshape(-1).expand(H)
        return Stationary(profile, lengthscale.expand(H, -1), outputscale)
    return Wrapped(copy.deepcopy(kernel).requires_grad_(False), batched=len(batch) == 1)


class _Sum(torch.autograd.Function):
    """Points A (H x b x NK x d), centres C (H x b x p x d, both scaled, R = (-2 C, 1, |C|^2)), coefficients B
    (H x b x N x p): H x b x N x K.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor, C: Tensor, R: Tensor, B: Tensor, scale: Tensor, profile: Profile) -> Tensor:
        # squared distances |a|^2 + |c|^2 - 2 a c as one product
        left = torch.cat([A, A.square().sum(-1, keepdim=True), torch.ones_like(A[..., :1])], -1)
        k, slope = profile.value_and_slope(left @ R.mT, scale)
        N = B.shape[-2]
        k, slope = k.unflatten(-2, (N, -1)), slope.unflatten(-2, (N, -1))  # H x b x N x K x p
        ctx.save_for_backward(A, C, B, slope, k if ctx.needs_input_grad[3] else None)
        return (k @ B.unsqueeze(-1)).squeeze(-1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        A, C, B, slope, k = ctx.saved_tensors
        # d k / d r2 = slope, d r2 / d a = 2 (a - c)
        M = (slope * B.unsqueeze(-2)).mul_(2.0 * grad.unsqueeze(-1)).flatten(-3, -2)  # H x b x NK x p
        by_A = by_C = by_B = None
        if ctx.needs_input_grad[0]:
            by_A = (A * M.sum(-1, keepdim=True)).sub_(M @ C)
        if ctx.needs_input_grad[1]:
            by_C = (C * M.sum(-2).unsqueeze(-1)).sub_(M.mT @ A)
        if ctx.needs_input_grad[3]:
            by_B = (grad.unsqueeze(-2) @ k).squeeze(-2)
        return by_A, by_C, None, by_B, None, None


@dataclass(frozen=True)
class KernelSum:
    """sum_i coefficients_i k(a, centres_i) for centres b x p x d, coefficients H x b x N x p, in the model's inputs."""

    kernel: Kernel
    centres: Tensor
    coefficients: Tensor

    @cached_property
    def _origin(self) -> Tensor:
        """Distances do not change with the origin, rounding errors do: measure from one of the centres."""
        return self.centres.detach()[0, 0]

    @cached_property
    def _scaled_centres(self) -> tuple[Tensor, Tensor]:
        """The centres and (-2 C, 1, |C|^2), for squared distances."""
        assert isinstance(self.kernel, Stationary)
        C = self.kernel.scaled(self.centres - self._origin, 3)
        fixed = C.detach()
        R = torch.cat([-2.0 * fixed, torch.ones_like(fixed[..., :1]), fixed.square().sum(-1, keepdim=True)], -1)
        return C, R

    def __call__(self, a: Tensor) -> Tensor:
        """At points b x N x K x d: H x b x N x K, differentiable in the points, the centres and the coefficients."""
        b, N, K, d = a.shape
        flat = a.reshape(b, N * K, d)
        if isinstance(self.kernel, Stationary):
            C, R = self._scaled_centres
            A = self.kernel.scaled(flat - self._origin, 3)
            scale = self.kernel.outputscale.view(-1, 1, 1, 1)
            value: Tensor = _Sum.apply(A, C, R, self.coefficients, scale, self.kernel.profile)
            return value
        k = self.kernel(flat, self.centres).unflatten(-2, (N, K))
        return (k @ self.coefficients.unsqueeze(-1)).squeeze(-1)
