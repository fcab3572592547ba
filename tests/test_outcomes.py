"""Outcomes by name: what is told, kept and missing; several of them fitted, decided on and stopped by."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import hentropy as he
from hentropy.errors import InputError, StudyError
from hentropy.studies.outcomes import Fitting, Outcomes
from hentropy.studies.records import State
from hentropy.studies.records.outcome import RESERVED
from hentropy.views.text.trial_files import AFTER, NEEDED

SPACE = he.Space(loading=he.Real(0.5, 5.0), minutes=he.Real(5, 60))
OUTCOMES = {
    "yield": he.Outcome(unit="%"),
    "impurity": he.Outcome(unit="%"),
    "price": he.Computed("price", "2 * loading + 0.3 * minutes", unit="€"),
}
DECISION = he.Maximize("yield", subject_to=["impurity <= 3"])


def measure(loading: float, minutes: float) -> dict[str, Any]:
    value = 90.0 * math.exp(-((loading - 3.0) ** 2) / 4.0 - ((minutes - 40.0) / 30.0) ** 2)
    return {"yield": value, "impurity": (0.05 * minutes + 0.4 * loading, 0.05)}


def study(decision: he.Decision = DECISION, **options: Any) -> he.Study:
    return he.Study(SPACE, decision, **{"outcomes": OUTCOMES, "hyperparameters": "map", "first": 4, **options})


def begun(decision: he.Decision = DECISION, count: int = 6, **options: Any) -> he.Study:
    """A study that knows some results; of the third one the impurity is missing."""
    made = study(decision, **options)
    for number, row in enumerate(SPACE.sample(count, seed=3)):
        params = SPACE.decode(row)
        told = measure(**params)
        made.attach(params, {"yield": told["yield"]} if number == 2 else told)
    return made


def test_values_are_told_by_name_and_what_is_missing_later() -> None:
    made = study()
    trial = made.ask()
    told = made.tell(trial, {"impurity": (2.3, 0.2)}, note="HPLC")
    assert told.state is State.COMPLETE
    assert told.measurements == {"impurity": he.Measurement(2.3, 0.2)}
    assert made.tell(trial, {"yield": 80.1, "impurity": None}).measurements == {
        "yield": he.Measurement(80.1),
        "impurity": he.Measurement(2.3, 0.2),
    }
    made.tell(trial, {"yield": 80.1})  # the same twice is harmless
    with pytest.raises(StudyError, match=r"already has a result: yield 80\.1; pass replace_value"):
        made.tell(trial, {"yield": 81.0})
    assert made.tell(trial, {"yield": 81.0}, replace_value=True).measurements["impurity"].value == 2.3
    assert list(made.tell(trial, {"yield": None}, replace_value=True).measurements) == ["impurity"]
    with pytest.raises(InputError, match="nothing was measured"):
        made.tell(trial, {"impurity": None}, replace_value=True)
    history = made.store.observations(made.log.record, trial.number)
    assert [sorted(one.measurements) for one in history] == [
        ["impurity"],
        ["impurity", "yield"],
        ["impurity", "yield"],
        ["impurity"],
    ]


def test_a_value_is_the_only_one_there_is() -> None:
    made = he.Study(SPACE, he.Maximize(), outcomes={"yield": he.Outcome(unit="%")})
    trial = made.tell(made.ask(), (80.0, 1.0))
    assert (trial.value, trial.std_error) == (80.0, 1.0)
    assert trial.measurements == {"yield": he.Measurement(80.0, 1.0)}
    assert made.tell(made.ask(), {"yield": 3}).value == 3.0
    several = begun().records[0]
    assert (several.value, several.std_error) == (None, None)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"yeild": 1.0}, "there is no outcome 'yeild'; the outcomes are yield, impurity, price; did you mean yield"),
        ({"price": 1.0}, "price is computed from the design"),
        (1.0, "does not say which outcome it is (yield, impurity); tell values by name"),
        ({}, "nothing was measured; tell at least one of yield, impurity"),
        ({"yield": "80"}, "the value told for yield is '80'"),
        ({"yield": math.nan}, "the value told for yield is nan"),
        ({"impurity": (1.0, -1.0)}, "the standard error told for impurity is -1.0"),
        ({"impurity": (1.0, 2.0, 3.0)}, "the value told for impurity is"),
        ({3: 1.0}, "there is no outcome 3"),
        ([1.0, 2.0, 3.0], "the value told is"),
    ],
)
def test_what_cannot_be_told_is_refused(told: Any, said: str) -> None:
    made = study()
    trial = made.ask()
    with pytest.raises(InputError) as refused:
        made.tell(trial, told)
    assert said in str(refused.value)
    with pytest.raises(InputError):
        made.attach(trial.params, told)
    assert made.records[0].state is State.RUNNING
    assert len(made.records) == 1


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ({"loading": he.Outcome()}, "is a parameter and an outcome"),
        ({"note": he.Outcome()}, "cannot be called 'note'"),
        ({"std_error": he.Outcome()}, "cannot be called"),
        ({"param_x": he.Outcome()}, "cannot be called"),
        ({"a=b": he.Outcome()}, "cannot be called"),
        ({" a": he.Outcome()}, "without spaces around it"),
        ({"": he.Outcome()}, "an outcome is called ''"),
        ({"a\nb": he.Outcome()}, "an outcome is called"),
        ({"a" * 101: he.Outcome()}, "101 letters"),
        ({1: he.Outcome()}, "an outcome is called 1"),
        ({"a": he.Outcome(), "a_se": he.Outcome()}, "'a_se' is the column of the standard errors of a"),
        ({"a": "%"}, "outcomes must be a table"),
        (["a"], "outcomes must be a table"),
        ({"price": he.Computed("price", "loading")}, "at least one must be measured"),
        ({"a": he.Outcome(), "b": he.Computed("c", "loading")}, "give it one name"),
        ({"a": he.Outcome(), "b": he.Computed("b", "loadin")}, "the outcome b: "),
        ({"a": he.Outcome(), "b": he.Computed("b", "loading > 1")}, "the outcome b: "),
        ({"a": he.Outcome(), "b": he.Computed("b", "log(loading - 3)")}, "not a finite number at the design"),
        ({"a": he.Outcome(), "b": he.Outcome()}, "say which of them the decision is about"),
    ],
)
def test_outcomes_that_make_no_sense_are_refused(outcomes: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        he.Study(SPACE, he.Maximize(), outcomes=outcomes)
    assert said in str(refused.value)


def test_units_and_logs_are_checked() -> None:
    for wrong in (3, "a" * 101, "a\nb"):
        with pytest.raises(InputError, match="the unit of an outcome"):
            he.Outcome(unit=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="log must be True or False"):
        he.Outcome(log="yes")  # type: ignore[arg-type]
    made = he.Study(SPACE, he.Maximize(), outcomes={"rate": he.Outcome(log=True)})
    with pytest.raises(InputError, match="must be above 0"):
        made.tell(made.ask(), 0.0)
    with pytest.raises(InputError, match=r"there is no outcome 'yields'.*did you mean yield"):
        study(he.Maximize("yields"))
    with pytest.raises(InputError, match="is computed"):
        study(he.Maximize("price"))


def test_no_column_of_a_file_has_the_name_of_an_outcome() -> None:
    assert {*NEEDED, *AFTER} <= RESERVED


def test_what_was_not_measured_is_missing_and_not_zero() -> None:
    made = begun()
    observed = made.outcomes.observed(["yield", "impurity", "price"], made.records, made.log.row)
    assert (tuple(observed.X.shape), tuple(observed.Y.shape)) == ((6, 2), (6, 3))
    assert observed.Y.isnan().nonzero().tolist() == [[2, 1]]
    assert observed.errors[:, 0].isnan().all()
    noise = observed.noise(1)
    assert noise is not None
    assert noise[~observed.Y[:, 1].isnan()].tolist() == [0.05] * 5
    assert observed.noise(0) is None
    expected = [2.0 * trial.params["loading"] + 0.3 * trial.params["minutes"] for trial in made.records]
    torch.testing.assert_close(observed.Y[:, 2], torch.tensor(expected, dtype=torch.float64))


def test_each_outcome_has_the_belief_of_its_own_rows() -> None:
    made = begun()
    alone = he.Study(SPACE, he.Maximize(), outcomes={"impurity": he.Outcome()}, hyperparameters="map", first=4)
    for trial in made.records:
        if "impurity" in trial.measurements:
            one = trial.measurements["impurity"]
            alone.attach(trial.params, (one.value, one.std_error))
    points = SPACE.sample(5, seed=9)
    assert made.belief.outcomes == ("yield", "impurity")
    for mine, its in zip(
        made.belief.of("impurity").moments(points, he.Needs.VARIANCE).total(),
        alone.belief.moments(points, he.Needs.VARIANCE).total(),
        strict=True,
    ):
        torch.testing.assert_close(mine, its)


def test_mixtures_of_several_outcomes_are_paired_arbitrarily() -> None:
    made = begun(hyperparameters="mixture", count=5)
    belief = made.belief
    fitting = Fitting(made.outcomes, ("yield",), "mixture", made.seed)
    assert belief.components == fitting.belief(made.records, made.log.row).components > 1


def test_until_every_outcome_is_known_designs_fill_the_space() -> None:
    made = study(first=1)
    made.tell(made.ask(), {"yield": 50.0})
    assert made.ask().origin == "first"
    with pytest.raises(StudyError, match="impurity was never measured"):
        made.decide()
    made.tell(0, {"impurity": 2.0})
    assert made.ask().origin == "proposed"


@pytest.mark.parametrize(
    "decision",
    [
        DECISION,
        he.Maximize("yield", subject_to=["impurity <= 3", "price <= 14"]),
        he.Pareto(2, {"yield": "max", "price": "min"}),
        he.Minimize("impurity"),
    ],
    ids=["limited", "computed limit", "front", "one of them"],
)
def test_a_study_of_several_outcomes_asks_decides_and_goes_on(decision: he.Decision, tmp_path: Path) -> None:
    made = begun(decision, storage=tmp_path / "lab.db", name="lab", stop=[he.Budget(1)])
    trial = made.ask()
    assert trial.origin == "proposed"
    assert trial.gain is not None
    assert trial.gain >= 0
    assert made.stopped is None
    made.tell(trial, measure(**trial.params))
    assert made.stopped == "the budget of 1 trial is used up"
    verdict = made.decide()
    again = he.load_study("lab", tmp_path / "lab.db")
    assert again.outcomes.by_name == made.outcomes.by_name
    assert again.records == made.records
    assert again.decide().action == verdict.action
    assert again.decide().expected_loss == verdict.expected_loss
    names = made.decided
    if len(names) > 1:
        spreads = {f"{name} sd" for name in names if name != "price"}  # which is computed
        assert set(verdict.action[0]) >= {"loading", "minutes", *names, *spreads}
        assert verdict.units[names[0]] == "%"
    else:
        assert verdict.units["mean"] == "%"
    if decision is DECISION:
        row = verdict.action[0]
        assert 0.0 <= row["limits hold"] <= 1.0
        assert row["impurity"] < 3.2
        loading, minutes = row["loading"], row["minutes"]
        assert 0.05 * minutes + 0.4 * loading == pytest.approx(row["impurity"], abs=0.5)


def test_a_study_with_other_outcomes_is_another_study(tmp_path: Path) -> None:
    study(storage=tmp_path / "lab.db", name="lab").close()
    other = {**OUTCOMES, "impurity": he.Outcome(unit="ppm")}
    with pytest.raises(he.StorageError, match=r"outcomes.impurity.unit: '%' there, 'ppm' here"):
        study(storage=tmp_path / "lab.db", name="lab", outcomes=other)


def test_records_with_other_outcomes_are_refused() -> None:
    with pytest.raises(InputError, match="there is no outcome 'yield'"):
        he.Study(SPACE, he.Maximize(), records=begun().records)
    assert study(records=begun().records).records == begun().records


def test_tables_have_a_column_for_each_outcome() -> None:
    made = begun(count=3)
    table = made.trials
    assert list(table.columns[3:8]) == ["state", "yield", "yield_se", "impurity", "impurity_se"]
    assert table["impurity"].isna().tolist() == [False, False, True]
    page = made._repr_html_()
    assert "<th>impurity (%)</th><th>price (€)</th>" in page


def test_a_search_measures_several_outcomes() -> None:
    found = he.search(measure, SPACE, DECISION, 5, progress=False, outcomes=OUTCOMES, hyperparameters="map", first=4)
    assert [sorted(trial.measurements) for trial in found.study.records] == [["impurity", "yield"]] * 5


def test_models_are_of_the_logarithm_of_an_outcome_that_is_known_by_its_ratios() -> None:
    """Limits stay in units: exp(c) for a log outcome is c for one that is its logarithm."""
    logged = {**OUTCOMES, "impurity": he.Outcome(unit="%", log=True)}
    made = study(he.Maximize("yield", subject_to=["impurity <= 20"]), outcomes=logged)
    plain = study(he.Maximize("yield", subject_to=[f"impurity <= {math.log(20.0)!r}"]))
    for row in SPACE.sample(6, seed=3):
        params = SPACE.decode(row)
        value, log = measure(**params)["yield"], measure(**params)["impurity"][0]
        made.attach(params, {"yield": value, "impurity": (math.exp(log), 0.05 * math.exp(log))})
        plain.attach(params, {"yield": value, "impurity": (log, 0.05)})
    assert made.belief.logs == {"impurity"}
    points = SPACE.sample(4, seed=8)
    for mine, its in zip(
        made.belief.of("impurity").moments(points, he.Needs.VARIANCE).total(),
        plain.belief.of("impurity").moments(points, he.Needs.VARIANCE).total(),
        strict=True,
    ):
        torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-6)
    [row], [other] = made.decide().action, plain.decide().action
    assert made.decide().expected_loss == pytest.approx(plain.decide().expected_loss, rel=1e-4)
    assert row["limits hold"] == pytest.approx(other["limits hold"], abs=1e-3)
    expected = math.exp(other["impurity"] + 0.5 * other["impurity sd"] ** 2)
    assert row["impurity"] == pytest.approx(expected, rel=1e-2)
    assert row["impurity sd"] == pytest.approx(expected * math.sqrt(math.expm1(other["impurity sd"] ** 2)), rel=1e-2)
    made.tell(made.ask(), {"yield": 1.0, "impurity": 1e-3})


def test_a_list_is_exhausted_once_all_outcomes_are_known_exactly() -> None:
    pool = he.Pool([[0.0], [1.0]], names=["x"])
    made = he.Study(pool, he.Maximize("a"), outcomes={"a": he.Outcome(), "b": he.Outcome()}, first=1)
    for x in (0.0, 1.0):
        made.attach({"x": x}, {"a": (x, 0.0)})
    assert made.stopped is None
    for number in (0, 1):
        made.tell(number, {"b": (1.0, 0.0)})
    assert "every design of the pool" in str(made.stopped)


def test_outcomes_without_words_are_the_one_value() -> None:
    assert Outcomes.of(None, SPACE).by_name == Outcomes.of({}, SPACE).by_name == {"value": he.Outcome()}
