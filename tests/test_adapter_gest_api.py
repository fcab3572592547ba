"""gest-api: what is suggested and ingested, and a run in Xopt where that is installed."""

import copy
from typing import Any

import pytest
from gest_api.vocs import VOCS

import hentropy as he
from hentropy.adapters.gest_api import HentropyGenerator

QUICK: dict[str, Any] = {"hyperparameters": "map", "first": 3}


def vocs(**more: Any) -> VOCS:
    return VOCS(variables={"x": [0.0, 1.0], "n": {1, 2, 4}}, **{"objectives": {"f": "MAXIMIZE"}, **more})


def evaluated(point: dict[str, Any]) -> dict[str, Any]:
    return {**point, "f": -((point["x"] - 0.6) ** 2) - (point["n"] - 2) ** 2, "c": point["x"]}


def test_points_are_suggested_ingested_and_decided() -> None:
    made = HentropyGenerator(
        vocs(constraints={"c": ["BOUNDS", 0.0, 0.4]}, constants={"a": 7}, observables={"o"}), **QUICK
    )
    for _ in range(3):
        points = made.suggest(2)
        assert [set(point) for point in points] == [{"x", "n", "a"}] * 2
        assert all(point["n"] in (1, 2, 4) and point["a"] == 7 for point in points)
        made.ingest([evaluated(point) for point in points])
    study = made.as_study()
    assert repr(study.decision) == repr(he.Maximize("f", subject_to=["0.0 <= c <= 0.4"]))
    assert {tuple(trial.measurements) for trial in study.records} == {("f", "c")}, "o was never measured"
    [action] = made.decide().action
    assert (action["n"], action["x"]) == (2, pytest.approx(0.4, abs=0.1))


def test_outputs_of_which_more_is_known_are_described() -> None:
    made = HentropyGenerator(vocs(observables={"o"}), outcomes={"f": he.Outcome(noise=0.1, high=0.0)}, **QUICK)
    assert made.as_study().outcomes.by_name == {"f": he.Outcome(noise=0.1, high=0.0), "o": he.Outcome()}
    exact = HentropyGenerator(vocs(observables={"o"}), noise=0, **QUICK)
    assert exact.as_study().outcomes.by_name == {"f": he.Outcome(noise=0), "o": he.Outcome(noise=0)}
    with pytest.raises(he.InputError, match="outcomes describes 'g'; what is measured is f"):
        HentropyGenerator(vocs(), outcomes={"g": he.Outcome()})


def test_what_was_suggested_is_pending_until_it_is_ingested() -> None:
    made = HentropyGenerator(vocs(), **QUICK)
    first, second = made.suggest(2)
    assert [trial.state.value for trial in made.as_study().records] == ["running", "running"]
    made.ingest([{**second, "f": float("nan")}, evaluated({"x": 0.5, "n": 1})])
    other = copy.deepcopy(made)
    states = [(trial.state.value, trial.params["x"]) for trial in other.as_study().records]
    assert states == [("running", first["x"]), ("failed", second["x"]), ("complete", 0.5)]


def test_an_infinite_output_is_a_failure() -> None:
    made = HentropyGenerator(vocs(constraints={"c": ["LESS_THAN", 0.4]}), **QUICK)
    infinite = {"x": 0.5, "n": 1, "f": 1.0, "c": float("inf")}
    made.ingest([evaluated({"x": 0.2, "n": 1}), infinite])
    assert [trial.state.value for trial in made.as_study().records] == ["complete", "failed"]
    assert made.suggest(1)


def test_points_outside_of_the_domain_are_data_and_suggestions_are_inside() -> None:
    made = HentropyGenerator(vocs(), **QUICK)
    outside = evaluated({"x": 1.4, "n": 3})
    made.ingest([outside, *(evaluated(point) for point in made.suggest(3))])
    assert {"x": 1.4, "n": 3} in [trial.params for trial in made.as_study().records]
    assert all(0.0 <= point["x"] <= 1.0 and point["n"] in (1, 2, 4) for point in made.suggest(4))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"variables": {"x": "CONTEXTUAL"}}, "x is contextual"),
        ({"objectives": {"f": "EXPLORE"}}, "the objective f is to be explored"),
        ({"objectives": {}}, "has no objectives"),
        (
            {"objectives": {"f": "MINIMIZE", "g": "MAXIMIZE"}, "constraints": {"c": ["LESS_THAN", 0]}},
            "no usual decision",
        ),
        ({"objectives": {"mean": "MINIMIZE"}}, "cannot be called 'mean'"),
    ],
)
def test_what_is_not_supported_is_named(words: dict[str, Any], said: str) -> None:
    whole = {"variables": {"x": [0.0, 1.0]}, "objectives": {"f": "MAXIMIZE"}, **words}
    with pytest.raises(he.InputError, match=said):
        HentropyGenerator(VOCS(**whole))


def test_results_and_numbers_of_points_are_checked() -> None:
    made = HentropyGenerator(VOCS(variables={"n": {1, 2}}, objectives={"f": "MINIMIZE"}), **QUICK)
    with pytest.raises(he.InputError, match="whole number of at least 1"):
        made.suggest(0)
    with pytest.raises(he.StudyError, match="only 2 of 3 points"):
        made.suggest(3)
    with pytest.raises(he.InputError, match="no value of the variable n"):
        made.ingest([{"f": 1.0}])


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_a_run_in_xopt() -> None:
    xopt = pytest.importorskip("xopt", reason="Xopt is in the extra test, which `make test` installs")
    run = xopt.Xopt(
        generator=HentropyGenerator(vocs(constants={"a": 7}), **QUICK), evaluator=xopt.Evaluator(function=evaluated)
    )
    for _ in range(4):
        run.step()
    assert len(run.data) == 4
    assert len(run.generator.as_study().records) == 4
    assert run.generator.decide().action[0]["n"] == 2
