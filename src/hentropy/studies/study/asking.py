"""What to ask next: designs that fill the space first, then those with the greatest gain."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision
from hentropy.core.gain import gain
from hentropy.core.solvers import Cost, Proposal, Solver, propose
from hentropy.core.spaces import DesignSpace, Params
from hentropy.errors import StudyError
from hentropy.studies.records import State, Trial
from hentropy.studies.records.numbers import short
from hentropy.studies.setting import Costs
from hentropy.studies.study.left_to_ask import (
    NONE_LEFT,
    Among,
    Exact,
    best_without_noise,
    cost_per_success,
    is_negligible,
    loss_scale,
    lost_to_rounding,
    open_rows,
    repeatable,
    spread_of,
)
from hentropy.studies.study.rules import NOTHING_LEFT, in_state
from hentropy.studies.study.trial_log import TrialLog


@dataclass(frozen=True)
class Asker:
    """Chooses the next trials of a study: a function of its options, its seed and its log alone."""

    log: TrialLog
    belief: Callable[[], Belief]
    decision: Decision
    seed: int
    solver: Solver
    costs: Costs
    limits: Limits
    decide_on: DesignSpace

    def next(self, count: int) -> list[Trial]:
        """What to ask next, by what the log says: at most count, fewer where a pool has no more."""
        trials = self.log.trials
        # while nothing is known, more designs that fill the space are the best that can be said
        known = bool(in_state(trials, State.COMPLETE))
        # designs that share values are all chosen in one way
        left = count if self.log.first_left and self.log.space.same_in_batch else self.log.first_left
        filling = min(count, left) if known else count
        designs = self._filling(filling)
        made = [Trial(len(trials) + i, params, origin="first") for i, params in enumerate(designs)]
        if count > len(made) and (known or not made):
            made += self._proposed(count - len(made), made)
        if self.costs.stated is None:
            return made
        expected = self.costs.expected([self.log.space.encode(trial.params) for trial in made], trials, self.log.row)
        return [replace(trial, expected_cost=cost) for trial, cost in zip(made, expected, strict=True)]

    def _filling(self, count: int) -> list[Params]:
        """The next designs that fill the space and were not tried: at most count, fewer where it has no more."""
        if not count:
            return []
        if self.log.space.compares_options or self.log.space.same_in_batch:
            return self._filling_options(count)
        begun = len(self.log.entries)
        most = self.log.first + begun + count
        # designs of a box come in one sequence: its beginning does, unless whole numbers repeat in it
        for size in (most,) if self.log.space.points is not None else (begun + count, most):
            fresh = self._fresh(size, count)
            if len(fresh) == count:
                break
        return fresh

    def _filling_options(self, count: int) -> list[Params]:
        """The next designs that fill a space with options, which take turns over all trials so far."""
        space = self.log.space
        rows = [self.log.row(trial) for trial in self.log.trials]
        known = torch.stack(rows) if rows else space.bounds[:0]
        found = space.spread(1 if space.same_in_batch else count, self.seed, known)
        if space.same_in_batch and count > 1 and len(found):
            others = space.plate(found[0]).spread(count - 1, self.seed, torch.cat([known, found]))
            found = torch.cat([found, others])
        return [space.decode(row) for row in found]

    def _fresh(self, size: int, count: int) -> list[Params]:
        """The first designs that were not tried, among the first so many that fill the space."""
        sample = self.log.space.sample(size, self.seed)
        found: dict[tuple[float, ...], int] = {}
        for position, values in enumerate(self.log.places(sample)):
            if len(found) == count:
                break
            if values not in self.log.tried:
                found.setdefault(values, position)
        return [self.log.space.decode(sample[position]) for position in found.values()]

    def _proposed(self, count: int, before: Sequence[Trial]) -> list[Trial]:
        proposal = self._worth(self.propose(count, before), before)
        share = len(proposal.params)
        first = len(self.log.entries) + len(before)
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

    def _worth(self, proposal: Proposal, before: Sequence[Trial]) -> Proposal:
        """The proposal itself; with a gain of zero if nothing is left to gain; or a better one where noise hides gains.

        A gain is zero for this reason alone, so that those who only read the records know.
        """
        trials = (*self.log.trials, *before)
        belief, known = self.belief(), in_state(trials, State.COMPLETE)
        scale = loss_scale(self.decision, belief, self.decide_on, proposal.action, spread_of(known))
        least = lost_to_rounding(scale)
        negligible = is_negligible(proposal.gain, proposal.std_error, scale, proposal.entropy)
        if not (negligible and proposal.complete) or len(known) < self.log.first:
            return proposal if proposal.gain else replace(proposal, gain=least)
        waiting = self._waiting(trials)
        exact = self._without_noise(belief, trials, proposal.x)
        if exact.complete and is_negligible(exact.gain, 0.0, scale, proposal.entropy):
            return replace(proposal, gain=0.0, std_error=0.0, note=NOTHING_LEFT)
        if len(proposal.params) > 1 or not exact.complete:
            return replace(proposal, gain=max(proposal.gain, least))
        one = gain(
            self.decision,
            belief,
            exact.x.unsqueeze(0),
            self.log.space,
            pending=waiting,
            seed=self.seed,
            decide_on=self.decide_on,
        )
        return replace(
            proposal,
            x=exact.x.unsqueeze(0),
            params=[self.log.space.decode(exact.x)],
            gain=max(float(one.value), least),
            std_error=float(one.std_error),
            note=f"one measurement is expected to gain almost nothing; an exact one would gain {short(exact.gain)}",
        )

    def _without_noise(self, belief: Belief, trials: Sequence[Trial], also: Tensor) -> Exact:
        """The best design to observe without noise, once those that run have brought what is expected of them."""
        waiting = self._waiting(trials)
        if waiting is not None:
            moments = belief.moments(waiting, Needs.MEAN)
            belief = belief.condition(waiting, moments.expect_vector(moments.mean))
        rows = repeatable(self.log.space, trials, self.log.row)
        cost = self._outlay(trials)
        seed = self.seed + 1000 * len(trials) + 500
        return best_without_noise(
            self.decision, belief, self.log.space, rows, also, cost, seed, self.limits, self.decide_on
        )

    def _outlay(self, trials: Sequence[Trial]) -> Cost | None:
        """How costs and failures count."""
        cost = None if self.costs.stated is None else self.costs.outlay(trials, self.log.row)
        return cost_per_success(self.log.space, trials, self.log.row, cost)

    def _waiting(self, trials: Iterable[Trial]) -> Tensor | None:
        """The designs whose outcomes are still to come: p x d."""
        rows = [self.log.row(trial) for trial in in_state(trials, State.RUNNING)]
        return torch.stack(rows) if rows else None

    def propose(self, count: int, before: Sequence[Trial] = ()) -> Proposal:
        """The best designs to run side by side, knowing those that run and those just chosen `before` them."""
        trials = (*self.log.trials, *before)
        solver = self.solver
        rows = open_rows(self.log.space, trials, self.log.row)
        if rows is not None:
            if not len(rows):
                raise StudyError(f"{NONE_LEFT}: decide, or make a study with a larger pool")
            solver, count = Among(rows, solver), min(count, len(rows))
        return propose(
            self.decision,
            self.belief(),
            self.log.space,
            q=count,
            seed=self.seed + 1000 * len(trials),
            pending=self._waiting(trials),
            solver=solver,
            cost=self._outlay(trials),
            max_seconds=self.limits.max_seconds,
            max_memory=self.limits.max_memory,
            decide_on=self.decide_on,
        )
