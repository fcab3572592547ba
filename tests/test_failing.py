"""A broken objective is told from one that fails now and then, by one rule for all who run experiments."""

import random
from dataclasses import replace

import pytest

import hentropy as he
from hentropy.studies.study.failures import AT_FIRST, IN_A_ROW, Failures, has_measured
from hentropy.studies.study.study import State, Trial


def ended(number: int, failed: bool) -> Trial:
    state = State.FAILED if failed else State.COMPLETE
    return Trial(number, {"x": 0.0}, state, note=f"why {number}" if failed else "")


def ends(outcomes: str, measured: bool = True) -> int | None:
    """After how many of the outcomes, F or S, one after the other, a run ends."""
    failures = Failures()
    for number, outcome in enumerate(outcomes):
        failures.began(ended(number, False))
        try:
            failures.ended(ended(number, outcome == "F"), measured)
        except he.StudyError:
            return number + 1
    return None


@pytest.mark.parametrize(
    ("outcomes", "after"),
    [
        ("F" * IN_A_ROW, IN_A_ROW),
        ("SS" + "F" * 9, 2 + IN_A_ROW),
        ("FFFFS" * 8, None),
        ("F" * (IN_A_ROW - 1), None),
    ],
)
def test_a_few_failures_in_a_row(outcomes: str, after: int | None) -> None:
    assert ends(outcomes) == after


def test_fewer_where_nothing_has_ever_worked() -> None:
    assert AT_FIRST < IN_A_ROW
    assert ends("F" * 9, measured=False) == AT_FIRST


def test_the_first_failure_of_the_row_is_shown_with_its_cause() -> None:
    failures, cause = Failures(), OSError("first")
    for number, failed in enumerate([True, False, True, True, True, True]):
        failures.began(ended(number, False))
        failures.ended(ended(number, failed), True, cause if number == 2 else OSError("another"))
    failures.began(ended(6, False))
    with pytest.raises(he.StudyError, match=r"trial 2\) with: why 2") as raised:
        failures.ended(ended(6, True), True, OSError("last"))
    assert raised.value.__cause__ is cause


def test_quick_failures_that_overtake_slow_successes_do_not_count_as_a_row() -> None:
    """Eight workers, half of the experiments fail at once, the others take long: never many in order of begin."""
    chance = random.Random(0)
    failures, number, quick = Failures(), 0, 0
    slow: list[int] = []
    for _ in range(200):
        while len(slow) < 8:
            failures.began(ended(number, False))
            if chance.random() < 0.6 and number % 4 != 3:
                failures.ended(ended(number, True), True)
                quick += 1
            else:
                slow.append(number)
            number += 1
        failures.ended(ended(slow.pop(0), False), True)
    assert quick > 20


def test_a_trial_that_is_tried_again_has_not_failed_yet() -> None:
    failures = Failures()
    for number in range(9):
        failures.began(ended(number, False))
        failures.ended(replace(ended(number, True), state=State.RUNNING), False)


def test_earlier_data_say_nothing_about_the_objective() -> None:
    attached = replace(ended(0, False), origin="attached")
    assert not has_measured([attached, ended(1, True)])
    assert has_measured([attached, ended(1, False)])
