"""`Study`: designs asked, values told, and the decision so far (Algorithm 1), in memory.

What a study proposes and decides is a function of its options, its seed and its records alone: the model is fitted anew
to all values whenever there are more, never from where the last fit ended. A study rebuilt from its records goes on as
if it had never stopped.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Needs
from hentropy.clock import Limits
from hentropy.decisions import Decision, Listed, Points
from hentropy.entropy import Entropy, entropy
from hentropy.errors import InputError, StudyError
from hentropy.models import fit
from hentropy.records import State, Trial, Value, Verdict
from hentropy.solvers import Auto, Cost, Proposal, Solver, propose
from hentropy.spaces import DesignSpace, Params
from hentropy.stopping import Standing, StoppingRule
from hentropy.study.checks import check_options, checked_record, checked_value, is_count, standard_errors
from hentropy.study.openings import Among, cost_per_success, open_rows
from hentropy.study.table import trials_table

if TYPE_CHECKING:
    import pandas

NONE_LEFT = "every design of the pool has failed or was measured without noise"


class Study:
    """Ask for designs, tell values, decide.

    `first` designs fill the space before the model is trusted (default: 2 (d + 1), at least 4). `hyperparameters` is
    "auto", "map" or "mixture", as in `fit`. `cost` maps designs b x q x d to costs b. `stop` are stopping rules.
    `max_seconds` and `max_memory` bound each proposal; with the former, proposals depend on the speed of the machine.
    `records` are those of an earlier study with the same options, which this one continues.
    """

    def __init__(
        self,
        space: DesignSpace,
        decision: Decision,
        *,
        seed: int = 0,
        first: int | None = None,
        hyperparameters: str = "auto",
        solver: Solver | None = None,
        cost: Cost | None = None,
        stop: Sequence[StoppingRule] = (),
        max_seconds: float | None = None,
        max_memory: int | None = None,
        records: Iterable[Trial] = (),
    ) -> None:
        check_options(space, decision, seed, first, hyperparameters, stop)
        decision.within(space)
        self.space = space
        self.decision = decision
        self.seed = seed
        self.first = max(4, 2 * (space.dim + 1)) if first is None else int(first)
        self.stop = tuple(stop)
        self._hyperparameters = hyperparameters
        self._solver = Auto() if solver is None else solver
        self._cost = cost
        self._limits = Limits(max_seconds, max_memory)
        self._trials: dict[int, Trial] = {}
        self._start = time.monotonic()
        self._fitted: tuple[tuple[Trial, ...], Belief] | None = None
        for number, trial in enumerate(records):
            self._add([checked_record(trial, number, space)])

    @property
    def records(self) -> tuple[Trial, ...]:
        """All trials in the order of their numbers."""
        return tuple(self._trials.values())

    @property
    def trials(self) -> "pandas.DataFrame":
        """All trials as a pandas DataFrame; a parameter called as another column, say "value", is in "param_value"."""
        return trials_table(self.records, self.space.names)

    def ask(self) -> Trial:
        """The next experiment to run. Designs asked before and not yet told are taken into account."""
        return self.ask_many(1)[0]

    def ask_many(self, count: int) -> list[Trial]:
        """The next experiments to run side by side, chosen jointly once the first designs are out.

        Each is credited with an equal share of their joint gain. A pool with fewer designs left gives fewer.
        """
        if not is_count(count):
            raise InputError(f"count must be a whole number of at least 1, got {count!r}")
        begun = sum(trial.state in (State.RUNNING, State.COMPLETE) for trial in self.records)
        # while nothing is known, more designs that fill the space are the best that can be said
        filling = min(count, max(0, self.first - begun)) if self._complete else count
        designs = self._filling(filling)
        trials = [Trial(len(self._trials) + i, params, origin="first") for i, params in enumerate(designs)]
        if count > len(trials) and (self._complete or not trials):
            trials += self._proposed(count - len(trials), trials)
        return self._add(trials)

    def _filling(self, count: int) -> list[Params]:
        """The next designs that fill the space and were not tried: at most count, fewer where it has no more."""
        tried = {tuple(self.space.encode(trial.params).tolist()) for trial in self.records}
        fresh: list[Params] = []
        for row in self.space.sample(self.first + len(self._trials) + count, self.seed) if count else ():
            if len(fresh) < count and tuple(row.tolist()) not in tried:
                tried.add(tuple(row.tolist()))
                fresh.append(self.space.decode(row))
        return fresh

    def _proposed(self, count: int, before: Sequence[Trial]) -> list[Trial]:
        proposal = self._propose(count, before)
        share = len(proposal.params)
        first = len(self._trials) + len(before)
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

    def propose(self, count: int = 1) -> Proposal:
        """What `ask` would ask once the first designs are out, with its gain and outlook, without asking it."""
        return self._propose(count, ())

    def _propose(self, count: int, before: Sequence[Trial]) -> Proposal:
        trials = (*self.records, *before)
        solver = self._solver
        rows = open_rows(self.space, trials)
        if rows is not None:
            if not len(rows):
                raise StudyError(f"{NONE_LEFT}: decide, or make a study with a larger pool")
            solver, count = Among(rows, solver), min(count, len(rows))
        waiting = [self.space.encode(trial.params) for trial in trials if trial.state is State.RUNNING]
        return propose(
            self.decision,
            self.belief,
            self.space,
            q=count,
            seed=self.seed + 1000 * len(trials),
            pending=torch.stack(waiting) if waiting else None,
            solver=solver,
            cost=cost_per_success(self.space, trials, self._cost),
            max_seconds=self._limits.max_seconds,
            max_memory=self._limits.max_memory,
        )

    def tell(
        self, trial: Trial | int, value: Value | None = None, *, failed: str | None = None, replace_value: bool = False
    ) -> Trial:
        """Record what came of a trial: a number, (value, standard error), or failed="why".

        Telling the same value twice is harmless; another value is refused unless replace_value is set.
        """
        old = self._find(trial)
        if (value is None) == (failed is None):
            raise StudyError(f"tell trial {old.number} either a value or failed='why', not both and not neither")
        if failed is not None:
            new = replace(old, state=State.FAILED, note=str(failed), value=None, std_error=None)
        else:
            number_told, error = checked_value(value)
            new = replace(old, state=State.COMPLETE, value=number_told, std_error=error)
        if old.state in (State.COMPLETE, State.FAILED) and not replace_value:
            if (old.state, old.value, old.std_error) == (new.state, new.value, new.std_error):
                return old
            was = f"value {old.value:g}" if old.state is State.COMPLETE else f"failed ({old.note})"
            raise StudyError(f"trial {old.number} was told already: {was}; pass replace_value=True to correct it")
        self._trials[old.number] = new
        return new

    def withdraw(self, trial: Trial | int, note: str = "") -> Trial:
        """Take back a trial that will not be run after all: it is no longer waited for, and counts for nothing."""
        old = self._find(trial)
        if old.state is not State.RUNNING:
            raise StudyError(f"trial {old.number} is {old.state.value}; only a running one can be withdrawn")
        self._trials[old.number] = replace(old, state=State.WITHDRAWN, note=note)
        return self._trials[old.number]

    def _find(self, trial: Trial | int) -> Trial:
        number = trial.number if isinstance(trial, Trial) else trial
        if not isinstance(number, int) or number not in self._trials:
            known = f"0 to {len(self._trials) - 1}" if self._trials else "none yet"
            raise StudyError(f"trial {number!r} was never asked in this study (trials: {known})")
        known_trial = self._trials[number]
        if isinstance(trial, Trial) and trial.params != known_trial.params:
            raise StudyError(
                f"trial {number} of this study has the design {known_trial.params}, not {trial.params};"
                " it seems to come from another study"
            )
        return known_trial

    def attach(self, params: Mapping[str, Any], value: Value) -> Trial:
        """Add data that was there before."""
        design = self.space.decode(self.space.encode(params))
        number_told, error = checked_value(value)
        trial = Trial(len(self._trials), design, State.COMPLETE, number_told, error, origin="attached")
        return self._add([trial])[0]

    def _add(self, trials: list[Trial]) -> list[Trial]:
        self._trials.update({trial.number: trial for trial in trials})
        return trials

    @property
    def _complete(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.records if trial.state is State.COMPLETE)

    @property
    def belief(self) -> Belief:
        """What is known now, fitted to all values told so far (and kept until there are more)."""
        complete = self._complete
        if not complete:
            raise StudyError("nothing has been told yet, so nothing is known: ask a design, run it, tell its value")
        if self._fitted is None or self._fitted[0] != complete:
            X = torch.stack([self.space.encode(trial.params) for trial in complete])
            Y = torch.tensor([trial.value for trial in complete], dtype=torch.float64)
            treatment: Any = self._hyperparameters
            noise = standard_errors(complete)
            belief = fit(X, Y, space=self.space, noise=noise, hyperparameters=treatment, seed=self.seed)
            self._fitted = (complete, belief)
        return self._fitted[1]

    def decide(self) -> Verdict:
        """What would be decided now."""
        belief = self.belief
        found = entropy(self.decision, belief, self.space, seed=self.seed)
        return Verdict(
            action=self._rows(found, belief),
            expected_loss=found.value,
            std_error=found.std_error,
            decision=repr(self.decision),
            observations=len(self._complete),
            raw=found.action,
        )

    def _rows(self, found: Entropy, belief: Belief) -> list[dict[str, Any]]:
        """The action as rows for a person; designs with what is known of their values."""
        rows: list[Params] = found.decision.describe(found.action, self.space)
        designs = isinstance(found.decision.actions, Points | Listed) and isinstance(found.action, Tensor)
        if not designs or len(rows) != found.action.shape[0]:
            return rows
        mean, var = belief.moments(found.action, Needs.VARIANCE).total()
        spread = var.clamp_min(0.0).sqrt()
        labels = [f"{label} of f" if label in rows[0] else label for label in ("mean", "sd")]
        return [
            {**row, **dict(zip(labels, known, strict=True))}
            for row, *known in zip(rows, mean.tolist(), spread.tolist(), strict=True)
        ]

    @property
    def stopped(self) -> str | None:
        """Why the study should stop now, by its rules or because nothing is left to ask; None while it should go on."""
        ended = sum(t.state in (State.COMPLETE, State.FAILED) and t.origin != "attached" for t in self.records)
        gains = tuple(trial.gain for trial in self.records if trial.gain is not None)
        standing = Standing(ended, time.monotonic() - self._start, gains)
        reasons = [rule.reason(standing) for rule in self.stop]
        rows = open_rows(self.space, self.records)
        if rows is not None and not len(rows):
            reasons.append(NONE_LEFT)
        return next((reason for reason in reasons if reason), None)

    def __repr__(self) -> str:
        states = [trial.state for trial in self.records]
        counts = ", ".join(f"{states.count(state)} {state.value}" for state in State if state in states)
        return f"Study({self.decision!r}; {counts or 'no trials yet'})"
