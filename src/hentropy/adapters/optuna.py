"""Optuna: a sampler that asks for the experiment that improves the decision most, and a terminator by its gain.

Objectives are outcomes called by `study.metric_names`, or "objective" ("objective_0", "objective_1", ...); constraints
are outcomes called by their keys, which are at most 0 where they hold. Trials that failed teach where experiments
succeed. Pruned trials are left out: what they reported is not the objective.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hentropy.adapters.host import HostTrials, space_of, usual_decision, with_outcomes
from hentropy.core.decisions import Decision
from hentropy.core.given import is_finite
from hentropy.core.spaces import Choice, Integer, Parameter, Params, Real
from hentropy.errors import DocPage, InputError, explained_in, require
from hentropy.studies.records import Failed, Trial, Verdict
from hentropy.studies.study import Study

require("optuna", "optuna")

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import StudyDirection
from optuna.terminator import BaseTerminator
from optuna.trial import FrozenTrial, TrialState

Distributions = Mapping[str, BaseDistribution]


class HentropySampler(BaseSampler):
    """Samples what `Study.ask` asks: designs that fill the space first, then those with the largest gain.

    `decision` is about objectives and constraints by name. By default it is the best design for one objective, subject
    to all constraints, and a front of five designs for several objectives. `search_space` are the distributions of all
    parameters, if they are known; otherwise they are inferred from completed trials, and the first trial, as well as
    parameters that only some trials have, are sampled by `independent`. `options` are those of `hentropy.Study`:
    `first`, `hyperparameters`, `failures`, `noise=0` for a deterministic objective, or
    `outcomes={"objective": Outcome(noise=0.1, low=0)}` for those of which more is known.
    """

    def __init__(
        self,
        decision: Decision | None = None,
        *,
        search_space: Distributions | None = None,
        seed: int = 0,
        independent: BaseSampler | None = None,
        **options: Any,
    ) -> None:
        self._decision = decision
        self._given = None if search_space is None else _varying(search_space)
        self._inferred = IntersectionSearchSpace()
        self._independent = RandomSampler(seed=seed) if independent is None else independent
        self._options = {"seed": seed, **options}
        self._last: tuple[Any, Trial] | None = None

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are chosen together: all that were given, or those that all completed trials have."""
        return dict(_varying(self._inferred.calculate(study)) if self._given is None else self._given)

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next experiment."""
        if not search_space:
            return {}
        asked = self._next(study, search_space, trial.number)
        return {name: _external(search_space[name], value) for name, value in asked.params.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that is not among those chosen together."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """The choice of designs depends on the trials alone; what is sampled independently is reseeded."""
        self._independent.reseed_rng()

    def decide(self, study: optuna.Study) -> Verdict:
        """What would be decided now, with its expected loss: compare `study.best_trial`, which is the best measured."""
        return self.as_study(study).decide()

    def as_study(self, study: optuna.Study) -> Study:
        """The trials of an Optuna study as a study of hentropy, in memory."""
        return self._made(study, self._space(study), None)

    def gain(self, study: optuna.Study) -> float | None:
        """The expected improvement of the decision by the next trial; None while designs fill the space."""
        space = self._space(study)
        return self._next(study, space, None).gain

    @explained_in(DocPage.ADAPTERS)
    def _space(self, study: optuna.Study) -> Distributions:
        space = _varying(self._inferred.calculate(study)) if self._given is None else self._given
        if not space:
            raise InputError(
                "no parameter is known yet: complete a trial, or give the sampler its search_space, such as"
                ' {"x": optuna.distributions.FloatDistribution(0, 1)}'
            )
        return space

    def _next(self, study: optuna.Study, space: Distributions, own: int | None) -> Trial:
        """The next experiment; asked once for the same trials, for a terminator asks as well."""
        made = self._made(study, space, own)
        key = (dict(space), made.records)
        if self._last is None or self._last[0] != key:
            self._last = (key, made.ask())
        return self._last[1]

    def _made(self, study: optuna.Study, space: Distributions, own: int | None) -> Study:
        trials = [trial for trial in study.get_trials(deepcopy=False) if trial.number != own and _has(trial, space)]
        objectives = _objectives(study)
        keys = dict.fromkeys(key for trial in trials for key in trial.constraints)
        names = {key: _constraint(key) for key in keys}
        ended: list[tuple[Params, Any]] = []
        for trial in trials:
            if trial.state is TrialState.FAIL:
                ended.append((_params(trial, space), Failed("failed in Optuna")))
            elif trial.state is TrialState.COMPLETE:
                told = {**dict(zip(objectives, trial.values, strict=True)), **_held(trial, names)}
                ended.append((_params(trial, space), told))
        running = [_params(trial, space) for trial in trials if trial.state is TrialState.RUNNING]
        decision = self._decision or usual_decision(objectives, tuple(f"{name} <= 0" for name in names.values()))
        return HostTrials(tuple(ended), tuple(running)).study(
            space_of({name: _parameter(name, distribution) for name, distribution in space.items()}),
            decision,
            # constraints are known once a trial has told them
            **with_outcomes((*objectives, *names.values()), self._options, complete=bool(ended)),
        )


class GainTerminator(BaseTerminator):
    """Stops a study when the next trial is expected to improve the decision by less than the `price` of a trial.

    The price is in units of the loss: for `Minimize` and `Maximize`, those of the objective. Hand it to
    `study.optimize(..., callbacks=[...])`.
    """

    @explained_in(DocPage.ADAPTERS)
    def __init__(self, sampler: HentropySampler, price: float) -> None:
        if not (is_finite(price) and price > 0):
            raise InputError(f"the price of a trial must be a finite number above 0, got {price!r}")
        self._sampler, self._price = sampler, price

    def should_terminate(self, study: optuna.Study) -> bool:
        """Whether the gain of the next trial is below the price; not while designs fill the space."""
        gain = self._sampler.gain(study)
        return gain is not None and gain < self._price

    def __call__(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """As a callback."""
        if self.should_terminate(study):
            study.stop()


def _varying(space: Distributions) -> Distributions:
    return {name: distribution for name, distribution in space.items() if not distribution.single()}


def _has(trial: FrozenTrial, space: Distributions) -> bool:
    """Whether a trial has all these parameters, with these distributions."""
    return all(trial.distributions.get(name) == distribution for name, distribution in space.items())


def _objectives(study: optuna.Study) -> dict[str, bool]:
    """The objectives by name, and whether they are maximised."""
    ways = [direction is StudyDirection.MAXIMIZE for direction in study.directions]
    several = [f"objective_{i}" for i in range(len(ways))] if len(ways) > 1 else ["objective"]
    names: Sequence[str] = study.metric_names or several
    return dict(zip(names, ways, strict=True))


def _constraint(key: str) -> str:
    """What a constraint is called; those of a `constraints_func` only have numbers."""
    return key if key.isidentifier() else f"constraint_{key}"


def _held(trial: FrozenTrial, names: Mapping[str, str]) -> dict[str, float]:
    return {names[key]: float(value) for key, value in trial.constraints.items()}


def _params(trial: FrozenTrial, space: Distributions) -> Params:
    return {name: _internal(space[name])(trial.params[name]) for name in space}


@explained_in(DocPage.ADAPTERS)
def _parameter(name: str, distribution: BaseDistribution) -> Parameter:
    if isinstance(distribution, FloatDistribution):
        return Real(distribution.low, distribution.high, distribution.log, distribution.step)
    if isinstance(distribution, IntDistribution):
        step = None if distribution.step == 1 else distribution.step
        return Integer(distribution.low, distribution.high, distribution.log, step)
    if isinstance(distribution, CategoricalDistribution):
        return Choice(_labels(distribution))
    raise InputError(f"the distribution of {name} is {distribution!r}, which hentropy does not know")


def _labels(distribution: CategoricalDistribution) -> list[str]:
    """What options are called: texts are themselves; others, which may be None, are written as in Python."""
    choices = distribution.choices
    plain = all(isinstance(choice, str) and choice and choice == choice.strip() for choice in choices)
    return [str(choice) if plain else repr(choice) for choice in choices]


def _internal(distribution: BaseDistribution) -> Callable[[Any], Any]:
    if not isinstance(distribution, CategoricalDistribution):
        return lambda value: value
    labels = _labels(distribution)
    return lambda value: labels[int(distribution.to_internal_repr(value))]


def _external(distribution: BaseDistribution, value: Any) -> Any:
    if not isinstance(distribution, CategoricalDistribution):
        return value
    return distribution.choices[_labels(distribution).index(value)]
