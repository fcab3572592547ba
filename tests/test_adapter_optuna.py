"""Optuna: spaces of all kinds, constraints, running and failed trials, several objectives, and when to stop."""

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
    assert as_asked.decision.__class__ is he.Maximize
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


def test_running_and_failed_trials_count_and_pruned_ones_do_not() -> None:
    sampler = HentropySampler(search_space={"x": FloatDistribution(0.0, 1.0)}, **QUICK)
    study = optuna.create_study(sampler=sampler)
    x = {"x": FloatDistribution(0.0, 1.0)}
    for state, at in [(TrialState.COMPLETE, 0.1), (TrialState.FAIL, 0.9), (TrialState.PRUNED, 0.5)]:
        value = 1.0 if state is TrialState.COMPLETE else None
        study.add_trial(create_trial(state=state, value=value, params={"x": at}, distributions=x))
    running = study.ask()
    running.suggest_float("x", 0.0, 1.0)
    states = [(trial.state.value, trial.params["x"]) for trial in sampler.as_study(study).records]
    assert states == [("running", running.params["x"]), ("complete", 0.1), ("failed", 0.9)]


def test_constraints_are_limits_and_a_decision_may_name_them() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("heat", x - 0.4)
        return x

    sampler = HentropySampler(**QUICK)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=6)
    assert repr(sampler.as_study(study).decision) == repr(he.Maximize("objective", subject_to=["heat <= 0"]))
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
