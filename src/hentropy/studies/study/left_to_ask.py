"""What is left to ask: rows of a pool worth measuring, places where experiments succeed, and whether a gain is left.

Whether anything is left to gain is told apart from gains that are only small:

    s      the spread of the outcomes: the median distance from their median, of first designs and earlier data
    scale  the same in units of the loss: how much the loss of today's best action varies if f varies by s
    g, e   the gain of a proposal and its standard error

A gain is negligible where g + 2 e <= NEGLIGIBLE x scale. With noise that says little: one measurement can be too noisy
to change a decision that many would change. And a search that samples outcomes can miss rare ones. So nothing is left
to gain only if an observation without noise gains nothing either, which bounds what any number of repeats gains: other
designs than those of the search are looked at, and the outcomes of each component far into its tails.
"""

import math
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.action_search import ContinuousSearch
from hentropy.core.beliefs import Belief, Needs, Nodes
from hentropy.core.beliefs.nodes import gauss_hermite
from hentropy.core.beliefs.success import Success
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision, Identify
from hentropy.core.decisions.base import by_outcome, checked_loss
from hentropy.core.entropy import check_fit
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, CostModel, Finalists, Solver
from hentropy.core.solvers.ascent import first_designs
from hentropy.core.solvers.base import IfSuccessful, per_cost
from hentropy.core.spaces import DesignSpace, Pool
from hentropy.core.spaces.rows import RowIndex
from hentropy.lazy import Tensor, torch
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import State, Trial, in_state

Rows = Callable[[Trial], Tensor]
"""The design of a trial as a row (d)."""

ALL_FAILED = "every design of the pool has failed"
NONE_LEFT = f"{ALL_FAILED} or was measured without noise"

PAIRS = 2**18
"""Pairs of a design and a trial that are compared at once."""

FAILURE_REACH = 0.1
"""How far a trial tells of success or failure around it: this share of the diagonal of the unit cube."""


@dataclass(frozen=True)
class Among(Solver):
    """A solver that may choose designs among some rows of a pool only (positions m); actions range over all of it."""

    rows: Tensor
    solver: Solver

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """What the solver finds among the rows."""
        space = appraisal.space
        if not isinstance(space, Pool) or len(self.rows) == len(space.points):
            return self.solver.search(appraisal, q, cost)
        return self.solver.search(replace(appraisal, space=Pool.among(space, space.points[self.rows])), q, cost)


def open_rows(
    outcomes: Outcomes, trials: Iterable[Trial], row_of: Rows, measures: Collection[str] = ()
) -> Tensor | None:
    """The positions of a pool's rows that may be asked next (m, maybe none), or None where the space is not a list.

    A row that failed, or was measured without noise (standard error 0), is never asked again. One that is running, or
    was told without a standard error, is asked again only once no other is left. What counts are the outcomes that are
    to be measured, or all of them: a row stays open while one of these is missing.
    """
    space = outcomes.space
    if not isinstance(space, Pool):
        return None
    wanted, trials = set(measures or outcomes.assays.everything), tuple(trials)
    never, later = [], []
    for row, own in _by_row(trials, row_of):
        exact = frozenset().union(*map(outcomes.exact, own))
        if wanted <= exact or any(trial.state is State.FAILED for trial in own):
            never.append(row)
        elif wanted <= exact.union(*map(outcomes.taken, own)):
            later.append(row)
    possible = ~_listed(space, never)
    fresh = possible & ~_listed(space, later)
    return (fresh if bool(fresh.any()) else possible).nonzero()[:, 0]


def _by_row(trials: Iterable[Trial], row_of: Rows) -> list[tuple[Tensor, list[Trial]]]:
    """Designs that were tried, each with its trials."""
    found: dict[tuple[float, ...], tuple[Tensor, list[Trial]]] = {}
    for trial in trials:
        row = row_of(trial)
        found.setdefault(tuple(row.tolist()), (row, []))[1].append(trial)
    return list(found.values())


def why_none_left(outcomes: Outcomes, trials: Sequence[Trial], row_of: Rows) -> str | None:
    """Why no design of a pool may be asked any more; None while there are some."""
    rows = open_rows(outcomes, trials, row_of)
    if rows is None or len(rows):
        return None
    return NONE_LEFT if in_state(trials, State.COMPLETE) else ALL_FAILED


def nothing_to_decide(why: str) -> str:
    """What there is to be said where no design was measured, and none can be."""
    return f"{why}, so nothing can be decided; make a study with other designs"


def _listed(space: Pool, rows: list[Tensor]) -> Tensor:
    """Which rows of the pool are among these: m."""
    if not rows:
        return torch.zeros(len(space.points), dtype=torch.bool)
    return space.index.equal_to_any(torch.stack(rows))


@dataclass(frozen=True)
class PerSuccess(CostModel):
    """Gains count by the chance that none of the designs fails, against their cost.

    The chance at x is (1 + S) / (1 + S + F); S and F add (reach / distance)^4 over trials that succeeded and failed.
    It is one far from failures, and zero at a design that failed unless others succeeded just there.
    """

    space: DesignSpace
    succeeded: Tensor
    failed: Tensor
    cost: Cost | None

    def score(self, gains: Tensor, x: Tensor) -> Tensor:
        """What can be expected of designs b x q x d, against their cost: b."""
        unit = self.space.to_unit(x)
        S, F = (self._nearness(unit, trials) for trials in (self.succeeded, self.failed))
        return per_cost(gains * ((1.0 + S) / (1.0 + S + F)).prod(-1), x, self.cost)

    def _nearness(self, unit: Tensor, trials: Tensor) -> Tensor:
        """The sum over trials of (reach / distance)^4, at designs b x q x d of the unit cube: b x q."""
        if not len(trials):
            return unit.new_zeros(unit.shape[:-1])
        places, reach = self.space.to_unit(trials.to(unit)), FAILURE_REACH**2 * self.space.dim
        parts = []
        for part in unit.reshape(-1, unit.shape[-1]).split(max(1, PAIRS // len(trials))):
            square = (part.unsqueeze(-2) - places).square().sum(-1)
            parts.append((reach / (square + 1e-4 * reach)).square().sum(-1))
        return torch.cat(parts).reshape(unit.shape[:-1])


def cost_per_success(space: DesignSpace, trials: Sequence[Trial], row_of: Rows, cost: Cost | None) -> Cost | None:
    """The cost that steers away from designs that failed; the plain one while nothing has."""

    def designs(state: State) -> Tensor:
        rows = [row_of(trial) for trial in trials if trial.state is state]
        return torch.stack(rows) if rows else torch.empty(0, space.dim, dtype=torch.float64)

    failed = designs(State.FAILED)
    return PerSuccess(space, designs(State.COMPLETE), failed, cost) if len(failed) else cost


NEGLIGIBLE = 1e-5
"""A gain below this share of the scale of the loss is none: models of outcomes are not that exact."""

ROUNDING = 1e-12
"""The share of a loss that is lost to rounding."""

EXACT_DRAWS = 64
EXACT_OUTCOMES = 12
LOOKED_AT = 16
"""This many designs (times 1 + d) of a continuous space are looked at without noise, ..."""
MOST_ROWS = 2_000
"""... and at most this many of a list: those that are known least."""
LOOKED_AT_WELL, DESCENT_STEPS = 4, 8
"""This many of them with a search for the best action after each outcome, of this many steps."""


def is_negligible(gain: float, error: float, scale: float, loss: float) -> bool:
    """Whether a gain with its standard error is none, beside the scale of the loss and the smallest expected loss."""
    return gain + 2.0 * error <= max(NEGLIGIBLE * scale, ROUNDING * abs(loss))


def lost_to_rounding(scale: float) -> float:
    """A gain that is none as far as can be computed, though something is left to gain: above zero, which says more."""
    return max(ROUNDING * scale, sys.float_info.min)


def spread_of(trials: Sequence[Trial], outcome: str, outcomes: Outcomes) -> float:
    """How far values of an outcome are typically apart: of designs not chosen for them, where that is known.

    The median resists outliers, such as penalties; where most values are the same, the standard deviation tells.
    """
    if outcomes.words(outcome):  # what is believed is a probability
        return 0.5
    each = [(outcomes.modelled(outcome, trial), trial.origin) for trial in trials]
    told = [(one.value, origin) for one, origin in each if one is not None]
    if not told:  # it is computed
        return 0.0
    values = torch.tensor([value for value, _ in told], dtype=torch.float64)
    free = torch.tensor([value for value, origin in told if origin != "proposed"], dtype=torch.float64)
    chosen = free if len(free) > 1 else values
    middle = float((chosen - chosen.median()).abs().median())
    return middle if middle > 0 or len(values) < 2 else float(values.std())


def loss_scale(decision: Decision, belief: Belief, space: DesignSpace, action: Any, spreads: Sequence[float]) -> float:
    """How much the loss of an action varies if each outcome varies by its spread at the points of the action.

    Information is counted in nats, whatever f varies by.
    """
    settled, belief = check_fit(decision, belief, space)
    if isinstance(settled, Identify):
        return 1.0
    if not any(spreads) and belief.process is not None:  # all values are the same: what the model takes for scale
        spreads = [float(belief.process.frame.scale)]
    points = torch.as_tensor(settled.points(action)).to(belief.X)
    mean = by_outcome(belief.means(points).mean[0], len(belief.outcomes))  # K, or K x o
    noise = torch.randn(EXACT_DRAWS, *mean.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    apart = torch.tensor(spreads, dtype=torch.float64).to(belief.X)
    f = mean + noise.to(belief.X) * (apart if len(spreads) > 1 else apart[0])
    loss = checked_loss(settled, f, action.expand(len(f), *action.shape) if isinstance(action, Tensor) else action)
    finite = loss[loss.isfinite()]
    scale = float(finite.std()) if len(finite) > 1 else math.nan
    return scale if scale > 0 else max(spreads)


@dataclass(frozen=True)
class Exact:
    """The best design (d) to observe without noise, its gain, and whether all were looked at."""

    x: Tensor
    gain: float
    complete: bool


@torch.no_grad()
def best_without_noise(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    rows: Tensor | None,
    also: Tensor,
    cost: Cost | None,
    seed: int,
    limits: Limits,
    decide_on: DesignSpace | None = None,
    success: Success | None = None,
) -> Exact:
    """The design with the largest gain (per cost) of an observation without noise.

    Of a list, one of the given rows (m x d); of any other space, one that screening finds, or one of `also` (q x d).
    """
    exact = belief.exact()
    appraisal = Appraisal.prepare(
        decision, exact, space, seed=seed, limits=limits, decide_on=decide_on, success=success
    )
    cost = cost if success is None else IfSuccessful(appraisal, cost)
    found = first_designs(appraisal, LOOKED_AT * (1 + space.cube)) if rows is None else _least_known(rows, exact)
    x = torch.cat([found, also]).to(belief.X).unsqueeze(-2) if rows is None else found.to(belief.X).unsqueeze(-2)
    nodes = _far_nodes(exact).to(x)
    gains = appraisal.screen(x, nodes)
    best = per_cost(gains, x, cost).topk(min(LOOKED_AT_WELL, len(x))).indices
    if isinstance(appraisal.search, ContinuousSearch) and appraisal.applicable(1) is None:
        best = torch.cat([best, torch.arange(len(found), len(x))])  # screening values actions that it knows
        gains[best] = torch.cat([appraisal.with_gradient(one, nodes, DESCENT_STEPS) for one in x[best].split(1)])
    best = best[per_cost(gains[best], x[best], cost).argmax()]
    return Exact(x[best, 0], float(gains[best]), not appraisal.clock.expired)


def repeatable(outcomes: Outcomes, trials: Sequence[Trial], row_of: Callable[[Trial], Tensor]) -> Tensor | None:
    """The rows of a list from which another measurement could tell something (m x d): not failed, not known exactly."""
    space, wanted = outcomes.space, set(outcomes.assays.everything)
    if space.points is None:
        return None
    done = [
        row
        for row, own in _by_row(trials, row_of)
        if any(trial.state is State.FAILED for trial in own) or wanted <= frozenset().union(*map(outcomes.exact, own))
    ]
    return space.points[~RowIndex(space.points).equal_to_any(torch.stack(done))] if done else space.points


def _least_known(rows: Tensor, belief: Belief) -> Tensor:
    if len(rows) <= MOST_ROWS:
        return rows
    _, variance = belief.moments(rows, Needs.VARIANCE).total()
    each = variance.unflatten(-1, (-1, len(belief.outcomes)))
    greatest = each.amax(0)
    return rows[(each / torch.where(greatest > 0, greatest, 1.0)).sum(-1).topk(MOST_ROWS).indices]


def _far_nodes(belief: Belief) -> Nodes:
    """One outcome of every component, far into its tails; of many components (drawn functions) one each."""
    H = belief.components
    if belief.process is None and not belief.point_masses:
        return belief.nodes(EXACT_OUTCOMES * min(H, EXACT_OUTCOMES), 1)
    one, weights = gauss_hermite(2), torch.full((H,), 1.0 / H, dtype=torch.float64)
    if belief.process is not None:
        one, weights = gauss_hermite(EXACT_OUTCOMES), belief.process.weights
    middle = weights.cumsum(0) - 0.5 * weights
    return Nodes(
        one.z.repeat(H, 1),
        (weights.cpu().unsqueeze(-1) * one.weights).flatten(),
        middle.cpu().repeat_interleave(one.count),
    )
