"""Outcomes by name: what is told, kept and missing; several of them fitted, decided on and stopped by."""

import math
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.errors import InputError, StudyError
from hentropy.studies.outcomes import Fitting, Outcomes
from hentropy.studies.records import State
from hentropy.studies.records.outcome import RESERVED
from hentropy.views.plots import as_plain, information
from hentropy.views.plots.predictions import record_info
from hentropy.views.plots.scene import scene_of
from hentropy.views.plots.slices import terrains
from hentropy.views.text.trial_files import AFTER, NEEDED
from support.commands import done

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"noise": -0.1}, "at least 0 (a repeated experiment gives the same result); got -0.1"),
        ({"noise": math.inf}, "got inf"),
        ({"noise": "small"}, "got 'small'"),
        ({"noise": True}, "got True"),
        ({"low": math.nan}, "low must be a finite number, got nan"),
        ({"high": "100"}, "high must be a finite number, got '100'"),
        ({"low": 1.0, "high": 1.0}, "low must be below high, got 1 and 1"),
        ({"log": True, "high": 0.0}, "an outcome with log is above 0, but high is 0"),
        ({"kind": "yes/no", "noise": 0.0}, "has no noise and no bounds"),
        ({"kind": "yes/no", "tails": "heavy"}, "has no noise and no bounds"),
        ({"tails": "light"}, "tails is 'light'; write 'heavy' where gross errors occur, or leave it out"),
        ({"tails": "heavy", "noise": 0}, "leave one of them out"),
        ({"kind": "grades", "grades": ("bad", "good"), "low": 0.0}, "has no noise and no bounds"),
    ],
)
def test_a_noise_and_bounds_that_make_no_sense_are_refused(words: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        he.Outcome(**words)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("outcomes", "noise", "found"),
    [
        (None, 0.3, {"value": 0.3}),
        ({"a": he.Outcome()}, 0, {"a": 0}),
        ({"a": he.Outcome(noise=0.3)}, 0.3, {"a": 0.3}),
        ({"a": he.Outcome(noise=0.3), "b": he.Outcome()}, None, {"a": 0.3, "b": None}),
        ({"a": he.Outcome(), "b": he.Outcome()}, 0, {"a": 0, "b": 0}),
        ({"a": he.Outcome(), "b": he.Outcome(kind="yes/no")}, 0.3, {"a": 0.3, "b": None}),
        ({"a": he.Outcome(noise=0.3)}, 0, "the noise of a is stated twice: 0.3, and 0 for the study"),
        ({"a": he.Outcome(), "b": he.Outcome()}, 0.3, 'state it for each, such as outcomes={"a": Outcome(noise=0.3)}'),
        ({"a": he.Outcome(kind="yes/no")}, 0, "no outcome is a number"),
        (None, -1, "got -1"),
    ],
)
def test_the_noise_of_a_study_is_that_of_its_outcome(outcomes: Any, noise: Any, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(InputError) as refused:
            Outcomes.of(outcomes, SPACE, noise=noise)
        assert found in str(refused.value)
        return
    made = Outcomes.of(outcomes, SPACE, noise=noise).by_name
    assert {name: one.noise for name, one in made.items() if isinstance(one, he.Outcome)} == found


def noisy(log: bool, noise: float | None) -> he.Study:
    """A study with four values, the second of which has an error of its own."""
    outcome = he.Outcome(log=log, noise=noise)
    made = he.Study(SPACE, he.Maximize(), outcomes={"rate": outcome}, hyperparameters="map", first=4)
    for number, row in enumerate(SPACE.sample(4, seed=5)):
        made.attach(SPACE.decode(row), (2.0 + number, 0.25) if number == 1 else 2.0 + number)
    return made


@pytest.mark.parametrize("log", [False, True])
def test_a_stated_noise_is_the_error_of_all_values_without_one_of_their_own(log: bool) -> None:
    made = noisy(log, 0.5)
    values = torch.tensor([2.0, 3.0, 4.0, 5.0], dtype=torch.float64)
    errors = torch.tensor([0.5, 0.25, 0.5, 0.5], dtype=torch.float64)
    observed = made.outcomes.observed(["rate"], made.records, made.log.row)
    torch.testing.assert_close(observed.noise(0), errors / values if log else errors)
    assert [trial.std_error for trial in made.records] == [None, 0.25, None, None]  # as they were told
    told = he.Study(SPACE, he.Maximize(), outcomes={"rate": he.Outcome(log=log)}, hyperparameters="map", first=4)
    for trial, error in zip(made.records, errors.tolist(), strict=True):
        told.attach(trial.params, (trial.measurements["rate"].value, error))
    points = SPACE.sample(5, seed=9)
    for mine, its in zip(
        made.belief.moments(points, he.Needs.VARIANCE).total(),
        told.belief.moments(points, he.Needs.VARIANCE).total(),
        strict=True,
    ):
        torch.testing.assert_close(mine, its)


def test_without_a_statement_the_errors_that_were_told_stand_for_all() -> None:
    made = noisy(False, None)
    noise = made.outcomes.observed(["rate"], made.records, made.log.row).noise(0)
    assert noise is not None
    assert noise.tolist() == [0.25] * 4


def test_designs_measured_without_noise_are_not_asked_again_and_noisy_ones_may_be() -> None:
    pool = he.Pool([[0.0], [1.0], [2.0]], names=["x"])

    def measured(noise: float | None) -> he.Study:
        made = he.Study(pool, he.Maximize(), noise=noise, first=1)
        made.attach_many(({"x": float(x)}, float(x)) for x in range(3))
        return made

    assert "every design of the pool" in str(measured(0).stopped)
    again = measured(0.3)
    assert again.stopped is None
    assert again.ask().params["x"] in (0.0, 1.0, 2.0)
    taken = [measured(noise).outcomes.taken(again.records[0]) for noise in (None, 0.3, 0)]
    assert taken == [{"value"}, frozenset(), frozenset()]


SIGMAS = 3.2905
"""A normal value lies further away than these with the probability of a false alarm, 0.001."""


@pytest.mark.parametrize(
    ("noise", "told", "noted"),
    [
        (0.5, [4.0, 4.0 + 0.99 * SIGMAS * math.sqrt(2.0) * 0.5], False),
        (0.5, [4.0, 4.0 + 1.01 * SIGMAS * math.sqrt(2.0) * 0.5], True),
        (0.5, [4.0, (9.0, 2.0)], False),  # it has an error of its own
        (0.0, [4.0, 4.0 * (1.0 + 1e-12)], False),
        (0.0, [4.0, 4.001], True),
        (None, [4.0, 9.0], False),
    ],
)
def test_repeated_experiments_that_contradict_the_stated_noise_are_noted(
    noise: float | None, told: list[Any], noted: bool
) -> None:
    """The difference of two results has the standard deviation sqrt(2) s."""
    made = he.Study(SPACE, he.Maximize(), outcomes={"yield": he.Outcome(unit="%", noise=noise)})
    design = {"loading": 1.0, "minutes": 10.0}
    made.attach_many([(design, value) for value in told])
    made.attach({"loading": 2.0, "minutes": 10.0}, 90.0)  # another design may differ
    notes = [note for note in made.notes if "repeated experiments differ in yield by about" in note]
    assert bool(notes) is noted
    assert not notes or f"but its noise is stated as {noise:g} %; correct the noise, or leave it out" in notes[0]


@pytest.mark.parametrize(("width", "noted"), [(0.0, False), (1e-6, True), (5e-3, True), (0.02, False)])
def test_designs_that_all_lie_in_one_corner_are_noted(width: float, noted: bool) -> None:
    study = he.Study(SPACE, he.Maximize(), noise=0)
    for share in (0.0, 0.5, 1.0):
        study.attach({"loading": 1.0 + 4.5 * width * share, "minutes": 30.0}, 1.0)
    said = [note for note in study.log.notes if "is a guess" in note]
    assert bool(said) is noted
    assert all(f"all results are within {100 * width:.2g} % of the range" in note for note in said)


def test_one_result_tells_no_error() -> None:
    study = he.Study(LINE, he.Maximize("y"), outcomes={"y": he.Outcome(), "z": he.Outcome(noise=0.1)}, first=1)
    study.attach({"x": 0.2}, {"y": 89.2, "z": 1.0})
    assert study.log.notes == (
        "one result of y does not tell how much it varies: errors are a guess until there are more",
    )
    assert "One result of y does not tell" in str(study.decide()).replace("\n", " ")
    study.attach({"x": 0.7}, {"y": 88.0})
    assert not any("one result" in note for note in study.log.notes)


@pytest.mark.parametrize(
    ("log", "highest", "lowest", "noted"),
    [(False, 2e3, 1.0, True), (False, 9e2, 1.0, False), (True, 2e3, 1.0, False), (False, 2e3, -1.0, False)],
)
def test_outcomes_that_span_decades_are_noted(log: bool, highest: float, lowest: float, noted: bool) -> None:
    made = he.Study(SPACE, he.Maximize(), outcomes={"yield": he.Outcome(log=log)})
    values = [lowest, *(5.0 * (i + 1) for i in range(6)), highest]
    made.attach_many([({"loading": 0.5 + 0.1 * i, "minutes": 10.0}, value) for i, value in enumerate(values)])
    assert any("with log = true for yield models its logarithm" in note for note in made.notes) is noted


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (-0.5, "the value told for yield is -0.5, which is below 0, the least that it can be"),
        (100.5, "the value told for yield is 100.5, which is above 100, the greatest that it can be"),
    ],
)
def test_values_beyond_the_bounds_of_an_outcome_are_refused(told: float, said: str) -> None:
    made = study(outcomes={"yield": he.Outcome(low=0, high=100), "impurity": he.Outcome(low=0)})
    with pytest.raises(InputError, match=said):
        made.tell(made.ask(), {"yield": told, "impurity": 1.0})
    assert made.tell(0, {"yield": 100, "impurity": 0}).measurements["impurity"].value == 0.0


LINE = he.Space(x=he.Real(0.0, 1.0))


def steep(decision: he.Decision, log: bool = False, low: float | None = None, high: float | None = None) -> he.Study:
    """A study of values that rise towards 100 at the right end, and beyond it as a model without bounds sees them."""
    outcomes = {name: he.Outcome(unit="%", log=log, low=low, high=high) for name in ("yield", "purity")}
    made = he.Study(LINE, decision, outcomes=outcomes, hyperparameters="map", first=4)
    for x in (0.3, 0.5, 0.7, 0.85):
        made.attach({"x": x}, {"yield": 117.0 * x, "purity": 117.0 * x})
    return made


@pytest.mark.parametrize(
    ("decision", "columns"),
    [
        (he.Maximize("yield"), ["mean"]),
        (he.TopK(2, outcome="yield"), ["mean"]),
        (he.TopK(2, outcome="yield", largest=False), ["mean"]),
        (he.KGuesses(2, outcome="yield"), []),
        (he.MinMax("yield"), ["mean"]),
        (he.Estimate([[0.0], [1.0]], outcome="yield"), ["estimate"]),
        (he.Identify("max", outcome="yield"), ["max"]),
        (he.Pareto(2, {"yield": "max", "purity": "max"}), ["yield", "purity"]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, he.Decision) else "",
)
def test_nothing_that_is_said_of_an_outcome_lies_beyond_its_bounds(decision: he.Decision, columns: list[str]) -> None:
    """The belief knows no bounds: without them, the same data say more than is possible."""
    free, bound = steep(decision).decide(), steep(decision, low=35.0, high=99.5).decide()
    said = [[float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?= |$)", one.headline)] for one in (free, bound)]
    values = [[row[name] for name in columns for row in one.action] for one in (free, bound)]
    beyond = [[value for value in found if not 35.0 <= value <= 99.5] for found in values]
    assert bool(beyond[0]) == bool(columns)
    assert not beyond[1]
    assert bound.expected_loss == pytest.approx(free.expected_loss)
    assert said[0] != said[1]
    for value, clipped in zip(*values, strict=True):
        assert clipped == pytest.approx(min(max(value, 35.0), 99.5))


def test_bounds_of_a_logarithm_are_those_of_its_values() -> None:
    best = he.TopK(1, outcome="yield")
    bound, free = steep(best, log=True, low=0.0, high=99.5), steep(best, log=True)
    assert bound.decide().action[0]["mean"] <= 99.5 < free.decide().action[0]["mean"]


def test_bounds_hold_for_the_alternative_to_a_recommendation() -> None:
    """The measured design is recommended, and the belief expects less than is possible at the left end."""
    compared = steep(he.Minimize("yield"), low=35.0, high=99.5).decide().comparison
    assert compared is not None
    assert compared.alternative is not None
    assert compared.alternative.row["mean"] == 35.0


def test_modelled_bounds_are_logarithms_of_those_stated() -> None:
    outcomes = Outcomes.of({"a": he.Outcome(log=True, low=0.0, high=2.0), "b": he.Outcome(low=1.0)}, SPACE)
    assert outcomes.modelled_bounds("a") == pytest.approx((-math.inf, math.log(2.0)))
    assert outcomes.modelled_bounds("b") == (1.0, math.inf)


def test_pictures_stay_within_the_bounds() -> None:
    decision = he.Maximize("yield")
    free, bound = (terrains(scene_of(one))[0] for one in (steep(decision), steep(decision, high=99.5)))
    assert free.mean.max() > 99.5
    np.testing.assert_allclose(bound.mean, free.mean.clip(max=99.5))
    np.testing.assert_allclose(bound.quantiles, free.quantiles.clip(max=99.5))


def beyond(info: Any, low: float, high: float) -> list[str]:
    """The fields of values in the information of a picture that have a number beyond these bounds."""
    found = []
    for name, value in info.items():
        if isinstance(value, dict):
            found += beyond(value, low, high)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            found += [each for one in value for each in beyond(one, low, high)]
        elif name in ("mean", "expected", "heights", "values", "spread_values", "value", "estimates"):
            numbers = [float(one) for one in np.array(value, float).flat]
            found += [name] * any(not low <= one <= high for one in numbers if not math.isnan(one))
    return found


@pytest.mark.parametrize(
    "decision",
    [
        he.Maximize("yield"),
        he.TopK(2, outcome="yield"),
        he.MinMax("yield"),
        he.Estimate([[0.0], [1.0]], outcome="yield"),
        he.Identify("max", outcome="yield"),
        he.BestObserved(outcome="yield"),
    ],
    ids=lambda decision: type(decision).__name__,
)
def test_no_picture_has_a_value_beyond_the_bounds(decision: he.Decision) -> None:
    """Also what is expected of an experiment that is pending, its possible results, and values of drawn functions."""
    shown: dict[bool, list[str]] = {}
    for bounded in (True, False):
        made = steep(decision, low=35.0, high=99.5) if bounded else steep(decision)
        made.ask()
        every = {what: as_plain(information(made, what)) for what in ("known", "decided", "why")}
        shown[bounded] = [f"{what} {name}" for what, info in every.items() for name in beyond(info, 35.0, 99.5)]
    assert shown[True] == []
    assert {"why value", "decided values"} & set(shown[False])


def test_nothing_is_better_than_a_value_at_its_bound() -> None:
    """The belief expects less than is possible, with certainty: by 0 after the bound."""
    made = steep(he.Minimize("yield"), low=35.0, high=99.5)
    made.attach({"x": 0.0}, {"yield": 35.0, "purity": 60.0})
    free = steep(he.Minimize("yield"), high=99.5)
    free.attach({"x": 0.0}, {"yield": 35.0, "purity": 60.0})
    verdict, unbounded = made.decide().comparison, free.decide().comparison
    assert verdict is not None
    assert unbounded is not None
    assert not unbounded.trials
    assert verdict.trials
    assert verdict.best is None
    assert "better" not in verdict.sentence


def test_predictions_that_people_read_stay_within_the_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(
        'version = 1\nname = "lab"\nfirst = 4\nspace.x = {type = "real", low = 0, high = 1}\n'
        'outcomes.yield = {unit = "%", high = 99.5}\ndecision.name = "maximize"\nmodel.hyperparameters = "map"\n'
    )
    with closing(he.Study.from_file("lab.toml")) as made:
        made.attach_many(({"x": x}, 117.0 * x) for x in (0.3, 0.5, 0.7, 0.85))
        trial = made.ask()
        made.tell(trial, 99.0)
        said = trial.predictions["yield"]
        assert said.interval[1] > 99.5  # the record keeps what the model said
        shown = record_info(scene_of(made))
    assert max(shown.expected.max(), shown.high.max()) <= 99.5
    [line] = (line for line in done("show", "lab.toml", "--number", "4").splitlines() if line.startswith("predicted"))
    assert all(float(number) <= 99.5 for number in re.findall(r"\d+\.\d+", line.split("(90 %")[1].split(")")[0]))


def test_a_stated_noise_is_stored_and_may_be_stated_later(tmp_path: Path) -> None:
    place: dict[str, Any] = {"storage": tmp_path / "lab.db", "name": "lab"}

    def stated() -> float | None:
        with closing(he.load_study("lab", tmp_path / "lab.db")) as again:
            [one] = again.outcomes.by_name.values()
            assert isinstance(one, he.Outcome)
            return one.noise

    he.Study(SPACE, he.Maximize(), **place).close()
    assert stated() is None
    for noise in (0.3, 0, None, 0.2):
        he.Study(SPACE, he.Maximize(), noise=noise, **place).close()
        assert stated() == noise
    with pytest.raises(he.StorageError, match=r"outcomes.value"):
        he.Study(SPACE, he.Maximize(), outcomes={"value": he.Outcome(low=0)}, **place)
