"""When a study has enough by its rules, and when its objective is broken."""

import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hentropy.errors import Advice, StudyError
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.stopping import Standing, StoppingRule

NOTHING_LEFT = "no experiment is expected to improve the decision any more"


def in_state(trials: Iterable[Trial], *states: State) -> tuple[Trial, ...]:
    """Those of the trials that are in one of some states."""
    return tuple(trial for trial in trials if trial.state in states)


def first_left(first: int, trials: Iterable[Trial]) -> int:
    """How many of the first designs are still to be asked: what is measured or running counts, attached or asked.

    One that failed or was withdrawn is made up for.
    """
    return max(0, first - len(in_state(trials, State.RUNNING, State.COMPLETE)))


def reason_to_stop(
    rules: Iterable[StoppingRule], trials: Sequence[Trial], seconds: float, *, running: bool = False
) -> str | None:
    """What the first rule says that says stop; with `running`, trials that run count as if they had ended."""
    standing = standing_of(trials, seconds, running)
    return next((reason for rule in rules if (reason := rule.reason(standing))), None)


def trials_left(rules: Iterable[StoppingRule], trials: Sequence[Trial]) -> float:
    """How many more trials the rules let begin, with those that run counted as if they had ended."""
    standing = standing_of(trials, 0.0, running=True)
    return min((rule.left(standing) for rule in rules), default=math.inf)


def standing_of(trials: Sequence[Trial], seconds: float, running: bool) -> Standing:
    """What rules look at; data that were attached are no trials of the study."""
    ended = {State.COMPLETE, State.FAILED} | ({State.RUNNING} if running else set())
    count = sum(trial.state in ended and trial.origin != "attached" for trial in trials)
    return Standing(count, seconds, tuple(trial.gain for trial in trials if trial.gain is not None))


def is_exhausted(entries: Iterable[Entry]) -> bool:
    """Whether the last proposal found nothing left to gain, and nothing was told since that could change that.

    Such a proposal has a gain of exactly zero. If it was run all the same, the one before it must have found nothing
    either: then its value has been looked at, and has changed nothing.
    """
    entries = tuple(entries)
    proposed = [entry for entry in entries if entry.trial.gain is not None]
    if not proposed or proposed[-1].trial.gain != 0:
        return False
    last = proposed[-1]
    if any(_is_news(entry, last) for entry in entries):
        return False
    if last.trial.state is not State.COMPLETE:
        return True
    before = [entry for entry in proposed if entry.asked_at < last.asked_at]
    return bool(before) and before[-1].trial.gain == 0


def _is_news(entry: Entry, last: Entry) -> bool:
    """Whether a value came in, or was corrected, after the last proposal; not those from which nothing was expected."""
    if entry.trial.state is not State.COMPLETE or entry.trial.gain == 0:
        return False
    told = entry.asked_at if entry.ended_at is None else entry.ended_at
    return entry.trial.number > last.trial.number or told > last.asked_at


AT_FIRST, IN_A_ROW = 3, 5
"""So many failures in a row mean a broken objective: before any experiment has succeeded, and after one has."""


class Failures:
    """The experiments of one run, in the order in which they began.

    That order, in which a running experiment ends a row of failures, keeps quick failures apart that overtake slow
    successes: an objective that fails now and then is not stopped, however many workers it has.
    """

    def __init__(self) -> None:
        self._begun: dict[int, Trial | None] = {}
        self._errors: dict[int, BaseException] = {}

    def began(self, trial: Trial) -> None:
        """An experiment begins."""
        self._begun[trial.number] = None

    def ended(self, trial: Trial, measured: bool, error: BaseException | None = None) -> None:
        """An experiment has ended, maybe with an exception; a `StudyError` if the objective is broken.

        `measured` says whether any experiment of the study has succeeded; earlier data say nothing about the objective.
        """
        if trial.state is State.RUNNING:  # it is tried again
            return
        self._begun[trial.number] = trial
        if error is not None:
            self._errors[trial.number] = error
        row: list[Trial] = []
        for begun in self._begun.values():
            row = [*row, begun] if begun is not None and begun.state is State.FAILED else []
            if len(row) >= (IN_A_ROW if measured else AT_FIRST):
                raise self._broken(row)

    def _broken(self, row: list[Trial]) -> StudyError:
        first = row[0]
        broken = StudyError(
            f"{len(row)} experiments in a row failed; the first of them (trial {first.number}) with: {first.note}",
            Advice.RUN_AGAIN,
            between="\n",
        )
        broken.__cause__ = self._errors.get(first.number)
        return broken


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_heard() -> Iterator[list[int]]:
    """The signals that reach this process meanwhile: they tell a person's Ctrl-C from what an experiment raises."""
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # no signal interrupts another thread
        yield heard
        return
    before: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        before[number](number, frame)

    for number in SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            before[number] = handler
            signal.signal(number, hear)
    try:
        yield heard
    finally:
        for held, handler in before.items():
            if signal.getsignal(held) is hear:  # the experiment may have set one of its own
                signal.signal(held, handler)


def has_measured(trials: Iterable[Trial]) -> bool:
    """Whether an experiment of the study itself has succeeded."""
    return any(trial.state is State.COMPLETE and trial.origin != "attached" for trial in trials)
