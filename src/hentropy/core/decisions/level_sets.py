"""`LevelSets`: say for each point whether its value is above each threshold; one threshold is level set estimation."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

from hentropy.core.beliefs import Belief, Gaussian, Graded, Moments, Needs
from hentropy.core.decisions.actions import Places, Report, as_places, places_in
from hentropy.core.decisions.base import GainFormula, Solved, Stated, in_belief, named
from hentropy.core.decisions.headlines import SURE, Quantity, percent
from hentropy.core.decisions.normal import different_signs, excess
from hentropy.core.given import is_finite
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

Relation = Literal["difference", "misclassification"]


class LevelSets(Solved):
    """A membership a in [0, 1] per threshold and point of `at` (m x d; points that fill the space if left out).

    relation "difference":        loss = -sum a (f(x) - c): a point well above its threshold counts for more
    relation "misclassification": loss = sum of a where f(x) <= c and of 1 - a where f(x) > c: wrong labels
    `outcome` names the value where there are several.
    """

    actions = Report("a membership per threshold and point")

    def __init__(
        self,
        thresholds: Sequence[float] | float,
        at: Places = None,
        relation: Relation = "difference",
        outcome: str | None = None,
    ) -> None:
        levels = [thresholds] if isinstance(thresholds, int | float) else list(thresholds)
        if not levels or not all(is_finite(c) for c in levels):
            raise InputError(f"level sets need at least one threshold, all finite, got {levels}")
        if any(later <= earlier for earlier, later in pairwise(levels)):
            raise InputError(f"the thresholds must rise from one to the next, got {levels}; sort them and drop repeats")
        if relation not in ("difference", "misclassification"):
            raise InputError(f'the relation {relation!r} is not known; use "difference" or "misclassification"')
        self.thresholds = tuple(float(c) for c in levels)
        self.at = as_places(at)
        self.relation: Relation = relation
        self.outcome = outcome
        self.outcomes = named(outcome)
        self.needs = self.saved_by = Needs.MEAN if relation == "difference" else Needs.VARIANCE
        self._levels = torch.tensor(self.thresholds, dtype=torch.float64)

    @property
    def by_sides(self) -> bool:
        """Wrong labels are all that counts."""
        return self.relation == "misclassification"

    def within(self, space: DesignSpace) -> "LevelSets":
        """With its points settled."""
        return LevelSets(self.thresholds, places_in(space, self.at), self.relation, self.outcome)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The thresholds."""
        return tuple(Stated("the level", self.outcome, level) for level in self.thresholds)

    def informed(self, belief: Belief) -> "LevelSets":
        """With the thresholds in the belief's terms."""
        levels = [in_belief(belief, self.outcome, c) for c in self.thresholds]
        return self.settled(_levels=torch.tensor(levels, dtype=torch.float64))

    def _above(self, f: Tensor) -> Tensor:
        """f - c for each threshold: ... x m to ... x T x m."""
        return f.unsqueeze(-2) - self._levels.to(f).unsqueeze(-1)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """The loss of memberships a (... x T x m) given values f (... x m)."""
        above = self._above(f)
        if self.relation == "difference":
            return -(a * above).sum((-1, -2))
        return torch.where(above > 0, 1.0 - a, a).sum((-1, -2))

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Linear in the evidence for each membership."""
        return self._given(self._component_evidence(moments), a)

    def _given(self, evidence: Tensor, a: Any) -> Tensor:
        if self.relation == "difference":
            return -(a * evidence).sum((-1, -2))
        return (0.5 + (1.0 - 2.0 * a) * evidence).sum((-1, -2))

    def _component_evidence(self, moments: Moments) -> Tensor:
        above = self._above(moments.mean)
        if self.relation == "difference":
            return above
        root = (2.0 * moments.variance.clamp_min(1e-300)).sqrt().unsqueeze(-2)
        return 0.5 * torch.erf((above / root).clamp(-28.0, 28.0))  # Phi(above / sd) - 1/2

    def _evidence(self, moments: Moments) -> Tensor:
        """E (f - c), or P(f > c) - 1/2: positive where membership is the better answer, ... x T x m."""
        each = self._component_evidence(moments)
        return each[0] if each.shape[0] == 1 else (moments.weights[..., None, None] * each).sum(0)

    def solve(self, moments: Moments) -> Tensor:
        """Difference: -sum max(0, mean - c). Misclassification: sum min(p, 1 - p)."""
        return self._best_after(self._evidence(moments))

    def _best_after(self, evidence: Tensor) -> Tensor:
        if self.relation == "difference":
            return -evidence.clamp_min(0.0).sum((-1, -2))
        return (0.5 - evidence.abs()).sum((-1, -2))

    def bayes_action(self, moments: Moments) -> Tensor:
        """1 where the evidence is positive: ... x T x m."""
        evidence = self._evidence(moments)
        return (evidence > 0).to(evidence)

    def judged(self, moments: Moments, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All three from the same evidence."""
        evidence = self._evidence(moments)
        return self._best_after(evidence), self._given(evidence, a), (evidence > 0).to(evidence)

    def saved_at(self, moments: Moments, a: Tensor) -> Tensor:
        """The evidence against today's memberships a, where it is positive; twice it for misclassification."""
        against = torch.where(a > 0.5, -1.0, 1.0) * self._evidence(moments)
        return against.clamp_min(0.0).sum(-2) * (1.0 if self.relation == "difference" else 2.0)

    def at_stake(self, moments: Moments) -> Tensor:
        """What knowing f there would save: E (f - c) on the side that is not today's, or min(p, 1 - p)."""
        if self.relation == "misclassification":
            return (0.5 - self._evidence(moments).abs()).sum(-2)
        side = torch.where(self._evidence(moments) > 0, 1.0, -1.0)
        wrong = excess(side * self._above(moments.mean), moments.variance.sqrt().unsqueeze(-2))  # H x T x m
        return (moments.weights[:, None, None] * wrong).sum((0, -2))

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """Under one GP, for any q: with u = mean - c and s = |C L^-T|, the sum of s phi(u/s) - |u| Phi(-|u|/s).

        Misclassification: min(p, 1-p) less the probability that the label after observing will be wrong.
        """
        if isinstance(belief, Graded):
            return self._gain_of_grades(belief)
        if not isinstance(belief, Gaussian) or belief.components > 1:
            return None
        at = self.settled_points.to(belief.X)
        moments = belief.moments(at, self.needs)
        u = self._above(moments.mean[0])  # T x m
        now = None if self.relation == "difference" else 0.5 - self._evidence(moments).abs()
        sd = None if moments.var is None else moments.var[0].sqrt()

        def gain(x: Tensor) -> Tensor:
            square = belief.look_ahead(x).whitened_cross(at)[0].square().sum(-1)
            s = torch.where(square > 0, square, 1.0).sqrt().where(square > 0, square.new_zeros(())).unsqueeze(-2)
            if now is None or sd is None:
                return excess(u.abs(), s).sum((-1, -2))
            return (now - different_signs(u, s, sd)).clamp_min(0.0).sum((-1, -2))

        # misclassification integrates over 20 angles
        return GainFormula(gain, numbers=u.numel() * (4 if now is None else 60))

    def _gain_of_grades(self, belief: Graded) -> GainFormula:
        """For one more grade: the evidence given each grade times its chance, a sum, against that of today."""
        at, levels, sides = self.settled_points.to(belief.X), self._levels.to(belief.X), self.by_sides

        def gain(x: Tensor) -> Tensor:
            look = belief.look_ahead(x)
            chance = look.chances[..., None, None]  # b x G x 1 x 1
            if sides:
                evidence = look.with_grade(at, levels) - 0.5 * chance
                return (evidence.abs().sum(1) - evidence.sum(1).abs()).clamp_min(0.0).sum((-1, -2))
            evidence = look.with_grade(at).unsqueeze(-2) - levels.unsqueeze(-1) * chance
            saved = evidence.clamp_min(0.0).sum(1) - evidence.sum(1).clamp_min(0.0)
            return saved.clamp_min(0.0).sum((-1, -2))

        each = belief.components * (belief.grades - 1) * len(at) * (len(levels) if sides else 1)
        return GainFormula(gain, max_q=1, numbers=60 * each)

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The share above each threshold, and how much of it is sure."""
        shares = (a > 0.5).to(moments.mean).mean(-1).tolist()
        root = moments.variance.clamp_min(1e-300).sqrt().unsqueeze(-2)
        above = moments.weights[..., None, None] * torch.special.ndtr(self._above(moments.mean) / root)
        chance = above.sum(0)  # T x m
        sure = float((torch.maximum(chance, 1.0 - chance) >= SURE).to(chance).mean())
        each = zip(shares, self.thresholds, strict=True)
        said = ", ".join(f"above {about.level(level)} at {percent(share)}" for share, level in each)
        labels = f"{percent(sure)} of the labels are at least {percent(SURE)} sure"
        return f"The {about.name} is {said} of {chance.shape[-1]:,} points; {labels}."

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """Each point with the number of thresholds it is above."""
        levels = (a > 0.5).sum(-2).tolist()
        rows = zip(self.settled_points, levels, strict=True)
        return [{"level": level, **space.decode(point)} for point, level in rows]
