r"""`Graded`: what is known about an outcome that is yes or no, or one of several ordered grades.

A latent Gaussian process g decides, with unit noise: the grade of an experiment at x is j where g(x) + noise lies
between the cuts c_j and c_j+1. The grade that is wanted begins at zero, so that it, or a better one, comes with the
probability p(x) = Phi(g(x)); of yes and no, yes is wanted. The belief is about p. In each component, with the mean m
and the variance v of g, h = m / sqrt(1 + v), and c the covariance of g at two points,

    E p(a) = Phi(h)        Cov(p(a), p(b)) = D(h_a, h_b; c / sqrt((1 + v_a)(1 + v_b)))

where D(h, k; r) = Phi2(h, k; r) - Phi(h) Phi(k) and Phi2 is the bivariate normal distribution.

There are as many outcomes of one more experiment as there are grades: a sum, and no quadrature. With t_j the cuts in
standard deviations of g(x) + noise from its mean, and r its correlation with g(a) + noise,

    P(j) = Phi(t_j+1) - Phi(t_j)        E[p(a) | j] = Phi(h) + (D(h, t_j+1; -r) - D(h, t_j; -r)) / P(j)

exactly. Of several experiments together, all but the last one are replaced by normal observations of g that leave it
with the same mean and variance (assumed density filtering), and so is the last one where more than the mean is asked
for. `scores` is the same belief about g itself, for what depends on whether p is above a level, that is g above its
probit. Where that level c is known, the mean of g after a grade is set so that the chance of being above it is exact:

    P(g(a) > c | j) = Phi(k) + (D(k, t_j+1; -r) - D(k, t_j; -r)) / P(j)        k = (m - c) / sqrt(v)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.beliefs.base import Fantasy, LookAhead, Mixture, Moments, Needs, Predictive
from hentropy.core.beliefs.gaussian import Gaussian, GaussianLookAhead, bayes
from hentropy.core.beliefs.nodes import Nodes, every_grade, mixture_quantiles, outcome_nodes
from hentropy.core.beliefs.normal import bivariate_excess, distribution
from hentropy.core.beliefs.success import seen_between
from hentropy.lazy import Tensor, torch

MOST_BRANCHES = 64
"""Of several experiments, all combinations of grades are looked at if they are not more than this."""


def probabilities(latent: Moments, needs: Needs) -> Moments:
    """The moments of p from those of g, which have variances, or covariances where needed."""
    root = (1.0 + latent.variance).sqrt()
    h = latent.mean / root
    mean, var, cov = distribution(h), None, None
    if needs is Needs.JOINT:
        rho = latent.covariance / (root.unsqueeze(-1) * root.unsqueeze(-2))
        cov = bivariate_excess(h.unsqueeze(-1), h.unsqueeze(-2), rho)
        var = cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0)
    elif needs is Needs.VARIANCE:
        var = bivariate_excess(h, h, 1.0 - root.square().reciprocal()).clamp_min(0.0)
    return Moments(latent.weights, mean, var, cov)


@dataclass(frozen=True, repr=False)
class Graded(Mixture):
    """The belief about g, and the cuts between the grades: H x (G - 1); the cut below the wanted grade is 0.

    With `level`, the question to a belief about g is the probability that g exceeds it.
    """

    latent: Gaussian
    cuts: Tensor
    outcomes: tuple[str, ...] = ("value",)
    latent_view: bool = False
    level: float | None = None
    noise_std: float = 0.5  # the greatest that a yes or no has

    @property
    def X(self) -> Tensor:  # type: ignore[override]  # noqa: N802 (as in all beliefs)
        """The designs observed so far: n x d."""
        return self.latent.X

    @property
    def graded(self) -> frozenset[str]:  # type: ignore[override]
        """Itself."""
        return frozenset(self.outcomes)

    @property
    def kinds(self) -> list[str]:
        """The kernel of each component: H."""
        return self.latent.kinds

    @property
    def ordinal(self) -> "Graded":
        """Itself."""
        return self

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The weights of the components: H."""
        return self.latent.weights

    def weighted(self, weights: Tensor) -> "Graded":
        """With other weights of the components."""
        return replace(self, latent=self.latent.weighted(weights))

    def half_way(self) -> Tensor:
        """What each component says of g."""
        return self.latent.half_way()

    def rescaled(self, shift: float, scale: float) -> "Graded":
        """Itself: probabilities have no units."""
        return self

    @property
    def grades(self) -> int:
        """G."""
        return self.cuts.shape[-1] + 1

    @property
    def scores(self) -> "Graded":
        """The belief about g, observed by grades."""
        if self.latent_view:
            return self
        own: Graded = self.found.setdefault("scores", replace(self, latent_view=True))
        return own

    def above(self, level: float | None) -> "Graded":
        """The belief about g, for the probability that g exceeds a level, if there is one."""
        if ("above", level) not in self.found:
            self.found["above", level] = replace(self, latent_view=True, level=level)
        own: Graded = self.found["above", level]
        return own

    @cached_property
    def edges(self) -> Tensor:
        """Between which numbers each grade lies: H x (G + 1)."""
        end = torch.full_like(self.cuts[:, :1], torch.inf)
        return torch.cat([-end, self.cuts, end], -1)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m."""
        if self.latent_view:
            return self.latent.moments(points, needs)
        return probabilities(self.latent.moments(points, max(needs, Needs.VARIANCE)), needs)

    def marginal(self, points: Tensor, shares: Sequence[float], *, noise: bool, log: bool) -> Predictive:
        """The probability, whose quantiles are those of its probit g; a grade that is observed has no number."""
        g = self.latent.moments(points, Needs.VARIANCE)
        weights = g.weights.unsqueeze(-1).expand_as(g.mean)
        ends = mixture_quantiles(shares, weights, g.mean, g.variance.clamp_min(0.0).sqrt())
        mean, total = probabilities(g, Needs.VARIANCE).total()
        return Predictive(mean, total.clamp_min(0.0).sqrt(), torch.special.ndtr(ends))

    def nodes(self, count: int, q: int, seed: int | None = None) -> Nodes:
        """All combinations of grades of q designs; if there are too many, a random sample of them."""
        if self.grades**q <= MOST_BRANCHES:
            return every_grade(self.grades, q).to(self.X)
        return outcome_nodes(count, q, self.components, seed).to(self.X)

    def look_ahead(self, x: Tensor) -> "GradedLookAhead":
        """Prepare to observe the grades at x: b x q x d."""
        return GradedLookAhead(self, self.latent.look_ahead(x))

    def condition(self, x: Tensor, y: Tensor) -> "Graded":
        """The belief after the grades y (m, from 0 on) at x (m x d); the approximation of earlier ones is kept."""
        after, log_probability = self.extended(x, y)
        return after.weighted(bayes(self.weights, log_probability))

    def extended(self, x: Tensor, y: Tensor) -> tuple["Graded", Tensor]:
        """With the grades y (m) at x (m x d) added to the data, weights unchanged; and log probabilities H."""
        after, total = self, torch.zeros_like(self.weights)
        for design, grade in zip(x, y.long(), strict=True):
            after, log_probability = after._observed(design.unsqueeze(0), int(grade))
            total = total + log_probability
        return after, total

    def _observed(self, x: Tensor, grade: int) -> tuple["Graded", Tensor]:
        """After one more grade, a normal observation of g in its place; and its log probability H."""
        moments = self.latent.moments(x, Needs.VARIANCE)
        low, high = self.edges[:, grade, None], self.edges[:, grade + 1, None]
        log_probability, A, B, _ = seen_between(moments.mean, moments.variance, low, high)  # H x 1
        noise = (1.0 / B - moments.variance) / self.latent.frame.scale.square()
        after, _ = self.latent.extended(x, moments.mean + A / B, noise)
        return replace(self, latent=after), log_probability.squeeze(-1)

    def expecting(self, x: Tensor) -> "Graded":
        """As if g had been observed at its mean, with the noise of a grade."""
        moments = self.latent.moments(x, Needs.MEAN)
        after, _ = self.latent.extended(x, moments.expect_vector(moments.mean))
        return replace(self, latent=after)

    def some(self, components: list[int]) -> "Graded":
        """The mixture of some of the components."""
        return replace(self, latent=self.latent.some(components), cuts=self.cuts[components])

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief: points ... x m x d to count x ... x m."""
        latent = self.latent.paths(count, seed)
        return latent if self.latent_view else lambda points: distribution(latent(points))

    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        """Joint draws at points m x d: count x m."""
        drawn = self.latent.sample(points, count, seed)
        return drawn if self.latent_view else distribution(drawn)


@dataclass(frozen=True)
class _Seen:
    """What g(x) + noise = mean + L z is known to be, where z has the mean R (H x b x N x q) and the covariance I - M.

    The last of q is `at` and `sd` (H x b x N) before it is seen between `low` and `high`, and `cross` is its covariance
    with z (H x b x N x q).
    """

    R: Tensor
    M: Tensor
    at: Tensor
    sd: Tensor
    cross: Tensor
    low: Tensor
    high: Tensor


@dataclass(frozen=True)
class GradedLookAhead(LookAhead):
    """Observing grades: a look ahead to g with its noise."""

    belief: Graded
    latent: GaussianLookAhead

    @property
    def chances(self) -> Tensor:
        """How likely each grade of a single design is: b x G."""
        each = distribution(self._cuts).diff(dim=-1)
        return (self.belief.latent.weights[:, None, None] * each).sum(0)

    @property
    def _cuts(self) -> Tensor:
        """The edges of the grades, in standard deviations of g + noise at a single design: H x b x (G + 1)."""
        return (self.belief.edges.unsqueeze(1) - self.latent.mean) / self.latent.L.squeeze(-1)

    def with_grade(self, points: Tensor, levels: Tensor | None = None) -> Tensor:
        """The chance that a single design has each grade and an experiment at points m x d is as wanted: b x G x m.

        With levels of g (T), that g is above each of them there: b x G x T x m.
        """
        now, weights = self.belief.latent.moments(points, Needs.VARIANCE), self.belief.latent.weights
        if levels is None:
            root = (1.0 + now.variance).sqrt().unsqueeze(1)
            h = now.mean.unsqueeze(1) / root  # H x 1 x m
        else:
            root = now.variance.clamp_min(1e-300).sqrt().unsqueeze(1)
            h = ((now.mean.unsqueeze(1) - levels.unsqueeze(-1)) / root).clamp(-40.0, 40.0)  # H x T x m
        rho = self.latent.whitened_cross(points)[..., 0].unsqueeze(2) / root.unsqueeze(1)  # H x b x 1 x m
        cuts = self._cuts
        inner = bivariate_excess(h[:, None, None], cuts[..., 1:-1, None, None], -rho.unsqueeze(2))
        end = torch.zeros_like(inner[:, :, :1])
        moved = torch.cat([end, inner, end], 2).diff(dim=2)  # H x b x G x T x m
        joint = distribution(h)[:, None, None] * distribution(cuts).diff(dim=-1)[..., None, None] + moved
        total = (weights.view(-1, 1, 1, 1, 1) * joint).sum(0)
        return total.squeeze(2) if levels is None else total

    def fantasy(self, nodes: Nodes) -> "GradedFantasy":
        """The beliefs after the grades that the nodes stand for, one design after the other."""
        weights = self.belief.latent.weights[:, None, None]
        found = self.graded(nodes, weights)
        likely = nodes.weights
        if nodes.every:
            likely = (weights * found.log_probability.exp()).sum(0)
            likely = likely / likely.sum(-1, keepdim=True)  # rounding, and nodes that stand twice
        return self.after(nodes, found, bayes(weights, found.log_probability), likely)

    def after(self, nodes: Nodes, found: "_Grades", weights: Tensor, likely: Tensor) -> "GradedFantasy":
        """The beliefs after grades, components weighted so (H x b x N), where the nodes are so likely (b x N)."""
        return GradedFantasy(self, nodes, likely, weights, found.grades, found.R, found.M, found.seen)

    def graded(self, nodes: Nodes, weights: Tensor) -> "_Grades":
        """The grades that the nodes stand for, of a mixture with these weights (H x b x N)."""
        L, mean, edges = self.latent.L, self.latent.mean, self.belief.edges
        H, b, q = mean.shape
        R, M = mean.new_zeros(H, b, nodes.count, q), mean.new_zeros(H, b, nodes.count, q, q)
        log_probability, seen, grades = mean.new_zeros(H, b, nodes.count), None, []
        for i in range(q):
            row = L[:, :, None, i]
            cross = row - (M @ row.unsqueeze(-1)).squeeze(-1)
            at, var = mean[:, :, None, i] + (row * R).sum(-1), (row * cross).sum(-1)
            if nodes.every:
                grade = nodes.z[:, i].long().expand(b, -1)
            else:
                below = distribution((edges[:, None, None, 1:-1] - at.unsqueeze(-1)) / var.sqrt().unsqueeze(-1))
                below = (bayes(weights, log_probability).unsqueeze(-1) * below).sum(0)
                grade = (below < distribution(nodes.z[:, i, None])).sum(-1)  # b x N
            low, high = edges[:, grade], edges[:, grade + 1]  # H x b x N
            log_each, A, B, _ = seen_between(at, (var - 1.0).clamp_min(0.0), low, high)
            seen = _Seen(R, M, at, var.sqrt(), cross, low, high)
            R = R + cross * A.unsqueeze(-1)
            M = M + cross.unsqueeze(-1) * cross.unsqueeze(-2) * B[..., None, None]
            log_probability = log_probability + log_each
            grades.append(grade)
        shown = torch.stack(grades, -1).to(mean) if grades else mean.new_zeros(b, nodes.count, 0)
        return _Grades(log_probability, shown, R, M, seen)


@dataclass(frozen=True)
class _Grades:
    """Grades (b x N x q), their log probability (H x b x N), and what z is known to be: mean R, covariance I - M."""

    log_probability: Tensor
    grades: Tensor
    R: Tensor
    M: Tensor
    seen: _Seen | None


@dataclass(frozen=True)
class GradedFantasy(Fantasy):
    """The beliefs after each combination of grades, which are so likely (b x N): z has mean R and covariance I - M."""

    look: GradedLookAhead
    nodes: Nodes
    weights: Tensor
    component_weights: Tensor
    grades: Tensor
    R: Tensor
    M: Tensor
    seen: _Seen | None
    """The last grade; none where nothing is observed."""

    @property
    def values(self) -> Tensor:
        """The grades, from 0 on: b x N x q."""
        return self.grades

    def some(self, index: Tensor) -> "GradedFantasy":
        """The beliefs after some of the outcomes."""
        seen = self.seen
        if seen is not None:
            seen = _Seen(*(getattr(seen, name)[:, :, index] for name in _Seen.__dataclass_fields__))
        own = self.component_weights
        own = own[:, :, index] if own.shape[2] > 1 else own
        grades, R, M = self.grades[:, index], self.R[:, :, index], self.M[:, :, index]
        return GradedFantasy(self.look, self.nodes.some(index), self.weights[..., index], own, grades, R, M, seen)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K."""
        b, *rest, d = points.shape
        cross = self.look.latent.whitened_own_cross(points.reshape(b, -1, d)).unflatten(2, rest)
        return self._after(self._before(points, needs), cross, needs)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K."""
        P, K, d = points.shape
        cross = self.look.latent.whitened_cross(points.reshape(-1, d)).unflatten(2, (1, P, K))
        return self._after(self._before(points[None, None], needs), cross, needs)

    def _before(self, points: Tensor, needs: Needs) -> Moments:
        return self.look.belief.latent.moments(points, max(needs, Needs.VARIANCE))

    def _after(self, now: Moments, cross: Tensor, needs: Needs) -> Moments:
        """From moments of g now, H x b x (N or 1) x ... x K, and its covariances with z, of one more dimension q."""
        inner = [1] * (now.mean.dim() - 3)
        weights = self.component_weights.reshape(*self.component_weights.shape, *inner[1:])
        latent, belief = self._moved(now, cross, self.R, self.M), self.look.belief
        if belief.latent_view and (belief.level is None or self.seen is None or needs is Needs.JOINT):
            return replace(latent, weights=weights)
        if belief.latent_view:
            assert belief.level is not None
            above = self._exact(now, cross, inner, belief.level).clamp(1e-15, 1.0 - 1e-15)
            mean = belief.level + latent.variance.clamp_min(1e-300).sqrt() * torch.special.ndtri(above)
            return replace(latent, weights=weights, mean=mean)
        found = replace(probabilities(latent, needs), weights=weights)
        return found if self.seen is None else replace(found, mean=self._exact(now, cross, inner))

    def _moved(self, now: Moments, cross: Tensor, R: Tensor, M: Tensor) -> Moments:
        """Moments of g where z has mean R and covariance I - M."""
        lead, q = R.shape[:3], R.shape[-1]
        inner = [1] * (now.mean.dim() - 4)
        mean = now.mean + (cross * R.reshape(*lead, *inner, 1, q)).sum(-1)
        half = cross @ M.reshape(*lead, *inner, q, q)
        var = (now.variance - (half * cross).sum(-1)).clamp_min(0.0)
        return Moments(now.weights, mean, var, None if now.cov is None else now.cov - half @ cross.mT)

    def _exact(self, now: Moments, cross: Tensor, inner: list[int], level: float | None = None) -> Tensor:
        """E p once the last grade is known too, or the chance that g is above a level: H x b x N x ... x K."""
        seen = self.seen
        assert seen is not None
        at, sd, low, high = (
            each.reshape(*each.shape, *inner) for each in (seen.at, seen.sd, seen.low, seen.high)
        )  # H x b x N x 1 ... x 1
        before = self._moved(replace(now, cov=None), cross, seen.R, seen.M)
        root = (1.0 + before.variance if level is None else before.variance.clamp_min(1e-300)).sqrt()
        h = (before.mean if level is None else before.mean - level) / root
        shared = (cross * seen.cross.reshape(*seen.cross.shape[:3], *inner, -1)).sum(-1)
        return grade_moves(h, shared / (root * sd), (low - at) / sd, (high - at) / sd)


def grade_moves(h: Tensor, rho: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """P(Z1 < h) given low < Z2 < high, where Z1 and Z2 are standard normal with correlation -rho."""
    chance = torch.where(low > 0, distribution(-low) - distribution(-high), distribution(high) - distribution(low))
    edge = torch.where(low.isinf(), high, low)
    moved = torch.where(low.isinf(), 1.0, -1.0) * bivariate_excess(h, edge, -rho)
    if not bool((low.isinf() | high.isinf()).all()):
        moved = moved + torch.where(low.isinf() | high.isinf(), 0.0, bivariate_excess(h, high, -rho))
    return (distribution(h) + moved / chance.clamp_min(1e-300)).clamp(0.0, 1.0)
