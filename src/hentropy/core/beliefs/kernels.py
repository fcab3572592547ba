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
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Protocol

from hentropy.core.beliefs.terms import FeatureKernel, LinearForms, by_component, side_by_side
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
    def title(self) -> str:
        """As people call it."""
        return {"matern32": "Matern-3/2", "matern52": "Matern-5/2"}.get(self.value, "squared exponential")

    @property
    def twice_smoothness(self) -> int | None:
        """2 nu of a Matern kernel: r2 times this is s^2; none for the squared exponential."""
        return {"matern32": 3, "matern52": 5}.get(self.value)

    def fall_(self, r2: Tensor, scale: Tensor, slope: Tensor | None) -> None:
        """Make squared distances scale x profile of them, and `slope`, where given, the derivative in the distance.

        With s = sqrt(2 nu r2), value and slope are scale exp(-s) times 1 + s and -3/2 for nu = 3/2, times
        1 + s + s^2/3 and -(5/6) (1 + s) for nu = 5/2. Rounding may leave a squared distance just below zero: it counts
        as zero.
        """
        r2.clamp_min_(0.0)
        smoothness = self.twice_smoothness
        if smoothness is None:
            r2.mul_(-0.5).exp_().mul_(scale)
            if slope is not None:
                torch.mul(r2, -0.5, out=slope)
            return
        s = r2.mul_(float(smoothness)).sqrt_()
        decay = torch.neg(s, out=slope).exp_().mul_(scale)
        if smoothness == 3:
            s.add_(1.0).mul_(decay)
            decay.mul_(-1.5)
            return
        linear = s + 1.0
        torch.addcmul(linear, s, s, value=1.0 / 3.0, out=s).mul_(decay)
        decay.mul_(linear).mul_(-5.0 / 6.0)


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
    """Values and slopes for squared distances H x ... and scales H x 1 ...; one profile, or H of them.

    The values take the place of the distances.
    """
    slope = torch.empty_like(r2) if sloped else None
    if len(set(profiles)) == 1:
        profiles[0].fall_(r2, scale, slope)
        return r2, slope
    start = 0
    for profile, same in groupby(profiles):  # neighbours with one profile go together
        part = slice(start, start + len(list(same)))
        profile.fall_(r2[part], scale[part], None if slope is None else slope[part])
        start = part.stop
    return r2, slope


def fallen(r2: Tensor, scale: Tensor, *profiles: Profile) -> Tensor:
    """scale x profile as a differentiable function of squared distances, which are overwritten: H x ... ."""
    value: Tensor = _Fall.apply(r2, scale, profiles)
    return value


@dataclass(frozen=True)
class Sites:
    """Points that kernels are evaluated against, as the components see them; prepared once where they stay the same.

    Distances do not change with the origin, rounding errors do: they are measured from one of the points. `scaled` are
    the points in length scales, C (H x ... x p x d), `products` (-2 C, 1, |C|^2), and `features` what terms have there
    (... x Tp x F).
    """

    origin: Tensor
    scaled: Tensor
    products: Tensor
    features: Tensor | None = None


def _scaled(a: Tensor, lengthscale: Tensor, dims: int) -> Tensor:
    """a / lengthscale, H in front of as many dimensions as the other side has: H x ... x m x d."""
    return a / lengthscale.view(lengthscale.shape[0], *[1] * (dims - 1), -1)


def _squared_distances(A: Tensor, products: Tensor) -> Tensor:
    """|a|^2 + |c|^2 - 2 a c as one product, no pass over m x p needed: H x ... x m x p."""
    left = torch.cat([A, A.square().sum(-1, keepdim=True), torch.ones_like(A[..., :1])], -1)
    return left @ products.mT


class _Pairs(AutogradFunction):
    """Points A (H x ... x m x d, scaled) and their features (... x m x F, or none) to their kernel with sites.

    H x ... x m x p; `own` are the components that have terms.
    """

    @staticmethod
    def forward(
        ctx: Any, A: Tensor, features: Tensor | None, C: Tensor, R: Tensor, right: Tensor | None, scale: Tensor,
        profiles: tuple[Profile, ...], own: Any,
    ) -> Tensor:  # fmt: skip
        value, slope = fall(
            _squared_distances(A, R), scale, profiles, ctx.needs_input_grad[0] or ctx.needs_input_grad[2]
        )
        ctx.save_for_backward(A, features, C, right, slope, value.clone() if ctx.needs_input_grad[5] else None, scale)
        ctx.own = own
        if features is not None and right is not None and value.numel():
            value[own] += by_component(features @ right.mT, right.shape[-2] // C.shape[-2])
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        A, features, C, right, slope, near, scale = ctx.saved_tensors
        by_A = by_features = by_C = by_right = None
        if slope is not None:
            M = (grad * slope).mul_(2.0)  # d k / d r2 = slope, d r2 / d a = 2 (a - c)
        if ctx.needs_input_grad[0]:
            by_A = (A * M.sum(-1, keepdim=True)).sub_(M @ C).sum_to_size(A.shape)
        if ctx.needs_input_grad[2]:
            by_C = (C * M.sum(-2).unsqueeze(-1)).sub_(M.mT @ A).sum_to_size(C.shape)
        if features is not None and (ctx.needs_input_grad[1] or ctx.needs_input_grad[4]):
            G = side_by_side(grad[ctx.own])
            by_features = (G @ right).sum_to_size(features.shape) if ctx.needs_input_grad[1] else None
            by_right = (G.mT @ features).sum_to_size(right.shape) if ctx.needs_input_grad[4] else None
        by_scale = None if near is None else (grad * near / scale).sum_to_size(scale.shape)
        return by_A, by_features, by_C, None, by_right, by_scale, None, None


@dataclass(frozen=True)
class Stationary:
    """outputscale (H) x profile(distance of a/lengthscale and b/lengthscale); lengthscale H x d or H x 1.

    All components have one profile, or each has its own.
    """

    profile: Profile | tuple[Profile, ...]
    lengthscale: Tensor
    outputscale: Tensor
    terms: ClassVar[None] = None

    @property
    def stationary(self) -> "Stationary":
        """Itself: there are no terms besides."""
        return self

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The profile of each component, or the one that all have."""
        return (self.profile,) if isinstance(self.profile, Profile) else self.profile

    @property
    def kinds(self) -> list[str]:
        """The profile of each component in words: H."""
        titles = [profile.title for profile in self.profiles]
        return titles * len(self.outputscale) if len(titles) == 1 else titles

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        return self.at_sites(a, self.sites(b, max(a.dim(), b.dim())))

    def sites(self, b: Tensor, dims: int, origin: Tensor | None = None) -> Sites:
        """Points ... x p x d, to be met by others that have this many dimensions."""
        if origin is None:
            origin = b.detach()[(0,) * (b.dim() - 1)] if b.numel() else b.new_zeros(b.shape[-1])
        C = _scaled(b - origin, self.lengthscale, dims)
        fixed = C.detach()
        R = torch.cat([-2.0 * fixed, torch.ones_like(fixed[..., :1]), fixed.square().sum(-1, keepdim=True)], -1)
        return Sites(origin, C, R)

    def at_sites(self, a: Tensor, sites: Sites) -> Tensor:
        """k(a, sites): H x ... x m x p."""
        return self.with_terms(a, sites, None, None)

    def with_terms(self, a: Tensor, sites: Sites, features: Tensor | None, own: slice | list[int] | None) -> Tensor:
        """The same with the terms that some of the components have besides."""
        dims = sites.scaled.dim() - 1
        A = _scaled(a - sites.origin, self.lengthscale, dims)
        scale = self.outputscale.view(-1, *[1] * dims)
        near = (sites.scaled, sites.products, sites.features, scale, self.profiles, own)
        value: Tensor = _Pairs.apply(A, features, *near)
        return value

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
    """A stationary kernel plus waves of one coordinate each and a trend; inputs are in the unit cube.

    Terms are those of some of the components (`having`, T of them in order), all if left out.
    """

    stationary: Stationary
    terms: FeatureKernel
    having: tuple[int, ...] | None = None

    @cached_property
    def own(self) -> slice | list[int]:
        """The components that have terms, as an index: neighbours are a view of an array, others a copy."""
        places = range(len(self.terms.variance)) if self.having is None else self.having
        first, last = places[0], places[-1]
        return slice(first, last + 1) if last - first + 1 == len(places) else list(places)

    @property
    def kinds(self) -> list[str]:
        """The profile of each component in words, and whether it has terms besides: H."""
        alone = self.stationary_alone()
        each = enumerate(self.stationary.kinds)
        return [kind if h in alone else f"{kind} with waves and a trend" for h, kind in each]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b): H x ... x m x p."""
        return self.at_sites(a, self.sites(b, max(a.dim(), b.dim())))

    def sites(self, b: Tensor, dims: int, origin: Tensor | None = None) -> Sites:
        """Points ... x p x d, to be met by others that have this many dimensions."""
        return replace(self.stationary.sites(b, dims, origin), features=self.terms.scaled(b))

    def at_sites(self, a: Tensor, sites: Sites, features: Tensor | None = None) -> Tensor:
        """k(a, sites): H x ... x m x p; `features` are those of a, where they are known."""
        return self.stationary.with_terms(a, sites, self.terms.basis(a) if features is None else features, self.own)

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        value = self.stationary.diagonal(a).contiguous()
        return value.index_add(0, self._places(a), self.terms.diagonal(a))

    def stationary_alone(self) -> list[int]:
        """The components without terms."""
        having = set(self._places(self.terms.variance).tolist())
        return [h for h in range(len(self.stationary.outputscale)) if h not in having]

    def _places(self, like: Tensor) -> Tensor:
        return torch.arange(len(self.stationary.outputscale), device=like.device)[self.own]

    def heights(self) -> Tensor:
        """The standard deviations of the coefficients of features, zero for components without terms: H x F."""
        variance = self.terms.variance
        every = variance.new_zeros(len(self.stationary.outputscale), variance.shape[-1])
        every[self.own] = variance.sqrt()
        return every

    def some(self, components: list[int]) -> "Composed | Stationary":
        """The kernel of some of the components."""
        rows = {component: row for row, component in enumerate(self._places(self.terms.variance).tolist())}
        having = tuple(place for place, component in enumerate(components) if component in rows)
        stationary = self.stationary.some(components)
        if not having:
            return stationary
        return Composed(stationary, self.terms.some([rows[components[place]] for place in having]), having)


@dataclass(frozen=True)
class ToSites:
    """k(., points) for points that stay the same: m x d to H x m x p."""

    kernel: "Kernel"
    points: Tensor

    @cached_property
    def sites(self) -> Sites:
        """The points, prepared."""
        assert isinstance(self.kernel, Stationary | Composed)
        return self.kernel.sites(self.points, 2)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is prepared, which is larger than all the rest and quickly made."""
        return {name: value for name, value in self.__dict__.items() if name != "sites"}

    def __call__(self, a: Tensor) -> Tensor:
        """At inputs m x d: H x m x p."""
        if isinstance(self.kernel, Stationary | Composed):
            return self.kernel.at_sites(a, self.sites)
        return self.kernel(a, self.points)


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


def of_designs(kernel: Kernel) -> Kernel:
    """The kernel between designs, without the covariance between outcomes."""
    return kernel.kernel if isinstance(kernel, Coregional) else kernel


def without_terms(kernel: Kernel) -> tuple[Stationary, list[int]] | None:
    """The components whose kernel is stationary and nothing else, and which these are; None where there are none."""
    if isinstance(kernel, Composed):
        alone = kernel.stationary_alone()
        return (kernel.stationary.some(alone), alone) if alone else None
    return (kernel, list(range(len(kernel.outputscale)))) if isinstance(kernel, Stationary) else None


def times(kernel: Kernel, factor: float) -> Kernel | None:
    """The kernel times a number; None where it is none of ours."""
    if isinstance(kernel, Stationary):
        return replace(kernel, outputscale=factor * kernel.outputscale)
    if isinstance(kernel, Composed):
        terms = replace(kernel.terms, variance=factor * kernel.terms.variance)
        stationary = replace(kernel.stationary, outputscale=factor * kernel.stationary.outputscale)
        return replace(kernel, stationary=stationary, terms=terms)
    return None


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


@dataclass(frozen=True)
class KernelSum:
    """sum_i coefficients_i k(a, centres_i) for centres b x p x d, coefficients H x b x N x p, in the model's inputs."""

    kernel: Kernel
    centres: Tensor
    coefficients: Tensor

    @cached_property
    def _sites(self) -> Sites:
        assert isinstance(self.kernel, Stationary)
        return self.kernel.sites(self.centres, 3)

    @cached_property
    def _parts(self) -> tuple["KernelSum", Tensor]:
        """The sum of the stationary kernels, and the linear forms that the terms add up to: T x b x N x F."""
        assert isinstance(self.kernel, Composed)
        form = self.kernel.terms.form(self.centres, self.coefficients[self.kernel.own])
        return KernelSum(self.kernel.stationary, self.centres, self.coefficients), form

    def __call__(self, a: Tensor) -> Tensor:
        """At points b x N x K x d: H x b x N x K, differentiable in the points, the centres and the coefficients."""
        if isinstance(self.kernel, Composed):
            stationary, form = self._parts
            terms = self.kernel.terms.at(a, form)
            return stationary(a).index_add(0, self.kernel._places(a), terms)
        b, N, K, d = a.shape
        flat = a.reshape(b, N * K, d)
        own = self.kernel
        k = own.at_sites(flat, self._sites) if isinstance(own, Stationary) else own(flat, self.centres)
        k = k.unflatten(-2, (N, K))
        return (k @ self.coefficients.unsqueeze(-1)).squeeze(-1)

    def over_components(self, a: Tensor) -> Tensor:
        """The sum over the components as well: b x N x K, differentiable in the same."""
        fixed = not (self.coefficients.requires_grad or self.centres.requires_grad)
        if fixed and isinstance(self.kernel, Stationary | Composed):
            value: Tensor = _Field.apply(a, self)
            return value
        if not isinstance(self.kernel, Composed):
            return self(a).sum(0)
        stationary, _ = self._parts
        return stationary(a).sum(0) + self.kernel.terms.at(a, self._whole_form.coefficients.unsqueeze(0)).squeeze(0)

    def value_and_slope(self, a: Tensor, sloped: bool) -> tuple[Tensor, Tensor | None]:
        """The sum over the components at points b x N x K x d, b x N x K, and its derivative there where wanted."""
        if isinstance(self.kernel, Composed):
            value, slope = self._parts[0].value_and_slope(a, sloped)
            far, far_slope = self._whole_form.value_and_slope(a, sloped)
            return value.add_(far), None if slope is None or far_slope is None else far_slope.add_(slope)
        assert isinstance(self.kernel, Stationary)
        b, N, K, d = a.shape
        A = _scaled(a.reshape(b, N * K, d) - self._sites.origin, self.kernel.lengthscale, 3)
        left = torch.cat([A, A.square().sum(-1, keepdim=True), torch.ones_like(A[..., :1])], -1)
        value, slope = a.new_zeros(b, N * K), torch.zeros_like(A[0]) if sloped else None
        for run in self._runs:
            run.add_to(value, slope, left[run.own], (N, K))
        return value.view(b, N, K), None if slope is None else slope.view(b, N, K, d)

    @cached_property
    def _runs(self) -> list["_OneProfile"]:
        """The components, neighbours with one profile together."""
        assert isinstance(self.kernel, Stationary)
        sites, kernel, runs, start = self._sites, self.kernel, [], 0
        H = len(kernel.outputscale)
        profiles = kernel.profiles if len(kernel.profiles) == H else kernel.profiles * H
        for profile, same in groupby(profiles):
            own = slice(start, start + len(list(same)))
            coefficients = kernel.outputscale[own].view(-1, 1, 1, 1) * self.coefficients[own]
            runs.append(
                _OneProfile(profile, own, sites.products[own], coefficients.unsqueeze(-2), kernel.lengthscale[own])
            )
            start = own.stop
        return runs

    @cached_property
    def _whole_form(self) -> LinearForms:
        """Of all terms of all components together."""
        assert isinstance(self.kernel, Composed)
        return LinearForms(self.kernel.terms.basis, self._parts[1].sum(0))


@dataclass(frozen=True)
class _OneProfile:
    """Components `own` with one profile in a sum of kernels: products of their sites, coefficients times outputscales.

    With e = exp(-s), s = sqrt(2 nu r2), and e = exp(-r2 / 2) for the squared exponential, M are the coefficients times
    e. `products` have a column of ones: M times them has the sum of M, and what the derivative needs.
    """

    profile: Profile
    own: slice
    products: Tensor
    coefficients: Tensor
    lengthscale: Tensor

    @cached_property
    def _stretched(self) -> Tensor:
        """Products that give -r2 / 2, or s^2, instead of r2; transposed."""
        smoothness = self.profile.twice_smoothness
        return ((-0.5 if smoothness is None else float(smoothness)) * self.products).mT.contiguous()

    def add_to(self, value: Tensor, slope: Tensor | None, left: Tensor, each: tuple[int, int]) -> None:
        """Add the sum at points, and its derivative where wanted: b x NK, and x d."""
        d, smoothness = left.shape[-1] - 2, self.profile.twice_smoothness
        s = left @ self._stretched  # H x b x NK x p
        e = s.clamp_max_(0.0).exp_() if smoothness is None else s.clamp_min_(0.0).sqrt_().neg().exp_()
        M = e.unflatten(-2, each).mul_(self.coefficients).flatten(-3, -2)
        if smoothness is None:
            more, factor = None, -0.5
        elif smoothness == 3:
            more, factor = s.mul_(M), -1.5  # (1 + s) e, and -3/2 e
        else:
            linear = s * M
            M = M.add_(linear)
            more, factor = s.mul_(linear).mul_(1.0 / 3.0), -5.0 / 6.0  # (1 + s + s^2 / 3) e, and -5/6 (1 + s) e
        if more is not None:
            value += more.sum((0, -1))
        if slope is None:
            value += M.sum((0, -1))
            return
        # d r2 / d a = 2 (a - c), and `products` are (-2 c, 1, |c|^2)
        P = M @ self.products
        value += P[..., d].sum(0)
        by_A = torch.addcmul(P[..., :d], left[..., :d], P[..., d : d + 1], value=2.0)
        slope += (by_A * (factor / self.lengthscale)[:, None, None]).sum(0)


class _Field(AutogradFunction):
    """Points b x N x K x d to a sum of kernels over the components, b x N x K.

    One number per point: its derivative is made on the way, and nothing large is kept for the way back.
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, total: KernelSum) -> Tensor:
        value, slope = total.value_and_slope(a, ctx.needs_input_grad[0])
        ctx.save_for_backward(slope)
        return value

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (slope,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * slope, None


def whiten(C: Tensor, L: Tensor, blind: Tensor) -> Tensor:
    """C L^-T, zero for blind outcomes: H x b x m x q."""
    white = C / L if L.shape[-1] == 1 else torch.linalg.solve_triangular(L, C.mT, upper=False).mT
    return torch.where(blind.unsqueeze(-2), 0.0, white)
