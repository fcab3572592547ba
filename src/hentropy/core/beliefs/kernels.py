r"""Covariance functions, batched over H components, and their sums, for the inner loops of a search.

`Stationary` computes Matern and squared exponential kernels from squared distances with a hand-written derivative.
`Composed` adds waves and a trend. `Wrapped` takes any GPyTorch kernel. `Coregional` is one kernel for several outcomes,
times the covariance between them.

Every posterior mean is a sum of kernels, now and after an observation:

    mean(a)  = m + sum_i alpha_i k(a, X_i)                  mean'(a) = m + sum_i beta_i k(a, (X, x)_i)

After observing at x, beta is alpha - W V at the data and V at x itself. A search evaluates such sums thousands of times
at few points, where the calls around the arithmetic cost more than the arithmetic: one function for the whole sum,
forward and backward, with the centres prepared once.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import Any, Protocol

from hentropy.core.beliefs.terms import FeatureKernel
from hentropy.errors import ModelError
from hentropy.lazy import AutogradFunction, Tensor, gpytorch, linear_operator, torch


class Kernel(Protocol):
    """k(a, b) for H components."""

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """Points ... x m x d and ... x p x d: H x ... x m x p."""

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i) for points ... x m x d: H x ... x m."""

    def some(self, components: list[int]) -> "Kernel":
        """The kernel of some of the components."""


class Profile(Enum):
    """How a stationary kernel falls off with distance."""

    MATERN32 = "matern32"
    MATERN52 = "matern52"
    SQUARED_EXPONENTIAL = "squared_exponential"

    @property
    def twice_smoothness(self) -> int | None:
        """2 nu of a Matern kernel: r2 times this is s^2; none for the squared exponential."""
        return {"matern32": 3, "matern52": 5}.get(self.value)

    def value_and_slope(self, r2: Tensor, scale: Tensor, sloped: bool = True) -> tuple[Tensor, Tensor | None]:
        """scale x profile and its derivative in the squared distance, which is overwritten.

        With s = sqrt(2 nu r2), value and slope are scale exp(-s) times 1 + s and -3/2 for nu = 3/2, times
        1 + s + s^2/3 and -(5/6) (1 + s) for nu = 5/2. Rounding may leave a squared distance just below zero: it counts
        as zero.
        """
        r2 = r2.clamp_min_(0.0)
        smoothness = self.twice_smoothness
        if smoothness is None:
            value = r2.mul_(-0.5).exp_().mul_(scale)
            return value, -0.5 * value if sloped else None
        s = r2.mul_(float(smoothness)).sqrt_()
        decay = torch.exp(-s).mul_(scale)
        linear = s + 1.0
        if smoothness == 3:
            return linear.mul_(decay), decay.mul_(-1.5) if sloped else None
        value = torch.addcmul(linear, s, s, value=1.0 / 3.0).mul_(decay)
        return value, linear.mul_(decay).mul_(-5.0 / 6.0) if sloped else None


class _Fall(AutogradFunction):
    """scale x profile of squared distances, a profile for each component: r2 is H x ..., and is overwritten.

    One array is kept for the way back, where autograd would keep nine.
    """

    @staticmethod
    def forward(ctx: Any, r2: Tensor, scale: Tensor, profiles: tuple[Profile, ...]) -> Tensor:
        value, slope = fall(r2, scale, profiles, ctx.needs_input_grad[0])
        ctx.save_for_backward(slope, value if ctx.needs_input_grad[1] else None, scale)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        slope, value, scale = ctx.saved_tensors
        by_r2 = None if slope is None else grad * slope
        return by_r2, None if value is None else (grad * value / scale).sum_to_size(scale.shape), None


def fall(r2: Tensor, scale: Tensor, profiles: tuple[Profile, ...], sloped: bool = True) -> tuple[Tensor, Tensor | None]:
    """Values and slopes for squared distances H x ... (overwritten) and scales H x 1 ...; one profile, or H of them."""
    if len(set(profiles)) == 1:
        return profiles[0].value_and_slope(r2, scale, sloped)
    pieces, start = [], 0
    for profile, same in groupby(profiles):  # neighbours with one profile go together
        end = start + len(list(same))
        pieces.append(profile.value_and_slope(r2[start:end], scale[start:end], sloped))
        start = end
    slopes = [slope for _, slope in pieces if slope is not None]
    return torch.cat([value for value, _ in pieces]), torch.cat(slopes) if sloped else None


def fallen(r2: Tensor, scale: Tensor, *profiles: Profile) -> Tensor:
    """scale x profile as a differentiable function of squared distances, which are overwritten: H x ... ."""
    value: Tensor = _Fall.apply(r2, scale, profiles)
    return value


@dataclass(frozen=True)
class Stationary:
    """outputscale (H) x profile(distance of a/lengthscale and b/lengthscale); lengthscale H x d or H x 1.

    All components have one profile, or each has its own.
    """

    profile: Profile | tuple[Profile, ...]
    lengthscale: Tensor
    outputscale: Tensor

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The profile of each component, or the one that all have."""
        return (self.profile,) if isinstance(self.profile, Profile) else self.profile

    def scaled(self, a: Tensor, dims: int) -> Tensor:
        """a / lengthscale, H in front of as many dimensions as the other side has: H x ... x m x d."""
        return a / self.lengthscale.view(self.lengthscale.shape[0], *[1] * (dims - 1), -1)

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        # distances do not change with the origin, rounding errors do: measure from one of the points
        origin = b.detach()[(0,) * (b.dim() - 1)] if b.numel() else a.new_zeros(())
        dims = max(a.dim(), b.dim())
        a, b = self.scaled(a - origin, dims), self.scaled(b - origin, dims)
        # |a|^2 + |b|^2 - 2 a b as one product (... x m x (d + 2)) (... x (d + 2) x p), no pass over m x p needed
        a = torch.cat([a, a.square().sum(-1, keepdim=True), a.new_ones(*a.shape[:-1], 1)], -1)
        b = torch.cat([-2.0 * b, b.new_ones(*b.shape[:-1], 1), b.square().sum(-1, keepdim=True)], -1)
        r2 = a @ b.mT
        return fallen(r2, self.outputscale.view(-1, *[1] * (r2.dim() - 1)), *self.profiles)

    def diagonal(self, a: Tensor) -> Tensor:
        """The outputscale at every point: H x ... x m."""
        scale = self.outputscale
        return scale.view(-1, *[1] * (a.dim() - 1)).expand(scale.shape[0], *a.shape[:-1])

    def some(self, components: list[int]) -> "Stationary":
        """The kernel of some of the components."""
        own = self.profile if isinstance(self.profile, Profile) else tuple(self.profile[h] for h in components)
        return Stationary(own, self.lengthscale[components], self.outputscale[components])


@dataclass(frozen=True)
class Composed:
    """A stationary kernel plus waves of one coordinate each and a trend; inputs are in the unit cube."""

    stationary: Stationary
    terms: FeatureKernel

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        near, terms = self.stationary(a, b), self.terms(a, b)
        # where gradients are wanted it may be a view, which must not be overwritten
        return near + terms if near.requires_grad else near.add_(terms)

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        return self.stationary.diagonal(a) + self.terms.diagonal(a)

    def some(self, components: list[int]) -> "Composed":
        """The kernel of some of the components."""
        return Composed(self.stationary.some(components), self.terms.some(components))


@dataclass(frozen=True)
class Wrapped:
    """Any GPyTorch kernel, through its plain `forward`; `batched` says that it carries H components itself."""

    kernel: "gpytorch.kernels.Kernel"
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
        return value.to_dense() if isinstance(value, linear_operator.LinearOperator) else value

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


@dataclass(frozen=True)
class SomeMeans:
    """The prior mean of some of the components."""

    mean: Callable[[Tensor], Tensor]
    components: tuple[int, ...]

    def __call__(self, a: Tensor) -> Tensor:
        """Inputs ... x m x d: H x ... x m."""
        return self.mean(a)[list(self.components)]


@dataclass(frozen=True)
class Coregional:
    """B_ij k(a, b) for several outcomes: the last coordinate of a point says which outcome it is of; B is H x o x o."""

    kernel: Kernel
    B: Tensor

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        i, j = a[..., -1].long().unsqueeze(-1), b[..., -1].long().unsqueeze(-2)
        return self.B[:, i, j] * self.kernel(a[..., :-1], b[..., :-1])

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        i = a[..., -1].long()
        return self.B[:, i, i] * self.kernel.diagonal(a[..., :-1])

    def some(self, components: list[int]) -> "Coregional":
        """The kernel of some of the components."""
        return Coregional(self.kernel.some(components), self.B[components])


def from_gpytorch(kernel: "gpytorch.kernels.Kernel") -> Kernel:
    """The fast form of a Matern or RBF kernel, scaled or not; any other kernel wrapped.

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
    profile = None
    if type(inner) is gpytorch.kernels.MaternKernel:
        profile = next((own for own in Profile if own.twice_smoothness == round(2 * inner.nu)), None)
    elif type(inner) is gpytorch.kernels.RBFKernel:
        profile = Profile.SQUARED_EXPONENTIAL
    if profile is not None and inner.active_dims is None and kernel.active_dims is None:
        lengthscale = inner.lengthscale.detach().clone()
        lengthscale = lengthscale.reshape(-1, lengthscale.shape[-1])
        H = max(lengthscale.shape[0], scale.numel())
        outputscale = scale.to(lengthscale).clone().reshape(-1).expand(H)
        return Stationary(profile, lengthscale.expand(H, -1), outputscale)
    return Wrapped(copy.deepcopy(kernel).requires_grad_(False), batched=len(batch) == 1)


class _Sum(AutogradFunction):
    """Points A (H x b x NK x d), centres C (H x b x p x d, both scaled, R = (-2 C, 1, |C|^2)), coefficients B
    (H x b x N x p): H x b x N x K.
    """

    @staticmethod
    def forward(ctx: Any, A: Tensor, C: Tensor, R: Tensor, B: Tensor, scale: Tensor, profiles: Any) -> Tensor:
        # squared distances |a|^2 + |c|^2 - 2 a c as one product
        left = torch.cat([A, A.square().sum(-1, keepdim=True), torch.ones_like(A[..., :1])], -1)
        k, slope = fall(left @ R.mT, scale, profiles)
        assert slope is not None
        N = B.shape[-2]
        k, slope = k.unflatten(-2, (N, -1)), slope.unflatten(-2, (N, -1))  # H x b x N x K x p
        ctx.save_for_backward(A, C, B, slope, k if ctx.needs_input_grad[3] else None)
        return (k @ B.unsqueeze(-1)).squeeze(-1)

    @staticmethod
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

    @cached_property
    def _parts(self) -> tuple["KernelSum", Tensor]:
        """The sum of the stationary kernels, and the linear form that the terms add up to."""
        assert isinstance(self.kernel, Composed)
        form = self.kernel.terms.form(self.centres, self.coefficients)
        return KernelSum(self.kernel.stationary, self.centres, self.coefficients), form

    def __call__(self, a: Tensor) -> Tensor:
        """At points b x N x K x d: H x b x N x K, differentiable in the points, the centres and the coefficients."""
        if isinstance(self.kernel, Composed):
            stationary, form = self._parts
            return stationary(a) + self.kernel.terms.at(a, form)
        b, N, K, d = a.shape
        flat = a.reshape(b, N * K, d)
        if isinstance(self.kernel, Stationary):
            C, R = self._scaled_centres
            A = self.kernel.scaled(flat - self._origin, 3)
            scale = self.kernel.outputscale.view(-1, 1, 1, 1)
            value: Tensor = _Sum.apply(A, C, R, self.coefficients, scale, self.kernel.profiles)
            return value
        k = self.kernel(flat, self.centres).unflatten(-2, (N, K))
        return (k @ self.coefficients.unsqueeze(-1)).squeeze(-1)
