"""The outcomes of a study: what is measured or computed from the design, what may be told, and the model of them.

What was not measured in a trial is missing: NaN in the observations that models are fitted to, never zero.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.gaussian import PROBABLY
from hentropy.core.beliefs.kernels import Profile
from hentropy.core.beliefs.known import Known
from hentropy.core.beliefs.several import Several
from hentropy.core.decisions import Decision
from hentropy.core.decisions.headlines import Quantity
from hentropy.core.given import Best, Tails, closest
from hentropy.core.models import fit, fit_outcomes
from hentropy.core.models.families import doubted
from hentropy.core.models.gp import MIXTURE_LIMIT
from hentropy.core.models.own import Model, ModelData, believed
from hentropy.core.predictions import WINDOW, family_parts, predict, spread_factor, weigh_families
from hentropy.core.spaces import DesignSpace
from hentropy.core.spaces.evaluation import check, evaluate
from hentropy.core.spaces.expressions import parse
from hentropy.errors import Advice, InputError, StudyError
from hentropy.lazy import Tensor, torch
from hentropy.studies.records import Measurement, Prediction, State, Trial, Value, judged
from hentropy.studies.records.numbers import checked_value
from hentropy.studies.records.outcome import Outcome, check_name, check_noise, check_unit
from hentropy.studies.records.prediction import FAMILY_SHARES, SHARES, family_record
from hentropy.studies.setting import Assays

CHECKED = 256
"""Designs at which a computed outcome must be a finite number."""


CONTRADICTION = 4.0
"""Replicates that differ from their mean by more times their standard error contradict it."""

ESTIMATES = ("estimate", "estimate of f")
"""What verdicts call an estimate of the only outcome that is decided on."""


@dataclass(frozen=True)
class Computed:
    """An outcome computed from the design, by an expression such as "2 * loading + 0.3 * minutes"."""

    name: str
    expression: str
    unit: str = ""

    def __post_init__(self) -> None:
        check_unit(self.unit)
        if not isinstance(self.name, str) or not isinstance(self.expression, str):
            raise InputError(f"a computed outcome has a name and an expression, got {self!r}")

    def at(self, space: DesignSpace, x: Tensor) -> Tensor:
        """Its values at designs ... x d: ... ."""
        return evaluate(parse(self.expression), space.free_columns(x), space.all_tables).to(x)


@dataclass(frozen=True)
class Observed:
    """What models of m outcomes are fitted to: designs X (n x d), values Y and standard errors (n x m), maybe of logs.

    NaN in Y is "not measured", NaN in the errors "not told".
    """

    X: Tensor
    Y: Tensor
    errors: Tensor

    def noise(self, column: int) -> Tensor | None:
        """The standard errors of one outcome: n; None if none was told.

        Where only some were told, the others get the median of those.
        """
        errors = self.errors[:, column]
        known = errors[~(errors.isnan() | self.Y[:, column].isnan())].sort().values
        return errors.nan_to_num(nan=float(known[len(known) // 2])) if len(known) else None


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of a study on a space, by name and in their order."""

    by_name: Mapping[str, Outcome | Computed]
    space: DesignSpace
    assays: Assays
    """Which of them one experiment may measure."""

    @classmethod
    def of(cls, given: Any, space: DesignSpace, assays: Any = None, noise: Any = None) -> "Outcomes":
        """Checked; without any, the one outcome "value". `noise` is that of the only one, or 0 for all of them."""
        if given is None or (isinstance(given, Mapping) and not given):
            return cls(_with_noise({"value": Outcome()}, noise), space, Assays.of(assays, ("value",)))
        if not isinstance(given, Mapping) or not all(isinstance(one, Outcome | Computed) for one in given.values()):
            raise InputError(f'outcomes must be a table such as {{"yield": Outcome(unit="%")}}, got {given!r}')
        for name, one in given.items():
            check_name(name, given, space.names)
            if isinstance(one, Computed):
                _check_computed(name, one, space)
        measured = [name for name, one in given.items() if isinstance(one, Outcome)]
        if not measured:
            raise InputError("all outcomes are computed; at least one must be measured")
        return cls(_with_noise(given, noise), space, Assays.of(assays, measured))

    @cached_property
    def measured(self) -> tuple[str, ...]:
        """Those that experiments measure."""
        return tuple(name for name, one in self.by_name.items() if isinstance(one, Outcome))

    @cached_property
    def computed(self) -> tuple[str, ...]:
        """Those that follow from the design."""
        return tuple(name for name, one in self.by_name.items() if isinstance(one, Computed))

    @property
    def units(self) -> dict[str, str]:
        """The units of those that have one."""
        return {name: one.unit for name, one in self.by_name.items() if one.unit}

    @property
    def titles(self) -> dict[str, str]:
        """What columns of them are called: their names, with units."""
        return {name: f"{name} ({one.unit})" if one.unit else name for name, one in self.by_name.items()}

    def without_noise(self) -> "Outcomes":
        """The same without noise; an `InputError` if one is stated."""
        noisy = {name: one.noise for name, one in self.by_name.items() if isinstance(one, Outcome) and one.noise}
        if noisy:
            name, noise = next(iter(noisy.items()))
            raise InputError(f"deterministic=True means noise=0, but the noise of {name} is stated as {noise:g}")
        return replace(self, by_name=_with_noise(self.by_name, 0.0))

    def decided(self, decision: Decision) -> tuple[str, ...]:
        """The outcomes that a decision looks at, or an error if it could never decide about them."""
        names = self._named(decision.outcomes)
        graded = [name for name in names if self.words(name)]
        if graded and len(names) > 1:
            decision.check_graded(graded)
        elif graded and not decision.by_sides and decision.needs is not Needs.MEAN:
            raise InputError(
                f"{graded[0]} is {self.kind(graded[0])}, so all that is known of it is a probability, and this decision"
                " needs the values themselves; decide for the highest or the lowest probability, the top k, level sets"
                " or an improvement"
            )
        for stated in decision.stated:
            name = names[0] if stated.outcome is None else stated.outcome
            inside = 0.0 <= stated.value <= 1.0 if stated.extreme else 0.0 < stated.value < 1.0
            if name in graded and not inside:
                raise InputError(
                    f"{stated.what} is {stated.value:g}, and {name} is {self.kind(name)}: what is known of it is a"
                    " probability; give a number between 0 and 1"
                )
            if self.is_log(name) and not stated.value > 0:
                raise InputError(
                    f"{stated.what} is {stated.value:g}, and {name} is modelled on a logarithmic scale, where all"
                    f" values are above 0; give a number above 0, or model {name} as it is"
                )
        return names

    def kind(self, name: str) -> str:
        """What is seen of an outcome, in words."""
        words = self.words(name)
        return "yes or no" if words == ("no", "yes") else f"one of {', '.join(words)}" if words else "a number"

    def _named(self, named: Sequence[str]) -> tuple[str, ...]:
        """Those that a decision names, or the only one that is measured."""
        for name in named:
            self.check_known(name)
        if named and not any(name in self.measured for name in named):
            raise InputError(f"{', '.join(named)} is computed, so there is nothing to learn; name what is measured")
        if named or len(self.measured) == 1:
            self.assays.check_decided(named or self.measured)
            return tuple(named) or self.measured
        raise InputError(
            f"the study has the outcomes {', '.join(self.by_name)}; say which of them the decision is about, such as"
            f' outcome = "{self.measured[0]}"'
        )

    def also_modelled(self, decided: Sequence[str]) -> tuple[str, ...]:
        """Other numbers than those decided on that assays measure: correlated with these, they would tell of them."""
        numbers = [name for name in decided if name in self.measured and not self.words(name)]
        if not self.assays or not numbers:
            return ()
        return tuple(name for name in self.assays.everything if name not in decided and not self.words(name))

    def known_columns(self, decided: Sequence[str]) -> dict[str, str]:
        """The columns of a verdict that say what is known of the outcomes that are decided on, with these outcomes.

        Where a parameter is called as one of the columns, that is "mean of f".
        """
        if len(decided) > 1:
            pairs = [(name, part) for name in decided for part in ("", " sd") if not (part and name in self.computed)]
            return {f"{name}{part}": name for name, part in pairs}
        names, graded = self.space.names, bool(decided) and self.words(decided[0])
        labels = ("probability" if graded else "mean", "sd")
        return {f"{label} of f" if label in names else label: name for name in decided for label in labels}

    def verdict_units(self, decided: Sequence[str]) -> dict[str, str]:
        """The units of the columns of a verdict: those of the design, and of what is known of the outcomes."""
        known = {label: self.units.get(name, "") for label, name in self.known_columns(decided).items()}
        if len(decided) == 1:
            spreads = [f"{label} sd" for label in ESTIMATES]
            known |= dict.fromkeys([*ESTIMATES, *spreads, "max"], self.units.get(decided[0], ""))
        own = {field.name: field.unit for field in self.space.fields}
        return {label: unit for label, unit in (known | own).items() if unit}

    def within_bounds(self, rows: Sequence[Mapping[str, Any]], decided: Sequence[str]) -> list[dict[str, Any]]:
        """The rows of a verdict, with expected values and quantiles no further than the bounds of their outcome."""
        labels = [label for label in (*ESTIMATES, "max", "mean", "mean of f") if label not in self.space.names]
        named = dict.fromkeys(labels, decided[0]) if len(decided) == 1 else dict(zip(decided, decided, strict=True))
        about = {label: self.quantities[name] for label, name in named.items()}
        return [
            {label: about[label].within(value) if label in about else value for label, value in row.items()}
            for row in rows
        ]

    def bounded_columns(self, columns: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
        """The columns of a prediction, with means and quantiles no further than the bounds of their outcome."""
        return {
            title: list(values) if part == "sd" else [self.quantities[name].within(value) for value in values]
            for title, values in columns.items()
            for name, _, part in [title.rpartition("_")]
        }

    def with_measured(
        self, row: Mapping[str, Any], decided: Sequence[str], known: Mapping[str, tuple[float, float]]
    ) -> dict[str, Any]:
        """A row of a verdict, with measured values and their errors by outcome in place of expected ones."""
        columns = self.known_columns(decided).items()
        labels = {name: [label for label, of in columns if of == name] for name in known}
        return {
            **row,
            **{label: number for name in known for label, number in zip(labels[name], known[name], strict=True)},
        }

    def check_known(self, name: Any) -> None:
        """An `InputError` unless there is an outcome of this name."""
        if name not in self.by_name:
            close = closest(str(name), self.by_name)
            meant = f"; did you mean {close}?" if close else ""
            raise InputError(f"there is no outcome {name!r}; the outcomes are {', '.join(self.by_name)}{meant}")

    def read(self, told: Any) -> dict[str, Measurement | None]:
        """What was told, by outcome and in their order: a value where there is one outcome, else values by name."""
        if not isinstance(told, Mapping):
            if len(self.measured) > 1:
                checked_value(told)
                listed = ", ".join(self.measured)
                raise InputError(f"{told!r} does not say which outcome it is ({listed})", Advice.NAME_OUTCOMES)
            told = {self.measured[0]: told}
        for name in told:
            self.check_known(name)
            if name in self.computed:
                raise InputError(f"{name} is computed from the design, so its value is not told; leave it out")
        return {name: self._measurement(name, told[name]) for name in self.measured if name in told}

    def _measurement(self, name: str, value: Any) -> Measurement | None:
        if value is None:
            return None
        outcome = self.by_name[name]
        if isinstance(outcome, Outcome) and outcome.kind != "number":
            return Measurement(outcome.grade(value, name))
        one = Measurement(*checked_value(value, "" if len(self.measured) == 1 else f" for {name}"))
        if isinstance(outcome, Outcome) and outcome.log and one.value <= 0:
            raise InputError(
                f"the value told for {name} is {one.value:g}; it must be above 0, as {name} is modelled on a"
                " logarithmic scale"
            )
        low, high = self.bounds(name)
        if not low <= one.value <= high:
            beyond = f"below {low:g}, the least" if one.value < low else f"above {high:g}, the greatest"
            raise InputError(
                f"the value told for {name} is {one.value!r}, which is {beyond} that it can be as the study is defined;"
                " correct the value, or the bound if it is wrong"
            )
        return one

    def given(self, told: Any) -> dict[str, Measurement]:
        """What was told of a new trial; an `InputError` if that is nothing."""
        found = {name: one for name, one in self.read(told).items() if one is not None}
        if not found:
            raise InputError(f"nothing was measured; tell at least one of {', '.join(self.measured)}")
        return found

    def shown(self, trial: Trial) -> dict[str, Measurement | None]:
        """What is known of each outcome of a trial: measured, computed, or nothing."""
        known: dict[str, Measurement | None] = {}
        for name, one in self.by_name.items():
            if isinstance(one, Computed):
                known[name] = Measurement(float(one.at(self.space, self.space.encode(trial.params))))
            else:
                known[name] = trial.measurements.get(name)
        return known

    def bounds(self, name: str) -> tuple[float, float]:
        """The least and the greatest value that an outcome can have; infinite where nobody said."""
        one = self.by_name[name]
        return one.bounds if isinstance(one, Outcome) else (-math.inf, math.inf)

    def modelled_bounds(self, name: str) -> tuple[float, float]:
        """The same as models see it: of logarithms where the outcome is known by its ratios."""
        low, high = self.bounds(name)
        if not self.is_log(name):
            return low, high
        return (math.log(low) if low > 0 else -math.inf, math.log(high))

    def words(self, name: str) -> tuple[str, ...]:
        """What can be seen of an outcome; none where it is a number."""
        one = self.by_name[name]
        return one.words if isinstance(one, Outcome) and one.kind != "number" else ()

    def grades(self, name: str) -> tuple[int, int] | None:
        """How many grades an outcome has and which one is wanted; None where it is a number."""
        one = self.by_name[name]
        return (len(one.words), one.wanted) if isinstance(one, Outcome) and one.kind != "number" else None

    @property
    def words_of_measured(self) -> dict[str, tuple[str, ...]]:
        """The words of each outcome that is measured."""
        return {name: self.words(name) for name in self.measured}

    def as_told(self, name: str, one: Measurement) -> Value:
        """A measurement as it would be told: a word, a value, or a value with its standard error."""
        words = self.words(name)
        if not words:
            return one.value if one.std_error is None else (one.value, one.std_error)
        if one.value not in range(len(words)):
            raise InputError(f"{name} is {one.value:g}; the places of its grades are 0 to {len(words) - 1}")
        return words[int(one.value)]

    @property
    def quantities(self) -> dict[str, Quantity]:
        """What sentences call the outcomes."""
        found = {}
        for name, one in self.by_name.items():
            chance = isinstance(one, Outcome) and one.kind != "number"
            number = Quantity(name, one.unit, log=self.is_log(name), bounds=self.bounds(name))
            found[name] = Quantity.chance(one.event(name)) if chance else number  # type: ignore[union-attr]
        return found

    def about(self, decided: Sequence[str]) -> Quantity:
        """What sentences call the outcome that a decision about these is about: the first one that is measured."""
        return self.quantities[next(name for name in decided if name in self.measured)]

    def is_log(self, name: str) -> bool:
        """Whether models are of the logarithm of an outcome."""
        one = self.by_name[name]
        return isinstance(one, Outcome) and one.log

    def tails(self, name: str) -> Tails | None:
        """Whether results of an outcome may be grossly wrong."""
        one = self.by_name.get(name)
        return one.tails if isinstance(one, Outcome) else None

    def std_error(self, name: str, one: Measurement) -> float | None:
        """The standard error of a measurement: as told with it, or the stated noise of the outcome; None if unknown."""
        outcome = self.by_name.get(name)
        stated = outcome.noise if isinstance(outcome, Outcome) else None
        return stated if one.std_error is None else one.std_error

    def modelled(self, name: str, trial: Trial) -> Measurement | None:
        """What was measured of an outcome as models see it, with its error: logarithms where it is known by ratios."""
        one = trial.measurements.get(name)
        if one is None:
            return None
        error = self.std_error(name, one)
        if not self.is_log(name):
            return Measurement(one.value, error)
        return Measurement(math.log(one.value), None if error is None else error / one.value)

    def exact(self, trial: Trial) -> frozenset[str]:
        """The outcomes of a trial that were measured without noise."""
        return frozenset(name for name, one in trial.measurements.items() if self.std_error(name, one) == 0)

    def mean_errors(self, trials: Sequence[Trial], means: Mapping[str, float]) -> dict[str, float]:
        """By outcome the standard error of the mean over replicates, where all errors are stated and none is 0.

        Nothing for outcomes with heavy tails, and where replicates contradict their errors.
        """
        found = {}
        for name, mean in means.items():
            told = [trial.measurements[name] for trial in trials]
            errors = [error for one in told if (error := self.std_error(name, one))]
            agree = all(abs(one.value - mean) <= CONTRADICTION * max(errors, default=0.0) for one in told)
            if len(errors) == len(told) and agree and not self.tails(name):
                found[name] = math.hypot(*errors) / len(errors)
        return found

    def taken(self, trial: Trial) -> frozenset[str]:
        """The outcomes that are measured of a trial now, or were with a noise that nobody knows: not again so soon."""
        told = trial.measurements.items()
        if trial.state is not State.RUNNING and not any(self.std_error(name, one) is None for name, one in told):
            return frozenset()
        return frozenset((*self.assays.asked(trial.measures), *trial.measurements))

    def observed(self, names: Sequence[str], trials: Iterable[Trial], row_of: Callable[[Trial], Tensor]) -> Observed:
        """What the model of some outcomes is fitted to: the trials in which one of them was measured."""
        told = [trial for trial in trials if any(name in trial.measurements for name in names)]
        X = torch.stack([row_of(trial) for trial in told]) if told else self.space.bounds[:0]
        columns = [self._column(name, told, X) for name in names]
        Y, errors = (torch.tensor(part, dtype=torch.float64).mT for part in zip(*columns, strict=True))
        return Observed(X, Y, errors)

    def _column(self, name: str, trials: Sequence[Trial], X: Tensor) -> tuple[list[float], list[float]]:
        """The values and the standard errors of one outcome, NaN where there is none."""
        one = self.by_name[name]
        if isinstance(one, Computed):
            return one.at(self.space, X).tolist(), [0.0] * len(trials)
        told = [self.modelled(name, trial) for trial in trials]
        values = [math.nan if one is None else one.value for one in told]
        return values, [math.nan if one is None or one.std_error is None else one.std_error for one in told]


@dataclass(frozen=True)
class Doubt:
    """A value of trial `number` that is held for a gross error with the probability `chance`."""

    number: int
    outcome: str
    value: float
    chance: float


@dataclass(frozen=True)
class Fitting:
    """How a study fits its model: to which outcomes, with which treatment of the hyperparameters and seed.

    `names` are the outcomes that are decided on. `also` are others that may tell of them, once they were measured.
    With `one_kernel`, "auto" is not a belief over families: those are weighted by how well they predict experiments
    that were left out, which says little where most experiments are of another fidelity than what is decided on.
    `best` says which outcomes the decision looks for.
    """

    outcomes: Outcomes
    names: tuple[str, ...]
    hyperparameters: Any
    seed: int
    also: tuple[str, ...] = ()
    model: Model | None = None
    device: Any = None
    one_kernel: bool = False
    best: Best | None = None

    def __post_init__(self) -> None:
        if self.model is None:
            return
        if not callable(self.model):
            raise InputError(f"the model is {self.model!r}; it must be a function from he.ModelData to a belief")
        if len(self.names) > 1:
            raise InputError(f"a model of your own is about one outcome; the decision looks at {', '.join(self.names)}")
        if self.outcomes.words(self.names[0]) or self.outcomes.is_log(self.names[0]):
            raise InputError(
                f"a model of your own is given numbers as they are told; let {self.names[0]} be an Outcome without"
                " log, kind or grades, and transform its values in the model"
            )
        if self.hyperparameters != "auto":
            raise InputError("hyperparameters are those of the model that a study fits itself; leave them out")

    @property
    def measured(self) -> tuple[str, ...]:
        """The outcomes that are decided on and measured; the others are computed."""
        return tuple(name for name in self.names if name in self.outcomes.measured)

    def told(self, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """The trials in which something was measured that the model is of."""
        names = (*self.measured, *self.also)
        return tuple(trial for trial in trials if any(name in trial.measurements for name in names))

    def is_known(self, trials: Sequence[Trial]) -> bool:
        """Whether each of them was measured at least once."""
        return all(any(name in trial.measurements for trial in trials) for name in self.measured)

    def belief(
        self, trials: Sequence[Trial], row_of: Callable[[Trial], Tensor], earlier: Belief | None = None
    ) -> Belief:
        """The belief about the outcomes: of one its own, of several one beside the other.

        `earlier`, the belief after the first of these trials, spares some of the work and changes nothing.
        """
        missing = [name for name in self.measured if not any(name in trial.measurements for trial in trials)]
        if missing:
            what = "nothing has been told yet" if len(self.names) == 1 else f"{missing[0]} was never measured"
            raise StudyError(f"{what}, so nothing is known", Advice.ASK_AND_TELL, between=": ")
        also = tuple(name for name in self.also if any(name in trial.measurements for trial in trials))
        names, every = (*self.measured, *also), (*self.names, *also)
        observed = self.outcomes.observed(names, trials, row_of)
        if self.model is not None:
            X, Y, noise = observed.X.to(device=self.device), observed.Y[:, 0].to(device=self.device), observed.noise(0)
            noise = None if noise is None else noise.to(device=self.device)
            data = ModelData(X, Y, self.outcomes.space, noise, self.seed)
            return believed(self.model, data, self.measured[0])
        options: dict[str, Any] = {
            "space": self.outcomes.space,
            "hyperparameters": self._treatment(len(every), len(names)),
            "seed": self.seed,
            "device": self.device,
            "profile": Profile.MATERN52 if self.one_kernel and self.hyperparameters == "auto" else None,
        }
        if len(every) == 1 and not self.outcomes.words(names[0]):
            known = earlier.process if earlier is not None and earlier.normal else None
            options |= {"noise": observed.noise(0), "tails": self.outcomes.tails(names[0])}
            alone = fit(observed.X, observed.Y, earlier=known, best=self.best, **options)
            logs = frozenset(name for name in names if self.outcomes.is_log(name))
            return replace(alone, outcomes=names, logs=logs)
        fitted = fit_outcomes(
            observed.X,
            observed.Y,
            names,
            noise={name: observed.noise(i) for i, name in enumerate(names)},
            tails={name: self.outcomes.tails(name) for name in names},
            grades={name: grades for name in names if (grades := self.outcomes.grades(name))},
            earlier=earlier,
            **options,
        )
        parts = tuple(self._with_logs(part) for part in fitted.split()) + tuple(
            Known(fitted.X[:0], partial(one.at, self.outcomes.space), (name,))
            for name in self.names
            if isinstance(one := self.outcomes.by_name[name], Computed)
        )
        return parts[0] if len(every) == 1 else Several(parts, every)

    def doubts(self, belief: Belief, trials: Sequence[Trial]) -> tuple[Doubt, ...]:
        """The values that the model holds for gross errors, with a probability above one half.

        Unless tails are heavy, never against an error that is stated.
        """
        found: list[Doubt] = []
        each: tuple[Any, ...] = belief.split()
        for part in each:
            if part.process is None:
                continue
            name, chances = part.outcomes[0], doubted(part).tolist()
            if not (self.learns_noise(name, trials) or self.outcomes.tails(name)):
                continue
            rows = [trial for trial in trials if name in trial.measurements]
            if len(rows) == len(chances):  # each is one observation of the model
                pairs = zip(rows, chances, strict=True)
                doubtful = [(trial, chance) for trial, chance in pairs if chance > PROBABLY]
                found += [Doubt(one.number, name, one.measurements[name].value, chance) for one, chance in doubtful]
        return tuple(found)

    def learns_noise(self, name: str, trials: Sequence[Trial]) -> bool:
        """Whether the noise of an outcome, a number, is learned from its results: no error of any is stated."""
        if self.model is not None or name not in self.outcomes.measured or self.outcomes.words(name):
            return False
        modelled = (self.outcomes.modelled(name, trial) for trial in trials)
        return not any(one is not None and one.std_error is not None for one in modelled)

    def plugs_in_noise(self, trials: Sequence[Trial]) -> bool:
        """Whether the most probable noise is taken for the true one, although few results tell it."""
        return self.hyperparameters == "map" and len(trials) <= MIXTURE_LIMIT

    def integrating_noise(self) -> "Fitting":
        """The same outcomes by a belief that integrates over what is not known of the noise."""
        return replace(self, hyperparameters="families", one_kernel=False)

    def calibrated(self, belief: Belief, trials: Sequence[Trial]) -> "Calibrated":
        """The belief with the weights and spreads that the record of predictions asks for.

        A model of your own stays as it is. Where noise is stated, spreads are only widened: with a narrower prior, the
        noise that was stated would count for more than it should.
        """
        if self.model is not None:
            return Calibrated(belief)
        own: tuple[Any, ...] = belief.split()
        factors: dict[str, float] = {}
        parts: list[Any] = []
        for part in own:
            name = part.outcomes[0]
            if name not in self.outcomes.measured or part.process is None:
                parts.append(part)
                continue
            known = judged(trials, name)
            if len(own) == 1:  # components of several outcomes belong together, and have common weights
                part = weigh_families(part, family_record(known[-WINDOW:]))
            factor = spread_factor([one.plain_error for one in known])
            stated = not self.learns_noise(name, trials)
            if factor > 1.0 or (factor < 1.0 and not stated):
                factors[name] = factor
                part = part.widened(factor, noise=not stated)
            parts.append(part)
        return Calibrated(belief.rejoined(parts), factors)

    def _treatment(self, outcomes: int, measured: int) -> Any:
        """That of the hyperparameters: an outcome beside others, which may be computed, is not transformed."""
        chosen = self.hyperparameters == "auto" and measured == 1 and not self.one_kernel
        return (
            "families" if outcomes > 1 and (chosen or self.hyperparameters == "transformed") else self.hyperparameters
        )

    def _with_logs(self, part: Any) -> Any:
        """Values come as they are modelled: here is said which of them are logarithms."""
        logs = frozenset(name for name in part.outcomes if self.outcomes.is_log(name))
        return part if logs == part.logs else replace(part, logs=logs)


def _with_noise(outcomes: Mapping[str, Outcome | Computed], noise: Any) -> dict[str, Outcome | Computed]:
    """Outcomes with a noise that is stated for the whole study."""
    check_noise(noise)
    numbers = {name: one for name, one in outcomes.items() if isinstance(one, Outcome) and one.kind == "number"}
    if noise is None:
        return dict(outcomes)
    if not numbers:
        raise InputError(f"no outcome is a number, so none has a noise; leave noise={noise:g} out")
    if noise and len(numbers) > 1:
        raise InputError(
            f"noise={noise:g} does not say which outcome it is of ({', '.join(numbers)}); state it for each, such as"
            f' outcomes={{"{next(iter(numbers))}": Outcome(noise={noise:g})}}'
        )
    for name, one in numbers.items():
        if one.noise not in (None, noise):
            raise InputError(f"the noise of {name} is stated twice: {one.noise:g}, and {noise:g} for the study")
    return {name: replace(one, noise=noise) if name in numbers else one for name, one in outcomes.items()}


@dataclass(frozen=True)
class Calibrated:
    """A belief, and the factor that the record of predictions has put on its spread, by outcome; 1 if there is none.

    The note says why it is a simpler belief than the study asks for.
    """

    belief: Belief
    factors: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def predictions(self, x: Tensor, names: Sequence[str]) -> list[dict[str, Prediction]]:
        """What observations at designs x (q x d) are expected to show of outcomes, as far as these are numbers."""
        found: list[dict[str, Prediction]] = [{} for _ in x]
        at = x.to(self.belief.X)
        for name in names:
            if name not in self.belief.outcomes or name in self.belief.graded:
                continue
            expected = predict(self.belief, name, at, SHARES)
            columns = (expected.mean.tolist(), expected.sd.tolist(), expected.quantiles.mT.tolist())
            own: Any = self.belief.process_of(name)
            parts = {} if own.process is None else family_parts(own)
            of_parts = {key: predict(part, name, at, FAMILY_SHARES).quantiles for key, part in parts.items()}
            for i, (mean, sd, quantiles) in enumerate(zip(*columns, strict=True)):
                if all(map(math.isfinite, (mean, sd, *quantiles))):
                    log, factor = name in self.belief.logs, self.factors.get(name, 1.0)
                    families = {key: tuple(each[:, i].tolist()) for key, each in of_parts.items()}
                    found[i][name] = Prediction(mean, sd, tuple(quantiles), factor, log, families)
        return found


def _check_computed(name: str, one: Computed, space: DesignSpace) -> None:
    if one.name != name:
        raise InputError(f"the computed outcome {one.name!r} stands under the name {name!r}; give it one name")
    try:
        check(parse(one.expression), space.kinds, space.all_tables, condition=False)
    except InputError as error:
        raise InputError(f"the outcome {name}: {error}") from None
    rows = space.sample(CHECKED, 0)
    bad = (~one.at(space, rows).isfinite()).nonzero()
    if len(bad):
        design = space.decode(rows[int(bad[0])])
        raise InputError(f"the outcome {name} is not a finite number at the design {design}; change its expression")
