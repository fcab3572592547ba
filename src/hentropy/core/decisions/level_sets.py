"""`LevelSets`: say for each point whether its value is above each threshold; one threshold is level set estimation."""

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, Literal

from hentropy.core.beliefs import Belief, Gaussian, Graded, Moments, Needs
from hentropy.core.decisions.actions import FILLING, Places, Report, as_places, places_in
from hentropy.core.decisions.base import GainFormula, Solved, Stated, in_belief, named
from hentropy.core.decisions.headlines import SURE, Quantity, percent, roughly
from hentropy.core.decisions.normal import different_signs, excess, kept_above
from hentropy.core.decisions.stand_ins import stand_ins
from hentropy.core.given import as_table, is_finite
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

Relation = Literal["difference", "misclassification"]

FEW_PARAMETERS = 3
"""In spaces with more parameters than these, points that fill the space say little: some are chosen for each belief."""

FILLING_CANDIDATES = 8_192
"""Points that fill a space, of which those are taken that stand for all."""

STAKES_TOGETHER = 256
"""Points whose stakes are worked out together."""


class LevelSets(Solved):
    """A membership a in [0, 1] per threshold and point of `at` (m x d; by default space-filling points).

    relation "difference":        loss = -sum a (f(x) - c): a point well above its threshold counts for more
    relation "misclassification": loss = sum of a where f(x) <= c and of 1 - a where f(x) > c: wrong labels
    With a `confidence` p, only labels count, whatever the relation, and a false "above" costs p / (1 - p) times as much
    as a false "below": the best labels say "above" where P(f(x) > c) >= p, the conservative set.
    `weights` say how much each point of `at` counts. `outcome` names the value where there are several.
    """

    actions = Report("a membership per threshold and point")
    _shown_if_given = ("outcome", "confidence", "weights")
    _space: DesignSpace | None = None
    """Where points are still to be chosen, once there is a belief."""
    _chosen: bool = False
    """Whether the points were chosen so that they stand for the whole space."""

    def __init__(
        self,
        thresholds: Sequence[float] | float,
        at: Places = None,
        relation: Relation = "difference",
        outcome: str | None = None,
        confidence: float | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        levels = [thresholds] if isinstance(thresholds, int | float) else list(thresholds)
        if not levels or not all(is_finite(c) for c in levels):
            raise InputError(f"level sets need at least one threshold, all finite, got {levels}")
        if any(later <= earlier for earlier, later in pairwise(levels)):
            raise InputError(f"the thresholds must rise from one to the next, got {levels}; sort them and drop repeats")
        if relation not in ("difference", "misclassification"):
            raise InputError(f'the relation {relation!r} is not known; use "difference" or "misclassification"')
        if confidence is not None and not (is_finite(confidence) and 0.0 < confidence < 1.0):
            raise InputError(f"the confidence is a probability between 0 and 1, got {confidence!r}; 0.95 is usual")
        self.thresholds = tuple(float(c) for c in levels)
        self.at = as_places(at)
        self.relation: Relation = relation if confidence is None else "misclassification"
        self.outcome = outcome
        self.confidence = None if confidence is None else float(confidence)
        self.weights = _as_weights(weights, self.at)
        self.outcomes = named(outcome)
        self.needs = self.saved_by = Needs.VARIANCE if self.by_sides else Needs.MEAN
        self._relation = relation
        self._levels = torch.tensor(self.thresholds, dtype=torch.float64)

    @property
    def by_sides(self) -> bool:
        """Whether only wrong labels count."""
        return self.relation == "misclassification"

    @property
    def needed(self) -> float:
        """The probability at which a label becomes "above": the confidence; by default, for labels, a half."""
        return 0.5 if self.confidence is None else self.confidence

    @property
    def given(self) -> dict[str, Any]:
        """The relation, which a confidence overrides."""
        return {"relation": self._relation}

    def within(self, space: DesignSpace) -> "LevelSets":
        """With its points chosen; in many dimensions they are chosen once there is a belief."""
        if self._follows(space):
            return self.settled(_space=space)
        if self.at is None and self.weights is not None and space.points is None:
            raise InputError("weights are those of points; say which, with at=...")
        points = places_in(space, self.at)
        return self.settled(at=points, weights=_as_weights(self.weights, points))

    def _follows(self, space: DesignSpace) -> bool:
        """Whether points are chosen for each belief: none are given, and a few cannot cover this many parameters."""
        return self.at is None and self.weights is None and space.points is None and len(space.fields) > FEW_PARAMETERS

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The thresholds."""
        return tuple(Stated("the level", self.outcome, level) for level in self.thresholds)

    def informed(self, belief: Belief) -> "LevelSets":
        """With the thresholds in the belief's terms, and points chosen where these have to be."""
        levels = [in_belief(belief, self.outcome, c) for c in self.thresholds]
        found = self.settled(_levels=torch.tensor(levels, dtype=torch.float64))
        return found if found._space is None else found._on_chosen_points(belief, found._space)

    def _on_chosen_points(self, belief: Belief, space: DesignSpace) -> "LevelSets":
        """About some of many points that fill the space, those at stake the likelier; the same for all who ask."""
        how = (type(self), *self._levels.tolist(), self.relation, self.confidence, self.outcome)
        asked = ("points of level sets", id(space), how)
        if asked not in belief.found:
            candidates = space.sample(FILLING_CANDIDATES, seed=0).to(belief.X)
            with torch.no_grad():
                each = [belief.moments(block, Needs.VARIANCE) for block in candidates.split(STAKES_TOGETHER)]
                stake = torch.cat([self.at_stake(moments) for moments in each])
                level = torch.cat([self._evidence(moments).sum(-2) for moments in each])
            index, weights = stand_ins(stake, level, FILLING)
            chosen = {"at": candidates[index].cpu(), "weights": weights.cpu(), "_space": None, "_chosen": True}
            belief.found[asked] = (self.settled(**chosen), space)  # the space is kept, so that its id stays its own
        return belief.found[asked][0]

    def among(self, index: Tensor | slice) -> "LevelSets":
        """The same decision for some of its points."""
        if self.weights is None:
            return self
        index = index.cpu() if isinstance(index, Tensor) else index
        found = copy(self)
        found.at, found.weights, found._kept = self.settled_points[index], self.weights[index], None
        return found

    def _above(self, f: Tensor) -> Tensor:
        """f - c for each threshold: ... x m to ... x T x m."""
        return f.unsqueeze(-2) - self._levels.to(f).unsqueeze(-1)

    def _added(self, each: Tensor) -> Tensor:
        """The sum over thresholds and points, by their weights: ... x T x m to ... ."""
        return each.sum((-1, -2)) if self.weights is None else (each.sum(-2) @ self.weights.to(each))

    def _by_point(self, each: Tensor) -> Tensor:
        """The sum over thresholds, with the weights of points: ... x T x m to ... x m."""
        return each.sum(-2) if self.weights is None else each.sum(-2) * self.weights.to(each)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """The loss of memberships a (... x T x m) given values f (... x m)."""
        above = self._above(f)
        if not self.by_sides:
            return -self._added(a * above)
        return self._added(torch.where(above > 0, 1.0 - a, a * (self.needed / (1.0 - self.needed))))

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """Linear in the evidence for each membership."""
        return self._given(self._component_evidence(moments), a)

    def _given(self, evidence: Tensor, a: Any) -> Tensor:
        """The expected loss of memberships: -a E, or P - a E, where E = (P - c) / (1 - c)."""
        return self._added(self._chance(evidence) - a * evidence)

    def _chance(self, evidence: Tensor) -> Tensor:
        """P(f > c) from the evidence, where labels count: the expected loss of "below"; else that is 0."""
        c = self.needed
        return c + (1.0 - c) * evidence if self.by_sides else torch.zeros_like(evidence)

    def _component_evidence(self, moments: Moments) -> Tensor:
        above = self._above(moments.mean)
        if not self.by_sides:
            return above
        if moments.latent is None:
            standard = above / (2.0 * moments.variance.clamp_min(1e-300)).sqrt().unsqueeze(-2)
        else:
            standard = moments.latent.standard(self._levels.to(above)) * 0.5**0.5
        centred = 0.5 * torch.erf(standard.clamp(-28.0, 28.0))  # Phi(above / sd) - 1/2
        return (centred + (0.5 - self.needed)) / (1.0 - self.needed)

    def _evidence(self, moments: Moments) -> Tensor:
        """E (f - c), or (P(f > c) - p) / (1 - p): positive where membership is the better answer, ... x T x m."""
        each = self._component_evidence(moments)
        return each[0] if each.shape[0] == 1 else (moments.weights[..., None, None] * each).sum(0)

    def solve(self, moments: Moments) -> Tensor:
        """Difference: -sum max(0, mean - c). Labels: sum min(p, (1 - p) times what a false "above" costs)."""
        return self._best_after(self._evidence(moments))

    def _best_after(self, evidence: Tensor) -> Tensor:
        return self._added(self._at_risk(evidence))

    def _at_risk(self, evidence: Tensor) -> Tensor:
        """The expected loss of the best membership: ... x T x m."""
        return self._chance(evidence) - evidence.clamp_min(0.0)

    def bayes_action(self, moments: Moments) -> Tensor:
        """1 where the evidence is positive: ... x T x m."""
        return self._labels(self._evidence(moments))

    def _labels(self, evidence: Tensor) -> Tensor:
        return (evidence >= 0 if self.confidence is not None else evidence > 0).to(evidence)

    def judged(self, moments: Moments, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All three from the same evidence."""
        evidence = self._evidence(moments)
        return self._best_after(evidence), self._given(evidence, a), self._labels(evidence)

    def saved_at(self, moments: Moments, a: Tensor) -> Tensor:
        """The evidence against the current memberships a, where it is positive."""
        against = torch.where(a > 0.5, -1.0, 1.0) * self._evidence(moments)
        return self._by_point(against.clamp_min(0.0))

    def at_stake(self, moments: Moments) -> Tensor:
        """What knowing f there would save: E (f - c) on the side opposite the label, or the risk of the label."""
        evidence = self._evidence(moments)
        if self.by_sides:
            return self._by_point(self._at_risk(evidence).clamp_min(0.0))
        side = torch.where(evidence > 0, 1.0, -1.0)
        wrong = excess(side * self._above(moments.mean), moments.variance.sqrt().unsqueeze(-2))  # H x T x m
        return self._by_point((moments.weights[:, None, None] * wrong).sum(0))

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """Under one GP, for any q: with u = mean - c and s = |C L^-T|, the sum of s phi(u/s) - |u| Phi(-|u|/s).

        Labels: the expected loss of the current labels minus the expected loss after observing.
        """
        if belief.ordinal is not None:
            return self._gain_of_grades(belief.ordinal)
        gp: Gaussian | None = belief.single_gp
        if gp is None:
            return None
        at = self.settled_points.to(gp.X)
        moments = gp.moments(at, self.needs)
        u = self._above(moments.mean[0])  # T x m
        evidence = self._evidence(moments)
        sd = None if moments.var is None else moments.var[0].sqrt()

        def gain(x: Tensor) -> Tensor:
            square = gp.look_ahead(x).whitened_cross(at)[0].square().sum(-1)
            s = torch.where(square > 0, square, 1.0).sqrt().where(square > 0, square.new_zeros(())).unsqueeze(-2)
            if sd is None:
                return self._added(excess(u.abs(), s))
            if self.needed == 0.5:
                return self._added((self._at_risk(evidence) - different_signs(u, s, sd)).clamp_min(0.0))
            after = kept_above(u, s, sd, self.needed)
            return self._added((after - evidence.clamp_min(0.0)).clamp_min(0.0))

        # labels integrate over 20 angles
        return GainFormula(gain, numbers=u.numel() * (4 if sd is None else 60))

    def _gain_of_grades(self, belief: Graded) -> GainFormula:
        """For one more grade: the evidence given each grade times its chance, a sum, against that of today."""
        at, levels, sides = self.settled_points.to(belief.X), self._levels.to(belief.X), self.by_sides

        def gain(x: Tensor) -> Tensor:
            look = belief.look_ahead(x)
            chance = look.chances[..., None, None]  # b x G x 1 x 1
            if sides:
                evidence = (look.with_grade(at, levels) - self.needed * chance) / (1.0 - self.needed)
            else:
                evidence = look.with_grade(at).unsqueeze(-2) - levels.unsqueeze(-1) * chance
            saved = evidence.clamp_min(0.0).sum(1) - evidence.sum(1).clamp_min(0.0)
            return self._added(saved.clamp_min(0.0))

        each = belief.components * (belief.grades - 1) * len(at) * (len(levels) if sides else 1)
        return GainFormula(gain, max_q=1, numbers=60 * each)

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The share above each threshold, and how much of it is certain."""
        chance = self._chances(moments)  # T x m
        surely = "" if self.confidence is None else f" with at least {100.0 * self.confidence:g} % probability"
        place, points = ("on", "the space") if self._chosen else ("at", f"{chance.shape[-1]:,} points")
        each = zip(self.thresholds, self._share(a > 0.5).tolist(), strict=True)
        said = [f"above {about.level(level)}{surely} {place} {percent(share)}" for level, share in each]
        if self.confidence is None:
            sure = float(self._share(torch.maximum(chance, 1.0 - chance) >= SURE).mean())
            rest = f"{percent(sure)} of the labels are at least {percent(SURE)} sure"
        else:
            more = self._share((chance > 0.5) & (a <= 0.5)).tolist()
            rest = f"another {', '.join(map(percent, more))} are more likely above than not"
        if self.weights is not None:
            points += f" ({chance.shape[-1]:,} points stand for it)" if self._chosen else " by weight"
        return f"The {about.name} is {', '.join(said)} of {points}; {rest}."

    def _chances(self, moments: Moments) -> Tensor:
        """P(f > c) over all components, from moments with variances: T x m."""
        if moments.latent is None:
            standard = self._above(moments.mean) / moments.variance.clamp_min(1e-300).sqrt().unsqueeze(-2)
        else:
            standard = moments.latent.standard(self._levels.to(moments.mean))
        return (moments.weights[..., None, None] * torch.special.ndtr(standard)).sum(0)

    def _share(self, here: Tensor) -> Tensor:
        """Of which share of the points it is so, by their weights: T x m to T."""
        counts = here.to(torch.float64)
        return counts.mean(-1) if self.weights is None else counts @ self.weights.to(counts) / self.weights.sum()

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """How many more labels are correct; or how far values lie on the side of their label, over all points."""
        if self.relation == "misclassification" and self.confidence is None:
            return f"{roughly(amount, error)} more right labels"
        if self.confidence is not None or about.log or about.event:
            return super().saving(amount, error, about)
        return f"{about.difference(amount, error)}, summed over all points"

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """Each point with the number of thresholds it exceeds, and its weight."""
        levels = (a > 0.5).sum(-2).tolist()
        counts = (
            [{}] * len(levels) if self.weights is None else [{"weight": weight} for weight in self.weights.tolist()]
        )
        rows = zip(self.settled_points, levels, counts, strict=True)
        return [{"level": level, **count, **space.decode(point)} for point, level, count in rows]

    def notes(self, space: DesignSpace) -> tuple[str, ...]:
        """Where the points come from, if they are chosen."""
        if not self._follows(space):
            return ()
        return (
            f"Labels are about {FILLING} of {FILLING_CANDIDATES:,} points that fill the space, chosen again after each"
            " outcome:"
            " points with uncertain labels are likelier to be taken and count for less, so that shares and losses"
            f" are those of {FILLING} points that fill the space, on average. Points of your own go into `at`.",
        )


def _as_weights(weights: Any, at: Any) -> Tensor | None:
    """How much each point counts: m, checked."""
    if weights is None:
        return None
    found = as_table("weights", weights)
    if found.dim() != 1 or not bool(((found >= 0) & torch.isfinite(found)).all()) or not float(found.sum()) > 0:
        raise InputError("weights are numbers from 0 on, one for each point, not all of them 0")
    if at is not None and len(at) != len(found):
        raise InputError(f"there are {len(found)} weights and {len(at)} points; give each point one")
    return found
