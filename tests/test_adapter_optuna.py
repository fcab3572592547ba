"""Optuna: spaces of all kinds, constraints, running and failed trials, several objectives, and when to stop."""

import math
import pickle
import threading
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState, create_trial

import hentropy as he
from hentropy.adapters.optuna import GainTerminator, HentropySampler

optuna.logging.set_verbosity(optuna.logging.WARNING)

QUICK: dict[str, Any] = {"hyperparameters": "map", "first": 4}
SPACE = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "depth": IntDistribution(1, 9, step=2),
    "kind": CategoricalDistribution(["relu", None, 3]),
}


def bowl(trial: Trial) -> float:
    x, y = trial.suggest_float("x", -1.0, 1.0), trial.suggest_float("y", 0.0, 4.0)
    return (x - 0.3) ** 2 + (y - 2.0) ** 2


def test_a_study_finds_the_bottom_and_stops_by_the_price() -> None:
    sampler = HentropySampler(seed=1, **QUICK)
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=30, callbacks=[GainTerminator(sampler, price=1e-3)])
    assert 4 < len(study.trials) < 30
    gain = sampler.gain(study)
    assert gain is not None
    assert gain < 1e-3
    verdict = sampler.decide(study)
    assert verdict.expected_loss == pytest.approx(verdict.action[0]["mean"])
    assert bowl(optuna.trial.FixedTrial({k: verdict.action[0][k] for k in "xy"})) < 0.05


def test_every_kind_of_parameter_comes_back_as_optuna_knows_it() -> None:
    sampler = HentropySampler(search_space={**SPACE, "fixed": IntDistribution(3, 3)}, **QUICK)
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial: Trial) -> float:
        assert trial.suggest_int("fixed", 3, 3) == 3
        kind = trial.suggest_categorical("kind", ["relu", None, 3])
        return trial.suggest_float("rate", 1e-4, 1.0, log=True) + trial.suggest_int("depth", 1, 9, step=2) + (kind == 3)

    study.optimize(objective, n_trials=6)
    assert {type(trial.params["kind"]) for trial in study.trials} <= {str, int, type(None)}
    as_asked = sampler.as_study(study)
    assert repr(as_asked.decision) == repr(he.Maximize("objective", among="measured"))
    assert [trial.value for trial in as_asked.records] == [trial.value for trial in study.trials]
    again = optuna.create_study(sampler=HentropySampler(search_space=SPACE, **QUICK)).ask(SPACE)
    assert again.params == {name: study.trials[0].params[name] for name in SPACE}, "the first trial is not random"


def test_a_stated_noise_and_bounds_reach_the_study() -> None:
    space = {"x": FloatDistribution(0.0, 1.0)}
    known = {"objective": he.Outcome(noise=0.1, low=0.0)}
    for options, noise in (({"noise": 0}, 0), ({"outcomes": known}, 0.1)):
        sampler = HentropySampler(search_space=space, **options, **QUICK)
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
        made = sampler.as_study(study)
        assert made.outcomes.std_error("objective", made.records[0].measurements["objective"]) == noise
    wrong = HentropySampler(search_space=space, outcomes={"loss": he.Outcome()}, **QUICK)
    with pytest.raises(he.InputError, match="outcomes describes 'loss'; what is measured is objective"):
        wrong.as_study(study)


X = {"x": FloatDistribution(0.0, 1.0)}


def ended(state: TrialState, x: float, value: float | None = None, **options: Any) -> optuna.trial.FrozenTrial:
    return create_trial(state=state, value=value, params={"x": x}, distributions=X, **options)


def test_trials_in_every_state_count() -> None:
    sampler = HentropySampler(search_space=X, **QUICK)
    study = optuna.create_study(sampler=sampler)
    study.add_trial(ended(TrialState.COMPLETE, 0.1, 1.0))
    study.add_trial(ended(TrialState.COMPLETE, 0.2, math.inf))
    study.add_trial(ended(TrialState.FAIL, 0.9))
    study.add_trial(ended(TrialState.PRUNED, 0.5))
    running = study.ask()
    running.suggest_float("x", 0.0, 1.0)
    found = {trial.params["x"]: trial.state.value for trial in sampler.as_study(study).records}
    assert found == {0.1: "complete", 0.2: "failed", 0.9: "failed", 0.5: "running", running.params["x"]: "running"}


def test_a_pruned_trial_goes_on_as_complete_ones_did() -> None:
    def records(**options: Any) -> dict[float, Any]:
        sampler = HentropySampler(search_space=X, **QUICK, **options)
        study = optuna.create_study(sampler=sampler)
        for x, end, report in [(0.1, 1.0, 3.0), (0.2, 2.0, 4.5)]:
            study.add_trial(ended(TrialState.COMPLETE, x, end, intermediate_values={0: 9.0, 5: report}))
        for x, reports in [
            (0.3, {0: 10.0, 5: 3.75}),  # 2.25 less at the end, as the others on average
            (0.4, {0: 9e9}),  # diverges: no worse than the worst complete one
            (0.5, {0: math.nan, 5: 0.1}),  # no better than the best, which is still the best trial
            (0.6, {7: 4.0}),  # a step at which nobody else reported
        ]:
            study.add_trial(ended(TrialState.PRUNED, x, intermediate_values=reports))
        told = {trial.params["x"]: trial.measurements.get("objective") for trial in sampler.as_study(study).records}
        return {x: None if one is None else (one.value, one.std_error) for x, one in told.items()}

    assert records() == {
        0.6: None,
        **{x: (pytest.approx(value), None) for x, value in [(0.1, 1), (0.2, 2), (0.3, 1.5), (0.4, 2), (0.5, 1)]},
    }
    stated = records(noise=0)
    assert stated[0.1] == (1.0, None)
    assert stated[0.3] == (pytest.approx(1.5), pytest.approx(math.sqrt(0.125)))


PRUNERS = {
    "median": lambda: optuna.pruners.MedianPruner(n_startup_trials=3),
    "halving": optuna.pruners.SuccessiveHalvingPruner,
}


@pytest.mark.parametrize("pruner", PRUNERS)
def test_with_a_pruner_designs_differ_and_the_search_goes_on(pruner: str) -> None:
    def curve(trial: Trial) -> float:
        end = bowl(trial)
        for step in range(6):
            trial.report(end + 2.0 * math.exp(-0.7 * step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return end

    study = optuna.create_study(sampler=HentropySampler(seed=0, **QUICK), pruner=PRUNERS[pruner]())
    study.optimize(curve, n_trials=18)
    assert any(trial.state is TrialState.PRUNED for trial in study.trials)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 18
    assert study.best_value < 0.01


def test_pruning_without_a_report_or_before_all_parameters_asks_for_other_designs() -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_float("x", -1.0, 1.0) < 0.2:
            raise optuna.TrialPruned
        return bowl(trial)

    both = {"x": FloatDistribution(-1.0, 1.0), "y": FloatDistribution(0.0, 4.0)}
    sampler = HentropySampler(search_space=both, **QUICK)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=10)
    assert len({tuple(trial.params.values()) for trial in sampler.as_study(study).records}) == 10
    assert any(trial.state is TrialState.COMPLETE for trial in study.trials)


def test_an_objective_that_is_infinite_is_a_failure_and_the_study_goes_on() -> None:
    sampler = HentropySampler(search_space={"x": FloatDistribution(-1.0, 1.0)}, **QUICK)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: math.inf if (x := trial.suggest_float("x", -1, 1)) < 0 else (x - 0.3) ** 2, n_trials=9)
    assert study.best_value < 0.01
    assert sampler.decide(study).action[0]["x"] == study.best_params["x"]
    assert {trial.note for trial in sampler.as_study(study).records if trial.state.value == "failed"} == {
        "objective is inf"
    }


@pytest.mark.parametrize("given", [None, {"x": FloatDistribution(-1.0, 1.0)}], ids=["inferred", "given"])
def test_a_range_that_changed_is_searched_and_earlier_trials_count(given: Any) -> None:
    sampler = HentropySampler(search_space=given, **QUICK)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", -1.0, 1.0) - 1.4) ** 2, n_trials=6)
    study.optimize(lambda trial: (trial.suggest_float("x", 0.5, 2.0) - 1.4) ** 2, n_trials=7)
    assert len(sampler.as_study(study).records) == 13
    assert study.best_value < 1e-3
    moved = HentropySampler(search_space={"x": FloatDistribution(0.0, 1.0)}, **QUICK)
    inner = optuna.create_study(sampler=moved)
    inner.optimize(lambda trial: trial.suggest_float("x", -3.0, 3.0), n_trials=6)
    assert len({trial.params["x"] for trial in inner.trials}) == 6
    assert all(0.0 <= trial.params["x"] <= 1.0 for trial in inner.trials), "a narrower range may be given"


def test_a_proposal_outside_of_the_range_moves_to_the_nearest_value(caplog: pytest.LogCaptureFixture) -> None:
    def objective(trial: Trial) -> float:
        high = 9 if trial.number < 1 else 2
        return trial.suggest_int("n", 1, high) + trial.suggest_float("x", 0.0, 1.0, step=0.1 if high == 2 else None)

    space = {"n": IntDistribution(5, 9), "x": FloatDistribution(0.0, 1.0)}
    study = optuna.create_study(sampler=HentropySampler(search_space=space, **QUICK))
    optuna.logging.enable_propagation()
    try:
        study.optimize(objective, n_trials=2)
    finally:
        optuna.logging.disable_propagation()
    assert study.trials[1].params["n"] == 2
    assert study.trials[1].params["x"] * 10 == pytest.approx(round(study.trials[1].params["x"] * 10))
    assert "The range of n changed" in caplog.text


def test_trials_side_by_side_have_different_designs() -> None:
    sampler = HentropySampler(search_space=X, **QUICK)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) ** 2, n_trials=4)
    together, found = threading.Barrier(3), []

    def objective(trial: Trial) -> float:
        together.wait()  # all three ask before any has a parameter
        found.append(trial.suggest_float("x", 0.0, 1.0))
        together.wait()
        return found[-1] ** 2

    study.optimize(objective, n_trials=3, n_jobs=3)
    assert len(set(found)) == 3
    asked = [study.ask() for _ in range(2)]
    assert len({trial.relative_params["x"] for trial in asked}) == 2, "proposed, and not yet suggested"
    assert pickle.loads(pickle.dumps(sampler)).gain(study) == sampler.gain(study)


def test_the_decision_is_the_best_complete_trial() -> None:
    sampler = HentropySampler(search_space=X, **QUICK)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for x, value in [(0.1, 0.3), (0.4, 0.9), (0.5, 1.0), (0.5, 1.0), (0.9, 0.2)]:
        study.add_trial(ended(TrialState.COMPLETE, x, value, intermediate_values={0: value}))
    study.add_trial(ended(TrialState.PRUNED, 0.48, intermediate_values={0: 5.0}))
    assert sampler.decide(study).action[0]["x"] == study.best_params["x"] == 0.5


def test_constraints_are_limits_and_a_decision_may_name_them() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("heat", x - 0.4)
        return x

    sampler = HentropySampler(**QUICK)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=6)
    assert repr(sampler.as_study(study).decision) == repr(
        he.Maximize("objective", subject_to=["heat <= 0"], among="measured")
    )
    assert sampler.decide(study).action[0]["x"] == pytest.approx(0.4, abs=0.05)
    own = HentropySampler(he.Minimize("objective", subject_to=["heat >= -0.2"]), **QUICK)
    assert own.decide(study).action[0]["x"] == pytest.approx(0.2, abs=0.05)


def test_several_objectives_are_a_front() -> None:
    sampler = HentropySampler(search_space={"x": FloatDistribution(0.0, 1.0)}, **QUICK)
    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0), trial.params["x"] ** 2), n_trials=4)
    decision = sampler.as_study(study).decision
    assert isinstance(decision, he.Pareto)
    assert decision.ways == {"objective_0": "max", "objective_1": "min"}
    study.add_trial(
        create_trial(
            values=[0.0, 0.0],
            params={"x": 0.0},
            distributions={"x": FloatDistribution(0.0, 1.0)},
            constraints={"c": 1.0},
        )
    )
    with pytest.raises(he.InputError, match="have no usual decision"):
        sampler.as_study(study)


def test_what_cannot_be_used_is_named() -> None:
    with pytest.raises(he.InputError, match="the price of a trial"):
        GainTerminator(HentropySampler(), price=0.0)
    with pytest.raises(he.InputError, match="no parameter is known yet"):
        HentropySampler().gain(optuna.create_study())
    named = HentropySampler(search_space={"where": FloatDistribution(0.0, 1.0)})
    with pytest.raises(he.InputError, match="'where'"):
        named.as_study(optuna.create_study())
