"""`Study`: designs asked, values told, and the decision so far (Algorithm 1), in memory or in a store.

What a study proposes and decides is a function of its options, its seed and its records alone: the model
is refitted to all values whenever there are more, never from where the last fit ended; of many values, the first
ones say which hyperparameters it has, so that these need not be fitted each time. A study rebuilt from its records goes
on as if it had never stopped. In a store, several processes share it: each call begins by reading what is new.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.base import QUANTILES
from hentropy.core.beliefs.linalg import numerical_errors
from hentropy.core.beliefs.success import Success
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision
from hentropy.core.decisions.base import in_units
from hentropy.core.decisions.headlines import Quantity, of_success
from hentropy.core.entropy import Entropy, entropy
from hentropy.core.failures import restricted
from hentropy.core.given import as_device, check_at_once
from hentropy.core.models import fit_success
from hentropy.core.models.own import Model, name_of
from hentropy.core.solvers import Assay, Auto, Proposal, Solver
from hentropy.core.spaces import DesignSpace, Params
from hentropy.core.spaces.constraints import Condition
from hentropy.errors import HentropyError, InputError, NoStore, NumericalError, Outdated, StudyError
from hentropy.lazy import Tensor, torch
from hentropy.studies.outcomes import Calibrated, Computed, Doubt, Fitting, Outcomes
from hentropy.studies.records import (
    CHANCE,
    LIMITS_HOLD,
    Comparison,
    Failed,
    State,
    ToldCost,
    Trial,
    Values,
    Verdict,
    in_state,
)
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.records.verdict import KEPT_ROWS
from hentropy.studies.setting import Costs, fixes_what_varies, setting
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.storage import MemoryStore, News, Store, open_store
from hentropy.studies.study.asking import Asker
from hentropy.studies.study.comparing import Comparer
from hentropy.studies.study.keeping import enrolled, number_of_first
from hentropy.studies.study.left_to_ask import nothing_to_decide
from hentropy.studies.study.recommending import (
    Recommendation,
    decidable,
    measured_designs,
    measured_losses,
    recommended,
    stated_spread,
)
from hentropy.studies.study.rules import (
    NO_OTHER_RUN,
    NOTHING_LEFT,
    another_run,
    budget_notes,
    checked_record,
    doubt_sentence,
    ending_of,
    in_words_of,
    model_notes,
    noise_sentence,
    space_notes,
    spent_on,
    spent_sentence,
    worth_sentence,
)
from hentropy.studies.study.running import check_run, run_function
from hentropy.studies.study.stored import StoredStudy, no_study
from hentropy.studies.study.tables import design_rows, predictions_table, study_html, trials_table
from hentropy.studies.study.trial_log import TrialLog
from hentropy.studies.study.words import LocatedDescription, check_failures, check_options, described

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

    from hentropy.studies.definition import Description


class Study:
    """Ask for designs, tell values, decide.

    `outcomes` are what is measured, by name: {"yield": Outcome(unit="%"), "impurity": Outcome(unit="%")}; by default
    one outcome "value". `assays` say which of them one experiment may measure, and at what cost, added to that of the
    design: {"titration": Assay(["impurity"], cost=1), "full": Assay(["yield", "impurity"], cost=5)}; the gain per cost
    then determines which one to run.
    `noise` is by how much the result of a repeated experiment differs: the standard deviation of one measurement, where
    one outcome is measured (of several, each `Outcome` has its own); 0 if no outcome differs at all. Without it, the
    noise is learned from the data. A standard error that is told with a value takes its place.
    The `first` designs (default: 2 (d + 1) for d parameters, at least 4 and at most 12) are space-filling and measure
    everything; after these, the model chooses. Attached or told measurements count towards them, also if you set it:
    with `first=12` and ten attached, two more are space-filling; `first_left` is the number still to come.
    `hyperparameters` is "auto", "map", "mixture", "families" or "transformed", as in `fit`; where `decide_on` fixes a
    parameter that experiments vary, "auto" is one kernel in place of families. `model` replaces this fit:
    a function from `ModelData` to a belief, such as `forest(RandomForestRegressor())` or your own.
    `decide_on` restricts the decision to part of the space: a different space or a pool with the same
    parameters, or fixed values such as {"fidelity": 1.0}. `cost` is the cost of experiments: a number, an
    expression such as "2 + 0.1 * minutes + price[ligand]", "told" if each result comes with its cost, or a function
    from designs b x q x d to costs b. Experiments are chosen by their gain per cost or, with a `price` for a unit of
    cost in units of the loss, by gain minus price times cost; `cost_unit` is for display. `stop` are stopping
    rules.
    With or without rules, a study also stops when no experiment is expected to improve the decision any more,
    unless `stop_when_exhausted` is False.
    With `failures="learn"`, the study learns where experiments succeed as soon as one has failed: gains are weighted by
    the probability of success, and an action is decided only if each of its designs succeeds with a probability of at
    least `at_least`. "ignore" only keeps the next designs a small distance from those that failed.
    `device` is where the model is fitted and proposals are computed, such as "cuda"; by default, the CPU. It is
    not recorded: proposals on different devices differ by rounding.
    `max_seconds` and `max_memory` bound each proposal; with the former, proposals depend on the speed of the machine.
    `records` are those of an earlier study with the same options, which this one continues. With `storage`, a URL such
    as "sqlite:///lab.db" or "postgresql://host/database", the study with this `name` is stored there, and resumes
    if it exists; other processes can ask and tell in it at the same time.
    """

    def __init__(
        self,
        space: DesignSpace,
        decision: Decision,
        *,
        outcomes: Mapping[str, Outcome | Computed] | None = None,
        assays: Mapping[str, Assay] | None = None,
        noise: float | None = None,
        seed: int = 0,
        first: int | None = None,
        hyperparameters: str = "auto",
        model: Model | None = None,
        solver: Solver | None = None,
        decide_on: DesignSpace | Mapping[str, Any] | None = None,
        cost: Any = None,
        price: float | None = None,
        cost_unit: str = "",
        stop: Sequence[StoppingRule] = (),
        max_seconds: float | None = None,
        max_memory: int | None = None,
        records: Iterable[Trial] = (),
        storage: str | Path | Store | StoredStudy | None = None,
        name: str = "study",
        stop_when_exhausted: bool = True,
        failures: str = "learn",
        at_least: float = 0.5,
        device: Any = None,
    ) -> None:
        check_options(space, decision, seed, first, hyperparameters, stop)
        check_failures(failures, at_least)
        space, self.decide_on = setting(space, decide_on)
        decision.within(self.decide_on)
        self.outcomes = Outcomes.of(outcomes, space, assays, noise)
        self.decided = self.outcomes.decided(decision)
        self.costs = Costs.of(cost, price, space, cost_unit, self.outcomes.assays)
        self.space = space
        self.decision = decision
        self.seed = seed
        self.stop = tuple(stop)
        also = self.outcomes.also_modelled(self.decided) if model is None else ()
        one_kernel = fixes_what_varies(space, self.decide_on)
        how = (hyperparameters, seed, also, model, as_device(device), one_kernel, decision.best_outcomes)
        self.fitting = Fitting(self.outcomes, self.decided, *how)
        limits = Limits(max_seconds, max_memory)
        start = time.monotonic()
        self._failures, self._at_least = failures, at_least
        self._fitted: tuple[tuple[Trial, ...], Belief, Calibrated] | None = None
        self._stating: tuple[tuple[Trial, ...], Belief] | None = None
        self._learned: tuple[tuple[Trial, ...], Success] | None = None
        self._verdict: Verdict | None = None
        self._proposed: tuple[tuple[tuple[Trial, ...], int], Proposal] | None = None
        if not isinstance(storage, StoredStudy):
            self.store = MemoryStore() if storage is None else open_store(storage)
            found = self.store.find(name)
        else:
            self.store, found = storage.store, storage.record
        self.first = number_of_first(first, space, found)
        self.options: dict[str, Any] = {
            "name": name,
            "space": space,
            "decision": decision,
            "outcomes": self.outcomes.by_name,
            "assays": self.outcomes.assays,
            "seed": seed,
            "first": self.first,
            "hyperparameters": hyperparameters,
            "stop": self.stop,
            "max_seconds": limits.max_seconds,
            "max_memory": limits.max_memory,
            "solver_is_own": solver is not None,
            "cost": self.costs.stated,
            "price": self.costs.price,
            "cost_unit": self.costs.unit,
            "decide_on": None if self.decide_on is space else self.decide_on,
            "stop_when_exhausted": stop_when_exhausted,
            "failures": failures,
            "at_least": at_least,
            "model": model,
        }
        self._words: Description | None = None
        if isinstance(storage, StoredStudy):
            record, new, self._words = storage.record, False, storage.words.description
        elif storage is None:  # it needs no definition
            record, new = self.store.create(name, {}, {}), True
        else:
            record, new = enrolled(self.options, self.store, found)
        self.log = TrialLog(
            self.store,
            record,
            space,
            first=self.first,
            outcomes=self.outcomes,
            stop=self.stop,
            stop_when_exhausted=stop_when_exhausted,
            working_since=start,
        )
        if isinstance(storage, StoredStudy):
            self.log.take(News(storage.log.revision, storage.entries))
        else:
            self.log.sync()
        solver = Auto() if solver is None else solver
        known = (lambda: self._calibrated, lambda: self._success)
        costs = self.costs if self.costs.are_known else None
        self.asker = Asker(self.log, *known, decision, seed, solver, costs, limits, self.decide_on, self.fitting)
        earlier = [checked_record(trial, number, self.outcomes) for number, trial in enumerate(records)]
        if earlier and not new:
            raise StudyError(f"the study {name!r} is in {self.store.place} already; records are for a new one")
        if earlier:
            self.log.add(earlier)

    @classmethod
    def from_file(cls, path: str | Path, *, storage: str | Path | Store | None = None) -> "Study":
        """The study that a file describes, stored where the file says, or in `storage`.

        Your own decision or model, `python = "module:name"`, is imported: this runs code.
        """
        return study_of(LocatedDescription.read(Path(path)), storage)

    @property
    def description(self) -> "Description":
        """The study in words, as its store has them."""
        if self._words is None:
            record = self.log.record
            kept = LocatedDescription.recorded(record).description if record.definition else None
            self._words = kept or described(self.options)
        return self._words.as_stored(self.first)

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
        """All trials as a pandas DataFrame; a parameter named like another column, say "value", is "param_value"."""
        return trials_table(self.records, self.space.names, self.outcomes.words_of_measured)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user on the decision, the space, the budget and attached data; usually none."""
        budget = budget_notes(self.stop, self.first, self.log.trials)
        model = model_notes(None if self.fitting.model is None else name_of(self.fitting.model))
        return (*self.decision.notes(self.decide_on), *space_notes(self.space), *budget, *model, *self.log.notes)

    @property
    def spent(self) -> float:
        """The total known cost of the trials that have ended."""
        return spent_on(self.records)

    @property
    def first_left(self) -> int:
        """How many of the first, space-filling designs are still to come."""
        self.log.sync()
        return self.log.first_left

    def ask(self, *, measures: str | Sequence[str] | None = None) -> Trial:
        """The next experiment to run. Pending trials are taken into account.

        Where the study has assays, `measures` asks for one of them, by its outcomes or its name; the trial's `measures`
        say what it is to measure.
        """
        return self.ask_many(1, measures=measures)[0]

    def ask_many(self, count: int, *, measures: str | Sequence[str] | None = None) -> list[Trial]:
        """The next experiments to run in parallel, chosen jointly after the first designs.

        Each is credited with an equal share of their joint gain. A pool with fewer designs left gives fewer. All of
        them use the same assay: see `ask`.
        """
        return self._ask(count, measures, within_rules=False)

    def ask_within_rules(self, count: int, *, measures: str | Sequence[str] | None = None) -> list[Trial]:
        """As `ask_many`, but no more than the stopping rules allow: fewer, or none.

        The rules are checked while no other process can ask. Trials with nothing left to gain are withdrawn at once.
        """
        trials = self._ask(count, measures, within_rules=True)
        if not self.log.exhausted:
            return trials
        for trial in trials:
            if trial.gain == 0:
                self.withdraw(trial, note=f"not run: {NOTHING_LEFT}")
        return [trial for trial in trials if trial.gain != 0]

    def _ask(
        self,
        count: int,
        measures: str | Sequence[str] | None = None,
        *,
        within_rules: bool,
        owner: str | None = None,
        lease: float | None = None,
    ) -> list[Trial]:
        check_at_once("count", count)
        with self.store.asking(self.log.record) as turn:
            while True:
                self.log.sync()
                if within_rules:
                    count = 0 if self.log.stopped(running=True) else max(1, int(min(count, self.log.trials_left)))
                try:
                    asked = self.log.add(self.asker.next(count, measures), owner, lease, turn) if count else []
                    return [entry.trial for entry in asked]
                except Outdated:  # data were attached meanwhile
                    continue

    def begin(self, owner: str, lease: float) -> Trial | None:
        """The next experiment for a worker, leased for `lease` seconds, unless enough have begun: see `enough`.

        One that is not worth its cost by the rules is withdrawn at once, and nothing begins.
        """
        while asked := self._ask(1, within_rules=True, owner=owner, lease=lease):
            reason = self.log.stopped()
            if reason is None:
                return asked[0]
            self.withdraw(asked[0], note=f"not run: {reason}")
        return None

    def propose(self, count: int = 1) -> Proposal:
        """What `ask` would propose after the first designs, with its gain and outlook, without asking for it.

        It is computed once for the same trials.
        """
        self.log.sync()
        known = (self.log.trials, count)
        if self._proposed is None or self._proposed[0] != known:
            with numerical_errors("the search for the next experiment"):
                self._proposed = (known, self.asker.propose(count))
        return self._proposed[1]

    def tell(
        self,
        trial: Trial | int | str,
        value: Values | None = None,
        *,
        failed: str | None = None,
        note: str | None = None,
        replace_value: bool = False,
        cost: ToldCost = None,
    ) -> Trial:
        """Record the result of a trial: a number, (value, standard error), or failed="why"; and its cost, if known.

        A trial is named by itself or its number; in a pool with ids also by the id of its design, a text.
        Several outcomes are told by name: {"yield": 80.1, "impurity": (2.3, 0.2)}. What was not measured is left out,
        and may be told later. Telling the same value twice is harmless; a different value is rejected unless
        replace_value is set, and the earlier one stays in the history. cost="unknown" deletes a wrong cost.
        """
        told = self.log.tell(trial, value, failed=failed, note=note, replace_value=replace_value, cost=cost)
        return told.trial

    def run(
        self,
        f: Callable[..., Values],
        budget: int,
        *,
        callback: Callable[["Study"], object] | None = None,
        progress: bool = True,
        console: "Console | None" = None,
        worth: bool = True,
        deterministic: bool = False,
    ) -> Verdict:
        """Run up to `budget` more experiments `f(**params)`, each chosen for the decision, and decide.

        What f returns, and the options, are those of `search`. `deterministic` states for this study, from now on, that
        f returns the same value whenever it is called with the same design: the same as `Study(..., noise=0)`.
        """
        check_run(f, budget, deterministic)
        if deterministic:
            self._state_no_noise()
        finished = run_function(self, f, budget, callback, progress, console)
        verdict = self.decide(worth=False)
        if worth and finished:
            with suppress(KeyboardInterrupt):  # all results are there: who does not wait for its worth has the verdict
                verdict = self.with_worth(verdict)
        return verdict

    def _state_no_noise(self) -> None:
        """Outcomes have no noise from now on, here and in the store; an `InputError` if another noise is stated."""
        outcomes = self.outcomes.without_noise()
        if outcomes == self.outcomes:
            return
        self.outcomes = self.log.outcomes = outcomes
        self.fitting = replace(self.fitting, outcomes=outcomes)
        self.asker = replace(self.asker, fitting=self.fitting)
        self.options["outcomes"] = outcomes.by_name
        self._fitted = self._stating = self._proposed = self._words = None
        if self.log.record.definition:  # a study in memory has none
            self.log.record, _ = enrolled(self.options, self.store, self.log.record)

    def withdraw(self, trial: Trial | int | str, note: str = "") -> Trial:
        """Withdraw a trial that will not be run: it is no longer pending and does not count."""
        return self.log.withdraw(trial, note).trial

    def attach(
        self,
        params: Mapping[str, Any],
        value: Values | Failed | None = None,
        *,
        failed: str | None = None,
        cost: float | None = None,
        note: str = "",
    ) -> Trial:
        """Add an earlier measurement, or failed="why", with its cost if known.

        In `attach_many`, which takes a value for each design, a failure is `Failed("why")`.
        """
        if (value is None) == (failed is None):
            raise InputError("attach exactly one of a value and failed='why'")
        what = value if failed is None else Failed(failed)
        assert what is not None
        return self.log.attach([(params, what)], cost=cost, note=note)[0].trial

    def attach_many(self, data: Iterable[tuple[Mapping[str, Any], Values | Failed]]) -> list[Trial]:
        """Add many earlier measurements: all of them, or none if one is invalid.

        Each is a pair (params, value), such as `({"x": 0.5}, 2.1)`; values are as in `tell`, or `Failed("why")`.
        """
        return [entry.trial for entry in self.log.attach(data)]

    @property
    def belief(self) -> Belief:
        """The current posterior, fitted to all results so far (and cached until there are more)."""
        self.log.sync()
        return self._of_decided

    @property
    def _of_decided(self) -> Belief:
        return self._belief.of(*self.decided) if self.fitting.also else self._belief

    @property
    def _belief(self) -> Belief:
        return self._calibrated.belief

    @property
    def _calibrated(self) -> Calibrated:
        told = self.fitting.told(self.log.trials)
        if not told and (why := self.log.none_left):
            raise StudyError(nothing_to_decide(why))
        if self._fitted is None or self._fitted[0] != told:
            earlier = None if self._fitted is None else self._fitted[1]
            self._fitted = (told, *self._fit(told, earlier))
        return self._fitted[2]

    def _fit(self, told: tuple[Trial, ...], earlier: Belief | None) -> tuple[Belief, Calibrated]:
        """The belief as it is fitted, and with the record of predictions; a simpler one where that fails."""
        try:
            with numerical_errors("the fit of the model"):
                fitted = self.fitting.belief(told, self.log.row, earlier)
                return fitted, self.fitting.calibrated(fitted, told)
        except NumericalError as error:
            if self.fitting.model is not None or self.fitting.hyperparameters == "map":
                raise
            note = f'The model is a simpler one (hyperparameters="map"), because {error}.'
        with numerical_errors("the fit of the model, and of a simpler one,"):
            fitted = replace(self.fitting, hyperparameters="map").belief(told, self.log.row)
        return fitted, Calibrated(fitted, note=note)

    @property
    def success(self) -> Success | None:
        """The belief about whether experiments succeed; None while none has failed, or if failures are ignored."""
        self.log.sync()
        return self._success

    @property
    def _success(self) -> Success | None:
        ended = in_state(self.log.trials, State.COMPLETE, State.FAILED)
        succeeded = [trial.state is State.COMPLETE for trial in ended]
        if self._failures == "ignore" or all(succeeded):
            return None
        if self._learned is None or self._learned[0] != ended:
            X = torch.stack([self.log.row(trial) for trial in ended]).to(device=self.fitting.device)
            with numerical_errors("the fit of the probability of success"):
                found = fit_success(X, succeeded, space=self.space, at_least=self._at_least, seed=self.seed)
            self._learned = (ended, found)
        return self._learned[1]

    def chances(self, trials: Sequence[Trial]) -> dict[int, float]:
        """With what probability trials succeed, by number; nothing while none has failed."""
        success = self._success
        if success is None or not trials:
            return {}
        rows = self.space.encode_many([trial.params for trial in trials])
        chances = success.chance(rows.to(success.latent.X)).tolist()
        return {trial.number: chance for trial, chance in zip(trials, chances, strict=True)}

    def decide(self, *, worth: bool | None = None) -> Verdict:
        """The current recommendation; a verdict that differs from the last one is recorded where that is allowed.

        `worth` is whether it includes what another experiment is worth (see `with_worth`): by default, once the study
        has ended.
        """
        self.log.sync()
        with numerical_errors("the search for the best action"):
            verdict = self._decided()
        return self.with_worth(verdict) if worth or (worth is None and self.log.stopped()) else verdict

    def with_worth(self, verdict: Verdict) -> Verdict:
        """The current recommendation with what another experiment is worth, unless first designs are still to come.

        If no proposal has computed that, it takes as long as `ask`; it is recorded, and not computed again
        until there are new results.
        """
        stopped = self.stopped
        to_come = self.log.first_left > 0 and not stopped
        outdated = verdict.observations != len(in_state(self.log.trials, State.COMPLETE))
        if verdict.worth or to_come or outdated:
            return verdict
        known = self._recorded_worth(verdict) if stopped else ""
        ended = in_state(self.log.trials, State.COMPLETE, State.FAILED)
        worth = known or _concluded(self._searched_worth(stopped), verdict.comparison)
        valued = replace(verdict, worth=worth)
        self.log.sync()
        if in_state(self.log.trials, State.COMPLETE, State.FAILED) != ended:
            return verdict  # others have told results meanwhile: it stands on fewer than there are
        self._keep(valued)
        return valued

    def worth_of(self, *trials: Trial) -> str:
        """The expected gain of a trial when it was chosen, in the terms of the decision: about 0.4 % yield.

        Of several that were chosen together, each with its share, their joint gain. Empty for trials that were not
        chosen by their gain.
        """
        gains = [(trial.gain, trial.gain_error or 0.0) for trial in trials if trial.gain is not None]
        if not gains:
            return ""
        gain, error = (sum(each) for each in zip(*gains, strict=True))
        return in_words_of(self.decision, self.outcomes.about(self.decided), gain, error)

    def _recorded_worth(self, verdict: Verdict) -> str:
        """What was said of another experiment with the last verdict, if that is this one and nothing happened since."""
        stored = self.store.verdicts(self.log.record)[-1:]
        happened = [entry.ended_at or entry.asked_at for entry in self.log.entries.values()]
        same = stored and stored[0].verdict == _recorded(verdict) and stored[0].at > max(happened)
        # one that was reached before the study had ended does not say stop
        return stored[0].verdict.worth if same and stored[0].verdict.worth.endswith("stop.") else ""

    def _searched_worth(self, stopped: str | None) -> str:
        if self.log.none_left:
            return NO_OTHER_RUN
        try:
            found = self.propose()
        except HentropyError:  # what another experiment is worth cannot be said; what would be decided can
            return ""
        about = self.outcomes.about(self.decided)
        return worth_sentence(self.decision, about, found.gain, found.std_error, self._ending(stopped))

    def _ending(self, stopped: str | None) -> str:
        return ending_of(self.stop, self.log.trials, self.log.seconds, stopped)

    def _decided(self) -> Verdict:
        belief = self._of_decided
        found = entropy(
            self.decision, belief, self.space, seed=self.seed, decide_on=self.decide_on, success=self._success
        )
        given = self.recommended(found)
        comparer = self._comparer(found.decision, belief)
        caveats = self._calibrated.note, doubt_sentence(self._doubts, self.outcomes), self._unsure_of_noise(belief)
        if given is None:
            action, quantities = found.action, self.outcomes.quantities
            rows, comparison = self._bounded_rows(action, found.decision, belief, quantities), None
        else:
            action = given.design.action.to(found.action)
            quantities = self._stated(comparer.known(given.design), given, belief)
            rows, comparison = [comparer.row(given.design, quantities)], comparer.comparison(given)
            comparison = replace(comparison, sentence=_joined(comparison.sentence, *caveats))
        said = found.decision.answer(action, belief, found.value, quantities)
        succeeds = of_success([row[CHANCE] for row in rows if CHANCE in row], self._at_least)
        verdict = Verdict(
            action=rows,
            expected_loss=found.value,
            std_error=found.std_error,
            decision=repr(self.decision),
            observations=len(in_state(self.log.trials, State.COMPLETE)),
            raw=action,
            units=self.outcomes.verdict_units(self.decided),
            headline=_joined(said, succeeds, *(caveats if comparison is None else ())),
            worth=_concluded(self._another_run(), comparison),
            failed=len(in_state(self.log.trials, State.FAILED)),
            comparison=comparison,
            bayes=None if given is None or given.alternative is None else found.action,
            advice=self.log.notes,
        )
        self._keep(verdict)
        return verdict

    def recommended(self, found: Entropy) -> Recommendation | None:
        """The design that is recommended, given the Bayes action; None where not one design is decided on.

        It is the Bayes action, or a measured design where that has no clear advantage: see `recommending`.
        """
        if not found.decision.recommends_one:
            return None
        log, own = self.log, found.decision.looked_at(self._of_decided)
        every = measured_designs(log.trials, log.row, log.places, self.outcomes, self.decided)
        designs = decidable(every, self.decide_on, self._success)
        if not designs:
            return None
        losses = measured_losses(found.decision, designs, self.outcomes, self.decided)
        priced, success = found.decision, self._success
        if success is not None:
            priced, _ = restricted(priced, own, self.decide_on, success)
        given = recommended(found, priced, own, self.space, designs, losses)
        return self._comparer(found.decision, self._of_decided).at_bound(given)

    def _stated(self, known: dict[str, Quantity], given: Recommendation, belief: Belief) -> dict[str, Quantity]:
        """The outcomes in the user's words, with the spread that the value of a recommended design is stated with.

        It is greater than that of the belief where the noise is learned from the results: see `recommending`.
        """
        told = self.fitting.told(self.log.trials)
        if len(self.decided) > 1 or not self.fitting.learns_noise(self.decided[0], told):
            return known
        [name] = self.decided
        at = given.design.action.to(belief.X)
        log = name in belief.logs
        own = in_units(belief.moments(at, Needs.VARIANCE), log)
        stating = in_units(self._integrated(belief, told).moments(at, Needs.VARIANCE), log)
        return {**known, name: replace(known[name], spread=stated_spread(own, stating, given.chosen_among))}

    def _integrated(self, belief: Belief, told: tuple[Trial, ...]) -> Belief:
        """The belief, if it integrates over what is not known of the noise; else another one of the same results."""
        if not self.fitting.plugs_in_noise(told):
            return belief
        if self._stating is None or self._stating[0] != told:
            integrating = self.fitting.integrating_noise().belief(told, self.log.row)
            self._stating = (told, integrating.of(*self.decided))
        return self._stating[1]

    def _comparer(self, decision: Decision, belief: Belief) -> Comparer:
        def row_of(action: Tensor, quantities: Mapping[str, Quantity]) -> dict[str, Any]:
            return self._bounded_rows(action.to(belief.X), decision, belief, quantities)[0]

        return Comparer(decision, belief, self.decided, self.outcomes, row_of)

    def predict(
        self,
        designs: "Mapping[str, Any] | Sequence[Mapping[str, Any]] | pandas.DataFrame",
        quantiles: Sequence[float] = QUANTILES,
        noise: bool = False,
    ) -> "pandas.DataFrame":
        """What is known of the outcomes that are decided on, at designs: a row for each, its parameters first.

        The columns of an outcome, in its unit and within its bounds, are "yield_mean", "yield_sd", and one for each of
        the `quantiles`, "yield_q5", "yield_q50", ...; of words they are of their probability. With `noise`, they are of
        what an experiment would measure. Once experiments have failed, "chance of success" is that of the design.
        """
        self.log.sync()
        rows = design_rows(designs, self.space.names)
        belief = self._of_decided
        x = self.space.encode_many(rows).to(belief.X)
        known = self.outcomes.bounded_columns(belief.predict(x, quantiles, noise))
        if self._success is not None:
            known[CHANCE] = self._success.chance(x).tolist()
        return predictions_table([self.space.decode(row) for row in x], known)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """The values that the model holds for gross errors, with their trials and how probably they are."""
        self.log.sync()
        return self._doubts

    @property
    def _doubts(self) -> tuple[Doubt, ...]:
        return self.fitting.doubts(self._belief, self.fitting.told(self.log.trials))

    def _unsure_of_noise(self, belief: Belief) -> str:
        """That repeating a run would tell noise from roughness: once designs are chosen by what is known."""
        known = [name for name in self.decided if name in belief.outcomes]
        if self.log.first_left or not known:
            return ""
        return noise_sentence(belief.of(known[0]), self.outcomes.quantities[known[0]])

    def _another_run(self) -> str:
        """What one is worth, where a proposal has said it."""
        about = self.outcomes.about(self.decided)
        return another_run(self.decision, about, self.log.entries.values(), self._ending(self.log.stopped()))

    def _last_verdict(self) -> Verdict | None:
        if self._verdict is None:
            earlier = self.store.verdicts(self.log.record)
            self._verdict = earlier[-1].verdict if earlier else None
        return self._verdict

    def _keep(self, verdict: Verdict) -> None:
        """Record a verdict, unless the last one recorded said the same."""
        kept, last = _recorded(verdict), self._last_verdict()
        news = last is None or kept != last or kept.failed != last.failed or kept.worth not in ("", last.worth)
        news = news or (last is not None and last.comparison is None and kept.comparison is not None)
        # to stop was right while the study had ended; perhaps it has more to spend now
        overtaken = last is not None and last.worth.endswith("stop.") and self.log.stopped() is None
        if (news or overtaken) and math.isfinite(kept.expected_loss):
            if not self.store.read_only:
                self.store.keep(self.log.record, kept)
            self._verdict = kept

    def _bounded_rows(
        self, action: Any, decision: Decision, belief: Belief, quantities: Mapping[str, Quantity]
    ) -> list[dict[str, Any]]:
        return self.outcomes.within_bounds(self._rows(action, decision, belief, quantities), self.decided)

    def _rows(
        self, action: Any, decision: Decision, belief: Belief, quantities: Mapping[str, Quantity]
    ) -> list[dict[str, Any]]:
        """An action as rows for a person; designs with what is known of their values."""
        rows: list[Params] = decision.describe(action, self.decide_on)
        designs = decision.actions.of_designs and isinstance(action, Tensor)
        if not designs or len(rows) != action.shape[0]:
            spreads = decision.spreads(belief)
            return rows if spreads is None else list(map(_with_spread, rows, spreads.tolist()))
        names = self.decided if len(self.decided) > 1 else belief.outcomes[:1]
        each = [in_units(belief.of(name).moments(action, Needs.VARIANCE), name in belief.logs) for name in names]
        columns = []  # mean and standard deviation of each outcome in turn; what is computed has none
        for name, one in zip(names, each, strict=True):
            mean, var = one.total()
            sd = quantities[name].spread * var.clamp_min(0.0).sqrt()
            columns += [mean] if name in self.outcomes.computed else [mean, sd]
        known = torch.stack(columns, -1)
        labels = list(self.outcomes.known_columns(self.decided))
        judged = decision.looked_at(belief) if decision.subject_to else belief
        holds = decision.limits_hold(judged.moments(action, Needs.VARIANCE))
        chance = None if self._success is None else self._success.chance(action)
        for label, shares in ((LIMITS_HOLD, holds), (CHANCE, chance)):
            if shares is not None:
                known, labels = torch.cat([known, shares.unsqueeze(-1)], -1), [*labels, label]
        return [{**row, **dict(zip(labels, each, strict=True))} for row, each in zip(rows, known.tolist(), strict=True)]

    @property
    def stopped(self) -> str | None:
        """Why the study should stop now, by its rules or because nothing is left to ask; None if it should not."""
        self.log.sync()
        return self.log.stopped()

    @property
    def enough(self) -> str | None:
        """Why no further experiment should begin: as `stopped`, with running experiments counted as finished."""
        self.log.sync()
        return self.log.stopped(running=True)

    @property
    def exhausted(self) -> bool:
        """Whether the study stops because the last proposal found nothing left to gain, with no results since."""
        self.log.sync()
        return self.log.exhausted

    def close(self) -> None:
        """Close the store's files and connections."""
        self.store.close()

    def __repr__(self) -> str:
        states = [trial.state for trial in self.records]
        counts = ", ".join(f"{states.count(state)} {state.value}" for state in State if state in states)
        return f"Study({self.decision!r}; {counts or 'no trials yet'})"

    def _repr_html_(self) -> str:
        titles = {field.name: field.title for field in self.space.fields}
        verdicts = self.store.verdicts(self.log.record)
        spent = spent_sentence(self.stop, self.records, self.costs.unit)
        return study_html(self.name, repr(self.decision), self.records, verdicts, titles, self.outcomes, spent)


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _concluded(worth: str, comparison: Comparison | None) -> str:
    """What another run is worth; who is told to stop first confirms a design that was never run."""
    never_run = comparison is not None and comparison.best is not None and not comparison.trials
    return f"{worth.removesuffix('stop.')}confirm, then stop." if never_run and worth.endswith(": stop.") else worth


def _with_spread(row: Params, sd: float) -> Params:
    """A row that begins with a number that is reported, and its standard deviation behind that."""
    (name, value), *others = row.items()
    return {name: value, f"{name} sd": sd, **dict(others)}


def _recorded(verdict: Verdict) -> Verdict:
    """What is recorded of a verdict."""
    return replace(verdict, action=verdict.action[:KEPT_ROWS], raw=None, bayes=None, advice=())


def study_of(words: LocatedDescription, storage: str | Path | Store | StoredStudy | None = None) -> Study:
    """As `Study.from_file`, of a file that was read, and perhaps of a study that was opened."""
    options = words.options(trusted=True)
    storage = words.place if storage is None else storage
    if not isinstance(storage, StoredStudy):
        with suppress(NoStore):
            storage = open_store(storage, make=False)
            storage = StoredStudy.find(storage, words.description.name, words) or storage
    if isinstance(storage, StoredStudy):
        if storage.words is words:
            return Study(**options, storage=storage)
        storage = storage.store
    study = Study(**options, storage=storage)
    study.log.record = words.with_objective(study.store, study.log.record)
    return study


def load_study(
    name: str,
    storage: str | Path | Store,
    *,
    decision: Decision | None = None,
    model: Model | None = None,
    solver: Solver | None = None,
    cost: Any = None,
    stop: Sequence[StoppingRule] | None = None,
    where: Sequence[Condition] | None = None,
    trusted: bool = False,
    folder: str | Path = ".",
) -> Study:
    """The study with this name in a store, ready to resume.

    Parts that were made in Python and have no stored form (your own decision, model, solver, cost or rule, conditions
    that are functions) must be passed again. A decision that is recorded as `module:Class`, or a model as
    `module:function`, is imported only if `trusted`, with modules from `folder`: otherwise, anyone who can write to the
    store could run code here.
    """
    store = open_store(storage)
    stored = StoredStudy.find(store, name, folder=Path(folder))
    if stored is None:
        raise no_study(name, store)
    own = {"decision": decision, "model": model, "solver": solver, "cost": cost, "stop": stop, "where": where}
    return resumed(stored, trusted=trusted, own=own)


def resumed(stored: StoredStudy, *, trusted: bool = False, own: Mapping[str, Any] | None = None) -> Study:
    """As `load_study`, of a study that was opened."""
    options = stored.words.options(trusted=trusted, own=own)
    changed = any(part is not None for part in (own or {}).values())
    return Study(**options, storage=stored.store if changed else stored)
