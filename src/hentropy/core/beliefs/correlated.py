r"""`Correlated`: outcomes of a design that are modelled together (intrinsic coregionalisation).

A value is one of an outcome i at a design x, and all values are one Gaussian process over pairs (x, i):

    cov(f_i(x), f_j(x')) = B_ij k(x, x')        an observation of f_i(x) has noise v_i

So the algebra is that of `Gaussian` with one more coordinate, the number of the outcome; an outcome that was not
measured is a row that is not there. Values of w outcomes at K points are K w numbers, those of a point next to each
other. What is looked at (`shown`) and what an observation shows (`seen`) may differ: impurity tells about yield.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hentropy.core.beliefs.base import Fantasy, LookAhead, Mixture, Moments, Needs
from hentropy.core.beliefs.gaussian import Frame, Gaussian, GaussianFantasy, GaussianLookAhead
from hentropy.core.beliefs.kernels import Coregional, Kernel
from hentropy.core.beliefs.nodes import Nodes, bayes, joint_nodes
from hentropy.errors import ModelError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class WithOutcome:
    """A transform of designs, beside the number of the outcome: ... x (d + 1)."""

    transform: Callable[[Tensor], Tensor]

    def __call__(self, rows: Tensor) -> Tensor:
        """The designs as the model sees them; the number stays."""
        return torch.cat([self.transform(rows[..., :-1]), rows[..., -1:]], -1)


@dataclass(frozen=True)
class OfOutcome:
    """A transform of designs, with the number of one outcome beside them: ... x d to ... x (d + 1)."""

    transform: WithOutcome
    number: int

    def __call__(self, x: Tensor) -> Tensor:
        """The designs as the model sees them."""
        return self.transform(torch.cat([x, torch.full_like(x[..., :1], self.number)], -1))


@dataclass(frozen=True)
class OutcomeMeans:
    """A prior mean for each component and outcome: values H x o; inputs ... x m x (d + 1) to H x ... x m."""

    values: Tensor

    def __call__(self, inputs: Tensor) -> Tensor:
        """The same at every design."""
        return self.values[:, inputs[..., -1].long()]


def with_outcomes(points: Tensor, which: tuple[int, ...]) -> Tensor:
    """Designs ... x K x d, each with every one of w outcomes: ... x K x w x (d + 1)."""
    number = points.new_tensor(which).unsqueeze(-1).expand(*points.shape[:-1], len(which), 1)
    return torch.cat([points.unsqueeze(-2).expand(*number.shape[:-1], points.shape[-1]), number], -1)


@dataclass(frozen=True, repr=False)
class Correlated(Mixture):
    """Outcomes by their `names`, as shift + scale (both o) x the values of `stacked`, a belief about rows (x, i).

    X are the designs of which something was observed. `shown` and `seen` are numbers of outcomes.
    """

    X: Tensor
    stacked: Gaussian
    names: tuple[str, ...]
    shift: Tensor
    scale: Tensor
    shown: tuple[int, ...]
    seen: tuple[int, ...]
    logs: frozenset[str] = frozenset()

    @classmethod
    def from_data(
        cls,
        X: Tensor,
        Y: Tensor,
        names: tuple[str, ...],
        *,
        noise: Tensor,
        future_noise: Tensor,
        kernel: Kernel,
        B: Tensor,
        means: Tensor,
        frame: Frame,
        weights: Tensor,
    ) -> "Correlated":
        """From values Y (n x o) at designs X (n x d), all in the user's units, NaN where one was not measured.

        Noise variances (H x n x o, H x o), B (H x o x o) and means (H x o) are in the frame, whose shift and scale are
        those of each outcome (o). The kernel has variance one.
        """
        told, every = ~torch.isnan(Y), tuple(range(len(names)))
        zero = torch.zeros_like(frame.shift[0])
        stacked = Gaussian.from_data(
            with_outcomes(X, every)[told],
            ((Y - frame.shift) / frame.scale)[told],
            noise[:, told],
            future_noise,
            Coregional(kernel, B),
            OutcomeMeans(means),
            Frame(WithOutcome(frame.transform), zero, zero + 1.0),
            weights,
        )
        return cls(X[told.any(-1)], stacked, names, frame.shift, frame.scale, every, every)

    @property
    def outcomes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those that are shown."""
        return tuple(self.names[i] for i in self.shown)

    @property
    def measured(self) -> tuple[str, ...]:
        """Those that an observation shows."""
        return tuple(self.names[i] for i in self.seen)

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The weights of the components: H."""
        return self.stacked.weights

    @property
    def noise_std(self) -> Tensor:  # type: ignore[override]
        """The standard deviation of an observation to come, of each outcome shown: w."""
        mean = (self.weights.unsqueeze(-1) * self.stacked.future_noise).sum(0)
        return (mean.sqrt() * self.scale)[list(self.shown)]

    @property
    def correlation(self) -> Tensor:
        """The correlations between all outcomes by name, averaged over the components: o x o."""
        if not isinstance(self.stacked.kernel, Coregional):
            raise ModelError(f"the kernel {self.stacked.kernel!r} does not say how outcomes are correlated")
        B = self.stacked.kernel.B
        sd = B.diagonal(dim1=-2, dim2=-1).sqrt()
        return (self.weights[:, None, None] * B / (sd.unsqueeze(-1) * sd.unsqueeze(-2))).sum(0)

    def observed_of(self, name: str) -> Tensor:
        """The values of an outcome that were observed, in the user's units: n."""
        i = self.names.index(name)
        return self.shift[i] + self.scale[i] * self.stacked.observed[self.stacked.X[:, -1] == i]

    def process_of(self, name: str) -> Gaussian:
        """The Gaussian process of an outcome, given what is known of all; observations are of this one alone.

        Its data are the rows of all outcomes: predictions are in the user's units, data are not.
        """
        i, model = self.names.index(name), self.stacked
        assert isinstance(model.frame.transform, WithOutcome)
        frame = Frame(OfOutcome(model.frame.transform, i), self.shift[i], self.scale[i])
        return replace(model, X=model.X[:, :-1], frame=frame, future_noise=model.future_noise[:, i], outcomes=(name,))

    def showing(self, *names: str) -> "Correlated":
        """The belief about its outcomes among these; an observation shows what it did."""
        return replace(self, shown=tuple(self.names.index(name) for name in names if name in self.names))

    def measuring(self, *names: str) -> "Correlated":
        """The same belief, where observations are of some of the outcomes, maybe none."""
        return replace(self, seen=tuple(i for i, name in enumerate(self.names) if name in names))

    def some(self, components: list[int]) -> "Correlated":
        """The mixture of some of the components."""
        return replace(self, stacked=self.stacked.some(components))

    def rescaled(self, shift: float, scale: float) -> "Correlated":
        """The belief about shift + scale times every outcome."""
        return replace(self, shift=scale * self.shift + shift, scale=scale * self.scale)

    def weighted(self, weights: Tensor) -> "Correlated":
        """With other weights of the components."""
        return replace(self, stacked=self.stacked.weighted(weights))

    def exact(self) -> "Correlated":
        """The same belief with noiseless future observations."""
        return replace(self, stacked=self.stacked.exact())

    def nodes(self, count: int, q: int, seed: int | None = None) -> Nodes:
        """Where the outcomes of q designs are integrated: z is count x q w."""
        return joint_nodes(count, q, (True,) * (q * len(self.seen)), self.components, seed).to(self.X)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m w."""
        rows, asked = self._asked(points, needs)
        found = self.stacked.moments(rows, asked)
        return self._in_user_units(found, needs)

    def _asked(self, points: Tensor, needs: Needs) -> tuple[Tensor, Needs]:
        """What the process is asked: of variances, the covariance of the outcomes of each point; else all at once."""
        rows = with_outcomes(points, self.shown)
        return (rows, Needs.JOINT) if needs is Needs.VARIANCE else (rows.flatten(-3, -2), needs)

    def _in_user_units(self, found: Moments, needs: Needs) -> Moments:
        """From moments of rows, as `_asked`."""
        w = len(self.shown)
        shift, scale = self.shift[list(self.shown)], self.scale[list(self.shown)]
        if needs is Needs.VARIANCE:
            between = scale.unsqueeze(-1) * scale * found.covariance  # H x ... x K x w x w
            var = (scale.square() * found.variance).flatten(-2)
            mean = (shift + scale * found.mean).flatten(-2)
            return Moments(found.weights.squeeze(-1), mean, var, None, False, w, between if w > 1 else None)
        K = found.mean.shape[-1] // w
        mean = (shift + scale * found.mean.unflatten(-1, (K, w))).flatten(-2)
        if needs is Needs.MEAN:
            return Moments(found.weights, mean, outcomes=w)
        each = scale.repeat(K)
        cov = each.unsqueeze(-1) * each * found.covariance
        between = cov.unflatten(-1, (K, w)).unflatten(-3, (K, w)).diagonal(dim1=-4, dim2=-2).movedim(-1, -3)
        var = each.square() * found.variance
        return Moments(found.weights, mean, var, cov, False, w, between if w > 1 else None)

    def look_ahead(self, x: Tensor) -> "CorrelatedLookAhead":
        """Prepare to observe at x: b x q x d."""
        return self.look_ahead_to(x, [(j, name) for j in range(x.shape[-2]) for name in self.measured])

    def look_ahead_to(self, x: Tensor, shown: Sequence[tuple[int, str]]) -> "CorrelatedLookAhead":
        """Prepare to observe some outcomes of designs x (b x q x d): pairs of a design's place and a name."""
        which = [self.names.index(name) for _, name in shown]
        number = x.new_tensor(which).unsqueeze(-1).expand(*x.shape[:-2], len(which), 1)
        rows = torch.cat([x[..., [j for j, _ in shown], :], number], -1)
        return CorrelatedLookAhead(self, self.stacked.look_ahead(rows), tuple(which))

    def condition(self, x: Tensor, y: Tensor) -> "Correlated":
        """The belief after observing y (n x w, NaN where an outcome was not measured) at x (n x d)."""
        after, log_density = self.extended(x, y)
        return after.weighted(bayes(self.weights, log_density))

    def extended(self, x: Tensor, y: Tensor) -> tuple["Correlated", Tensor]:
        """With y (n x w) at x (n x d) among the data, weights as before; and log densities H."""
        told = ~torch.isnan(y)
        values = ((y - self.shift[list(self.seen)]) / self.scale[list(self.seen)])[told]
        stacked, log_density = self.stacked.extended(with_outcomes(x, self.seen)[told], values)
        return replace(self, X=torch.cat([self.X, x[told.any(-1)]]), stacked=stacked), log_density

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief: points ... x m x d to count x ... x m x w."""
        drawn = self.stacked.paths(count, seed)
        shift, scale = self.shift[list(self.shown)], self.scale[list(self.shown)]
        return lambda points: shift + scale * drawn(with_outcomes(points, self.shown))

    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        """Joint draws at points m x d: count x m x w."""
        return super().sample(points, count, seed).unflatten(-1, (-1, len(self.shown)))


@dataclass(frozen=True)
class CorrelatedLookAhead(LookAhead):
    """Observing what is seen of designs: the look ahead of their rows, `which` are the numbers of their outcomes."""

    belief: Correlated
    look: GaussianLookAhead
    which: tuple[int, ...]

    def fantasy(self, nodes: Nodes) -> "CorrelatedFantasy":
        """The beliefs after the outcomes that the nodes stand for."""
        return CorrelatedFantasy(self.belief, self.look.fantasy(nodes), self.which)

    def drawn(self, nodes: Nodes, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `GaussianLookAhead.drawn`."""
        return self.look.drawn(nodes, weights)

    def after(self, nodes: Nodes, white: Tensor, innovation: Tensor, weights: Tensor) -> "CorrelatedFantasy":
        """As `GaussianLookAhead.after`."""
        return CorrelatedFantasy(self.belief, self.look.after(nodes, white, innovation, weights), self.which)


@dataclass(frozen=True)
class CorrelatedFantasy(Fantasy):
    """The beliefs after observing what is seen of designs, `which` are the numbers of their outcomes."""

    belief: Correlated
    rows: GaussianFantasy
    which: tuple[int, ...]

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The integration weights of the outcomes: N."""
        return self.rows.weights

    @property
    def values(self) -> Tensor:
        """The outcomes, one for each row: b x N x w."""
        which = list(self.which)
        return self.belief.shift[which] + self.belief.scale[which] * self.rows.values

    def some(self, index: Tensor) -> "CorrelatedFantasy":
        """The beliefs after some of the outcomes."""
        return CorrelatedFantasy(self.belief, self.rows.some(index), self.which)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K w."""
        rows, asked = self.belief._asked(points, needs)
        return self.belief._in_user_units(self.rows.moments(rows, asked), needs)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K w."""
        P, K, _ = points.shape
        if needs is not Needs.VARIANCE:
            rows, asked = self.belief._asked(points, needs)
            return self.belief._in_user_units(self.rows.shared_moments(rows, asked), needs)
        flat = self.rows.shared_moments(with_outcomes(points, self.belief.shown).flatten(0, 1), Needs.JOINT)
        cov = flat.covariance.unflatten(-3, (P, K))
        mean, var = flat.mean.unflatten(-2, (P, K)), flat.variance.unflatten(-2, (P, K))
        return self.belief._in_user_units(Moments(flat.weights.unsqueeze(-1), mean, var, cov), needs)
