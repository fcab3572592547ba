"""`propose`: the next designs, their audited gain, and what would then be done."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from hentropy.core.beliefs import Belief
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision
from hentropy.core.entropy import entropy_of
from hentropy.core.gain import Appraisal, Audit
from hentropy.core.solvers.auto import Auto
from hentropy.core.solvers.base import Cost, Solver, informed, leader
from hentropy.core.spaces import DesignSpace, Params
from hentropy.errors import InputError

AUDIT_SEED = 104_729
"""Keeps the audit's base samples apart from the search's."""


@dataclass(frozen=True)
class Outlook:
    """What would be decided after one outcome: the observed values (q), the action and its expected loss."""

    values: Tensor
    action: Any
    expected_loss: float


@dataclass(frozen=True)
class Proposal:
    """The designs to run next (q x d), their audited gain, and what would be done after low, middle, high outcomes."""

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

    def __str__(self) -> str:
        error = "exact" if self.exact else f"+- {self.std_error:.2g}"
        designs = "; ".join(", ".join(f"{k} = {v:.6g}" for k, v in row.items()) for row in self.params)
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
    known: Tensor | None = None,
) -> Proposal:
    """The q designs with the greatest gain (per cost), jointly.

    `pending` (p x d) are designs that are still running: the gain is what the new ones add to them. `cost` maps designs
    b x q x d to b positive numbers. `max_seconds` and `max_memory` (bytes) bound the work: what was found until then is
    returned, with complete=False and a note. `known` as in `entropy`.
    """
    if not isinstance(q, int) or q < 1:
        raise InputError(f"q, the number of designs to propose, must be a whole number of at least 1, got {q!r}")
    limits = Limits(max_seconds, max_memory)
    clock = limits.clock()
    appraisal = Appraisal.prepare(
        decision, belief, space, pending=pending, seed=seed, limits=limits, clock=clock, known=known
    )
    finalists = (Auto() if solver is None else solver).search(appraisal, q, cost)
    appraisal = informed(appraisal, finalists.actions)
    x = finalists.x.detach()
    if not finalists.complete:
        x = x[:1]
    best, appraisal = leader(appraisal, x, cost)
    audit = appraisal.audit(x[best : best + 1], seed + AUDIT_SEED)
    gain, search = audit.gain, audit.search
    now = entropy_of(search, belief, seed).value
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
        outlook=_outlook(audit),
        complete=complete,
        note=note,
        seconds=spent,
    )


def _outlook(audit: Audit) -> tuple[Outlook, ...]:
    """What would be done after a low, a middle and a high outcome of the chosen designs."""
    least, outcomes, weights = audit.least, audit.outcomes, audit.weights
    if least is None or outcomes is None or weights is None or least.actions is least.loss:
        return ()
    values = outcomes[0]  # N x q
    order = values.sum(-1).argsort()
    below = weights[order].cumsum(0)
    picks = [int(order[int((below >= share).nonzero()[0])]) for share in (0.05, 0.5, 0.95)]
    return tuple(Outlook(values[j], audit.search.action(least.actions, 0, j), float(least.loss[0, j])) for j in picks)
