"""Decisions about one design, and the classic rules that their gains are.

`Maximize`, `Minimize`: any design, by its value; the knowledge gradient (Proposition 2). `BestObserved`, and these two
with `among="measured"`: one of those that were measured; expected improvement (Proposition 3). `Improve`: the last one
measured, which counts if it passes a threshold; the probability of improvement (Proposition 4).
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, get_args

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs
from hentropy.core.beliefs.normal import distribution
from hentropy.core.decisions.actions import ActionSpace, Listed, Points
from hentropy.core.decisions.base import Decision, GainFormula, Stated, Sums, in_belief, named, totals
from hentropy.core.decisions.headlines import Quantity, probable
from hentropy.core.decisions.limits import Limited
from hentropy.core.decisions.normal import excess, expected_rise
from hentropy.core.given import Best, is_finite
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, InputError
from hentropy.lazy import Tensor, torch

Among = Literal["measured"]
"""Which designs may be decided on, where these are not all."""

ANY_DESIGN = Points(1, as_set=True)

OUTCOMES_EACH, MOST_TOGETHER = 16, 4
"""Outcomes at which each design but the last is integrated, and up to how many designs that is worthwhile."""

OUTCOME_REACH = 8.0
"""Outcomes more standard deviations away from their means do not count."""


@cache
def _nothing_observed() -> Listed:
    return Listed(torch.zeros(1, 1, 1, dtype=torch.float64))


class OneDesign(Limited):
    """One design by its value: loss `sign` f(a). It is any design, or where it `follows_data` one that was measured."""

    in_units = True
    recommends_one = True
    _shown_if_given = ("outcome", "subject_to", "fallback", "among")

    def __init__(
        self,
        outcome: str | None = None,
        subject_to: Sequence[str] = (),
        fallback: float | None = None,
        among: Among | None = None,
    ) -> None:
        super().__init__(outcome, subject_to, fallback)
        if among not in (None, *get_args(Among)):
            raise InputError(f'among is {among!r}; it can be "measured", or left out for all designs')
        self.among = among
        self.needs = Needs.VARIANCE if self.limited else Needs.MEAN

    @property
    @abstractmethod
    def sign(self) -> float:
        """The factor of f(a) in the loss."""

    @property
    def follows_data(self) -> bool:  # type: ignore[override]
        """Whether only measured designs count."""
        return self.among is not None

    @property
    def actions(self) -> ActionSpace:  # type: ignore[override]
        """All designs; of those that were measured none yet, as they follow the data."""
        return _nothing_observed() if self.follows_data else ANY_DESIGN

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-f(a), or f(a)."""
        return self.sign * self.worth(f)[..., 0]

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Minus the mean, or the mean, with the fallback where limits are violated."""
        return self.sign * self.expected_worth(moments)[..., 0]

    def sums(self) -> Sums | None:
        """One value."""
        return None if self.limited else Sums((self.sign,))

    @property
    def best_outcomes(self) -> Best:  # type: ignore[override]
        """Those that lower the loss."""
        return "high" if self.sign < 0 else "low"

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The value expected there."""
        [mean], [sd] = totals(moments, about)
        if about.event:
            likely = f"{'most' if self.sign < 0 else 'least'} likely to give {about.event}"
            which = f"Of the designs tried, the one {likely}" if self.follows_data else f"The design {likely}"
            return f"{which}: {about.amount(mean, sd)}."
        measured = " measured" if self.follows_data else ""
        if self.sign < 0:
            return f"The best{measured} design: {about.of(mean, sd)}."
        return f"The{measured} design with the lowest {about.name}: {about.amount(mean, sd)}."

    def actions_given(self, observed: Tensor) -> ActionSpace:
        """The observed designs, one at a time."""
        if not self.follows_data:
            return self.actions
        if observed.shape[0] == 0:
            raise DecisionError("nothing has been observed yet, so there is no best observed design; observe one first")
        return Listed(observed.unsqueeze(-2))

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """Of measured designs, exact for one more observation of one GP: means at the data and at x are lines in it.

        E max over data and x, minus the best mean at the data: without noise this is expected improvement. Of several
        observations, the last is integrated exactly and the ones before it at nodes.
        """
        gp: Gaussian | None = belief.single_gp
        if not self.follows_data or self.limited or gp is None or not len(gp.X):
            return None
        sign = -self.sign
        data = sign * gp.moments(gp.X, Needs.MEAN).mean[0]
        now = int(data.argmax())

        def gain(x: Tensor) -> Tensor:
            q = x.shape[-2]
            if q > 1:
                x = self._best_last(gp, x, data[now])
            look = gp.look_ahead(x)
            own = sign * gp.moments(x, Needs.MEAN).mean[0]  # b x q
            lines = torch.cat([data.expand(x.shape[0], -1), own], -1)
            slopes = sign * torch.cat([look.whitened_cross(gp.X)[0], look.whitened_own_cross(x)[0]], -2)
            if q == 1:
                return lines.max(-1).values - data[now] + expected_rise(lines, slopes.squeeze(-1))
            nodes = gp.nodes(OUTCOMES_EACH * (q - 1), q - 1, seed)
            with torch.no_grad():  # most data stay below the best ones, whatever the outcomes
                reach = OUTCOME_REACH * slopes.norm(dim=-1)
                kept = (lines + reach >= (lines - reach).max(-1, keepdim=True).values).any(0)
            stay = data[now] + slopes[:, now : now + 1, :-1] @ nodes.z.mT  # b x 1 x N
            lines = lines[:, kept].unsqueeze(1) + nodes.z @ slopes[:, kept, :-1].mT  # b x N x kept
            rise = expected_rise(lines, slopes[:, kept, -1].unsqueeze(1))
            return (lines.max(-1).values - stay.squeeze(1) + rise) @ nodes.weights

        numbers = 4 * gp.X.shape[0] * OUTCOMES_EACH * (MOST_TOGETHER - 1)
        return GainFormula(gain, max_q=MOST_TOGETHER, numbers=numbers, exact_q=1)

    def _best_last(self, belief: Gaussian, x: Tensor, best: Tensor) -> Tensor:
        """Designs (b x q x d) by their own expected improvement: the best, which is integrated exactly, comes last."""
        with torch.no_grad():
            moments = belief.moments(x, Needs.VARIANCE)
            order = excess(best + self.sign * moments.mean[0], moments.variance[0].sqrt()).argsort(-1)
        return x.gather(-2, order.unsqueeze(-1).expand_as(x))


class Maximize(OneDesign):
    """The design with the highest value: loss -f(a).

    `outcome` names the value to maximise where there are several. A design that violates a limit of `subject_to`, such
    as "impurity <= 3", counts as `fallback` instead of its value: by default, the worst value seen.
    With `among="measured"`, only designs that were measured can be recommended: the same as `BestObserved`.
    """

    sign = -1.0


class Minimize(OneDesign):
    """The design with the lowest value: loss f(a); options as in `Maximize`."""

    sign = 1.0


class BestObserved(OneDesign):
    """The best of the designs observed so far (the smallest value with largest=False): loss -f(a).

    `outcome`, `subject_to` and `fallback` as in `Maximize`.
    """

    follows_data = True

    def __init__(
        self,
        largest: bool = True,
        outcome: str | None = None,
        subject_to: Sequence[str] = (),
        fallback: float | None = None,
    ) -> None:
        super().__init__(outcome, subject_to, fallback)
        self.largest = largest

    @property
    def sign(self) -> float:
        """-1, or 1 for the smallest."""
        return -1.0 if self.largest else 1.0


class Improve(Decision):
    """The last design observed: loss -1[f(a) > threshold] (below it with above=False).

    A new observation replaces the only action instead of adding one, so the gain is measured from having no action
    (loss 0): it is the probability of improvement itself, never negative.
    """

    needs = Needs.VARIANCE
    follows_data = True

    def __init__(self, threshold: float, above: bool = True, outcome: str | None = None) -> None:
        if not is_finite(threshold):
            raise InputError(f"the threshold must be a finite number, got {threshold}")
        self.threshold = self._threshold = float(threshold)
        self.above = above
        self.outcome = outcome
        self.outcomes = named(outcome)

    @property
    def actions(self) -> ActionSpace:  # type: ignore[override]
        """None yet: they follow the data."""
        return _nothing_observed()

    @property
    def by_sides(self) -> bool:
        """Only passing the threshold counts."""
        return True

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The threshold."""
        return (Stated("the threshold", self.outcome, self.threshold),)

    def informed(self, belief: Belief) -> "Decision":
        """With the threshold in the belief's terms."""
        return self.settled(_threshold=in_belief(belief, self.outcome, self.threshold))

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-1 where the value passes the threshold, else 0."""
        passes = f[..., 0] > self._threshold if self.above else f[..., 0] < self._threshold
        return -passes.to(f)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Minus the probability of passing."""
        return -self._passing(moments)

    def _passing(self, moments: Moments) -> Tensor:
        """The chance of the first point: H x ... ."""
        if moments.latent is None:
            mean, var = moments.mean[..., 0], moments.variance[..., 0]
            margin = mean - self._threshold
        else:
            mean, var = moments.latent.mean[..., 0], moments.latent.var[..., 0]
            own = moments.latent.levels(mean.new_tensor([self._threshold]))  # H x 1
            margin = mean - own.view(-1, *[1] * (mean.dim() - 1))
        margin = margin if self.above else -margin
        certain = var <= 0
        u = margin / torch.where(certain, 1.0, var).sqrt()
        return torch.where(certain, (margin > 0).to(mean), distribution(u))

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The probability of passing."""
        side = "above" if self.above else "below"
        passes = f"{side} {about.level(self.threshold)} with {probable(-expected_loss)} probability"
        return f"The last design: {about.name} {passes}."

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """The probability that the next one passes."""
        side = "above" if self.above else "below"
        return f"a probability of {probable(amount)} to be {side} {about.level(self.threshold)}"

    def actions_given(self, observed: Tensor) -> ActionSpace:
        """The last observed design."""
        if observed.shape[0] == 0:
            raise DecisionError("nothing has been observed yet, so there is no last design; observe one first")
        return Listed(observed[-1:].unsqueeze(-2))

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """The probability of improvement at the last of the q designs: by the law of total probability, any belief."""

        def gain(x: Tensor) -> Tensor:
            moments = belief.moments(x[:, -1:], Needs.VARIANCE)
            return moments.expect(self._passing(moments))

        return GainFormula(gain, cumulative=False)
