"""Stopping rules: each says why, and only when it should."""

import math
from pathlib import Path

import pytest

import hentropy as he
from hentropy.studies.study import Standing, StoppingRule
from support.commands import STUDY, done
from support.studies import begun, hill, study

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(
    ("rule", "standing", "reason"),
    [
        (he.Budget(3), Standing(2, 0.0, ()), None),
        (he.Budget(3), Standing(3, 0.0, ()), "budget of 3 trials"),
        (he.Budget(cost=60.0, unit="hours"), Standing(3, 0.0, (), 59.0), None),
        (he.Budget(cost=60.0, unit="hours"), Standing(3, 0.0, (), 61.5), "the budget of 60 hours is spent"),
        (he.GainBelowCost(price=0.1), Standing(9, 0.0, (3.0, 1.0), 5.0, (2.0, 8.0)), None),
        (
            he.GainBelowCost(price=0.2),
            Standing(9, 0.0, (3.0, 1.0), 5.0, (2.0, 8.0)),
            "expected to save 1 and costs 1.6",
        ),
        (he.TimeLimit(10.0), Standing(0, 9.9, ()), None),
        (he.TimeLimit(10.0), Standing(0, 10.0, ()), "limit of 10 s"),
        (he.GainBelow(0.1), Standing(9, 0.0, ()), None),
        (he.GainBelow(0.1), Standing(9, 0.0, (0.05, 0.1)), None),
        (he.GainBelow(0.1), Standing(9, 0.0, (0.2, 0.05)), "gain of the best experiment is 0.05, below 0.1"),
        (he.GainBelow(0.1, patience=2), Standing(9, 0.0, (0.05,)), None),
        (he.GainBelow(0.1, patience=2), Standing(9, 0.0, (0.05, 0.2, 0.05)), None),
        (he.GainBelow(0.1, patience=2), Standing(9, 0.0, (0.2, 0.06, 0.05)), "is 0.05, below 0.1"),
        (he.GainBelowCost(2.0), Standing(9, 0.0, ()), None),
        (he.GainBelowCost(2.0), Standing(9, 0.0, (1.0, 2.0)), None),
        (he.GainBelowCost(2.0), Standing(9, 0.0, (3.0, 1.0)), "expected to save 1 and costs 2"),
    ],
)
def test_rules(rule: StoppingRule, standing: Standing, reason: str | None) -> None:
    said = rule.reason(standing)
    assert (said is None) == (reason is None)
    if reason is not None:
        assert reason in str(said)


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("rule", [he.Budget, he.TimeLimit, he.GainBelow, he.GainBelowCost])
def test_a_rule_refuses_a_limit_that_is_none(rule: type, bad: float) -> None:
    with pytest.raises(he.InputError, match=f"(above 0|at least 1), got {bad}"):
        rule(bad)


def test_a_study_counts_ended_trials_but_not_attached_data() -> None:
    made = begun(count=5, stop=[he.Budget(2)])
    assert made.stopped is None
    made.tell(made.ask(), failed="broken")
    trial = made.ask()
    assert made.stopped is None
    made.tell(trial, hill(**trial.params))
    assert made.stopped == "the budget of 2 trials is used up"


def test_time_runs_from_the_start_of_the_study() -> None:
    assert study(stop=[he.TimeLimit(1e-6)]).stopped == "the time limit of 1e-06 s has passed"
    assert study(stop=[he.TimeLimit(3600.0)]).stopped is None


def test_the_first_rule_that_holds_is_named() -> None:
    made = begun(count=6, stop=[he.Budget(100), he.GainBelow(1e9), he.GainBelowCost(1e9)])
    assert made.stopped is None
    made.ask()
    assert "below 1e+09" in str(made.stopped)


def test_a_rule_of_ones_own() -> None:
    class Enough(StoppingRule):
        def reason(self, standing: Standing) -> str | None:
            return "enough" if sum(standing.gains) > 0 else None

    made = begun(count=5, stop=[Enough()])
    made.ask()
    assert made.stopped == "enough"


def test_what_a_budget_of_cost_leaves() -> None:
    rule = he.Budget(cost=60.0)
    assert rule.left(Standing(0, 0.0, ())) == math.inf
    assert rule.left(Standing(4, 0.0, (), 20.0)) == 7  # 40 left, five each, but for rounding
    assert rule.left(Standing(4, 0.0, (), 58.0)) == 1
    assert rule.left(Standing(4, 0.0, (), 60.0)) == 0
    assert he.Budget(10, cost=60.0).left(Standing(9, 0.0, (), 20.0)) == 1


def test_a_budget_that_ends_with_the_first_designs_is_pointed_out(tmp_path: Path) -> None:
    space = he.Space(x=he.Real(0.0, 1.0))
    study = he.Study(space, he.Maximize(), first=4, stop=[he.Budget(4)])
    [note] = study.notes
    assert note.startswith("the budget of 4 trials ends with the first designs, of which there are 4")
    assert not he.Study(space, he.Maximize(), first=4, stop=[he.Budget(5)]).notes
    study.attach({"x": 0.5}, 1.0)  # earlier data count: one of the four is chosen by the model
    assert not any("budget" in note for note in study.notes)
    (tmp_path / "lab.toml").write_text(STUDY.replace("trials = 4", "trials = 2"))
    assert "Note: the budget of 2 trials ends with the first designs" in done("check", str(tmp_path / "lab.toml"))
    (tmp_path / "lab.toml").write_text(STUDY)
    assert "Note: " not in done("check", str(tmp_path / "lab.toml"))
