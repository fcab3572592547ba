"""Progress: counts of observations as they really were, and expected against true losses."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.decisions.headlines import Quantity
from hentropy.views.plots.marks import Line, Panel, Role
from hentropy.views.plots.progress import known_when_asked, progress_info, progress_picture, replayed, true_loss
from hentropy.views.plots.scene import scene_of
from support.decisions import BothSides
from support.studies import DECISIONS, LINE, PLANE, begun, hill, study


def truth(x: Tensor) -> Tensor:
    return 3.0 * torch.exp(-((x[..., 0] - 1.3) ** 2))


@pytest.fixture(scope="module")
def course() -> he.Study:
    """Four first designs, one proposal alone, two together of which one is told late, and a correction."""
    made = study(LINE, stop=[he.Budget(9)])
    for _ in range(5):
        trial = made.ask()
        made.tell(trial, hill(**trial.params))
    made.decide()
    early, late = made.ask_many(2)
    made.tell(early, hill(**early.params))
    nxt = made.ask()
    made.tell(late, hill(**late.params))
    made.tell(nxt, hill(**nxt.params))
    made.tell(0, hill(**made.records[0].params) + 0.1, replace_value=True)
    made.decide()
    return made


def test_how_much_was_known_is_counted_by_time(course: he.Study) -> None:
    assert known_when_asked(scene_of(course)) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 5, 7: 6}


def test_the_course_joins_verdicts_and_proposals(course: he.Study) -> None:
    scene = scene_of(course)
    info = progress_info(scene, draws=200)
    trials = course.records
    verdicts = [stored.verdict for stored in scene.verdicts]
    assert [verdict.observations for verdict in verdicts] == [5, 8]
    assert info.counts.tolist() == [4.0, 5.0, 6.0, 8.0]
    assert info.expected.tolist() == pytest.approx(
        [trials[4].entropy, verdicts[0].expected_loss, trials[7].entropy, verdicts[1].expected_loss]
    )
    assert info.gain_counts.tolist() == [4.0, 5.0, 5.0, 6.0]
    assert info.gains.tolist() == [trial.gain for trial in trials[4:]]
    assert info.now == 8
    assert info.low < info.expected[-1] < info.high
    assert info.better == "" or info.expected[-1] < info.expected[0]


def test_the_caption_says_what_was_gained_in_the_words_of_the_decision() -> None:
    made = study(LINE, stop=[he.Budget(9)])
    for value in (0.0, 0.2, 0.1, 0.3):
        made.tell(made.ask(), value)
    made.decide()
    made.tell(made.ask(), 5.0)
    info = progress_info(scene_of(made), draws=50)
    fallen = float(info.expected[0] - info.expected[-1])
    assert info.better == he.Maximize().saving(fallen, 0.0, Quantity())
    assert f"so that it is better by about {fallen:.2g} in value." in progress_picture(info).caption
    assert "better by" not in progress_picture(replace(info, better="")).caption
    course = replace(info, counts=np.array([4.0, 5.0]), expected=np.array([-9.68123, -9.99943]), errors=np.zeros(2))
    assert "the expected loss of the decision is -10.00; after 4 it was -9.68," in progress_picture(course).caption
    once = replace(course, counts=np.array([5.0]), expected=np.array([-9.88437]), errors=np.zeros(1), low=-14, high=-7)
    assert "the expected loss of the decision is -9.9." in progress_picture(once).caption


def test_errors_of_verdicts_are_kept() -> None:
    made = begun(PLANE, he.KGuesses(3), count=5)
    verdict = made.decide()
    info = progress_info(scene_of(made), draws=50)
    assert verdict.std_error > 0
    assert info.errors.tolist() == [verdict.std_error]


def test_a_study_from_records_takes_earlier_trials_as_told() -> None:
    made = study(LINE, first=2)
    for _ in range(4):
        trial = made.ask()
        made.tell(trial, hill(**trial.params))
    again = study(LINE, first=2, records=made.records)
    assert known_when_asked(scene_of(again)) == {0: 0, 1: 1, 2: 2, 3: 3}


def test_the_course_is_computed_again_on_the_first_values(course: he.Study) -> None:
    info = replayed(scene_of(course), truth, most=4, draws=50)
    replay = info.replay
    assert replay is not None
    assert replay.counts.tolist() == [2.0, 4.0, 6.0, 8.0]
    trials = course.records
    # of six values the late one was not among the first: it was told after the one that was asked later
    first = [trials[n] for n in (0, 1, 2, 3, 4, 5)]
    X, Y = [[trial.params["x"]] for trial in first], [trial.value for trial in first]
    belief = he.fit(X, Y, space=LINE, hyperparameters="map", seed=0)
    found = he.entropy(he.Maximize(), belief, LINE, seed=0)
    assert replay.expected[2] == pytest.approx(found.value)
    assert replay.realised[2] == pytest.approx(-float(truth(found.action)))
    assert replay.expected[-1] == pytest.approx(scene_of(course).found.value)
    assert (replay.realised >= -3.0 - 1e-9).all()


def test_at_most_so_many_counts_are_computed_again() -> None:
    replay = replayed(scene_of(begun(LINE, count=9)), truth, most=3, draws=50).replay
    assert replay is not None
    assert replay.counts.tolist() == [2.0, 6.0, 9.0]


def test_one_value_can_be_replayed() -> None:
    replay = replayed(scene_of(begun(LINE, count=1)), truth, draws=50).replay
    assert replay is not None
    assert replay.counts.tolist() == [1.0]


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision_has_a_true_loss(name: str) -> None:
    scene = scene_of(begun(PLANE, DECISIONS[name], count=5))
    f = truth(torch.as_tensor(scene.decision.points(scene.action)))
    assert true_loss(scene, truth) == pytest.approx(float(scene.decision.loss(f, scene.action)), nan_ok=False)


def test_the_true_loss_is_where_the_decision_looks() -> None:
    scene = scene_of(begun(PLANE, BothSides(), count=5))
    x = float(scene.action[0, 0])
    worse = min(float(truth(torch.tensor([[x + side]]))) for side in (-0.05, 0.05))
    assert true_loss(scene, truth) == pytest.approx(-worse, rel=1e-5)


def test_the_picture_has_a_second_line_where_the_truth_is_known(course: he.Study) -> None:
    scene = scene_of(course)
    plain = progress_picture(progress_info(scene, draws=50)).rows[0][0]
    known = progress_picture(replayed(scene, truth, most=3, draws=50)).rows[0][0]
    assert isinstance(plain, Panel)
    assert isinstance(known, Panel)
    lines = [[mark.role for mark in panel.marks if isinstance(mark, Line)] for panel in (plain, known)]
    assert lines == [[Role.LOSS], [Role.LOSS, Role.LOSS, Role.TRUTH]]


def test_an_infinite_loss_has_no_band() -> None:
    info = progress_info(scene_of(begun(LINE, count=4)), draws=50)
    endless = progress_picture(type(info)(**{**vars(info), "high": np.inf})).rows[0][0]
    assert isinstance(endless, Panel)
    assert all(np.isfinite(mark.y).all() for mark in endless.marks if isinstance(mark, Line))
    assert not any(type(mark).__name__ == "Band" for mark in endless.marks)
