"""`Estimate`: report the value at given points; the gain is the variance that an observation removes."""

from typing import Any

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs
from hentropy.core.decisions.actions import Places, Report, as_places, places_in
from hentropy.core.decisions.base import GainFormula, Solved, believed_as_log, in_units, named, totals
from hentropy.core.decisions.headlines import Quantity, roughly
from hentropy.core.spaces import DesignSpace
from hentropy.lazy import Tensor


class Estimate(Solved):
    """A number per point of `at` (m x d; by default space-filling points): loss sum (a_i - f(x_i))^2.

    `outcome` names the value where there are several.
    """

    actions = Report("a number per point")
    needs = Needs.VARIANCE
    saved_by = Needs.MEAN
    _log = False

    def __init__(self, at: Places = None, outcome: str | None = None) -> None:
        self.at = as_places(at)
        self.outcome = outcome
        self.outcomes = named(outcome)

    def within(self, space: DesignSpace) -> "Estimate":
        """With its points chosen."""
        return Estimate(places_in(space, self.at), self.outcome)

    def informed(self, belief: Belief) -> "Estimate":
        """With the information whether the values are modelled as logarithms."""
        return self.settled(_log=believed_as_log(belief, self.outcome))

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """sum (a_i - f(x_i))^2."""
        return (a - f).square().sum(-1)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """sum (a_i - mean_i)^2 + variance_i."""
        return ((a - moments.mean).square() + moments.variance).sum(-1)

    def solve(self, moments: Moments) -> Tensor:
        """The sum of the variances, between components included."""
        return moments.total()[1].sum(-1)

    def bayes_action(self, moments: Moments) -> Tensor:
        """The means: ... x m."""
        return moments.expect_vector(moments.mean)

    def saved_at(self, moments: Moments, a: Tensor) -> Tensor:
        """(mean - a)^2: the excess of the sum of squares about a over that about the mean."""
        return (moments.expect_vector(moments.mean) - a).square()

    def at_stake(self, moments: Moments) -> Tensor:
        """The variances."""
        return moments.total()[1]

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """Under one GP: sum over the points of |C L^-T|^2, which is C^2 / S for one observation."""
        gp: Gaussian | None = belief.single_gp
        if gp is None:
            return None
        at = self.settled_points.to(gp.X)

        def gain(x: Tensor) -> Tensor:
            return gp.look_ahead(x).whitened_cross(at)[0].square().sum((-1, -2))

        return GainFormula(gain, numbers=2 * at.shape[0])

    def spreads(self, belief: Belief) -> Tensor:
        """Of the estimates: m."""
        own = belief.of(*(self.outcomes or belief.outcomes[:1]))
        return in_units(own.moments(self.settled_points.to(belief.X), Needs.VARIANCE), self._log).total()[1].sqrt()

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The range of the estimates and their typical error."""
        mean, sd = totals(moments, about)
        typical = (sum(s * s for s in sd) / len(sd)) ** 0.5
        if len(mean) == 1:
            return f"One point: {about.of(mean[0], sd[0])}."
        return f"{len(mean):,} points: {about.among(mean, [typical])}."

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """The reduction of the squared errors."""
        of = f"the logarithm of {about.name}" if about.log else about.name
        return f"{roughly(amount, error)} of squared error in {of}, summed over all points"

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """Each point with its estimate: the median of a value that is modelled as its logarithm."""
        rows = zip(self.settled_points, (a.exp() if self._log else a).tolist(), strict=True)
        taken = {"estimate", "estimate sd"} & {field.name for field in space.fields}
        return [{"estimate of f" if taken else "estimate": value, **space.decode(point)} for point, value in rows]
