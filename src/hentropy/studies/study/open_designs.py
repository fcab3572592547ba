"""What may still be asked: rows of a pool that are worth measuring, and places where experiments do not fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Cost, Finalists, Solver
from hentropy.core.spaces import DesignSpace, Pool
from hentropy.studies.records import State, Trial

Rows = Callable[[Trial], Tensor]
"""The design of a trial as a row (d)."""

NONE_LEFT = "every design of the pool has failed or was measured without noise"

PAIRS = 2**18
"""Pairs of a design and a trial that are compared at once."""

REACH = 0.1
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
        return self.solver.search(replace(appraisal, space=Pool(space.points[self.rows], space.names)), q, cost)


def open_rows(space: DesignSpace, trials: Iterable[Trial], row_of: Rows) -> Tensor | None:
    """The positions of a pool's rows that may be asked next (m, maybe none), or None where the space is not a list.

    A row that failed, or was measured without noise (standard error 0), is never asked again. One that is running, or
    was told without a standard error, is asked again only once no other is left.
    """
    if not isinstance(space, Pool):
        return None
    never, later = [], []
    for trial in trials:
        if trial.state is State.FAILED or (trial.state is State.COMPLETE and trial.std_error == 0):
            never.append(row_of(trial))
        elif trial.state is State.RUNNING or (trial.state is State.COMPLETE and trial.std_error is None):
            later.append(row_of(trial))
    possible = ~_listed(space, never)
    fresh = possible & ~_listed(space, later)
    return (fresh if bool(fresh.any()) else possible).nonzero()[:, 0]


def _listed(space: Pool, rows: list[Tensor]) -> Tensor:
    """Which rows of the pool are among these: m."""
    if not rows:
        return torch.zeros(len(space.points), dtype=torch.bool)
    return space.index.equal_to_any(torch.stack(rows))


@dataclass(frozen=True)
class PerSuccess:
    """The cost of a set of designs for one outcome that can be used: its cost over the chance that none fails.

    The chance at x is (1 + S) / (1 + S + F); S and F add (reach / distance)^4 over trials that succeeded and failed.
    It is one far from failures, and zero at a design that failed unless others succeeded just there.
    """

    space: DesignSpace
    succeeded: Tensor
    failed: Tensor
    cost: Cost | None

    def __call__(self, x: Tensor) -> Tensor:
        """Designs b x q x d: b."""
        unit = self.space.to_unit(x)
        S, F = (self._nearness(unit, trials) for trials in (self.succeeded, self.failed))
        dearer = ((1.0 + S + F) / (1.0 + S)).prod(-1)
        return dearer if self.cost is None else dearer * self.cost(x)

    def _nearness(self, unit: Tensor, trials: Tensor) -> Tensor:
        """The sum over trials of (reach / distance)^4, at designs b x q x d of the unit cube: b x q."""
        if not len(trials):
            return unit.new_zeros(unit.shape[:-1])
        places, reach = self.space.to_unit(trials.to(unit)), REACH**2 * self.space.dim
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
