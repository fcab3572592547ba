"""Progress: counts of observations as they really were, and expected losses."""

from dataclasses import replace

import numpy as np
import pytest

import hentropy as he
from hentropy.core.decisions.headlines import Quantity
from hentropy.views.plots.marks import Line, Panel
from hentropy.views.plots.progress import known_when_asked, progress_info, progress_picture
from hentropy.views.plots.scene import scene_of
from support.studies import LINE, PLANE, begun, hill, study


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


def test_an_infinite_loss_has_no_band() -> None:
    info = progress_info(scene_of(begun(LINE, count=4)), draws=50)
    endless = progress_picture(type(info)(**{**vars(info), "high": np.inf})).rows[0][0]
    assert isinstance(endless, Panel)
    assert all(np.isfinite(mark.y).all() for mark in endless.marks if isinstance(mark, Line))
    assert not any(type(mark).__name__ == "Band" for mark in endless.marks)
