"""Optuna: a sampler that asks for the experiment that improves the decision most, and a terminator by its gain.

Objectives are outcomes called by `study.metric_names`, or "objective" ("objective_0", "objective_1", ...); constraints
are outcomes called by their keys, which are at most 0 where they hold. What becomes of a trial:

    complete            its values; one that is not finite is a failure
    failed              a failure: it teaches where experiments succeed
    pruned              the value that it would have ended with, as complete trials went on from the step of its last
                        report; pending where this is not known
    running             pending, with the design that was proposed, whatever of it has been suggested yet
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hentropy.adapters.host import (
    Curve,
    HostTrials,
    continued,
    finite_or_failed,
    space_of,
    states_error,
    usual_decision,
    with_outcomes,
)
from hentropy.core.decisions import Decision
from hentropy.core.given import is_finite
from hentropy.core.spaces import Choice, Integer, Parameter, Params, Pool, Real
from hentropy.errors import DocPage, InputError, explained_in, require
from hentropy.studies.records import Failed, Trial, Verdict
from hentropy.studies.study import Study

require("optuna", "optuna")

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import StudyDirection
from optuna.terminator import BaseTerminator
from optuna.trial import FrozenTrial, TrialState

Distributions = Mapping[str, BaseDistribution]

DESIGN = "hentropy:design"
"""The attribute of a trial, seen by all processes, that has the design that was proposed for it."""

_logger = optuna.logging.get_logger("optuna.samplers.hentropy")
_asking = threading.Lock()
"""Trials that begin side by side are chosen one after another, each with the ones before it pending."""


class HentropySampler(BaseSampler):
    """Samples what `Study.ask` asks: designs that fill the space first, then those with the largest gain.

    `decision` is about objectives and constraints by name. By default it is the best complete trial for one objective,
    subject to all constraints, as in `study.best_trial`, and a front of five designs for several objectives.
    `search_space` are the distributions of all parameters, if they are known; otherwise they are those of the
    completed trials, and the first trial, as well as parameters that only some trials have, are sampled by
    `independent`. `options` are those of `hentropy.Study`: `first`, `hyperparameters`, `failures`, `noise=0` for a
    deterministic objective, or `outcomes={"objective": Outcome(noise=0.1, low=0)}` for those of which more is known.
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
        self._given = {} if search_space is None else search_space
        self._independent = RandomSampler(seed=seed) if independent is None else independent
        self._options = {"seed": seed, **options}
        self._last: tuple[Any, Trial] | None = None

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are chosen together, with their present ranges."""
        return dict(_present(self._given, _trials(study)))

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The next experiment."""
        if not search_space:
            return {}
        with _asking:
            design = self._next(study, search_space, trial.number).params
            study._storage.set_trial_system_attr(trial._trial_id, DESIGN, design)
        return {name: _external(search_space[name], value) for name, value in design.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that is not among those chosen together, or whose range is not the one it was chosen in."""
        proposed = trial.system_attrs.get(DESIGN, {})
        if param_name in proposed:
            nearest = _external(param_distribution, proposed[param_name])
            _logger.warning(
                f"The range of {param_name} changed to {param_distribution}: trial {trial.number} takes {nearest!r},"
                f" the nearest to the proposed {proposed[param_name]!r}."
            )
            return nearest
        if proposed:
            _logger.warning(
                f"{param_name} of trial {trial.number} is sampled independently, by"
                f" {type(self._independent).__name__}: it is not one of those that are chosen together."
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """The choice of designs depends on the trials alone; what is sampled independently is reseeded."""
        self._independent.reseed_rng()

    def decide(self, study: optuna.Study) -> Verdict:
        """What would be decided now, with its expected loss: by default, one of the complete trials."""
        own = self.as_study(study)
        if self._decision is not None or not own.decision.follows_data or "decide_on" in self._options:
            return own.decide()
        complete = [_design(one, own.space.names) for one in _trials(study) if one.state is TrialState.COMPLETE]
        rows = own.space.encode_many([design for design in complete if design is not None]).unique(dim=0)
        return self._rebuilt(study, self._space(study), None, decide_on=Pool.among(own.space, rows)).decide()

    def as_study(self, study: optuna.Study) -> Study:
        """The trials of an Optuna study as a study of hentropy, in memory."""
        return self._rebuilt(study, self._space(study), None)

    def gain(self, study: optuna.Study) -> float | None:
        """The expected improvement of the decision by the next trial; None while designs fill the space."""
        with _asking:
            return self._next(study, self._space(study), None).gain

    @explained_in(DocPage.ADAPTERS)
    def _space(self, study: optuna.Study) -> Distributions:
        space = _present(self._given, _trials(study))
        if not space:
            raise InputError(
                "no parameter is known yet: complete a trial, or give the sampler its search_space, such as"
                ' {"x": optuna.distributions.FloatDistribution(0, 1)}'
            )
        return space

    def _next(self, study: optuna.Study, space: Distributions, own: int | None) -> Trial:
        """The next experiment; asked once for the same trials, for a terminator asks as well."""
        rebuilt = self._rebuilt(study, space, own)
        key = (dict(space), rebuilt.records)
        if self._last is None or self._last[0] != key:
            self._last = (key, rebuilt.ask())
        return self._last[1]

    def _rebuilt(self, study: optuna.Study, space: Distributions, own: int | None, **options: Any) -> Study:
        trials = [(trial, _design(trial, space)) for trial in _trials(study) if trial.number != own]
        known = [(trial, design) for trial, design in trials if design is not None]
        objectives = _objectives(study)
        keys = dict.fromkeys(key for trial, _ in known for key in trial.constraints)
        names = {key: _constraint(key) for key in keys}
        # constraints are known once a trial has told them
        complete = any(trial.state in (TrialState.COMPLETE, TrialState.FAIL) for trial, _ in known)
        given = with_outcomes((*objectives, *names.values()), self._options, complete=complete)
        first = next(iter(objectives))
        done = [Curve(one.intermediate_values, one.values[0]) for one, _ in known if one.state is TrialState.COMPLETE]
        ended: list[tuple[Params, Any]] = []
        running: list[Params] = []
        for trial, design in known:
            if trial.state is TrialState.FAIL:
                ended.append((design, Failed("failed in Optuna")))
            elif trial.state is TrialState.COMPLETE:
                told = {**dict(zip(objectives, trial.values, strict=True)), **_held(trial, names)}
                ended.append((design, finite_or_failed(told)))
            elif trial.state is TrialState.PRUNED and (end := continued(trial.intermediate_values, done)) is not None:
                told = {first: end if states_error(first, given) else end[0], **_held(trial, names)}
                ended.append((design, finite_or_failed(told)))
            elif trial.state is not TrialState.WAITING:
                running.append(design)
        decision = self._decision or usual_decision(
            objectives, tuple(f"{name} <= 0" for name in names.values()), among="measured"
        )
        parameters = {name: _parameter(name, distribution) for name, distribution in space.items()}
        designs = space_of(parameters, [design for _, design in known])
        return HostTrials(tuple(ended), tuple(running)).study(designs, decision, **{**given, **options})


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


def _trials(study: optuna.Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False)


def _present(given: Distributions, trials: Sequence[FrozenTrial]) -> Distributions:
    """The parameters that vary: those given, or that all complete trials have, as they were last suggested.

    A range that was given counts while the objective allows all of it. Before any trial is complete, pruned ones count.
    """
    last = {name: one for trial in trials for name, one in trial.distributions.items()}
    if given:
        found = {name: one if _contains(last.get(name, one), one) else last[name] for name, one in given.items()}
    else:
        complete = [trial for trial in trials if trial.state is TrialState.COMPLETE]
        ended = complete or [trial for trial in trials if trial.state is TrialState.PRUNED]
        shared = set.intersection(*(set(trial.distributions) for trial in ended)) if ended else set()
        found = {name: last[name] for name in sorted(shared)}
    return {name: distribution for name, distribution in found.items() if not distribution.single()}


def _contains(wide: BaseDistribution, narrow: BaseDistribution) -> bool:
    """Whether all values of a distribution are in a wider one of its kind."""
    if isinstance(wide, CategoricalDistribution) or isinstance(narrow, CategoricalDistribution):
        return wide == narrow
    ends = (narrow.low, narrow.high)
    return all(wide._contains(end) for end in ends) and (wide.step in (None, narrow.step))


def _design(trial: FrozenTrial, names: Iterable[str]) -> Params | None:
    """The design of a trial: what was suggested to it, and where it came to no suggestion what was proposed."""
    own = {name: _internal(trial.distributions[name], value) for name, value in trial.params.items()}
    design = {**trial.system_attrs.get(DESIGN, {}), **own}
    return {name: design[name] for name in names} if all(name in design for name in names) else None


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


def _internal(distribution: BaseDistribution, value: Any) -> Any:
    """A value as hentropy has it."""
    if isinstance(distribution, CategoricalDistribution):
        return _labels(distribution)[int(distribution.to_internal_repr(value))]
    return value


def _external(distribution: BaseDistribution, value: Any) -> Any:
    """A value as Optuna has it: the nearest in the distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[_labels(distribution).index(value)]
    low, high, step = distribution.low, distribution.high, distribution.step
    inside = min(max(value, low), high)
    if step is None or distribution._contains(inside):
        return inside
    return min(low + round((inside - low) / step) * step, high)
