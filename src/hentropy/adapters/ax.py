"""Ax: a generation node for any decision, a stopping strategy by gain, and `EHIG` in Ax's modular generator.

Metrics are outcomes by their names. The node models them itself, in their own units. Within the modular generator, Ax
hands over a model of its own, of transformed designs and standardised metrics. A decision that speaks of values, such
as a level set, belongs in the node.

A trial that failed, or with a metric that is not finite, is a failure. One that was stopped early counts with the value
that it would have ended with, as complete trials went on from the step of its last report; where that is not known, it
is pending, and so are running trials.
"""

import math
from collections.abc import Sequence
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
from hentropy.core.acquisition import EHIG
from hentropy.core.decisions import Decision
from hentropy.core.given import is_finite
from hentropy.core.spaces import Choice, Integer, Levels, Parameter, Params, Real
from hentropy.errors import DocPage, InputError, explained_in, require
from hentropy.studies.records import Failed, Verdict
from hentropy.studies.study import Study

require("ax", "ax", "ax-platform")

import torch
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.objective import Objective
from ax.core.outcome_constraint import OutcomeConstraint
from ax.core.parameter import ChoiceParameter, FixedParameter, ParameterType, RangeParameter
from ax.core.parameter import Parameter as AxParameter
from ax.core.parameter_constraint import ParameterConstraint
from ax.core.trial_status import TrialStatus
from ax.core.types import ComparisonOp, TParameterization
from ax.generation_strategy.external_generation_node import ExternalGenerationNode
from ax.generation_strategy.transition_criterion import TransitionCriterion
from ax.global_stopping.strategies.base import BaseGlobalStoppingStrategy
from botorch.acquisition.input_constructors import acqf_input_constructor
from botorch.models.model import Model
from torch import Tensor


class HentropyNode(ExternalGenerationNode):
    """Generates the designs that improve a decision most, from all data and with pending designs counted.

    `decision` is about metrics by name. By default it is the best design for the objective, subject to all outcome
    constraints, and a front of five designs for several objectives. The node also fills the space in the beginning:
    no other node needs to come first. `options` are those of `hentropy.Study`: `noise=0` for a deterministic
    simulation, or `outcomes={"yield": Outcome(noise=0.5, low=0, high=100)}` for metrics of which more is known. A SEM
    that comes with a value takes the place of the stated noise.
    """

    def __init__(
        self,
        decision: Decision | None = None,
        *,
        name: str = "hentropy",
        transition_criteria: Sequence[TransitionCriterion] | None = None,
        **options: Any,
    ) -> None:
        # a design may be measured again where noise makes that worth it
        super().__init__(name, should_deduplicate=False, transition_criteria=transition_criteria)
        self._decision = decision
        self._options = options
        self._state: tuple[Experiment, Data] | None = None

    def update_generator_state(self, experiment: Experiment, data: Data) -> None:
        """What is known now."""
        self._state = (experiment, data)

    def get_next_candidate(self, pending_parameters: list[TParameterization]) -> TParameterization:
        """The next design."""
        assert self._state is not None
        experiment, data = self._state
        asked = self.as_study(experiment, data, pending_parameters).ask()
        fixed = {p.name: p.value for p in experiment.search_space.parameters.values() if isinstance(p, FixedParameter)}
        return {**asked.params, **fixed}

    def decide(self, experiment: Experiment) -> Verdict:
        """What would be decided now, with its expected loss."""
        return self.as_study(experiment).decide()

    def as_study(
        self,
        experiment: Experiment,
        data: Data | None = None,
        pending: Sequence[TParameterization] | None = None,
    ) -> Study:
        """An experiment as a study of hentropy, in memory; running trials are pending, unless designs are given."""
        varied = {
            name: p for name, p in experiment.search_space.parameters.items() if not isinstance(p, FixedParameter)
        }
        own = tuple(varied)
        options = with_outcomes(tuple(experiment.metrics), self._options)
        running = [arm.parameters for arm in _arms(experiment, TrialStatus.RUNNING)] if pending is None else pending
        ended = _ended(experiment, experiment.lookup_data() if data is None else data, own, options)
        stopped = [(_own(arm.parameters, own), None) for arm in _arms(experiment, TrialStatus.EARLY_STOPPED)]
        known = [design for design, _ in ended]
        waiting = [*(_own(one, own) for one in running), *(design for design, _ in stopped if design not in known)]
        space = space_of(
            {name: _parameter(p) for name, p in varied.items()},
            [*known, *waiting],
            where=[_condition(one) for one in experiment.search_space.parameter_constraints],
        )
        fidelity = {name: p.target_value for name, p in varied.items() if p.is_fidelity}
        return HostTrials(tuple(ended), tuple(waiting)).study(
            space,
            _usual(experiment) if self._decision is None else self._decision,
            **({"decide_on": fidelity} if fidelity else {}),
            **options,
        )


class GainStoppingStrategy(BaseGlobalStoppingStrategy):
    """Stops an experiment when the next trial is expected to improve the decision by less than the `price` of a trial.

    The price is in units of the loss; the decision and its model are those of the node.
    """

    @explained_in(DocPage.ADAPTERS)
    def __init__(self, node: HentropyNode, price: float, min_trials: int = 1) -> None:
        if not (is_finite(price) and price > 0):
            raise InputError(f"the price of a trial must be a finite number above 0, got {price!r}")
        super().__init__(min_trials=min_trials)
        self.node, self.price = node, price

    def _should_stop_optimization(self, experiment: Experiment) -> tuple[bool, str]:
        gain = self.node.as_study(experiment).ask().gain
        if gain is None:
            return False, "Designs still fill the space."
        said = f"The next trial is expected to improve the decision by {gain:.3g}, and costs {self.price:g}."
        return gain < self.price, said


@acqf_input_constructor(EHIG)
@explained_in(DocPage.ADAPTERS)
def ehig_inputs(
    model: Model,
    bounds: Sequence[tuple[float, float]],
    decision: Decision | None = None,
    X_pending: Tensor | None = None,
    constraints_tuple: Any = None,
    target_fidelities: Any = None,
    options: dict[str, Any] | None = None,
    **others: Any,
) -> dict[str, Any]:
    """What `EHIG` needs, from what Ax has: give the decision, and more `options`, in Ax's `botorch_acqf_options`."""
    if decision is None:
        raise InputError('EHIG needs a decision: botorch_acqf_options={"decision": he.Maximize()}')
    if constraints_tuple is not None or target_fidelities:
        raise InputError("EHIG in Ax's modular generator knows no outcome constraints and fidelities; use HentropyNode")
    box = torch.tensor(bounds, dtype=torch.float64).T  # 2 x d
    return {"model": model, "decision": decision, "bounds": box, "X_pending": X_pending, **(options or {})}


def _ended(
    experiment: Experiment, data: Data, names: Sequence[str], options: dict[str, Any]
) -> list[tuple[Params, Any]]:
    """Designs with what was measured, or would have been in the end, and those whose trials failed."""
    arms = experiment.arms_by_name
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for row in data.df.to_dict("records"):
        error = row["sem"]
        value = (float(row["mean"]), None if error is None or math.isnan(error) else float(error))
        found.setdefault((row["trial_index"], row["arm_name"]), {})[row["metric_name"]] = value
    status = {index: trial.status for index, trial in experiment.trials.items()}
    done = {key: values for key, values in found.items() if status[key[0]] is TrialStatus.COMPLETED}
    curves = _curves(data)
    early = {key: own for key, own in curves.items() if status[key[0]] is TrialStatus.EARLY_STOPPED}
    later = {key: _continued(own, curves, done, options) for key, own in early.items()}
    measured = [
        (_own(arms[arm].parameters, names), finite_or_failed(values))
        for (_, arm), values in [*done.items(), *later.items()]
        if values
    ]
    failed = [(_own(arm.parameters, names), Failed("failed in Ax")) for arm in _arms(experiment, TrialStatus.FAILED)]
    return [*measured, *failed]


def _curves(data: Data) -> dict[tuple[int, str], dict[str, dict[float, float]]]:
    """What was reported of metrics by step, for each trial and arm."""
    found: dict[tuple[int, str], dict[str, dict[float, float]]] = {}
    for row in data.full_df.to_dict("records") if data.has_step_column else ():
        if not math.isnan(row["step"]):
            own = found.setdefault((row["trial_index"], row["arm_name"]), {})
            own.setdefault(row["metric_name"], {})[row["step"]] = float(row["mean"])
    return found


def _continued(
    reports: dict[str, dict[float, float]], curves: dict[Any, Any], done: dict[Any, Any], options: dict[str, Any]
) -> dict[str, Any]:
    """The metrics of a trial that was stopped early, as far as complete trials say how they would have ended."""
    told: dict[str, Any] = {}
    for metric, own in reports.items():
        ended = {key: values[metric] for key, values in done.items() if metric in values}
        end = continued(own, [Curve(curves.get(key, {}).get(metric, {}), value) for key, (value, _) in ended.items()])
        if end is not None:
            stated = states_error(metric, options) or any(error is not None for _, error in ended.values())
            told[metric] = end if stated else end[0]
    return told


def _arms(experiment: Experiment, status: TrialStatus) -> list[Any]:
    return [arm for trial in experiment.trials_by_status[status] for arm in trial.arms]


def _own(parameters: TParameterization, names: Sequence[str]) -> Params:
    return {name: parameters[name] for name in names}


@explained_in(DocPage.ADAPTERS)
def _parameter(given: AxParameter) -> Parameter:
    if given.is_hierarchical or given.is_disabled:
        kind = "has dependents" if given.is_hierarchical else "is disabled"
        raise InputError(f"the parameter {given.name} {kind}, which hentropy does not support")
    if isinstance(given, RangeParameter):
        if given.logit_scale:
            raise InputError(f"the parameter {given.name} has a logit scale, which hentropy does not support")
        low, high, log = given.lower, given.upper, bool(given.log_scale)
        if given.parameter_type is ParameterType.INT:
            return Integer(int(low), int(high), log)
        return Real(float(low), float(high), log, None if given.digits is None else 10.0**-given.digits)
    if isinstance(given, ChoiceParameter) and not given.is_task:
        ordered = given.is_ordered and given.parameter_type in (ParameterType.INT, ParameterType.FLOAT)
        return Levels(given.values, log=bool(given.log_scale)) if ordered else Choice(given.values)
    raise InputError(f"the parameter {given.name} is {given!r}, which hentropy does not support")


@explained_in(DocPage.ADAPTERS)
def _condition(given: ParameterConstraint) -> str:
    if given.is_equality:
        raise InputError(f"the parameter constraint {given!r} is an equality; use he.Fractions in a study of hentropy")
    terms = " + ".join(f"{float(weight)!r} * {name}" for name, weight in given.constraint_dict.items())
    return f"{terms} <= {float(given.bound)!r}"


@explained_in(DocPage.ADAPTERS)
def _usual(experiment: Experiment) -> Decision:
    config = experiment.optimization_config
    if config is None:
        raise InputError("the experiment has no optimization config: say what will be decided, HentropyNode(decision)")
    return usual_decision(_largest(config.objective), tuple(_limit(one) for one in config.outcome_constraints))


@explained_in(DocPage.ADAPTERS)
def _largest(objective: Objective) -> dict[str, bool]:
    if objective.is_scalarized_objective:
        raise InputError(f"the objective {objective.expression!r} is a sum; give a decision of your own")
    return {name: weight > 0 for name, weight in objective.metric_weights}


@explained_in(DocPage.ADAPTERS)
def _limit(given: OutcomeConstraint) -> str:
    if given.relative or len(given.metric_names) != 1:
        raise InputError(f"the outcome constraint {given!r} is relative or of several metrics; give a number for one")
    [(name, weight)] = given.metric_weights
    below = (given.op is ComparisonOp.LEQ) == (weight > 0)
    return f"{name} {'<=' if below else '>='} {float(given.bound / weight)!r}"
