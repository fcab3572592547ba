r"""Sums of kernels: what every posterior mean is, now and after an observation, with a hand-written derivative.

    mean(a)  = m + sum_i alpha_i k(a, X_i)                  mean'(a) = m + sum_i beta_i k(a, (X, x)_i)

After observing at x, beta is alpha - W V at the data and V at x itself. A search evaluates such sums thousands of times
at few points, where the calls around the arithmetic cost more than the arithmetic: one function for the whole sum,
forward and backward, with the centres prepared once.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs.kernels import Kernel, Profile, Stationary


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
