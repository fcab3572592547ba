"""EHIG: by how much observing at x is expected to lower the entropy; its estimators and its audit.

    EHIG(x) = H[D] - E_y H[D + (x, y)] = E_y [ E[loss(today's best action) | y] - min_a E[loss(a) | y] ]

The second form is what is computed: the average over outcomes of what the best action then saves against staying with
today's. It equals the first because the expected loss of a fixed action does not change on average, every term is at
least zero, and the noise of the two losses cancels. Where a decision has a formula for its gain, that is used instead.

An appraisal values designs as if they succeeded. `Appraisal.expected` adds that they may fail (see `failures`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hentropy.core.action_search import (
    ActionSearch,
    BestAfterOutcome,
    ContinuousSearch,
    ListedSearch,
    prepare_search,
    values_per_action,
)
from hentropy.core.action_search.base import expected_loss
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.beliefs import Belief, Gaussian, LookAhead, Needs, Nodes, value_draws
from hentropy.core.beliefs.nodes import join
from hentropy.core.beliefs.success import Success
from hentropy.core.clock import Clock, Limits
from hentropy.core.decisions import Decision, GainFormula, Solved
from hentropy.core.decisions.normal import expected_rise
from hentropy.core.entropy import check_fit
from hentropy.core.failures import SuccessNews, restricted
from hentropy.core.given import check_seed
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class Effort:
    """How thorough an audit is: numbers of independent replicates, of outcomes, of draws of the values, and of steps
    of descent in the search for actions after each outcome and in each further round. A round that saves less than
    the share `enough` of the gain is the last. After `afresh` of the outcomes, actions are searched for in the whole
    space, where an outcome may tell of it (a mixture). Without `random`, the outcomes are those of the best quadrature:
    less noise, but no honest standard error.
    """

    replicates: int = 8
    outcomes: int = 16
    draws: int = 256
    steps: int = 10
    rounds: int = 2
    enough: float = 0.0
    afresh: int = 16
    random: bool = True


QUICK = Effort(replicates=4, outcomes=16, steps=5, enough=0.005, afresh=4)
"""For the audit of a proposal, whose search has met the actions that matter: more would take most of the time. As many
outcomes in all as 8 replicates of 8, which have twice the error: strata of one outcome are half as wide, and several
outcomes of a design take more nodes."""

MOST_REPLICATES = 1024

RANKING = Effort(replicates=2, outcomes=8, draws=512, steps=4, rounds=0, afresh=0)
RANKING_ONE = Effort(replicates=1, outcomes=32, draws=512, steps=5, rounds=2, enough=0.005, afresh=4, random=False)
RANKING_TWO = replace(RANKING_ONE, outcomes=96, steps=3, rounds=0, afresh=0)
RANKING_DRAWN = Effort(replicates=4)
"""For the choice among a few designs, by the same outcomes for all. One outcome is integrated almost exactly: on 40
posteriors over a mixed space, the design so chosen had at least 0.99 of the largest gain, with random ones 0.79. Two
outcomes take more nodes: late in a run, 24 in the plane err by a factor of up to two. The last is for formulas of
functions drawn at random. With a shorter search for the actions after an outcome (no further rounds), the best of the
designs that an ascent found was missed in 2 of 117 cases, by a fifth."""


@dataclass(frozen=True)
class Gain:
    """EHIG of b designs (b) with its Monte Carlo standard error (b; zero where `exact`)."""

    value: Tensor
    std_error: Tensor
    exact: bool


@dataclass(frozen=True)
class Audit:
    """An audited gain. Where actions were searched: the best action after each outcome, the outcomes (b x N x q, or
    q o of several) and their weights (N, or b x N).

    `search` is the one that was audited, with a better action of today if the audit met one.
    """

    gain: Gain
    search: ActionSearch
    least: BestAfterOutcome | None = None
    outcomes: Tensor | None = None
    weights: Tensor | None = None


@dataclass(frozen=True)
class Appraisal:
    """All that is prepared once to value many designs: the search for actions, a formula where there is one.

    `space` is what can be run, `decide_on` where the decision may lie: the same, unless the decision is about other
    designs, such as those of another fidelity, or some designs would probably fail. Both have the same coordinates.
    `pending` (p x d) are designs whose outcomes are still to come: gains count what a design adds to them. The belief
    is about the outcomes that the decision looks at.
    """

    decision: Decision
    belief: Belief
    space: DesignSpace
    decide_on: DesignSpace
    search: ActionSearch
    formula: GainFormula | None
    pending: Tensor
    seed: int
    limits: Limits
    clock: Clock
    success: Success | None = None
    everywhere: DesignSpace | None = None
    """Where the decision could lie if all experiments succeeded, if not in `decide_on`."""

    @classmethod
    def prepare(
        cls,
        decision: Decision,
        belief: Belief,
        space: DesignSpace,
        *,
        pending: Tensor | None = None,
        seed: int = 0,
        limits: Limits | None = None,
        clock: Clock | None = None,
        decide_on: DesignSpace | None = None,
        success: Success | None = None,
        thorough: bool = False,
    ) -> "Appraisal":
        """Find the best action now and what else valuing a design needs; `success` as in `entropy`.

        With `thorough`, the best action is searched for as in `entropy`.
        """
        check_seed(seed)
        limits = Limits() if limits is None else limits
        clock = limits.clock() if clock is None else clock
        # equal designs make equal spaces, even as distinct objects
        actions_on = space if decide_on is None or decide_on.same_designs(space) else decide_on
        if decide_on is not None and _unlike(decide_on, space):
            raise InputError(
                f"decide_on has the parameters {', '.join(actions_on.names)}, the space has {', '.join(space.names)};"
                " they must be the same, with the same options"
            )
        settled, own = check_fit(decision, belief, actions_on)
        if belief.only is not None and not belief.only & belief.related(*own.outcomes):
            seen, wanted = (", ".join(names) for names in (sorted(belief.only), own.outcomes))
            raise InputError(f"what is measured ({seen}) tells nothing of {wanted}; measure something else")
        waiting = belief.X[:0] if pending is None else as_designs(pending, "pending", space).to(belief.X)
        if waiting.dim() != 2:
            raise InputError(f"pending designs have shape p x {space.dim}, got {tuple(waiting.shape)}")
        if belief.awaited:
            own, waiting = _telling(belief, own, waiting)
        belief = own
        everywhere = actions_on
        if success is not None:
            settled, actions_on = restricted(settled, belief, actions_on, success)
        search = prepare_search(settled, belief, actions_on, clock, thorough)
        if actions_on is not space:
            search = search.of_other_designs(actions_on)
        formula = settled.gain_formula(belief, actions_on, seed) or lines_formula(search, belief)
        if formula is not None and actions_on is not space and settled.follows_data:
            formula = _among(formula, actions_on)
        parts = (settled, belief, space, actions_on, search, formula, waiting, seed, limits, clock)
        return cls(*parts, success, everywhere)

    def expected(self, gains: "Gain", x: Tensor, search: ActionSearch | None = None) -> "Gain":
        """The gains of designs b x q x d that may fail, from those that they have if they succeed.

        `search` has today's best action, if a better one than that of this appraisal was found.
        """
        if self.success is None:
            return gains
        own = self if search is None or search is self.search else replace(self, search=search)
        with torch.no_grad():
            chance = self.success.chance(x).prod(-1)
            return Gain(own.if_failing(gains.value, x), gains.std_error * chance, gains.exact)

    def if_failing(self, gains: Tensor, x: Tensor) -> Tensor:
        """The gains (b) of designs b x q x d that may fail, differentiable in x: see `failures`."""
        if self.success is None:
            return gains
        gains = gains * self.success.chance(x).prod(-1)
        return gains if self._success_news is None else gains + self._success_news.saves(x)

    @cached_property
    def _success_news(self) -> SuccessNews | None:
        everywhere = self.decide_on if self.everywhere is None else self.everywhere
        return SuccessNews.prepare(self.decision, self.belief, everywhere, self.search, self.pending)

    def together(self, x: Tensor) -> Tensor:
        """Designs b x q x d with the pending ones before them: b x (p + q) x d."""
        return torch.cat([self.pending.expand(x.shape[0], *self.pending.shape), x], -2) if len(self.pending) else x

    def observed(self, q: int) -> int:
        """How many outcomes q designs and those pending have together."""
        return self.belief.width(q + len(self.pending))

    def applicable(self, q: int) -> GainFormula | None:
        """The formula, if it holds for q observations and those pending.

        What designs add to pending ones is a difference of two gains, whose errors must cancel: unless both are exact,
        the same outcomes serve both.
        """
        together, formula = q + len(self.pending), self.formula
        if formula is None or not formula.covers(together):
            return None
        alike = formula.exact_for(together) or not formula.exact or not len(self.pending)
        return formula if alike else None

    def nodes(self, count: int, q: int, seed: int | None = None) -> Nodes:
        """Outcome nodes for q designs and those pending."""
        return self.belief.nodes(count, q + len(self.pending), seed)

    def pending_nodes(self, nodes: Nodes) -> Nodes:
        """The outcomes of the pending designs alone: they stand first, so their coordinates of z lead."""
        return replace(nodes, z=nodes.z[:, : self.observed(0)], quantiles=False)

    @torch.no_grad()
    def screen(self, x: Tensor, nodes: Nodes, steps: int = 0) -> Tensor:
        """A quick gain of many designs b x q x d, in chunks that respect the memory bound; -inf where time ran out.

        It counts the actions that are known, after this many `steps` of descent.
        """
        formula = self.applicable(x.shape[-2])
        rows = self.rows(nodes.count, x.shape[-2])
        gains = x.new_full((x.shape[0],), -torch.inf)
        for start in range(0, x.shape[0], rows):
            if start > 0 and self.clock.expired:
                break
            part = self.together(x[start : start + rows])
            gains[start : start + rows] = formula(part) if formula else self._saved(part, nodes, steps)
        return gains - self.of_pending(nodes)

    @torch.no_grad()
    def of_pending(self, nodes: Nodes) -> Tensor | float:
        """The gain of the pending designs alone, which `with_gradient` counts and the gain per cost must not."""
        p = len(self.pending)
        formula = self.applicable((nodes.z.shape[-1] - self.observed(0)) // len(self.belief.measured))
        if formula is not None:
            return self._pending_part(formula)
        if p == 0:
            return 0.0
        return self._saved(self.pending.unsqueeze(0), self.pending_nodes(nodes), steps=0)

    def _pending_part(self, formula: GainFormula) -> Tensor | float:
        """What a formula for all designs together counts for the pending ones alone."""
        return formula(self.pending.unsqueeze(0)) if len(self.pending) and formula.cumulative else 0.0

    def rows(self, outcomes: int, q: int) -> int:
        """How many sets of q designs may be valued at once under the memory bound."""
        return self.limits.rows(self._numbers_per_design(outcomes, self.applicable(q)))

    def _numbers_per_design(self, outcomes: int, formula: GainFormula | None) -> int:
        data = 4 * (self.belief.sites + 1) * self.belief.components * self.observed(1)
        if formula is not None:
            return data + 4 * formula.numbers
        return data + self.search.numbers_per_design(outcomes)

    def _saved(self, x: Tensor, nodes: Nodes, steps: int) -> Tensor:
        """What the best action after the outcomes saves on average, for designs and those pending: b."""
        fantasy = self.belief.look_ahead(x).fantasy(nodes)
        return (self.search.best_after(fantasy, x, steps).saved * fantasy.weights).sum(-1)

    def with_gradient(self, x: Tensor, nodes: Nodes, steps: int, rounds: int = 0) -> Tensor:
        """The gain of designs b x q x d, differentiable in x by the envelope theorem: b.

        The best actions are found without a gradient, by this many steps of descent and further rounds, and then held
        fixed.
        """
        x = self.together(x)
        formula = self.applicable(x.shape[-2] - len(self.pending))
        if formula is not None:
            return formula(x)
        fantasy = self.belief.look_ahead(x).fantasy(nodes)
        if not isinstance(self.search, ContinuousSearch):
            return (self.search.best_after(fantasy, x, steps).saved * fantasy.weights).sum(-1)
        still = x.detach()
        found = self.search.best_after(self.belief.look_ahead(still).fantasy(nodes), still, steps, rounds=rounds)
        loss = self.search.loss_after(fantasy, found.actions)
        stay = self.search.loss_after(fantasy, self.search.best.expand(x.shape[0], 1, *self.search.best.shape))
        return ((stay - loss) * fantasy.weights).sum(-1)

    def audit(self, x: Tensor, seed: int, effort: Effort | None = None) -> Audit:
        """The gain of designs b x q x d on base samples that no search used, with its error; and what would be done."""
        if effort is None:
            alone = x.shape[-2] + len(self.pending) == 1
            effort = QUICK if alone and isinstance(self.search, ContinuousSearch) else Effort()
        formula = self.applicable(x.shape[-2])
        together = self.together(x)
        if formula is not None and formula.exact_for(together.shape[-2]):
            value = formula(together) - self._pending_part(formula)
            return Audit(Gain(value.detach(), torch.zeros_like(value), True), self.search)
        if formula is not None:
            return Audit(self._audit_formula(together, seed, effort), self.search)
        return self._audit_search(x, together, seed, effort)

    @torch.no_grad()
    def _audit_formula(self, x: Tensor, seed: int, effort: Effort) -> Gain:
        values = []
        for own in _seeds(seed, effort.replicates):
            fresh = self.decision.gain_formula(self.belief, self.decide_on, own)
            if fresh is None:
                raise InputError(f"{self.decision!r} gave a gain formula for one seed and none for another")
            values.append(fresh(x) - self._pending_part(fresh))
        return _replicated(torch.stack(values, -1), exact=False)

    @torch.no_grad()
    def _audit_search(self, x: Tensor, together: Tensor, seed: int, effort: Effort) -> Audit:
        q, p = x.shape[-2], len(self.pending)
        each = [
            self.nodes(effort.outcomes, q, own if effort.random else None) for own in _seeds(seed, effort.replicates)
        ]
        drawn = self.decision.drawn(self.belief) and not isinstance(self.decision, Solved)
        each = each[:1] if each[0].every and not drawn else each
        draws = None
        if drawn:
            # each replicate with fresh draws of the values, or their error would be common to all and not be seen
            count = values_per_action(self.decision, self.decide_on, self.belief.X)
            draws = [value_draws(effort.draws, count, own).to(x) for own in _seeds(seed, effort.replicates)]
        least = self._best_after(together, each, draws, effort)
        search = self.search.improved_by(least.actions)
        saved = self._news(search, together, each, draws, least)
        late = torch.zeros_like(saved) if least.late is None else least.late
        if p:
            alone = [self.pending_nodes(nodes) for nodes in each]
            waiting = self.pending.unsqueeze(0)
            before = self._best_after(waiting, alone, draws, effort)
            saved = saved - self._news(search, waiting, alone, draws, before)
            late = late if before.late is None else torch.maximum(late, before.late.expand(late.shape))
        fantasy = self.belief.look_ahead(together).fantasy(join(each))
        weights = fantasy.weights
        grouped = (saved * weights).reshape(x.shape[0], len(each), -1).sum(-1) * len(each)
        gain = _replicated(grouped, exact=False)
        all_grades = each[0].every and not drawn
        error = self._by_order(together, each, least, weights, effort) if all_grades else gain.std_error
        # what the last rounds of the searches, after an outcome and today, still found is about what is left to find
        error = torch.hypot(error, (late * weights).sum(-1))
        today = self.search.left if search is self.search else self.search.value - search.value
        error = error if today is None else torch.hypot(error, today)
        values = fantasy.values[..., self.observed(0) :]
        least = BestAfterOutcome(least.loss, least.loss + saved, least.actions)
        return Audit(Gain(gain.value, error, exact=False), search, least, values, weights)

    def _by_order(
        self, x: Tensor, each: list[Nodes], least: BestAfterOutcome, weights: Tensor, effort: Effort
    ) -> Tensor:
        """The error of a sum over all grades of designs b x q x d: none of one design, which is exact.

        Of several, all but the last are replaced by normal observations. In another order the sum would be the same if
        that were exact: b.
        """
        if x.shape[-2] == 1 or self.belief.awaited:
            return torch.zeros_like(least.loss[:, 0])
        turned = x.flip(-2)
        other = self._best_after(turned, each, None, effort)
        likely = self.belief.look_ahead(turned).fantasy(join(each)).weights
        return 0.5 * ((least.saved * weights).sum(-1) - (other.saved * likely).sum(-1)).abs()

    def _best_after(self, x: Tensor, each: list[Nodes], draws: list[Tensor] | None, effort: Effort) -> BestAfterOutcome:
        """The best action after each outcome of all replicates, each replicate judged on draws of its own: b x RN."""
        look, steps = self.belief.look_ahead(x), effort.steps
        if isinstance(self.search, ContinuousSearch):
            # of all replicates together: what is found for one outcome helps another
            rounds, enough, afresh = effort.rounds, effort.enough, effort.afresh
            found = self.search.best_after(
                look.fantasy(join(each)), x, steps, rounds=rounds, enough=enough, afresh=afresh
            )
            if draws is None:
                return found
        elif draws is None:
            return self.search.best_after(look.fantasy(join(each)), x, steps)
        else:
            parts = [self.search.best_after(look.fantasy(n), x, steps, d) for n, d in zip(each, draws, strict=True)]
            return BestAfterOutcome(
                torch.cat([part.loss for part in parts], 1),
                torch.cat([part.stay for part in parts], 1),
                torch.cat([part.actions for part in parts], 1),
            )
        fantasy = look.fantasy(join(each))
        losses = self.search.losses_on_draws(fantasy, found.actions, draws)
        stays = self.search.losses_on_draws(
            fantasy, self.search.best.expand(x.shape[0], 1, *self.search.best.shape), draws
        )
        # actions save more on the draws that chose them, and less on others, than the best ones would
        likely = fantasy.weights
        over = ((found.saved - (stays - losses)) * likely).sum(-1, keepdim=True).clamp_min(0.0).expand(losses.shape)
        late = over if found.late is None else torch.hypot(over, found.late)
        return BestAfterOutcome(losses, stays, found.actions, late)

    def _stay(self, search: ActionSearch, look: LookAhead, nodes: Nodes, draws: Tensor | None) -> Tensor:
        """The expected loss of a search's best action of today after each outcome: b x N."""
        fantasy = look.fantasy(nodes)
        stay = search.stay(fantasy, draws)
        if stay is None:
            raise InputError(f"{type(search).__name__} found a better action of today and cannot judge it")
        return stay.expand(fantasy.values.shape[:2])

    def _news(
        self, search: ActionSearch, x: Tensor, each: list[Nodes], draws: list[Tensor] | None, least: BestAfterOutcome
    ) -> Tensor:
        """What the best action after each outcome saves against that of today, maybe a new one: b x RN."""
        if search is self.search:
            return least.saved
        look = self.belief.look_ahead(x)
        if draws is None:
            return (self._stay(search, look, join(each), None) - least.loss).clamp_min(0.0)
        stays = [self._stay(search, look, nodes, own) for nodes, own in zip(each, draws, strict=True)]
        return torch.cat(stays, 1) - least.loss


def _telling(belief: Belief, own: Belief, pending: Tensor) -> tuple[Belief, Tensor]:
    """What is known of the outcomes of a decision, and the pending designs whose measurements tell of them."""
    if len(belief.awaited) != len(pending):
        raise InputError(
            f"what is measured is given of {len(belief.awaited)} pending designs; there are {len(pending)} of them"
        )
    telling = belief.related(*own.outcomes)
    kept = [j for j, names in enumerate(belief.awaited) if names & telling]
    return own.awaiting(*(belief.awaited[j] & telling for j in kept)), pending[kept]


def _unlike(one: DesignSpace, other: DesignSpace) -> bool:
    """Whether two spaces have other parameters."""
    return [f.name for f in one.fields] != [f.name for f in other.fields] or one.dim != other.dim


def _seeds(seed: int, replicates: int) -> range:
    """A seed for each replicate; those of another seed are all different."""
    return range(seed * MOST_REPLICATES, seed * MOST_REPLICATES + replicates)


def _replicated(values: Tensor, exact: bool) -> Gain:
    """The mean over replicates (b x R) and its standard error; NaN for a single one."""
    R = values.shape[-1]
    error = values.std(-1) / R**0.5 if R > 1 else torch.full_like(values[..., 0], torch.nan)
    return Gain(values.mean(-1), error, exact)


def lines_formula(search: ActionSearch, belief: Belief) -> GainFormula | None:
    """The exact gain of a loss that is affine in f over listed actions, for one observation of one GP.

    The expected losses after observing are lines in its standardised outcome: the upper envelope of lines.
    """
    if isinstance(search, FiniteSearch):
        return search.lines()
    gp: Gaussian | None = belief.single_gp
    if not isinstance(search, ListedSearch) or gp is None:
        return None
    decision = search.decision
    if decision.needs is not Needs.MEAN:
        return None
    rows, draws = search.rows, search.draws
    points = decision.points(rows)
    m, K, d = points.shape
    moments = gp.moments(points, Needs.MEAN)
    now = expected_loss(decision, moments, rows, draws)

    def gain(x: Tensor) -> Tensor:
        s = gp.look_ahead(x).whitened_cross(points.reshape(-1, d))[0].reshape(x.shape[0], m, K)
        moved = type(moments)(moments.weights.unsqueeze(-1), (moments.mean[0] + s).unsqueeze(0))
        return expected_rise(-now, now - expected_loss(decision, moved, rows.expand(x.shape[0], *rows.shape), draws))

    return GainFormula(gain, max_q=1, numbers=6 * m * K)


def _among(formula: GainFormula, space: DesignSpace) -> GainFormula | None:
    """The gain of a decision about observed designs of which only those in a space may be decided on.

    Where the last design alone counts, it is worth nothing outside the space. Other formulas compare with all data.
    """
    if formula.cumulative:
        return None

    def gain(x: Tensor) -> Tensor:
        return torch.where(space.contains(x[:, -1]), formula(x), 0.0)

    return replace(formula, function=gain)


def as_designs(x: Any, what: str, space: DesignSpace) -> Tensor:
    """Designs b x d or b x q x d as a tensor, or an error that names what is wrong with them."""
    try:
        designs = torch.as_tensor(x, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{what} must be a table of numbers, designs in rows; it is not: {error}") from None
    if designs.dim() not in (2, 3) or designs.shape[-1] != space.dim:
        raise InputError(f"{what} has shape b x {space.dim} or b x q x {space.dim}, got {tuple(designs.shape)}")
    if designs.shape[0] == 0:
        raise InputError(f"{what} has no rows; give at least one design")
    bad = (~torch.isfinite(designs)).reshape(-1, space.dim).nonzero()
    if len(bad):
        row, column = bad[0].tolist()
        value = float(designs.reshape(-1, space.dim)[row, column])
        name = next(name for name, place in space.places.items() if place.start <= column < place.stop)
        raise InputError(f"row {row} of {what} has {name} = {value}; drop that row")
    return designs


def gain(
    decision: Decision,
    belief: Belief,
    x: Tensor,
    space: DesignSpace,
    *,
    pending: Tensor | None = None,
    seed: int = 0,
    effort: Effort | None = None,
    max_memory: int | None = None,
    decide_on: DesignSpace | None = None,
    success: Success | None = None,
) -> Gain:
    """EHIG of designs: each row of x (b x d), or b sets of q designs observed together (b x q x d), audited.

    The standard error covers the draws of outcomes and values, and what the searches for actions, today's and those
    after outcomes, may have missed. The gain of a design does not depend on which others are asked with it.
    `decide_on` is the space of the decision, if not that of the designs. With `success`, the belief about
    whether experiments succeed, the gain is weighted by the probability of success and includes what a failure teaches.
    """
    check_fit(decision, belief, space if decide_on is None else decide_on)
    designs = as_designs(x, "x", space).to(belief.X)
    if space.points is None:
        space.check(designs, relaxed=True)  # between whole numbers there is a gain too
    designs = designs.unsqueeze(-2) if designs.dim() == 2 else designs
    limits = Limits(max_memory=max_memory)
    appraisal = Appraisal.prepare(
        decision,
        belief,
        space,
        pending=pending,
        seed=seed,
        limits=limits,
        decide_on=decide_on,
        success=success,
        thorough=True,
    )
    effort, q = Effort() if effort is None else effort, designs.shape[-2]
    # what is found for one design must not change the gain of another: one at a time, unless nothing is shared
    one_at_a_time = appraisal.applicable(q) is None and appraisal.search.helps_other_designs
    rows = 1 if one_at_a_time else appraisal.rows(effort.outcomes * effort.replicates, q)
    parts = []
    for part in designs.split(rows):
        audit = appraisal.audit(part, seed + 7919, effort)
        parts.append(appraisal.expected(audit.gain, part, audit.search))
    return Gain(torch.cat([p.value for p in parts]), torch.cat([p.std_error for p in parts]), parts[0].exact)
