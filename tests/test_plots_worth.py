"""Is another one worth it: gains against the rules, and the sentence that says so."""

from collections.abc import Sequence

import numpy as np
import pytest

import hentropy as he
from hentropy.plots.marks import Dots, Panel, Role, Rule
from hentropy.plots.scene import scene_of
from hentropy.plots.worth import WorthInfo, sentence, worth_info, worth_picture
from hentropy.records import State, Trial
from hentropy.stopping import StoppingRule
from hentropy.study.ending import reason_to_stop
from support.studies import LINE, hill, study


def asked(gains: Sequence[float | None], stop: Sequence[StoppingRule] = (), last: State | None = None) -> WorthInfo:
    """A study whose proposals had these gains, after two attached data."""
    given = [Trial(n, {"x": float(n)}, State.COMPLETE, hill(float(n)), origin="attached") for n in (0, 1)]
    made = []
    for number, gain in enumerate(gains, start=2):
        x = -1.0 + 0.1 * number
        origin = "first" if gain is None else "proposed"
        error = None if gain is None else 0.1 * gain
        made.append(Trial(number, {"x": x}, State.COMPLETE, hill(x), None, gain, error, origin=origin))
    if last is not None:
        made[-1] = Trial(
            made[-1].number, made[-1].params, last, gain=made[-1].gain, gain_error=made[-1].gain_error, note="later"
        )
    return worth_info(scene_of(study(LINE, records=[*given, *made], stop=stop)))


def test_gains_are_those_of_the_trials_in_order() -> None:
    info = asked([None, None, 0.5, 0.25], last=State.RUNNING)
    assert info.places.tolist() == [3.0, 4.0]
    assert info.gains.tolist() == [0.5, 0.25]
    assert info.errors.tolist() == pytest.approx([0.05, 0.025])
    assert info.waiting.tolist() == [False, True]
    assert info.ended == 3


def test_an_experiment_is_worth_it_while_it_saves_more_than_it_costs() -> None:
    said = sentence(asked([0.5, 0.12], [he.GainBelowCost(0.05)]))
    assert said == "The last experiment was expected to save 0.12, more than it costs (0.05): another one is worth it."
    said = sentence(asked([0.5, 0.01], [he.GainBelowCost(0.05)]))
    assert (
        said == "The last experiment was expected to save 0.01, less than it costs (0.05): another one is not worth it."
    )


def test_without_a_rule_it_is_for_the_reader_to_say() -> None:
    said = sentence(asked([0.5]))
    assert "No rule says how much is enough" in said
    assert "0.5" in said


@pytest.mark.parametrize(
    ("gains", "patience", "ends"),
    [
        ([0.5, 0.2], 1, "is worth it"),
        ([0.5, 0.05], 1, "is not worth it"),
        ([0.5, 0.05], 2, "has to happen 2 times in a row and has 1: go on"),
        ([0.05, 0.5, 0.05, 0.05], 2, "2 times in a row: another one is not worth it"),
        ([0.05, 0.05], 3, "and has 2: go on"),
        ([0.05, 0.1], 1, "is worth it"),
    ],
)
def test_the_threshold_is_judged_as_by_its_rule(gains: list[float], patience: int, ends: str) -> None:
    rule = he.GainBelow(0.1, patience)
    info = asked(gains, [rule])
    assert sentence(info).endswith(f"{ends}.")
    trials = [Trial(n, {"x": 0.0}, gain=gain) for n, gain in enumerate(gains)]
    assert (reason_to_stop([rule], trials, 0.0) is not None) == ("not worth" in sentence(info))


def test_the_budget_counts_what_the_rule_counts() -> None:
    info = asked([None, 0.5, 0.2], [he.Budget(5)], last=State.FAILED)
    assert info.left == 2
    assert sentence(info).endswith("Of the budget of 5 experiments 2 are left.")
    assert sentence(asked([0.5, 0.2], [he.Budget(2)])).endswith("The budget of 2 experiments is used up.")


def test_before_the_first_proposal_there_is_no_gain() -> None:
    info = asked([None, None], [he.Budget(9)])
    assert not len(info.gains)
    assert sentence(info).startswith("No experiment has been chosen by what it is expected to save yet")
    assert worth_picture(info).rows


def test_withdrawn_ones_keep_the_place_they_would_have_had() -> None:
    info = asked([0.5, 0.02], [he.GainBelow(0.1)], last=State.WITHDRAWN)
    assert info.places.tolist() == [1.0, 2.0]
    assert info.ended == 1
    assert not info.waiting.any()


def test_the_rules_are_drawn_in() -> None:
    info = asked([0.5, 0.25], [he.GainBelow(0.1), he.GainBelowCost(0.05), he.Budget(30)])
    [[panel]] = worth_picture(info).rows
    assert isinstance(panel, Panel)
    assert [(rule.axis, rule.at) for rule in panel.marks if isinstance(rule, Rule)] == [
        ("y", 0.1),
        ("y", 0.05),
        ("x", 30.0),
    ]
    [dots] = [mark for mark in panel.marks if isinstance(mark, Dots)]
    assert dots.role is Role.GAIN
    assert dots.error is not None
    assert np.array_equal(dots.error, info.errors)


def test_gains_over_decades_are_on_a_logarithmic_scale() -> None:
    for gains, log in (([1.0, 1e-3], True), ([1.0, 0.5], False), ([1.0, 0.0], False)):
        [[panel]] = worth_picture(asked(gains)).rows
        assert isinstance(panel, Panel)
        assert panel.y.log is log
