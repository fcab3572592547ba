"""What to ask next: designs that fill the space first, then those with the largest gain."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from hentropy.core.beliefs import Belief
from hentropy.core.beliefs.linalg import numerical_errors
from hentropy.core.beliefs.success import Success
from hentropy.core.clock import Limits
from hentropy.core.decisions import Decision
from hentropy.core.gain import gain
from hentropy.core.solvers import Cost, Proposal, Solver, observing, propose
from hentropy.core.solvers.base import per_cost
from hentropy.core.spaces import DesignSpace, Params
from hentropy.errors import NumericalError, StudyError
from hentropy.lazy import Tensor, torch
from hentropy.studies.outcomes import Calibrated, Fitting
from hentropy.studies.records import State, Trial, in_state
from hentropy.studies.records.numbers import short
from hentropy.studies.setting import Assays, Costs
from hentropy.studies.study.left_to_ask import (
    ALL_FAILED,
    NONE_LEFT,
    Among,
    Exact,
    best_without_noise,
    cost_per_success,
    is_negligible,
    loss_scale,
    lost_to_rounding,
    nothing_to_decide,
    open_rows,
    repeatable,
    spread_of,
)
from hentropy.studies.study.rules import NOTHING_LEFT
from hentropy.studies.study.trial_log import TrialLog


@dataclass(frozen=True)
class Asker:
    """Chooses the next trials of a study: a function of its options, its seed and its log alone."""

    log: TrialLog
    calibrated: Callable[[], Calibrated]
    success: Callable[[], Success | None]
    decision: Decision
    seed: int
    solver: Solver
    costs: Costs | None
    """What experiments cost; None where nothing is known of it."""
    limits: Limits
    decide_on: DesignSpace
    fitting: Fitting

    def belief(self) -> Belief:
        """What is known."""
        return self.calibrated().belief

    @property
    def _assays(self) -> Assays:
        return self.log.outcomes.assays

    def next(self, count: int, measures: str | Sequence[str] | None = None) -> list[Trial]:
        """What to ask next, by what the log says: at most count, fewer where a pool has no more.

        With `measures`, for the assay of that name, or that measures these outcomes.
        """
        trials = self.log.trials
        assay = None if measures is None else self._assays.chosen(measures)
        every = self._assays.everything if assay is None else self._measured_by(assay)
        # while nothing is known, more designs that fill the space are the best that can be said
        known = self.fitting.is_known(trials)
        # designs that share values are all chosen in one way
        left = count if self.log.first_left and self.log.space.same_in_batch else self.log.first_left
        filling = min(count, left) if known else count
        designs = self._filling(filling) or ([] if known else self._partly_measured(filling, every))
        shown = every if self._assays else ()
        made = [Trial(len(trials) + i, params, origin="first", measures=shown) for i, params in enumerate(designs)]
        # a plate that has begun is not filled up with designs of another
        if count > len(made) and (not made or (known and not self.log.space.same_in_batch)):
            made += self._chosen(count - len(made), made, assay, shown)
        if self.log.space.same_in_batch and len(made) < count:
            few = f"fewer than {count}: no more designs left have one {' and '.join(self.log.space.same_in_batch)}"
            made = [replace(trial, note="; ".join(filter(None, (trial.note, few)))) for trial in made]
        return made if self.costs is None else self._with_costs(made, self.costs)

    def _measured_by(self, assay: str) -> tuple[str, ...]:
        return self._assays.in_order(self._assays[assay].measures)

    def _with_costs(self, made: Sequence[Trial], costs: Costs) -> list[Trial]:
        """The trials with what they are expected to cost."""
        found: dict[int, float | None] = {}
        for measures in dict.fromkeys(trial.measures for trial in made):
            own = [trial for trial in made if trial.measures == measures]
            rows = [self.log.space.encode(trial.params) for trial in own]
            expected = costs.expected(rows, self.log.trials, self.log.row, measures)
            found |= {trial.number: cost for trial, cost in zip(own, expected, strict=True)}
        return [replace(trial, expected_cost=found[trial.number]) for trial in made]

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

    def _partly_measured(self, count: int, measures: tuple[str, ...]) -> list[Params]:
        """Designs of a pool without fresh ones of which something is still to be measured: at most count."""
        rows = open_rows(self.log.outcomes, self.log.trials, self.log.row, measures) if self._assays else None
        points = self.log.space.points
        return [] if rows is None or points is None else [self.log.space.decode(points[i]) for i in rows[:count]]

    def _filling_options(self, count: int) -> list[Params]:
        """The next designs that fill a space with options, which take turns over all trials so far.

        What the designs of a plate share is one number of a sequence that has one for each plate. Those that stand a
        plate apart in the sequence of all designs would be near each other: of every fourth of a Sobol sequence, one
        coordinate stays in a quarter of its range.
        """
        space = self.log.space
        rows = [self.log.row(trial) for trial in self.log.trials]
        known = torch.stack(rows) if rows else space.bounds[:0]
        if not space.same_in_batch or count == 1:
            return [space.decode(row) for row in space.spread(count, self.seed, known)]
        some, count = space.with_plates(count, known)
        shared = torch.cat([known[:, space.places[name]] for name in space.same_in_batch], -1)
        # whole numbers and the rows of a pool come again: plates are counted by their designs then
        place = max(len(shared.unique(dim=0)), len(known) // count) if count else 0
        found = some.spread(1, self.seed, known, place=place)
        if len(found):
            found = some.plate(found[0]).spread(count, self.seed, known)
        return [space.decode(row) for row in found]

    def _fresh(self, size: int, count: int) -> list[Params]:
        """The first `count` designs not tried yet, among `size` space-filling ones."""
        sample = self.log.space.sample(size, self.seed)
        found: dict[tuple[float, ...], int] = {}
        for position, values in enumerate(self.log.places(sample)):
            if len(found) == count:
                break
            if values not in self.log.tried:
                found.setdefault(values, position)
        return [self.log.space.decode(sample[position]) for position in found.values()]

    def _chosen(self, count: int, before: Sequence[Trial], assay: str | None, measures: tuple[str, ...]) -> list[Trial]:
        """What the model chooses; designs that fill the space where it cannot be computed: a run goes on."""
        try:
            with numerical_errors("the choice of the next experiment"):
                return self._proposed(count, before, assay)
        except NumericalError as error:
            designs = self._filling(len(before) + count)[len(before) :]
            if not designs:
                raise
            note = f"chosen to fill the space, because {error}"
        first = len(self.log.entries) + len(before)
        return [
            Trial(first + i, params, origin="first", note=note, measures=measures) for i, params in enumerate(designs)
        ]

    def _proposed(self, count: int, before: Sequence[Trial], assay: str | None) -> list[Trial]:
        proposal = self.propose(count, before, assay)
        share = len(proposal.params)
        first = len(self.log.entries) + len(before)
        asked = proposal.measures or self.log.outcomes.measured
        # by the belief that chose them: also of designs next to each other, what is expected of one by itself
        expected = self.calibrated().predictions(proposal.x, asked)
        return [
            Trial(
                first + i,
                params,
                predictions=expected[i],
                gain=proposal.gain / share,
                gain_error=proposal.std_error / share,
                entropy=proposal.entropy,
                note=" ".join(filter(None, (proposal.note, self.calibrated().note))),
                measures=proposal.measures,
            )
            for i, params in enumerate(proposal.params)
        ]

    def _worth(self, proposal: Proposal, before: Sequence[Trial], assay: str | None) -> Proposal:
        """The proposal itself; with a gain of zero if nothing is left to gain; or a better one where noise hides gains.

        A gain is zero for this reason alone, so that those who only read the records know. Nothing is left if all
        outcomes together would gain nothing, whatever the `assay` that was asked for.
        """
        trials = (*self.log.trials, *before)
        belief, known = self.belief(), in_state(trials, State.COMPLETE)
        spreads = [spread_of(known, name, self.fitting.outcomes) for name in self.fitting.names]
        scale = loss_scale(self.decision, belief, self.decide_on, proposal.action, spreads)
        least = lost_to_rounding(scale)
        negligible = is_negligible(proposal.gain, proposal.std_error, scale, proposal.entropy)
        if not (negligible and proposal.complete) or len(known) < self.log.first:
            return proposal if proposal.gain else replace(proposal, gain=least)
        exact = self._without_noise(trials, proposal.x)
        if exact.complete and is_negligible(exact.gain, 0.0, scale, proposal.entropy):
            return replace(proposal, gain=0.0, std_error=0.0, note=NOTHING_LEFT)
        if len(proposal.params) > 1 or not exact.complete or assay is not None:
            return replace(proposal, gain=max(proposal.gain, least))
        measures = self._measured_by(self._assays.widest(belief.outcomes)) if self._assays else ()
        view, waiting = self._observing(trials, measures)
        one = gain(
            self.decision,
            view,
            exact.x.unsqueeze(0),
            self.log.space,
            pending=waiting,
            seed=self.seed,
            decide_on=self.decide_on,
            success=self.success(),
        )
        return replace(
            proposal,
            x=exact.x.unsqueeze(0),
            params=[self.log.space.decode(exact.x)],
            gain=max(float(one.value), least),
            std_error=float(one.std_error),
            note=f"one measurement is expected to gain almost nothing; an exact one would gain {short(exact.gain)}",
            measures=measures,
        )

    def _without_noise(self, trials: Sequence[Trial], also: Tensor) -> Exact:
        """The best design to observe without noise, once those that run have brought what is expected of them."""
        belief, waiting = self._observing(trials, self._assays.everything)
        if waiting is not None:
            belief = belief.expecting(waiting)
        rows = repeatable(self.log.outcomes, trials, self.log.row)
        cost = self._outlay(trials, self._assays.everything)
        seed = self.seed + 1000 * len(trials) + 500
        return best_without_noise(
            self.decision, belief, self.log.space, rows, also, cost, seed, self.limits, self.decide_on, self.success()
        )

    def _outlay(self, trials: Sequence[Trial], measures: Sequence[str]) -> Cost | None:
        """How the costs of measuring count, and failures, where nothing is learned from them."""
        cost = None if self.costs is None else self.costs.outlay(trials, self.log.row, measures)
        if self.success() is not None:
            return cost
        return cost_per_success(self.log.space, trials, self.log.row, cost)

    def _observing(self, trials: Iterable[Trial], measures: Sequence[str]) -> tuple[Belief, Tensor | None]:
        """The belief where some outcomes are observed, and the designs (p x d) whose outcomes are still to come.

        Of these, each counts by what is measured of it.
        """
        running = in_state(trials, State.RUNNING)
        rows = torch.stack([self.log.row(trial) for trial in running]) if running else None
        if not self._assays:
            return self.belief(), rows
        each = [self._assays.asked(trial.measures) for trial in running]
        return observing(self.decision, self.belief(), measures, rows, each)

    def propose(self, count: int, before: Sequence[Trial] = (), assay: str | None = None) -> Proposal:
        """The best designs to run side by side, knowing those that run and those just chosen `before` them.

        Where the study has assays, also which of them to run: the one with the largest gain per cost, unless one is
        asked for. Whoever speaks of the next experiment, its gain or the expected loss of today, has it from here.
        """
        return self._worth(self._searched(count, before, assay), before, assay)

    def _searched(self, count: int, before: Sequence[Trial], assay: str | None) -> Proposal:
        trials = (*self.log.trials, *before)
        if not self._assays:
            return self._proposal(count, trials, ()) or _none_left(trials)
        best: tuple[float, Proposal] | None = None
        for name in self._assays if assay is None else (assay,):
            measures = self._measured_by(name)
            if assay is None and not self._tells(measures):
                continue
            found = self._proposal(count, trials, measures)
            if found is not None:
                gained = found.x.new_tensor([found.gain])
                worth = float(per_cost(gained, found.x.unsqueeze(0), self._outlay(trials, measures)))
                best = (worth, found) if best is None or worth > best[0] else best
        return _none_left(trials) if best is None else best[1]

    def _tells(self, measures: Sequence[str]) -> bool:
        """Whether outcomes tell something of the decision."""
        belief = self.belief()
        return bool(belief.related(*(self.decision.outcomes or belief.outcomes)) & set(measures))

    def _proposal(self, count: int, trials: Sequence[Trial], measures: tuple[str, ...]) -> Proposal | None:
        """The best designs of which some outcomes are measured, or all; None where a pool has none left."""
        solver = self.solver
        rows = open_rows(self.log.outcomes, trials, self.log.row, measures)
        if rows is not None:
            if not len(rows):
                return None
            solver, count = Among(rows, solver), min(count, len(rows))
        belief, waiting = self._observing(trials, measures)
        found = propose(
            self.decision,
            belief,
            self.log.space,
            q=count,
            seed=self.seed + 1000 * len(trials),
            entropy_seed=self.seed,
            pending=waiting,
            solver=solver,
            cost=self._outlay(trials, measures),
            max_seconds=self.limits.max_seconds,
            max_memory=self.limits.max_memory,
            decide_on=self.decide_on,
            success=self.success(),
        )
        return replace(found, measures=measures)


def _none_left(trials: Sequence[Trial]) -> NoReturn:
    measured = in_state(trials, State.COMPLETE)
    more = f"{NONE_LEFT}: decide, or make a study with a larger pool"
    raise StudyError(more if measured else nothing_to_decide(ALL_FAILED))
