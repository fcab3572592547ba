"""Is another one worth it: gains against the rules, the next experiment, and the sentence that says so."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import hentropy as he
from hentropy.studies.records import State, Trial
from hentropy.studies.stopping import StoppingRule
from hentropy.views.plots.marks import Dots, Panel, Role, Rule
from hentropy.views.plots.pictures import as_plain
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.why import why_info, why_picture
from hentropy.views.plots.worth import WorthInfo, sentence, worth_info, worth_picture
from support.studies import LINE, begun, hill, measured, study


def scene(
    gains: Sequence[float | None], stop: Sequence[StoppingRule] = (), last: State | None = None, first: int = 2
) -> Scene:
    """A study whose proposals had these gains, after two attached data."""
    given = [Trial(n, {"x": float(n)}, State.COMPLETE, measured(hill(float(n))), origin="attached") for n in (0, 1)]
    made = []
    for number, gain in enumerate(gains, start=2):
        x = -1.0 + 0.1 * number
        origin = "first" if gain is None else "proposed"
        error = None if gain is None else 0.1 * gain
        made.append(Trial(number, {"x": x}, State.COMPLETE, measured(hill(x)), gain, error, origin=origin))
    if last is not None:
        end = made[-1]
        made[-1] = Trial(end.number, end.params, last, gain=end.gain, gain_error=end.gain_error, note="later")
    return scene_of(study(LINE, records=[*given, *made], stop=stop, first=first))


def asked(gains: Sequence[float | None], stop: Sequence[StoppingRule] = (), last: State | None = None) -> WorthInfo:
    return worth_info(scene(gains, stop, last))


def test_gains_are_those_of_the_trials_in_order() -> None:
    info = asked([None, None, 0.5, 0.25], last=State.RUNNING)
    assert info.places.tolist() == [3.0, 4.0]
    assert info.gains.tolist() == [0.5, 0.25]
    assert info.errors.tolist() == pytest.approx([0.05, 0.025])
    assert info.waiting.tolist() == [False, True]


def test_the_next_one_is_the_one_that_is_explained() -> None:
    """One computation for both pictures: they cannot contradict each other."""
    seen = scene([0.5, 0.25])
    info, why = worth_info(seen), why_info(seen, numbers=3e7)
    assert info.target is why.target
    assert info.target is not None
    assert info.target_place == 3
    stated = float(sentence(info).split(" is expected to save about ")[1].split()[0])
    assert stated == pytest.approx(info.target.gain, rel=0.05)
    assert f"has a gain of {info.target.worth}" in why_picture(why).caption
    assert "worth" not in as_plain(info)["target"]  # words, not a value
    [[panel]] = worth_picture(info).rows
    assert isinstance(panel, Panel)
    [mark] = [mark for mark in panel.marks if isinstance(mark, Dots) and mark.role is Role.PROPOSED]
    assert (mark.x.tolist(), mark.y.tolist()) == ([3.0], [info.target.gain])


def test_with_earlier_data_alone_the_next_one_is_shown() -> None:
    info = worth_info(scene_of(begun(LINE, count=5, first=4)))
    assert not len(info.gains)
    assert info.target is not None
    assert info.target_place == 1
    [[panel]] = worth_picture(info).rows
    assert isinstance(panel, Panel)
    assert panel.marks
    assert sentence(info).startswith("The next experiment is expected to save ")


def test_a_pending_one_is_valued_as_things_stand() -> None:
    info = asked([0.5, 0.25], last=State.RUNNING)
    assert info.target is not None
    assert (info.target.number, info.target_place) == (3, 2)
    assert info.target.gain != 0.25
    assert sentence(info).startswith("Pending trial 3 is expected to save ")


@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("kind", [he.GainBelow, he.GainBelowCost])
def test_the_next_one_is_judged_as_if_it_had_been_asked(kind: type, factor: float) -> None:
    target = scene([9.0]).explained.target
    assert target is not None
    info = asked([9.0], [kind(factor * target.gain)])
    assert info.stopped is None
    assert (info.stops is None) == (factor < 1)
    assert ("not worth it" in sentence(info)) == (factor > 1)
    assert ("another experiment is worth it" in sentence(info)) == (factor < 1)


def test_a_low_gain_waits_for_its_patience() -> None:
    target = scene([9.0]).explained.target
    assert target is not None
    info = asked([9.0], [he.GainBelow(2 * target.gain, patience=2)])
    assert info.stops is None
    assert sentence(info).endswith(
        "That is low, but not yet for as many experiments in a row as the stopping rule asks for: continue."
    )


@pytest.mark.parametrize(
    "stop",
    [
        [he.GainBelow(0.1)],
        [he.GainBelow(0.5, patience=10), he.GainBelow(0.1, patience=1)],
        [he.Budget(2), he.GainBelow(0.1)],
        [he.GainBelowCost(0.2), he.Budget(2)],
        [he.Budget(30)],
        [he.GainBelow(0.01)],
    ],
    ids=repr,
)
def test_whether_to_stop_is_what_the_study_says(stop: list[StoppingRule]) -> None:
    seen = scene([0.5, 0.05], stop)
    reason = seen.study.stopped
    said = sentence(worth_info(seen))
    assert ("A stopping rule is met" in said) == (reason is not None)
    if reason is not None:
        assert reason in said


def test_withdrawn_ones_are_left_out() -> None:
    info = asked([0.5, 0.02], last=State.WITHDRAWN)
    assert info.gains.tolist() == [0.5]
    assert info.places.tolist() == [1.0]
    assert info.target_place == 2


def test_without_a_rule_it_is_for_the_reader_to_say() -> None:
    assert "No stopping rule on the gain is set" in sentence(asked([0.5]))


def test_the_budget_counts_what_the_rule_counts() -> None:
    info = asked([None, 0.5, 0.2], [he.Budget(5)], last=State.FAILED)
    assert info.left == 2
    assert sentence(info).endswith("2 experiments of the budget are left.")
    used = asked([0.5, 0.2], [he.Budget(2)])
    assert used.left == 0
    assert "the budget of 2 trials is used up" in sentence(used)


def test_while_first_designs_are_due_gains_stop_nothing() -> None:
    seen = scene([None, None], [he.GainBelow(1e6)], first=9)
    info = worth_info(seen)
    assert info.stops is None
    assert sentence(info).startswith("The next ones fill the space (5 of 9 first designs are left); the best by gain")
    assert "worth it" not in sentence(info)


def test_nothing_left_is_said() -> None:
    pool = he.Pool([[0.0], [1.0], [2.0]])
    made = he.Study(pool, he.Maximize(), hyperparameters="map")
    made.attach_many([({"x1": float(x)}, (float(x), 0.0)) for x in range(3)])
    info = worth_info(scene_of(made))
    assert info.target is None
    assert "every design of the pool has failed or was measured without noise" in sentence(info)
    assert worth_picture(info).rows


def test_the_error_is_said_to_be_one_of_the_computation() -> None:
    info = asked([0.5])
    assert info.target is not None
    assert ("the error of the computation" in sentence(info)) != info.target.exact


def test_the_rules_are_drawn_in() -> None:
    info = asked([0.5, 0.25], [he.GainBelow(0.1), he.GainBelowCost(0.05), he.Budget(30)])
    [[panel]] = worth_picture(info).rows
    assert isinstance(panel, Panel)
    assert [(rule.axis, rule.at) for rule in panel.marks if isinstance(rule, Rule)] == [
        ("y", 0.1),
        ("y", 0.05),
        ("x", 30.0),
    ]
    [dots] = [mark for mark in panel.marks if isinstance(mark, Dots) and mark.role is Role.GAIN]
    assert dots.error is not None
    assert np.array_equal(dots.error, info.errors)


def test_gains_over_decades_are_on_a_logarithmic_scale() -> None:
    info = replace(asked([1.0, 0.5]), target=None)
    for last, log in ((1e-3, True), (0.5, False), (0.0, False)):
        [[panel]] = worth_picture(replace(info, gains=np.array([1.0, last]))).rows
        assert isinstance(panel, Panel)
        assert panel.y.log is log


def test_ask_and_the_picture_state_one_gain_and_one_expected_loss() -> None:
    study = begun(LINE, he.KGuesses(2), count=4, first=4)
    verdict = study.decide()
    before = worth_info(scene_of(study)).target  # what would be asked next
    trial = study.ask()
    while_waiting = worth_info(scene_of(study)).target
    assert before is not None
    assert while_waiting is not None
    assert before.gain == pytest.approx(trial.gain)
    assert while_waiting.gain == trial.gain
    assert trial.entropy == pytest.approx(verdict.expected_loss, rel=1e-9)  # on the same draws
    study.attach({"x": 0.3}, 0.7)  # it is valued anew by what is known then
    news = worth_info(scene_of(study)).target
    assert news is not None
    assert news.gain != trial.gain


def test_nothing_comes_next_once_a_study_has_ended() -> None:
    study = begun(LINE, he.Maximize(), count=5, first=4, stop=[he.Budget(1)])
    study.tell(study.ask(), 0.5)
    said = worth_picture(worth_info(scene_of(study))).caption
    assert "A stopping rule is met" in said
    assert "Another experiment would be expected to save" in said
    assert "next" not in f"{said} {why_info(scene_of(study)).target}".replace("NextExperiment", "")
