"""Experiments that fail: when their objective is broken, and what is a person's Ctrl-C instead."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hentropy.errors import Advice, StudyError
from hentropy.studies.records import State, Trial

AT_FIRST, IN_A_ROW = 3, 5
"""The number of consecutive failures that mean a broken objective: before the first success, and after it."""


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
            # withdrawn are those that have lost one worker after the other
            row = [*row, begun] if begun is not None and begun.state in (State.FAILED, State.WITHDRAWN) else []
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
