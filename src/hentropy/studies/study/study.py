"""`Study`: designs asked, values told, and the decision so far (Algorithm 1), in memory or in a store.

What a study proposes and decides is a function of its options, its seed and its records alone: the model
is fitted anew to all values whenever there are more, never from where the last fit ended. A study rebuilt from its
records goes on as if it had never stopped. In a store, several processes share it: each call begins by reading what is
new.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision
from hentropy.core.entropy import Entropy, entropy
from hentropy.core.given import check_at_once
from hentropy.core.models import fit
from hentropy.core.solvers import Auto, Proposal, Solver
from hentropy.core.spaces import DesignSpace, Params
from hentropy.core.spaces.constraints import Condition
from hentropy.errors import Advice, Outdated, StudyError
from hentropy.studies.records import State, Trial, Value, Verdict
from hentropy.studies.setting import Costs, setting
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.storage import MemoryStore, Store, open_store
from hentropy.studies.study.asking import Asker
from hentropy.studies.study.keeping import StudyParts, enrolled, number_of_first
from hentropy.studies.study.rules import NOTHING_LEFT, checked_record, in_state, space_notes, spent_on
from hentropy.studies.study.tables import study_html, trials_table
from hentropy.studies.study.trial_log import TrialLog
from hentropy.studies.study.words import LocatedDescription, check_options

if TYPE_CHECKING:
    import pandas

KEPT_ROWS = 200
"""How many rows of an action are recorded with a verdict: of a long list the first ones."""


class Study:
    """Ask for designs, tell values, decide.

    `first` designs fill the space before the model chooses (default: 2 (d + 1) for d parameters, at least 4 and at most
    12). Measurements that were attached or told count towards it, whether you give it or not: with `first=12` and ten
    attached, two more fill the space; `first_left` says how many are still to come. `hyperparameters` is "auto", "map"
    or "mixture", as in `fit`. `decide_on` says where the decision may lie, if not anywhere in the space: another space
    or a pool with the same parameters, or values that are fixed, such as {"fidelity": 1.0}. `cost` is what experiments
    cost: a number, an expression such as "2 + 0.1 * minutes + price[ligand]", "told" if each result comes with its
    cost, or a function from designs b x q x d to costs b; experiments are chosen by their gain per cost, or with a
    `price` of a unit of cost, in units of the loss, by gain less price times cost. `stop` are stopping rules.
    Without any, and beside them, a study also stops when no experiment is expected to improve the decision any more,
    unless `stop_when_exhausted` is False.
    `max_seconds` and `max_memory` bound each proposal; with the former, proposals depend on the speed of the machine.
    `records` are those of an earlier study with the same options, which this one continues. With `storage`, a URL such
    as "sqlite:///lab.db" or "postgresql://host/database", the study of that `name` is kept there, and goes on from
    there if it exists; other processes may ask and tell in it at the same time.
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
        decide_on: DesignSpace | Mapping[str, Any] | None = None,
        cost: Any = None,
        price: float | None = None,
        stop: Sequence[StoppingRule] = (),
        max_seconds: float | None = None,
        max_memory: int | None = None,
        records: Iterable[Trial] = (),
        storage: str | Path | Store | None = None,
        name: str = "study",
        stop_when_exhausted: bool = True,
    ) -> None:
        check_options(space, decision, seed, first, hyperparameters, stop)
        space, self.decide_on = setting(space, decide_on)
        decision.within(self.decide_on)
        self.costs = Costs.of(cost, price, space)
        self.space = space
        self.decision = decision
        self.seed = seed
        self.stop = tuple(stop)
        self._hyperparameters = hyperparameters
        limits = Limits(max_seconds, max_memory)
        self._start = time.monotonic()
        self._fitted: tuple[tuple[Trial, ...], Belief] | None = None
        self._verdict: Verdict | None = None
        self.store = MemoryStore() if storage is None else open_store(storage)
        self.first = number_of_first(first, space, self.store.find(name))
        self.options = StudyParts(
            name,
            space,
            decision,
            seed,
            self.first,
            hyperparameters,
            self.stop,
            limits,
            solver,
            self.costs,
            None if self.decide_on is space else self.decide_on,
            stop_when_exhausted,
        )
        record, new = enrolled(self.options, self.store, in_memory=storage is None)
        self.log = TrialLog(
            self.store,
            record,
            space,
            first=self.first,
            stop=self.stop,
            stop_when_exhausted=stop_when_exhausted,
        )
        self.log.sync()
        solver = Auto() if solver is None else solver
        self._asker = Asker(self.log, lambda: self._belief, decision, seed, solver, self.costs, limits, self.decide_on)
        earlier = [checked_record(trial, number, space) for number, trial in enumerate(records)]
        if earlier and not new:
            raise StudyError(f"the study {name!r} is in {self.store.place} already; records are for a new one")
        if earlier:
            self.log.add(earlier)

    @classmethod
    def from_file(cls, path: str | Path, *, storage: str | Path | Store | None = None) -> "Study":
        """The study that a file describes, kept where the file says, or in `storage`.

        A decision of one's own, `python = "module:Class"`, is imported: this runs code.
        """
        words = LocatedDescription.read(Path(path))
        study = cls(**words.options(trusted=True), storage=words.place if storage is None else storage)
        study.log.record = words.with_objective(study.store, study.log.record)
        return study

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self.log.record.name

    @property
    def records(self) -> tuple[Trial, ...]:
        """All trials in the order of their numbers."""
        self.log.sync()
        return self.log.trials

    @property
    def trials(self) -> "pandas.DataFrame":
        """All trials as a pandas DataFrame; a parameter called as another column, say "value", is in "param_value"."""
        return trials_table(self.records, self.space.names)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the decision, the space and attached data, in sentences; mostly nothing."""
        return (*self.decision.notes(self.decide_on), *space_notes(self.space), *self.log.notes)

    @property
    def spent(self) -> float:
        """What the trials that have ended cost, as far as it is known."""
        return spent_on(self.records)

    @property
    def first_left(self) -> int:
        """How many of the first designs, which fill the space, are still to be asked."""
        self.log.sync()
        return self.log.first_left

    def ask(self) -> Trial:
        """The next experiment to run. Designs asked before and not yet told are taken into account."""
        return self.ask_many(1)[0]

    def ask_many(self, count: int) -> list[Trial]:
        """The next experiments to run side by side, chosen jointly once the first designs are out.

        Each is credited with an equal share of their joint gain. A pool with fewer designs left gives fewer.
        """
        return self._ask(count, within_rules=False)

    def ask_within_rules(self, count: int) -> list[Trial]:
        """As `ask_many`, but no more than the rules of the study allow: fewer, or none once it has enough.

        The rules are looked at while nobody else can ask. What finds nothing left to gain is withdrawn at once.
        """
        trials = self._ask(count, within_rules=True)
        if not self.exhausted:
            return trials
        for trial in trials:
            if trial.gain == 0:
                self.withdraw(trial, note=f"not run: {NOTHING_LEFT}")
        return [trial for trial in trials if trial.gain != 0]

    def _ask(self, count: int, within_rules: bool) -> list[Trial]:
        check_at_once("count", count)
        with self.store.asking(self.log.record) as turn:
            while True:
                self.log.sync()
                if within_rules:
                    count = 0 if self.enough else int(min(count, self.log.trials_left))
                try:
                    asked = self.log.add(self._asker.next(count), turn=turn) if count else []
                    return [entry.trial for entry in asked]
                except Outdated:  # data were attached meanwhile
                    continue

    def begin(self, owner: str, lease: float) -> Trial | None:
        """The next experiment for a worker, its own for `lease` seconds, unless enough have begun: see `enough`.

        One that turns out not to be worth its while, by the rules, is withdrawn at once, and nothing begins.
        """
        with self.store.asking(self.log.record) as turn:
            while not self.enough:
                try:
                    [trial] = (entry.trial for entry in self.log.add(self._asker.next(1), owner, lease, turn))
                except Outdated:  # data were attached meanwhile
                    continue
                reason = self.stopped
                if reason is None:
                    return trial
                self.withdraw(trial, note=f"not run: {reason}")
            return None

    def propose(self, count: int = 1) -> Proposal:
        """What `ask` would ask once the first designs are out, with its gain and outlook, without asking it."""
        self.log.sync()
        return self._asker.propose(count)

    def tell(
        self,
        trial: Trial | int,
        value: Value | None = None,
        *,
        failed: str | None = None,
        note: str | None = None,
        replace_value: bool = False,
        cost: float | None = None,
    ) -> Trial:
        """Record what came of a trial: a number, (value, standard error), or failed="why"; and what it cost, if known.

        Telling the same value twice is harmless; another value is refused unless replace_value is set, and the earlier
        one stays in the history.
        """
        told = self.log.tell(trial, value, failed=failed, note=note, replace_value=replace_value, cost=cost)
        return told.trial

    def withdraw(self, trial: Trial | int, note: str = "") -> Trial:
        """Take back a trial that will not be run after all: it is no longer waited for, and counts for nothing."""
        return self.log.withdraw(trial, note).trial

    def attach(self, params: Mapping[str, Any], value: Value) -> Trial:
        """Add data that was there before."""
        return self.attach_many([(params, value)])[0]

    def attach_many(self, data: Iterable[tuple[Mapping[str, Any], Value]]) -> list[Trial]:
        """Add many data that were there before: all of them, or none if one of them cannot be used."""
        return [entry.trial for entry in self.log.attach(data)]

    @property
    def belief(self) -> Belief:
        """What is known now, fitted to all values told so far (and kept until there are more)."""
        self.log.sync()
        return self._belief

    @property
    def _belief(self) -> Belief:
        complete = in_state(self.log.trials, State.COMPLETE)
        if not complete:
            raise StudyError("nothing has been told yet, so nothing is known", Advice.ASK_AND_TELL, between=": ")
        if self._fitted is None or self._fitted[0] != complete:
            X = torch.stack([self.log.row(trial) for trial in complete])
            Y = torch.tensor([trial.value for trial in complete], dtype=torch.float64)
            treatment: Any = self._hyperparameters
            noise = _standard_errors(complete)
            belief = fit(X, Y, space=self.space, noise=noise, hyperparameters=treatment, seed=self.seed)
            self._fitted = (complete, belief)
        return self._fitted[1]

    def decide(self) -> Verdict:
        """What would be decided now; a verdict that differs from the last one is recorded."""
        belief = self.belief
        found = entropy(self.decision, belief, self.decide_on, seed=self.seed)
        verdict = Verdict(
            action=self._rows(found, belief),
            expected_loss=found.value,
            std_error=found.std_error,
            decision=repr(self.decision),
            observations=len(in_state(self.log.trials, State.COMPLETE)),
            raw=found.action,
            units={field.name: field.unit for field in self.space.fields if field.unit},
        )
        self._keep(verdict)
        return verdict

    def _last_verdict(self) -> Verdict | None:
        if self._verdict is None:
            earlier = self.store.verdicts(self.log.record)
            self._verdict = earlier[-1].verdict if earlier else None
        return self._verdict

    def _keep(self, verdict: Verdict) -> None:
        """Record a verdict, unless the last one recorded said the same."""
        kept = replace(verdict, action=verdict.action[:KEPT_ROWS], raw=None)
        if kept != self._last_verdict() and math.isfinite(kept.expected_loss):
            self.store.keep(self.log.record, kept)
            self._verdict = kept

    def _rows(self, found: Entropy, belief: Belief) -> list[dict[str, Any]]:
        """The action as rows for a person; designs with what is known of their values."""
        rows: list[Params] = found.decision.describe(found.action, self.decide_on)
        designs = found.decision.actions.of_designs and isinstance(found.action, Tensor)
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
        return self._reason(running=False)

    @property
    def enough(self) -> str | None:
        """Why no further experiment should begin: as `stopped`, with those that run counted as if they had ended."""
        return self._reason(running=True)

    def _reason(self, running: bool) -> str | None:
        self.log.sync()
        return self.log.stopped(running=running, seconds=time.monotonic() - self._start)

    @property
    def exhausted(self) -> bool:
        """Whether the study stops because the last proposal found nothing left to gain, and nothing was told since."""
        self.log.sync()
        return self.log.exhausted

    def close(self) -> None:
        """Let go of the store's files and connections."""
        self.store.close()

    def __repr__(self) -> str:
        states = [trial.state for trial in self.records]
        counts = ", ".join(f"{states.count(state)} {state.value}" for state in State if state in states)
        return f"Study({self.decision!r}; {counts or 'no trials yet'})"

    def _repr_html_(self) -> str:
        titles = {field.name: field.title for field in self.space.fields}
        return study_html(self.name, repr(self.decision), self.records, self.store.verdicts(self.log.record), titles)


def _standard_errors(trials: Sequence[Trial]) -> Tensor | None:
    """Standard errors of the values (n); where only some were told, the others get the median of those."""
    told = [trial.std_error for trial in trials if trial.std_error is not None]
    if not told:
        return None
    middle = sorted(told)[len(told) // 2]
    errors = [middle if trial.std_error is None else trial.std_error for trial in trials]
    return torch.tensor(errors, dtype=torch.float64)


def load_study(
    name: str,
    storage: str | Path | Store,
    *,
    decision: Decision | None = None,
    solver: Solver | None = None,
    cost: Any = None,
    stop: Sequence[StoppingRule] | None = None,
    where: Sequence[Condition] | None = None,
    trusted: bool = False,
    folder: str | Path = ".",
) -> Study:
    """The study with this name in a store, ready to go on.

    Parts that were made in Python and have no words (a decision of one's own, a solver, a cost, a rule, conditions with
    functions among them) must be given again. A decision that is recorded as `module:Class` is imported only if
    `trusted`, with modules from `folder`: who may write into the store could otherwise have code run here.
    """
    store = open_store(storage)
    found = store.find(name)
    if found is None:
        known = ", ".join(repr(study.name) for study in store.studies()) or "none"
        raise StudyError(f"there is no study {name!r} in {store.place}; there are: {known}")
    words = LocatedDescription.recorded(found, Path(folder))
    own = {"decision": decision, "solver": solver, "cost": cost, "stop": stop, "where": where}
    return Study(**words.options(trusted=trusted, own=own), storage=store)
