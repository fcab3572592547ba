r"""`Transformed`: a mixture in which some components are about a transformed outcome.

Latent Gaussian processes v, all given the same observations y: plain components take y for v, bent ones g(y), where
y = h(v) is a `Bend` (see `links`) and g its inverse. Noise is added to v. Everything is said in the units of y:

    moments       those of h(v), in closed form            P(f(a) > c) = P(v(a) > g(c)), exactly
    an outcome    y' is a quantile of the mixture, found as the v of the bent components: no inverse is needed
    weights       w'_h is proportional to w_h N(g(y'); mean_h(x), S_h) g'(y'); of plain ones, w_h N(y'; mean_h(x), S_h)

After an outcome means and covariances of v change as in `gaussian`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Mixture, Moments, Needs, Predictive
from hentropy.core.beliefs.gaussian import Gaussian, GaussianFantasy, GaussianLookAhead
from hentropy.core.beliefs.kernels import whiten
from hentropy.core.beliefs.linalg import white_outcomes
from hentropy.core.beliefs.links import Bend, Latent, bent_components, neighbours, put
from hentropy.core.beliefs.nodes import Nodes, bayes, mixture_outcomes
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True, repr=False)
class Transformed(Mixture):
    """Gaussian processes v (`latent`, H of them), which of them are `bent` (H), and how: y = bend(v).

    The data of the latent processes differ: those of bent ones are transformed. All are in the units of y.
    """

    latent: Gaussian
    bend: Bend
    bent: Tensor
    outcomes: tuple[str, ...] = ("value",)
    logs: frozenset[str] = frozenset()
    normal = False

    @property
    def X(self) -> Tensor:  # type: ignore[override]  # noqa: N802 (as in all beliefs)
        """The designs observed so far: n x d."""
        return self.latent.X

    @property
    def process(self) -> Gaussian:
        """The normal values behind outcomes."""
        return self.latent

    @property
    def uncertain_noise(self) -> tuple[float, float] | None:  # type: ignore[override]
        """That of the normal values."""
        return self.latent.uncertain_noise

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The weights of the components: H."""
        return self.latent.weights

    @property
    def sites(self) -> int:
        """n."""
        return self.latent.sites

    @property
    def observed(self) -> Tensor:  # type: ignore[override]
        """The values it was fitted to: n."""
        own = self.latent.observed
        return self.bend(own) if bool(self.bent[0]) else own

    @property
    def noise_std(self) -> float:  # type: ignore[override]
        """The noise standard deviation of an observation to come, averaged over components and over the data."""
        return float(self.noise_std_given(self.moments(self.X, Needs.VARIANCE)).square().mean().sqrt())

    def noise_std_given(self, at: Moments) -> Tensor:
        """The same at m points where f has these moments: m. It is greater where the bend is steeper.

        Half the mean square of the difference of two observations of a point, y = h(v + e) and h(v + e').
        """
        latent = at.latent
        assert latent is not None
        noise = self.latent.noise_variance.unsqueeze(-1).expand_as(latent.mean)
        mean, var, own = (of[self.own] for of in (latent.mean, latent.var.expand_as(latent.mean), noise))
        total = var + own
        same, others = (self.bend.covariance(mean, mean, total, total, shared) for shared in (total, var))
        return (self.weights @ put(noise, (same - others).clamp_min(0.0), self.own)).sqrt()

    @property
    def kinds(self) -> list[str]:
        """The kernel of each component, and whether it is about transformed outcomes: H."""
        each = zip(self.latent.kinds, self.bent.tolist(), strict=True)
        return [f"{kind} of a transform" if bent else kind for kind, bent in each]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is transformed, and how much it counts."""
        share = f"{100.0 * float(self.weights[self.bent].sum()):.0f} % of its weight"
        side = "above" if bool(self.bend.right > self.bend.left) else "below"
        said = f"outcomes are skewed: part of the model ({share}) is about transformed ones, which vary more"
        if bool(self.bent.all()):
            said = (
                "outcomes lie over decades: the model is about transformed ones, much like logarithms, which vary more"
            )
        return f"{said} {side} {float(self.bend(self.bend.corner)):.4g}", *self.latent.notes

    def _with(self, latent: Gaussian) -> "Transformed":
        return replace(self, latent=latent)

    def weighted(self, weights: Tensor) -> "Transformed":
        """With other weights of the components."""
        return self._with(self.latent.weighted(weights))

    def exact(self) -> "Transformed":
        """The same belief with noiseless future observations."""
        return self._with(self.latent.exact())

    def widened(self, factor: float, noise: bool = True) -> "Transformed":
        """With standard deviations of v that are `factor` times as great; see `Gaussian.widened`."""
        return self._with(self.latent.widened(factor, noise))

    def some(self, components: list[int]) -> "Transformed":
        """The mixture of some of the components."""
        return replace(self, latent=self.latent.some(components), bent=self.bent[components])

    def rescaled(self, shift: float, scale: float) -> "Transformed":
        """The belief about shift + scale f, whatever the outcome."""
        units = (torch.tensor(number).to(self.X) for number in (shift, scale))
        return replace(self, latent=self.latent.rescaled(shift, scale), bend=self.bend.within(*units))

    def linked(self, latent: Moments, needs: Needs) -> Moments:
        """The moments of outcomes from those of v, which have variances, or covariances where needed: H x ... x m."""
        bend, own = self.bend, self.own
        mean = put(latent.mean, bend.mean(latent.mean[own], latent.variance[own]), own)
        if needs is Needs.MEAN:
            return Moments(latent.weights, mean)
        cov = latent.covariance if needs is Needs.JOINT else None
        return Moments(latent.weights, mean, latent=Latent(bend, self.bent, latent.mean, latent.variance, cov))

    def marginal(self, points: Tensor, shares: Sequence[float], *, noise: bool, log: bool) -> Predictive:
        """From v, to which the noise is added."""
        v = self.latent.moments(points, Needs.VARIANCE)
        variance = v.variance.clamp_min(0.0) + (self.latent.noise_variance.unsqueeze(-1) if noise else 0.0)
        at = Moments(v.weights, v.mean, variance.expand_as(v.mean))
        quantiles = self.quantiles(shares, at.weights.unsqueeze(-1), at.mean, at.variance.sqrt())
        return Predictive.over_all(self.linked(at, Needs.VARIANCE), quantiles, log)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m."""
        return self.linked(self.latent.moments(points, max(needs, Needs.VARIANCE)), needs)

    @cached_property
    def own(self) -> slice | list[int]:
        """The bent components, as an index."""
        return bent_components(self.bent)

    @cached_property
    def sides(self) -> "tuple[Side, ...]":
        """The plain components and the bent ones, if there are any."""
        places = range(self.components)
        each = [(bent, [h for h in places if bool(self.bent[h]) is bent]) for bent in (False, True)]
        return tuple(Side(bent, neighbours(index), self.latent.some(index)) for bent, index in each if index)

    def means(self, points: Tensor) -> Moments:
        """At points ... x m x d, averaged over the components: 1 x ... x m; plain ones need no variances for it."""
        total = torch.zeros(()).to(self.X)
        for side in self.sides:
            if side.bent:
                latent = side.latent.moments(points, Needs.VARIANCE)
                own = replace(latent, mean=self.bend.mean(latent.mean, latent.variance)).averaged()
            else:
                own = side.latent.means(points)
            total = total + self.weights[side.index].sum() * own.mean
        return Moments(total.new_ones([1] * (total.dim() - 1)), total)

    def look_ahead(self, x: Tensor) -> "TransformedLookAhead":
        """Prepare to observe at x: b x q x d."""
        return TransformedLookAhead(self, self.latent.look_ahead(x))

    def behind(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """What each component takes outcomes y (...) for, and the log of its slope in y: H x ... each."""
        which = self.bent.view(-1, *[1] * y.dim())
        v = self.bend.behind(y)
        return torch.where(which, v, y), torch.where(which, -self.bend.slope(v).log(), 0.0)

    def condition(self, x: Tensor, y: Tensor) -> "Transformed":
        """The belief after observing y (m) at x (m x d), with the same hyperparameters."""
        v, log_slope = self.behind(y)
        after, log_density = self.latent.extended(x, v)
        return self._with(after.weighted(bayes(self.weights, log_density + log_slope.sum(-1))))

    def predicted(self, mean: Tensor, sd: Tensor, y: Tensor) -> Tensor:
        """The log density of outcomes y (...) in each component, where v has mean and sd (H x ...): H x ... ."""
        v, log_slope = self.behind(y)
        return torch.distributions.Normal(mean, sd).log_prob(v) + log_slope

    def quantiles(self, shares: Sequence[float], weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        """Where so much of the probability of outcomes lies below: weights, mean and sd of v H x m to S x m."""
        z = torch.special.ndtri(torch.tensor(list(shares), dtype=mean.dtype, device=mean.device))
        z = z.expand(mean.shape[-1], -1)  # m x S
        at = (weights.expand_as(mean).unsqueeze(-1), mean.unsqueeze(-1), sd.clamp_min(1e-300).unsqueeze(-1))
        return self.bend(self.quantile(z, *at)).mT

    def quantile(self, z: Tensor, weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
        """The v of bent components below which the probability is Phi(z): z b x N, others H x b x 1: b x N."""
        which = self.bent.view(-1, 1, 1)
        with torch.no_grad():  # the quantiles of the components hold that of the mixture between them
            each = [(side.bent, (mean + sd * z)[side.index]) for side in self.sides]
            ends = [(v.amin(0), v.amax(0)) for _, v in each]
            ends = [pair if bent else self.bend.about(*pair) for (bent, _), pair in zip(each, ends, strict=True)]
            low, high = (torch.stack(side) for side in zip(*ends, strict=True))
            about = low.amin(0), high.amax(0), 0.5 * (ends[-1][0] + ends[-1][1])

        def see(v: Tensor) -> tuple[Tensor, Tensor]:
            value, slope = self.bend.with_slope(v)
            return torch.where(which, v, value), torch.where(which, 1.0, slope)

        return mixture_outcomes(z, weights, mean, sd, about, see)

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief: points ... x m x d to count x ... x m."""
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.multinomial(self.weights.cpu(), count, replacement=True, generator=generator)
        shares = drawn.bincount(minlength=self.components).tolist()
        each = [(self.latent.component(h).paths(n, seed + h), bool(self.bent[h])) for h, n in enumerate(shares) if n]
        bend = self.bend
        return lambda points: torch.cat([bend(path(points)) if bent else path(points) for path, bent in each])


@dataclass(frozen=True)
class Side:
    """The plain or the bent components, by their indices, with weights that sum to one."""

    bent: bool
    index: slice | list[int]
    latent: Gaussian

    def after(self, fantasy: GaussianFantasy) -> tuple[Tensor, GaussianFantasy]:
        """The same of the beliefs after outcomes, and how much of the weight they have then: b x N."""
        index = self.index
        own = fantasy.look.some(self.latent, index)
        weights = fantasy.component_weights[index]
        share = weights.sum(0)
        weights = weights / share.clamp_min(1e-300)
        step = (fantasy.V[index], weights, fantasy.innovation[index])
        return share, GaussianFantasy(own, fantasy.nodes, *step)


@dataclass(frozen=True)
class TransformedLookAhead(LookAhead):
    """Observing outcomes: a look ahead to v with its noise."""

    belief: Transformed
    latent: GaussianLookAhead

    def fantasy(self, nodes: Nodes) -> "TransformedFantasy":
        """The beliefs after the outcomes that the nodes stand for."""
        belief, look, frame = self.belief, self.latent, self.belief.latent.frame
        weights = belief.weights[:, None, None]
        if belief.components == 1:
            white, innovation, _ = look.drawn(nodes, weights)
            v = frame.shift + frame.scale * (look.mean.unsqueeze(-2) + innovation)
            values = belief.bend(v[0]) if bool(belief.bent[0]) else v[0]
            return TransformedFantasy(self, look.after(nodes, white, innovation, torch.ones_like(weights)), values)
        y, v, log_slope = self._outcomes(nodes)
        innovation = (v - frame.shift) / frame.scale - look.mean.unsqueeze(-2)
        white, log_density = white_outcomes(innovation, look.L, look.blind)
        slopes = torch.where(look.blind.unsqueeze(-2), 0.0, log_slope).sum(-1)
        after = bayes(weights, log_density + slopes)
        return TransformedFantasy(self, look.after(nodes, white, innovation, after), y)

    def _outcomes(self, nodes: Nodes) -> tuple[Tensor, Tensor, Tensor]:
        """Outcomes (b x N x q), what each component takes them for and the log slopes of that: H x b x N x q."""
        belief, look, frame = self.belief, self.latent, self.belief.latent.frame
        which = belief.bent.view(-1, 1, 1, 1)
        mean, L = frame.shift + frame.scale * look.mean, frame.scale * look.L
        z = torch.where(look.blind.unsqueeze(-2), 0.0, nodes.z)[0]  # b x N x q
        if nodes.quantiles and z.shape[-1] == 1:
            v = belief.quantile(z[..., 0], belief.weights[:, None, None], mean, L.squeeze(-1)).unsqueeze(-1)
            y = belief.bend(v)
        else:
            drawn = torch.searchsorted(belief.weights.cumsum(0), nodes.component.contiguous())
            drawn = drawn.clamp_max(belief.components - 1)
            own = mean[drawn].movedim(0, 1) + torch.einsum("nbqr,bnr->bnq", L[drawn], z)
            y = torch.where(belief.bent[drawn].unsqueeze(-1), belief.bend(own), own)
            v = torch.where(belief.bent[drawn].unsqueeze(-1), own, belief.bend.behind(y))
        log_slope = -belief.bend.slope(v).log()
        return y, torch.where(which, v, y), torch.where(which, log_slope, torch.zeros_like(log_slope))


@dataclass(frozen=True)
class TransformedFantasy(Fantasy):
    """The beliefs about v after outcomes y (b x N x q)."""

    look: TransformedLookAhead
    latent: GaussianFantasy
    y: Tensor

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The integration weights of the outcomes: N."""
        return self.latent.weights

    @property
    def values(self) -> Tensor:
        """The outcomes: b x N x q."""
        return self.y

    def some(self, index: Tensor) -> "TransformedFantasy":
        """The beliefs after some of the outcomes."""
        return TransformedFantasy(self.look, self.latent.some(index), self.y[:, index])

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K."""
        if needs is Needs.MEAN:
            return self._means(lambda own, least: own.moments(points, least))
        return self.look.belief.linked(self.latent.moments(points, needs), needs)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K."""
        if needs is Needs.MEAN:
            return self._means(lambda own, least: own.shared_moments(points, least))
        return self.look.belief.linked(self.latent.shared_moments(points, needs), needs)

    def own_means(self, x: Tensor) -> Tensor:
        """As the base says, without kernels at x once more: b x N x q."""
        belief, look, own = self.look.belief, self.latent.look, self.look.belief.own
        mean, C = self.latent.means_at_x(), look.C[own]
        root = whiten(C, look.L[own], look.blind[own])
        left = (C.diagonal(dim1=-2, dim2=-1) - root.square().sum(-1)).clamp_min(0.0)
        var = belief.latent.frame.scale.square() * left.unsqueeze(-2)
        each = put(mean, belief.bend.mean(mean[own], var), own)
        return (self.latent.component_weights.unsqueeze(-1) * each).sum(0)

    @cached_property
    def _sides(self) -> "tuple[tuple[Side, Tensor, GaussianFantasy], ...]":
        """Prepared once where x is fixed: descent evaluates it many times."""
        return self._new_sides()

    def _new_sides(self) -> "tuple[tuple[Side, Tensor, GaussianFantasy], ...]":
        """The plain and the bent components, how much of the weight they have, and what they say."""
        return tuple((side, *side.after(self.latent)) for side in self.look.belief.sides)

    def _means(self, at: Callable[[GaussianFantasy, Needs], Moments]) -> Moments:
        """Averaged over the components: 1 x b x N x ...; plain ones need no variances for it."""
        belief, total = self.look.belief, torch.zeros(()).to(self.y)
        # what carries a graph of x serves one evaluation only
        for side, share, own in self._new_sides() if self.latent.look.u.requires_grad else self._sides:
            found = at(own, Needs.VARIANCE if side.bent else Needs.MEAN)
            if side.bent:
                found = replace(found, mean=belief.bend.mean(found.mean, found.variance))
            mean = found.averaged().mean
            total = total + share.view(1, *share.shape, *[1] * (mean.dim() - 3)) * mean
        return Moments(total.new_ones([1] * (total.dim() - 1)), total)


def normal_fantasy(belief: Belief, x: Tensor, nodes: Nodes) -> GaussianFantasy:
    """After outcomes at x (b x q x d), the beliefs about f, or about the normal values behind it."""
    return normal_values(belief.look_ahead(x).fantasy(nodes))


def normal_values(fantasy: Fantasy) -> GaussianFantasy:
    """The beliefs after outcomes about f, or about the normal values behind it."""
    own = fantasy.latent if isinstance(fantasy, TransformedFantasy) else fantasy
    assert isinstance(own, GaussianFantasy)
    return own
