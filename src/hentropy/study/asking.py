"""What to ask next: designs that fill the space first, then those with the greatest gain."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from hentropy.beliefs import Belief
from hentropy.clock import Limits
from hentropy.decisions import Decision
from hentropy.errors import StudyError
from hentropy.records import State, Trial
from hentropy.solvers import Cost, Proposal, Solver, propose
from hentropy.spaces import DesignSpace, Params
from hentropy.study.book import Book, in_state
from hentropy.study.openings import Among, cost_per_success, open_rows

NONE_LEFT = "every design of the pool has failed or was measured without noise"


def first_left(first: int, trials: Iterable[Trial]) -> int:
    """How many of the first designs are still to be asked: all that is measured or running counts, attached or asked.

    One that failed or was withdrawn is made up for.
    """
    return max(0, first - len(in_state(trials, State.RUNNING, State.COMPLETE)))


@dataclass(frozen=True)
class Asker:
    """Chooses the next trials of a study: a function of its options, its seed and its book alone."""

    book: Book
    belief: Callable[[], Belief]
    space: DesignSpace
    decision: Decision
    seed: int
    first: int
    solver: Solver
    cost: Cost | None
    limits: Limits

    def next(self, count: int) -> list[Trial]:
        """What to ask next, by what the book says: at most count, fewer where a pool has no more."""
        trials = self.book.trials
        # while nothing is known, more designs that fill the space are the best that can be said
        known = bool(in_state(trials, State.COMPLETE))
        filling = min(count, first_left(self.first, trials)) if known else count
        designs = self._filling(filling)
        made = [Trial(len(trials) + i, params, origin="first") for i, params in enumerate(designs)]
        if count > len(made) and (known or not made):
            made += self._proposed(count - len(made), made)
        return made

    def _filling(self, count: int) -> list[Params]:
        """The next designs that fill the space and were not tried: at most count, fewer where it has no more."""
        begun = len(self.book.entries)
        most = self.first + begun + count
        # designs of a box come in one sequence: its beginning does, unless whole numbers repeat in it
        for size in (most,) if self.space.points is not None else (begun + count, most):
            fresh = self._fresh(size, count) if count else []
            if len(fresh) == count:
                break
        return fresh

    def _fresh(self, size: int, count: int) -> list[Params]:
        """The first designs that were not tried, among the first so many that fill the space."""
        sample = self.space.sample(size, self.seed)
        found: dict[tuple[float, ...], int] = {}
        for position, values in enumerate(map(tuple, sample.tolist())):
            if len(found) == count:
                break
            if values not in self.book.tried:
                found.setdefault(values, position)
        return [self.space.decode(sample[position]) for position in found.values()]

    def _proposed(self, count: int, before: Sequence[Trial]) -> list[Trial]:
        proposal = self.propose(count, before)
        share = len(proposal.params)
        first = len(self.book.entries) + len(before)
        return [
            Trial(
                first + i,
                params,
                gain=proposal.gain / share,
                gain_error=proposal.std_error / share,
                entropy=proposal.entropy,
                note=proposal.note,
            )
            for i, params in enumerate(proposal.params)
        ]

    def propose(self, count: int, before: Sequence[Trial] = ()) -> Proposal:
        """The best designs to run side by side, knowing those that run and those just chosen `before` them."""
        trials = (*self.book.trials, *before)
        solver = self.solver
        rows = open_rows(self.space, trials, self.book.row)
        if rows is not None:
            if not len(rows):
                raise StudyError(f"{NONE_LEFT}: decide, or make a study with a larger pool")
            solver, count = Among(rows, solver), min(count, len(rows))
        waiting = [self.book.row(trial) for trial in in_state(trials, State.RUNNING)]
        return propose(
            self.decision,
            self.belief(),
            self.space,
            q=count,
            seed=self.seed + 1000 * len(trials),
            pending=torch.stack(waiting) if waiting else None,
            solver=solver,
            cost=cost_per_success(self.space, trials, self.book.row, self.cost),
            max_seconds=self.limits.max_seconds,
            max_memory=self.limits.max_memory,
        )
