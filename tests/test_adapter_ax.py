"""Ax: the node over Ax's search spaces, data and pending trials; stopping by gain; EHIG in the modular generator."""

import math
from typing import Any

import pytest

import hentropy as he

pytest.importorskip("ax", reason="Ax is in the extra test, which `make test` installs")

from ax.adapter.registry import Generators
from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.core.experiment import Experiment
from ax.core.metric import Metric
from ax.core.objective import Objective
from ax.core.observation import ObservationFeatures
from ax.core.optimization_config import OptimizationConfig
from ax.core.parameter import ChoiceParameter, FixedParameter, Parameter, ParameterType, RangeParameter
from ax.core.search_space import SearchSpace
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generators.torch.botorch_modular.surrogate import Surrogate

from hentropy.adapters.ax import GainStoppingStrategy, HentropyNode, ehig_inputs
from hentropy.core.acquisition import EHIG

pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ax itself

QUICK: dict[str, Any] = {"hyperparameters": "map", "first": 4}


def client(node: HentropyNode, objective: str = "-loss", constraints: tuple[str, ...] = (), **more: Any) -> Client:
    made = Client()
    made.configure_experiment(
        [
            RangeParameterConfig(name="x", bounds=(0.0, 1.0), parameter_type="float"),
            RangeParameterConfig(name="n", bounds=(1, 5), parameter_type="int"),
            ChoiceParameterConfig(name="kind", values=["a", "b"], parameter_type="str", is_ordered=False),
        ],
        **more,
    )
    made.configure_optimization(objective=objective, outcome_constraints=constraints)
    made.set_generation_strategy(GenerationStrategy(name="hentropy", nodes=[node]))
    return made


def loss(x: float, n: int, kind: str) -> float:
    return (x - 0.6) ** 2 + 0.1 * abs(n - 2) + (kind == "b")


def test_trials_are_generated_with_data_failures_and_pending_designs() -> None:
    node = HentropyNode(**QUICK)
    ax = client(node, parameter_constraints=["x + n <= 4.5"])
    for _ in range(5):
        [(index, design)] = ax.get_next_trials(1).items()
        assert design["x"] + design["n"] <= 4.5 + 1e-9
        ax.complete_trial(index, raw_data={"loss": (loss(**design), 0.01)})
    lost, running = ax.get_next_trials(2)
    ax.mark_trial_failed(lost)
    study = node.as_study(ax._experiment)
    states = [trial.state.value for trial in study.records]
    assert states == ["running", *["complete"] * 5, "failed"]
    assert study.records[0].params == dict(ax._experiment.trials[running].arms[0].parameters)
    assert {trial.std_error for trial in study.records[1:6]} == {0.01}
    [action] = node.decide(ax._experiment).action
    assert action["kind"] == "a"
    assert repr(study.decision) == repr(he.Minimize("loss", subject_to=()))


def test_values_that_are_not_finite_are_failures() -> None:
    node = HentropyNode(**QUICK)
    ax = client(node)
    for value in (1.0, math.inf, math.nan):
        [(index, _)] = ax.get_next_trials(1).items()
        ax.complete_trial(index, raw_data={"loss": value})
    assert [trial.state.value for trial in node.as_study(ax._experiment).records] == ["complete", "failed", "failed"]


def test_a_trial_that_was_stopped_early_goes_on_as_complete_ones_did() -> None:
    node = HentropyNode(**QUICK)
    ax = client(node)
    for end in (1.0, 2.0):
        [(index, _)] = ax.get_next_trials(1).items()
        ax.attach_data(index, raw_data={"loss": end + 2.5}, progression=1)
        ax.complete_trial(index, raw_data={"loss": end}, progression=2)
    for report, step in ((4.25, 1), (4.0, 7)):
        [(index, _)] = ax.get_next_trials(1).items()
        ax.attach_data(index, raw_data={"loss": report}, progression=step)
        ax.mark_trial_early_stopped(index)
    records = node.as_study(ax._experiment).records
    assert len({tuple(trial.params.values()) for trial in records}) == 4, "no design is proposed again"
    assert [trial.state.value for trial in records] == ["running", *["complete"] * 3]
    assert [trial.value for trial in records[1:]] == [1.0, 2.0, pytest.approx(1.75)]


def test_designs_of_earlier_ranges_and_options_are_data() -> None:
    node = HentropyNode(**QUICK)
    ax = client(node)
    for x, kind in ((0.1, "a"), (0.9, "b")):
        index = ax.attach_trial({"x": x, "n": 2, "kind": kind})
        ax.complete_trial(index, raw_data={"loss": loss(x, 2, kind)})
    parameters = ax._experiment.search_space.parameters
    parameters["x"].update_range(lower=0.5, upper=2.0)
    parameters["kind"].set_values(["a", "c"])
    study = node.as_study(ax._experiment)
    assert [(trial.params["x"], trial.params["kind"]) for trial in study.records] == [(0.1, "a"), (0.9, "b")]
    asked = study.ask_many(6)
    assert all(0.5 <= trial.params["x"] <= 2.0 and trial.params["kind"] in ("a", "c") for trial in asked)
    assert max(trial.params["x"] for trial in asked) > 1.0


def test_a_sem_takes_the_place_of_a_stated_noise() -> None:
    node = HentropyNode(outcomes={"loss": he.Outcome(noise=0.2, low=0.0)}, **QUICK)
    ax = client(node)
    for error in (0.01, None):
        [(index, design)] = ax.get_next_trials(1).items()
        ax.complete_trial(index, raw_data={"loss": loss(**design) if error is None else (loss(**design), error)})
    study = node.as_study(ax._experiment)
    assert [study.outcomes.std_error("loss", trial.measurements["loss"]) for trial in study.records] == [0.01, 0.2]


def test_an_experiment_stops_when_the_gain_is_below_the_price() -> None:
    node = HentropyNode(**QUICK)
    ax = client(node)
    price = GainStoppingStrategy(node, price=1e6)
    for _ in range(4):
        [(index, design)] = ax.get_next_trials(1).items()
        assert price.should_stop_optimization(ax._experiment)[0] is False
        ax.complete_trial(index, raw_data={"loss": loss(**design)})
    stop, said = price.should_stop_optimization(ax._experiment)
    assert (stop, "costs 1e+06" in said) == (True, True)
    assert not GainStoppingStrategy(node, price=1e-12).should_stop_optimization(ax._experiment)[0]


def test_outcome_constraints_are_limits() -> None:
    node = HentropyNode(**QUICK)
    ax = client(node, "score", ("heat <= 3", "dose >= 1"))
    assert repr(node.as_study(ax._experiment).decision) == repr(
        he.Maximize("score", subject_to=["heat <= 3.0", "dose >= 1.0"])
    )
    front = client(node, "score, -heat")
    decision = node.as_study(front._experiment).decision
    assert isinstance(decision, he.Pareto)
    assert decision.ways == {"score": "max", "heat": "min"}


def experiment(*parameters: Parameter) -> Experiment:
    config = OptimizationConfig(Objective(metric=Metric("loss"), minimize=True))
    return Experiment(SearchSpace([*parameters]), name="made by hand", optimization_config=config)


def test_fidelities_levels_and_fixed_values_are_understood() -> None:
    real = ParameterType.FLOAT
    made = experiment(
        RangeParameter("fidelity", real, 0.1, 1.0, log_scale=True, is_fidelity=True, target_value=1.0),
        ChoiceParameter("loading", real, [0.5, 1.0, 4.0], is_ordered=True, sort_values=True),
        FixedParameter("oven", ParameterType.STRING, "old"),
    )
    node = HentropyNode(**QUICK)
    study = node.as_study(made)
    assert isinstance(study.space.parameters["loading"], he.Levels)
    assert {study.decide_on.decode(row)["fidelity"] for row in study.decide_on.sample(3, seed=0)} == {1.0}
    node.update_generator_state(made, made.lookup_data())
    design = node.get_next_candidate([])
    assert (set(design), design["oven"]) == ({"fidelity", "loading", "oven"}, "old")
    with pytest.raises(he.InputError, match="logit scale"):
        node.as_study(experiment(RangeParameter("p", real, 0.1, 0.9, logit_scale=True)))


def test_the_modular_generator_drives_ehig() -> None:
    ax = Client()
    ax.configure_experiment([RangeParameterConfig(name="x", bounds=(0.0, 10.0), parameter_type="float")])
    ax.configure_optimization(objective="score")
    for x in (0.0, 2.0, 5.0, 9.0):
        ax.complete_trial(ax.attach_trial({"x": x}), raw_data={"score": (-((x - 6.0) ** 2), 0.0)})
    made = Generators.BOTORCH_MODULAR(
        experiment=ax._experiment,
        data=ax._experiment.lookup_data(),
        surrogate=Surrogate(),
        botorch_acqf_class=EHIG,
        botorch_acqf_options={"decision": he.Maximize()},
    )
    pending = {"score": [ObservationFeatures({"x": 6.0})]}
    [alone] = made.gen(1).arms
    assert alone.parameters["x"] == pytest.approx(6.0, abs=1.5), "where the best is expected"
    [beside] = made.gen(1, pending_observations=pending).arms
    assert abs(beside.parameters["x"] - 6.0) > 0.1, "that is being measured"


def test_what_is_not_supported_is_named() -> None:
    node = HentropyNode(**QUICK)
    with pytest.raises(he.InputError, match="is a sum"):
        node.as_study(client(node, "score + 2 * heat")._experiment)
    with pytest.raises(he.InputError, match="relative"):
        node.as_study(client(node, "score", ("heat <= 1.5 * baseline",))._experiment)
    with pytest.raises(he.InputError, match="EHIG needs a decision"):
        ehig_inputs(model=None, bounds=[(0.0, 1.0)])
    with pytest.raises(he.InputError, match="the price of a trial"):
        GainStoppingStrategy(node, price=-1.0)
