"""`propose`: the next designs, their audited gain, and what would then be done.

`Auto`, the default solver, screens many designs, refines the best few by a short ascent, and leaves the choice to the
audit.
"""

import zlib
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.success import Success
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision
from hentropy.core.entropy import entropy_of
from hentropy.core.gain import Appraisal, Audit
from hentropy.core.solvers.ascent import LOOK_STEPS, ascend, exchanged, local_search, screen
from hentropy.core.solvers.base import (
    Cost,
    Finalists,
    IfSuccessful,
    Solver,
    informed,
    knowing,
    leader,
    leading,
    per_cost,
)
from hentropy.core.solvers.finite import Finite
from hentropy.core.spaces import DesignSpace, Params, Pool
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class Auto(Solver):
    """Sizes were chosen by the share of the largest gain that proposals have (`benchmarks/search.py`) against time.

    `screened` (1 + d) designs that fill the space are evaluated, and as many around anchors. The best `refined` ascend
    for `steps` + d steps, with actions that take `inner_steps` after each. The best `finalists` are left to the audit,
    with the `kept` best of the designs that they started from: by more outcomes, an ascent may have led down.
    `outcomes` is for one GP; under a mixture `mixture_outcomes` take their place, and `joint_outcomes` where each
    design has several: with 16 of those, 4 of 16 proposals about two outcomes had a gain a tenth below the largest.
    """

    screened: int = 48
    outcomes: int = 12
    mixture_outcomes: int = 16
    joint_outcomes: int = 24
    refined: int = 6
    steps: int = 6
    inner_steps: int = 1
    finalists: int = 4
    kept: int = 2

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """One design at a time, each conditioned on the ones before; then all of them jointly."""
        if q > 1 and appraisal.space.same_in_batch:
            return self._plates(appraisal, q, cost)
        if appraisal.space.points is not None:
            return Finite().search(appraisal, q, cost)
        chosen = appraisal.pending[:0]
        for place in range(q):
            known = replace(appraisal, pending=torch.cat([appraisal.pending, chosen]))
            last = self._one(known, knowing(cost, known))
            chosen = torch.cat([chosen, last.x[0]]) if place < q - 1 else chosen
        if q == 1 or appraisal.clock.expired:
            return replace(last, x=torch.cat([chosen.expand(last.x.shape[0], *chosen.shape), last.x], -2))
        sets = torch.cat([chosen.expand(last.x.shape[0], *chosen.shape), last.x], -2)
        joint = self._with_options(appraisal, self._refine(appraisal, sets, cost), cost)
        return replace(joint, x=torch.cat([joint.x, sets]))

    def _plates(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Sets of designs that share some values, compared by their joint gains: F x q x d.

        The shared values are those of the best single designs, then others near those of the best set.
        """
        space, q = appraisal.space.with_plates(q, appraisal.pending)
        appraisal = replace(appraisal, space=space)
        alone = self._one(appraisal, cost) if space.points is None else Finite().search(appraisal, 1, cost)
        singles = torch.cat([alone.x, screen(appraisal, cost, self.screened, self._outcomes(appraisal), self.refined)])
        found: list[Finalists] = []
        plates: list[Tensor] = []
        for round_ in range(1 + PLATE_ROUNDS):
            rows = singles[:, 0] if round_ == 0 else _other_plates(space, found[0].x[0, 0], appraisal.seed + round_)
            for plate in _different(space, rows, plates)[:PLATES]:
                if plates and appraisal.clock.expired:
                    break
                plates.append(plate)
                found.append(self._screened(replace(appraisal, space=space.plate(plate)), q, cost))
            x = torch.stack([each.x[0] for each in found])
            scores = per_cost(appraisal.screen(x, appraisal.nodes(self._outcomes(appraisal), q), LOOK_STEPS), x, cost)
            found = [found[i] for i in scores.argsort(descending=True)]
        found.insert(0, self.search(replace(appraisal, space=space.plate(found[0].x[0, 0])), q, cost))
        best = torch.stack([each.x[0] for each in found[: self.finalists]])
        return Finalists(best, all(each.complete for each in found), found[0].actions)

    def _screened(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """q designs, each the best of some that are looked at, given those before it: 1 x q x d."""
        if isinstance(appraisal.space, Pool):
            return Finite().search(appraisal, q, cost)
        designs = self.screened * (1 + appraisal.space.cube) // 3
        pending = appraisal.pending
        for _ in range(q):
            each = replace(appraisal, pending=pending)
            best = screen(each, knowing(cost, each), designs, self._outcomes(each), 1)
            pending = torch.cat([pending, best[0]])
        return Finalists(pending[-q:].unsqueeze(0), not appraisal.clock.expired)

    def _outcomes(self, appraisal: Appraisal) -> int:
        if len(appraisal.belief.measured) > 1:
            return self.joint_outcomes
        return self.outcomes if appraisal.belief.components == 1 else self.mixture_outcomes

    def _one(self, appraisal: Appraisal, cost: Cost | None) -> Finalists:
        """The best single designs: F x 1 x d."""
        designs = self.screened * (1 + appraisal.space.cube)
        if appraisal.formula is not None:
            designs *= OBSERVED_DESIGNS if appraisal.decision.follows_data else 1
        elif appraisal.decision.needs is Needs.JOINT:  # losses that look at values jointly cost more
            designs //= 2
        start = screen(appraisal, cost, designs, self._outcomes(appraisal), self.refined)
        if appraisal.clock.expired:
            return Finalists(start[: self.finalists], complete=False)
        refined = self._refine(appraisal, start, cost)
        return replace(refined, x=torch.cat([refined.x[: self.finalists], start[: self.kept]]))

    def _with_options(self, appraisal: Appraisal, refined: Finalists, cost: Cost | None) -> Finalists:
        """The sets F x q x d that ascent found, or better ones with other options, ascended too."""
        if not appraisal.space.exchanges or appraisal.clock.expired:
            return refined
        outcomes = self._outcomes(appraisal)
        others = exchanged(appraisal, refined.x[: self.finalists], cost, outcomes, self.finalists)
        again = self._refine(appraisal, others, cost)
        x = torch.cat([again.x, refined.x])
        scores = per_cost(appraisal.screen(x, appraisal.nodes(outcomes, x.shape[-2]), LOOK_STEPS), x, cost)
        actions = refined.actions if again.actions is None else again.actions
        best = leading(x, scores, len(x), appraisal, apart=NEARBY)
        return Finalists(best, again.complete and refined.complete, actions)

    def _refine(self, appraisal: Appraisal, start: Tensor, cost: Cost | None) -> Finalists:
        """Designs R x q x d ascended, the best first."""
        q, outcomes = start.shape[-2], self._outcomes(appraisal)
        formula = appraisal.applicable(q)
        if formula is not None and not formula.differentiable:
            designs = local_search(appraisal, start, cost, outcomes, VALUE_ROUNDS) if q == 1 else start
            return Finalists(designs, not appraisal.clock.expired)
        steps = int((self.steps + appraisal.space.cube) * (1 if formula is None else FORMULA_STEPS))
        nodes = appraisal.nodes(outcomes, q)
        designs, actions, gains = ascend(appraisal, start, nodes, steps, self.inner_steps, cost)
        return Finalists(designs[gains.argsort(descending=True)], not appraisal.clock.expired, actions)


OBSERVED_DESIGNS = 3
"""So many times as many designs are screened for the best measured design by its formula: expected improvement has many
narrow peaks among crowded data. Of 120 cases late in runs of four to ten parameters, 117 had at least 0.95 of the
largest gain instead of 114, the least 0.93 instead of 0.56, in 1.2 times the time."""

FORMULA_STEPS = 1.5
"""Where a formula makes gains cheap, so many times as many steps."""

VALUE_ROUNDS = 8
"""Rounds of random steps where a gain has no gradient."""

PLATES, PLATE_ROUNDS = 4, 1
"""This many values that designs share are compared at first, and again in rounds around the best, each by designs that
are only screened; the best is searched in full."""


def _different(space: DesignSpace, rows: Tensor, known: list[Tensor]) -> list[Tensor]:
    """Designs (rows m x d) that differ from each other, and from those known, in what a batch shares."""
    places = [space.places[name] for name in space.same_in_batch]
    chosen: list[Tensor] = []
    for row in rows:
        if not any(all(torch.equal(row[place], other[place]) for place in places) for other in [*known, *chosen]):
            chosen.append(row)
    return chosen


def _other_plates(space: DesignSpace, row: Tensor, seed: int) -> Tensor:
    """Designs near one (d) that differ from it in what a batch shares: m x d."""
    generator = torch.Generator().manual_seed(seed)
    at = space.to_cube(row)
    noise = torch.randn(32, *at.shape, generator=generator, dtype=torch.float64).to(at)
    near = torch.cat([space.project(space.from_cube((at + 0.1 * noise).clamp(0.0, 1.0))), space.neighbours(row)])
    return torch.cat([row.unsqueeze(0), near])


NEARBY = 0.05
"""Designs that are no further from a better one in the unit cube are not audited beside it."""

AUDIT_SEED = 104_729
"""Keeps the audit's base samples apart from the search's."""

AUDITS = 2**20


def audit_seed(seed: int, unit: Tensor) -> int:
    """The seed of the audit of designs (q x d, in the unit cube): others have others.

    Proposals with one seed then err in different directions, and their errors average out. Designs that differ by
    rounding have the same.
    """
    places = (1000.0 * unit).round().to(torch.int64).cpu()
    return seed + AUDIT_SEED + zlib.crc32(places.numpy().tobytes()) % AUDITS


@dataclass(frozen=True)
class Outlook:
    """What would be decided after one outcome: the observed values (q, or q x o), the action and its expected loss."""

    values: Tensor
    action: Any
    expected_loss: float


@dataclass(frozen=True)
class Proposal:
    """The designs to run next (q x d), their audited gain, and what would be decided after low, middle, high outcomes.

    `measures` are the outcomes to observe, if not all.
    """

    x: Tensor
    params: list[Params]
    gain: float
    std_error: float
    exact: bool
    entropy: float
    action: Any
    outlook: tuple[Outlook, ...]
    complete: bool
    note: str
    seconds: float
    measures: tuple[str, ...] = ()

    def __str__(self) -> str:
        error = "exact" if self.exact else f"+- {self.std_error:.2g}"
        shown = [{k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in self.params]
        designs = "; ".join(", ".join(f"{k} = {v}" for k, v in row.items()) for row in shown)
        return f"next: {designs}   gain {self.gain:.4g} ({error}), entropy now {self.entropy:.4g}" + (
            f"   [{self.note}]" if self.note else ""
        )


def propose(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    *,
    q: int = 1,
    seed: int = 0,
    pending: Tensor | None = None,
    solver: Solver | None = None,
    cost: Cost | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    decide_on: DesignSpace | None = None,
    success: Success | None = None,
    entropy_seed: int | None = None,
) -> Proposal:
    """The q designs with the largest gain (per cost), jointly; fewer where no q rows of a pool can share a plate.

    `pending` (p x d) are designs that are still running: the gain is what the new ones add to them. `cost` maps designs
    b x q x d to b positive numbers. `max_seconds` and `max_memory` (bytes) bound the work: when the time is up, the
    best result so far is returned, with complete=False and a note. `decide_on` is the space of the decision, if not
    that of the designs. `success` as in `gain`. `entropy_seed` is the seed for the current entropy, by default `seed`;
    use the one given to `entropy` to get the same value.
    """
    if not isinstance(q, int) or q < 1:
        raise InputError(f"q, the number of designs to propose, must be a whole number of at least 1, got {q!r}")
    limits = Limits(max_seconds, max_memory)
    clock = limits.clock()
    appraisal = Appraisal.prepare(
        decision,
        belief,
        space,
        pending=pending,
        seed=seed,
        limits=limits,
        clock=clock,
        decide_on=decide_on,
        success=success,
    )
    cost = cost if success is None else IfSuccessful(appraisal, cost)
    finalists = (Auto() if solver is None else solver).search(appraisal, q, cost)
    appraisal = informed(appraisal, finalists.actions)
    x = finalists.x.detach()
    if not finalists.complete:
        x = x[:1]
    best, appraisal = leader(appraisal, x, cost)
    audit = appraisal.audit(x[best : best + 1], audit_seed(seed, space.to_unit(x[best])))
    search = audit.search
    gain = appraisal.expected(audit.gain, x[best : best + 1], search)
    now = entropy_of(search, appraisal.belief, seed if entropy_seed is None else entropy_seed).value
    spent = clock.spent  # read once, at the end: a proposal that took longer than it might is not complete
    complete = finalists.complete and spent <= clock.seconds
    bound = "" if max_seconds is None else f" (max_seconds = {max_seconds:g})"
    note = "" if complete else f"stopped after {spent:.2g} s{bound}; {finalists.note or 'the best found so far'}"
    return Proposal(
        x=x[best],
        params=[space.decode(row) for row in x[best]],
        gain=float(gain.value[0]),
        std_error=float(gain.std_error[0]),
        exact=gain.exact,
        entropy=now,
        action=search.best,
        outlook=_outlook(audit, len(appraisal.belief.measured)),
        complete=complete,
        note=note,
        seconds=spent,
    )


def _outlook(audit: Audit, several: int) -> tuple[Outlook, ...]:
    """What would be done after a low, a middle and a high outcome of the chosen designs.

    Where they are several at each design, neither is: after a bad, a middle and a good one.
    """
    least, outcomes, weights = audit.least, audit.outcomes, audit.weights
    if least is None or outcomes is None or weights is None or least.actions is least.loss:
        return ()
    values = outcomes[0] if several == 1 else outcomes[0].unflatten(-1, (-1, several))  # N x q (x o)
    order = values.sum(-1).argsort() if several == 1 else least.loss[0].argsort(descending=True)
    below = weights.expand(len(outcomes), -1)[0, order].cumsum(0)
    picks = [int(order[int((below >= share).nonzero()[0])]) for share in (0.05, 0.5, 0.95)]
    return tuple(Outlook(values[j], audit.search.action(least.actions, 0, j), float(least.loss[0, j])) for j in picks)
