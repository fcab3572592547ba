"""What may still be asked: rows of a pool that are worth measuring, and places where experiments do not fail."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.gain import Appraisal
from hentropy.records import State, Trial
from hentropy.solvers import Cost, Finalists, Solver
from hentropy.spaces import DesignSpace, Pool

Rows = Callable[[Trial], Tensor]
"""The design of a trial as a row (d)."""

REACH = 0.1
"""How far a trial tells of success or failure around it: this share of the diagonal of the unit cube."""


@dataclass(frozen=True)
class Among(Solver):
    """A solver that may choose designs among some rows of a pool only; actions still range over all of it."""

    rows: Tensor
    solver: Solver

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """What the solver finds among the rows."""
        return self.solver.search(replace(appraisal, space=Pool(self.rows, appraisal.space.names)), q, cost)


def open_rows(space: DesignSpace, trials: Iterable[Trial], row_of: Rows) -> Tensor | None:
    """The rows of a pool that may be asked next (m x d, maybe none of them), or None where the space is not a list.

    A row that failed, or was measured without noise (standard error 0), is never asked again. One that is running, or
    was told without a standard error, is asked again only once no other is left.
    """
    if space.points is None:
        return None
    never, later = set(), set()
    for trial in trials:
        row = tuple(row_of(trial).tolist())
        if trial.state is State.FAILED or (trial.state is State.COMPLETE and trial.std_error == 0):
            never.add(row)
        elif trial.state is State.RUNNING or (trial.state is State.COMPLETE and trial.std_error is None):
            later.add(row)
    rows = [tuple(row) for row in space.points.tolist()]
    possible = [row for row in rows if row not in never]
    fresh = [row for row in possible if row not in later]
    return torch.tensor(fresh or possible, dtype=torch.float64).reshape(-1, space.dim)


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
        square = (unit.unsqueeze(-2) - self.space.to_unit(trials.to(unit))).square().sum(-1)  # b x q x n
        reach = REACH**2 * self.space.dim
        return (reach / (square + 1e-4 * reach)).square().sum(-1)


def cost_per_success(space: DesignSpace, trials: Sequence[Trial], row_of: Rows, cost: Cost | None) -> Cost | None:
    """The cost that steers away from designs that failed; the plain one while nothing has."""

    def designs(state: State) -> Tensor:
        rows = [row_of(trial) for trial in trials if trial.state is state]
        return torch.stack(rows) if rows else torch.empty(0, space.dim, dtype=torch.float64)

    failed = designs(State.FAILED)
    return PerSuccess(space, designs(State.COMPLETE), failed, cost) if len(failed) else cost
