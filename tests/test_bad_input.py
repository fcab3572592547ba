"""Wrong, degenerate and extreme input: the right behaviour, or one error that names the value and what to change."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import hentropy as he
from support.studies import LINE, MIXED, PLANE, begun, hill, study

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (NAN, "told is nan"),
        (-INF, "told is -inf"),
        ("1.5", "told is '1.5'"),
        ([1.0, 2.0, 3.0], r"told is \[1.0, 2.0, 3.0\]"),
        (np.zeros(2), "told is array"),
        (1 + 2j, "must be a number"),
        ({}, "nothing was measured"),
        ((1.0, -0.1), "standard error told is -0.1"),
        ((1.0, NAN), "standard error told is nan"),
        ((NAN, 0.1), "told is nan"),
        ((1.0, "x"), r"told is \(1.0, 'x'\)"),
    ],
)
def test_values_that_cannot_be_told(value: Any, said: str) -> None:
    made = study()
    trial = made.ask()
    with pytest.raises(he.InputError, match=said):
        made.tell(trial, value)
    with pytest.raises(he.InputError, match=said):
        made.attach({"x": 0.5}, value)
    assert made.records == (trial,)


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float32(2.0), np.array(2.0), np.array([2.0]), torch.tensor([2.0]), (2, None)],
)
def test_numbers_of_any_library_are_taken(value: Any) -> None:
    made = study()
    assert made.tell(made.ask(), value).value == 2.0


@pytest.mark.parametrize("trial", [7, -1, "0", None, [0], 1.5, he.Trial(3, {"x": 0.0})])
def test_unknown_trials(trial: Any) -> None:
    made = study()
    with pytest.raises(he.StudyError, match=r"there is no trial .* in this study \(trials: none yet\)"):
        made.tell(trial, 1.0)
    made.ask()
    with pytest.raises(he.StudyError, match=r"\(trials: only 0\)"):
        made.tell(trial, 1.0)


def test_a_trial_of_another_study() -> None:
    made, other = study(seed=1), study(seed=2)
    made.ask()
    with pytest.raises(he.StudyError, match="seems to come from another study"):
        made.tell(other.ask(), 1.0)


def test_telling_twice() -> None:
    made = study()
    trial = made.ask()
    first = made.tell(trial, 1.0)
    assert made.tell(trial, 1.0) == first
    for again in ({"value": 2.0}, {"value": (1.0, 0.1)}, {"failed": "broken"}):
        with pytest.raises(he.StudyError, match=r"trial 0 already has a result: value 1; pass replace_value=True"):
            made.tell(trial, **again)
    assert made.tell(trial, 2.0, replace_value=True).value == 2.0
    made.tell(trial, failed="broken", replace_value=True)
    with pytest.raises(he.StudyError, match=r"failed \(broken\)"):
        made.tell(trial, 1.0)
    assert made.tell(0, 3.0, replace_value=True).value == 3.0


def test_neither_value_nor_failure_or_both() -> None:
    made = study()
    trial = made.ask()
    for value, failed in ((None, None), (1.0, "why")):
        with pytest.raises(he.StudyError, match="trial 0 either a value or failed='why'"):
            made.tell(trial, value, failed=failed)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"x": 1.0}, "misses rate, steps"),
        ({"x": 1.0, "rate": 0.01, "steps": 2, "z": 1}, "has unknown z"),
        ({"x": 5.1, "rate": 0.01, "steps": 2}, r"x is 5.1, outside \[0, 5\].*widen the space"),
        ({"x": NAN, "rate": 0.01, "steps": 2}, "x is nan"),
        ({"x": INF, "rate": 0.01, "steps": 2}, "x is inf"),
        ({"x": 1.0, "rate": 0.0, "steps": 2}, "rate is 0.0, outside"),
        ({"x": 1.0, "rate": 0.01, "steps": 2.5}, "steps is 2.5; it must be a whole number"),
        ({"x": "1", "rate": 0.01, "steps": 2}, "x is '1'; it must be a number"),
        ({"x": None, "rate": 0.01, "steps": 2}, "x is None"),
    ],
)
def test_designs_that_are_not_in_the_space(params: dict, said: str) -> None:
    made = study(MIXED)
    with pytest.raises(he.InputError, match=said):
        made.attach(params, 1.0)
    assert made.records == ()


@pytest.mark.parametrize(
    "row", [{"x": 0.5, "value": 3.0, "steps": 2}, {"x": 0.5, "value": 3.0}, ({"x": 0.5},), (0.5, 3), 3.0]
)
def test_earlier_data_that_are_no_pairs(row: Any) -> None:
    made = study()
    with pytest.raises(he.InputError, match=r"row 1 of the data is .*; each must be a pair of a design and its value"):
        made.attach_many([({"x": 0.5}, 3.0), row])
    assert made.records == ()


def test_a_design_that_is_not_in_the_pool() -> None:
    made = study(he.Pool([0.0, 1.0, 2.0], names=["x"]))
    with pytest.raises(he.InputError, match=re.escape("{'x': 0.5} is not in the pool of 3 designs")):
        made.attach({"x": 0.5}, 1.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seed": -1}, "seed .* got -1"),
        ({"seed": 1.5}, "seed .* got 1.5"),
        ({"first": 0}, "first .* got 0"),
        ({"first": 2.5}, "first .* got 2.5"),
        ({"hyperparameters": "bayes"}, "got 'bayes'"),
        ({"stop": he.Budget(3)}, r"list of stopping rules.*got Budget\(trials=3"),
        ({"stop": [3]}, r"got \[3\]"),
        ({"max_seconds": 0.0}, "max_seconds .* got 0"),
        ({"max_memory": 10}, "max_memory .* got 10"),
        ({"records": [he.Trial(1, {"x": 0.0})]}, "record 0 has the number 1"),
        ({"records": [{"x": 0.0}]}, "record 0 is {'x': 0.0}"),
        ({"records": [he.Trial(0, {"x": 9.0})]}, "x is 9.0, outside"),
    ],
)
def test_options_of_a_study(options: dict, said: str) -> None:
    with pytest.raises(he.InputError, match=said):
        study(**options)


def test_what_is_not_a_space_or_not_a_decision() -> None:
    with pytest.raises(he.InputError, match=r"space is \[\(0, 1\)\]; it must be a Space"):
        he.Study([(0, 1)], he.Maximize())  # type: ignore[arg-type]
    with pytest.raises(he.InputError, match="'maximize' is not a decision"):
        he.Study(LINE, "maximize")  # type: ignore[arg-type]
    with pytest.raises(he.InputError, match="asks for 5 different designs, but the space lists only 3"):
        he.Study(he.Pool([0.0, 1.0, 2.0]), he.TopK(5))


@pytest.mark.parametrize("count", [0, -1, 1.5, "two"])
def test_how_many_are_asked(count: Any) -> None:
    with pytest.raises(he.InputError, match=rf"count .* got {count!r}"):
        study().ask_many(count)


def test_an_empty_study_cannot_decide_or_propose() -> None:
    for act in (study().decide, study().propose):
        with pytest.raises(he.StudyError, match=r"nothing has been told yet.*tell its value"):
            act()
    made = study()
    made.tell(made.ask(), failed="broken")
    with pytest.raises(he.StudyError, match="nothing has been told yet"):
        made.decide()


def test_one_observation_only() -> None:
    made = study(PLANE, first=1)
    trial = made.ask()
    made.tell(trial, 2.5)
    verdict = made.decide()
    assert verdict.observations == 1
    assert math.isfinite(verdict.expected_loss)
    assert made.ask().origin == "proposed"


@pytest.mark.parametrize("value", [0.0, 7.0, -1e6])
@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_constant_outcomes(value: float, treatment: str) -> None:
    made = study(PLANE, first=4, hyperparameters=treatment)
    for _ in range(6):
        made.tell(made.ask(), value)
    verdict = made.decide()
    assert verdict.expected_loss == pytest.approx(-value, abs=1.0)
    gains = [trial.gain for trial in made.records if trial.gain is not None]
    assert all(math.isfinite(gain) for gain in gains)


@pytest.mark.parametrize("error", [None, 0.0, 0.2])
def test_the_same_design_again_and_again(error: float | None) -> None:
    made = begun(PLANE, count=3)
    for value in (1.0, 1.0, 1.2, 0.8, 1.0):
        made.attach({"x": 1.0, "rate": 0.01}, (value, error) if error is not None else value)
    trial = made.ask()
    assert trial.gain is not None
    assert math.isfinite(trial.gain)
    assert math.isfinite(made.decide().expected_loss)


def test_designs_that_differ_by_a_hair() -> None:
    made = begun(count=3)
    for i in range(4):
        made.attach({"x": 1.0 + 1e-9 * i}, (1.0 + i, 0.0))
    assert math.isfinite(made.decide().expected_loss)
    assert math.isfinite(made.ask().gain or 0.0)


@pytest.mark.parametrize("outcome", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("width", [1e-9, 1.0, 1e9])
def test_the_units_of_designs_and_outcomes_do_not_matter(outcome: float, width: float) -> None:
    """The same study in other units asks the same designs; gains and verdicts scale with the outcomes."""
    space = he.Space(x=he.Real(-1.0 * width, 3.0 * width))
    made, plain = study(space), study(LINE)
    for x in (-0.6, 0.4, 1.0, 2.2, 2.9):
        made.attach({"x": x * width}, outcome * hill(x))
        plain.attach({"x": x}, hill(x))
    asked, expected = made.ask(), plain.ask()
    assert asked.params["x"] / width == pytest.approx(expected.params["x"], abs=0.02)
    assert (asked.gain or 0.0) / outcome == pytest.approx(expected.gain, rel=0.05)
    assert made.decide().expected_loss / outcome == pytest.approx(plain.decide().expected_loss, rel=1e-3)


def test_outcomes_far_from_zero() -> None:
    made, plain = study(), study()
    for x in (-0.6, 0.4, 1.0, 2.2, 2.9):
        made.attach({"x": x}, 1e6 + hill(x))
        plain.attach({"x": x}, hill(x))
    assert made.ask().params["x"] == pytest.approx(plain.ask().params["x"], abs=0.02)
    assert made.decide().expected_loss + 1e6 == pytest.approx(plain.decide().expected_loss, abs=1e-3)


ONE = he.Space(x=he.Real(0, 1))
LIB: Any = he
"""As somebody calls it who has no type checker."""
FEW = torch.linspace(0, 1, 5, dtype=torch.float64).unsqueeze(-1)


def _costly(x: torch.Tensor) -> torch.Tensor:
    raise ZeroDivisionError("no price")


def _proposed(**options: Any) -> he.Proposal:
    return he.propose(he.Maximize(), he.fit(FEW, FEW[:, 0], space=ONE), ONE, **options)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: LIB.fit(FEW, FEW[:, 0], draws=2.5), "draws of the hyperparameters must be a whole number"),
        (lambda: LIB.fit(FEW, FEW[:, 0], seed="a"), "the seed must be a whole number"),
        (lambda: _proposed(seed="a"), "the seed must be a whole number"),
        (lambda: _proposed(seed=-1), "the seed must be a whole number"),
        (lambda: _proposed(max_seconds="a"), "max_seconds must be a number above 0"),
        (lambda: _proposed(max_memory="much"), "max_memory is in bytes"),
        (lambda: _proposed(cost=3), "cost must be a function"),
        (lambda: _proposed(cost=_costly), "the cost raised ZeroDivisionError: no price"),
        (lambda: LIB.gain(he.TopK(2), he.fit(FEW, FEW[:, 0]), FEW, ONE, seed=1.5), "the seed must be a whole number"),
        (lambda: LIB.entropy(he.Maximize(), he.fit(FEW, FEW[:, 0]), ONE, seed="a"), "the seed must be a whole number"),
        (lambda: LIB.Study(ONE, he.Maximize(), cost=[3]), "cost must be a number, an expression"),
        (lambda: LIB.Study(ONE, he.Maximize(), cost=-3), "all costs must be finite and above 0"),
        (lambda: LIB.Study(ONE, he.Maximize(), cost="x + y"), "y"),
        (lambda: LIB.Study(ONE, he.Maximize(), price=2.0), "a price needs costs"),
        (lambda: LIB.Study(ONE, he.Maximize(), cost=1.0, price=-2.0), "the price of a unit of cost must be"),
        (lambda: LIB.Study(ONE, he.Maximize(), decide_on=3), "decide_on must be a space, a pool, or values"),
        (lambda: LIB.Budget(), "a budget needs a number of trials, or a cost"),
        (lambda: LIB.Study(ONE, he.Maximize(), storage=3), "a store is named by a URL"),
        (lambda: LIB.Estimate(at="x"), "at is not a table of numbers"),
        (lambda: LIB.LevelSets(1.0, at=[["a"]]), "at is not a table of numbers"),
        (lambda: LIB.Estimate(at=[[1.0 + 2.0j]]), "it has complex numbers"),
        (lambda: LIB.LevelSets("high"), "at least one threshold, all finite"),
        (lambda: LIB.Improve("best"), "threshold"),
        (lambda: LIB.Sequence("ab"), "at least one target, all finite"),
        (lambda: LIB.TopK(2, weight="much"), "weight"),
        (lambda: LIB.Budget(2.5), "the budget of trials must be a whole number"),
        (lambda: LIB.Budget("ten"), "the budget of trials must be a whole number"),
        (lambda: LIB.TimeLimit("soon"), "the time limit in seconds must be a finite number above 0"),
        (lambda: LIB.GainBelow(0.1, patience=1.5), "the patience must be a whole number"),
        (lambda: LIB.Real("a", 1), "the bounds 'a', 1 must be numbers"),
        (lambda: LIB.Real(1e-310, 1.0, log=True), "a lower bound of at least 1e-300"),
        (lambda: LIB.Box(["a"], [1.0]), "must be finite and in order"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(he.InputError, match=re.escape(said)):
        wrong()


def test_a_loss_that_raises_is_told_with_its_decision_and_cause() -> None:
    class Tariff(he.Decision):
        actions = he.Points(1)

        def loss(self, f: torch.Tensor, a: Any) -> torch.Tensor:
            raise KeyError("tariff")

    with pytest.raises(he.DecisionError, match="the loss of Tariff raised KeyError: 'tariff'") as caught:
        he.propose(Tariff(), he.fit(FEW, FEW[:, 0], space=ONE), ONE)
    assert isinstance(caught.value.__cause__, KeyError)
