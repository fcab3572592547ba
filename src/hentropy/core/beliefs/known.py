"""`Known`: an outcome of a design that is computed, without uncertainty."""

from collections.abc import Callable
from dataclasses import dataclass

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Moments, Needs
from hentropy.core.beliefs.nodes import Nodes
from hentropy.errors import ModelError
from hentropy.lazy import Tensor


@dataclass(frozen=True, repr=False)
class Known(Belief):
    """An outcome without uncertainty: a function of designs (... x d to ...), such as a price. X is 0 x d."""

    X: Tensor
    function: Callable[[Tensor], Tensor]
    outcomes: tuple[str, ...] = ("value",)
    noise_std: float = 0.0

    @property
    def components(self) -> int:
        """One."""
        return 1

    def at(self, points: Tensor) -> Tensor:
        """The values at points ... x d, checked: ... ."""
        values = self.function(points)
        if tuple(values.shape) != tuple(points.shape[:-1]):
            raise ModelError(
                f"the function of {self.outcomes[0]!r} gave shape {tuple(values.shape)} for designs of shape"
                f" {tuple(points.shape)}; {tuple(points.shape[:-1])} was expected"
            )
        return values

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: 1 x ... x m, a point mass."""
        return _certain(self.at(points).unsqueeze(0), needs)

    def look_ahead(self, x: Tensor) -> "KnownLookAhead":
        """Nothing can be learned."""
        return KnownLookAhead(self, x)

    def condition(self, x: Tensor, y: Tensor) -> "Known":
        """Unchanged: a computed outcome needs no observation."""
        return self

    def rescaled(self, shift: float, scale: float) -> "Known":
        """Itself: what is computed stays."""
        return self

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """The function itself, repeated."""
        return lambda points: self.at(points).expand(count, *points.shape[:-1])


def _certain(mean: Tensor, needs: Needs) -> Moments:
    """Moments of values that are known: 1 x ... x m."""
    zero = mean.new_zeros(())
    var = None if needs is Needs.MEAN else zero.expand(mean.shape)
    cov = zero.expand(*mean.shape, mean.shape[-1]) if needs is Needs.JOINT else None
    return Moments(mean.new_ones([1] * (mean.dim() - 1)), mean, var, cov, point_mass=True)


@dataclass(frozen=True)
class KnownLookAhead(LookAhead):
    """Designs x: b x q x d."""

    belief: Known
    x: Tensor

    def fantasy(self, nodes: Nodes) -> "KnownFantasy":
        """The outcomes are those that are known."""
        return KnownFantasy(self, nodes)


@dataclass(frozen=True)
class KnownFantasy(Fantasy):
    """The same belief after every outcome."""

    look: KnownLookAhead
    nodes: Nodes

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The integration weights of the outcomes: N."""
        return self.nodes.weights

    @property
    def values(self) -> Tensor:
        """The known values: b x N x q."""
        known = self.look.belief.at(self.look.x).unsqueeze(1)
        return known.expand(-1, self.nodes.count, -1)

    def some(self, index: Tensor) -> "KnownFantasy":
        """The beliefs after some of the outcomes."""
        return KnownFantasy(self.look, self.nodes.some(index))

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: 1 x b x N x ... x K."""
        values = self.look.belief.at(points)
        return _certain(values.expand(values.shape[0], self.nodes.count, *values.shape[2:]).unsqueeze(0), needs)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: 1 x b x N x P x K."""
        values = self.look.belief.at(points)
        return _certain(values.expand(1, self.look.x.shape[0], self.nodes.count, *values.shape), needs)
