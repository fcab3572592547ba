"""The rules of trials: what may be told, what may become of an entry, and when a study has enough.

They are pure functions. A `TrialLog` applies them to entries as they stand in a store.
"""

import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.core.decisions import Decision
from hentropy.core.given import MOST_FIRST, SEEDS, check_at_once, check_seed
from hentropy.core.spaces import DesignSpace
from hentropy.errors import Advice, InputError, StudyError
from hentropy.studies.records import Entry, State, Trial, Value
from hentropy.studies.stopping import Standing, StoppingRule

TREATMENTS = ("auto", "map", "mixture")


def check_options(space: Any, decision: Any, seed: Any, first: Any, hyperparameters: Any, stop: Any, cost: Any) -> None:
    """Raise an `InputError` for the first option of a study that cannot be used."""
    if not isinstance(space, DesignSpace):
        raise InputError(f"the space is {space!r}; it must be a Space(x=Real(0, 1), ...) or a Pool(rows)")
    if not isinstance(decision, Decision):
        raise InputError(f"{decision!r} is not a decision; make one with he.decision(loss, actions=...)")
    check_seed(seed, below=SEEDS)
    if first is not None:
        check_at_once("first, the number of first designs,", first, MOST_FIRST)
    if hyperparameters not in TREATMENTS:
        raise InputError(f"hyperparameters must be one of {', '.join(TREATMENTS)}, got {hyperparameters!r}")
    if not isinstance(stop, Sequence) or not all(isinstance(rule, StoppingRule) for rule in stop):
        raise InputError(f"stop must be a list of stopping rules, such as [he.Budget(30)], got {stop!r}")
    if cost is not None and not callable(cost):
        raise InputError(f"cost must be a function from designs b x q x d to their b costs, got {cost!r}")


def checked_value(value: Any) -> tuple[float, float | None]:
    """A value told, as number and standard error, or an error that says what is wrong with it."""
    given, error = value if isinstance(value, tuple | list) and len(value) == 2 else (value, None)
    number = _number(given)
    spread = None if error is None else _number(error)
    if number is None or (error is not None and spread is None):
        raise InputError(f"the value told is {value!r}", Advice.GIVE_NUMBER)
    if not math.isfinite(number):
        raise InputError(f"the value told is {number}", Advice.TELL_FAILED)
    if spread is not None and not (math.isfinite(spread) and spread >= 0):
        raise InputError(f"the standard error told is {spread}; it must be finite and not negative, or left out")
    return number, spread


def _number(value: Any) -> float | None:
    """A single number of any library, or None; text is not taken for a number.

    An `InputError` for whole numbers that no double can hold, which may be too long even to be written in a message.
    """
    if isinstance(value, str | bytes | complex | np.complexfloating):  # NumPy would drop the imaginary part
        return None
    try:
        return float(value.item() if isinstance(value, Tensor | np.ndarray) else value)
    except OverflowError:
        what = "what was told is a whole number beyond what double precision can hold"
        raise InputError(what, Advice.GIVE_NUMBER) from None
    except (TypeError, ValueError, RuntimeError):
        return None


def checked_record(trial: Any, number: int, space: DesignSpace) -> Trial:
    """A record of an earlier study, if it can be the one with this number."""
    if not isinstance(trial, Trial):
        raise InputError(f"record {number} is {trial!r}; records are the Trial objects of study.records")
    if trial.number != number:
        raise InputError(
            f"record {number} has the number {trial.number}; give all records of the earlier study, in their order"
        )
    design = space.decode(space.encode(trial.params))
    if trial.state is not State.COMPLETE:
        return replace(trial, params=design)
    value, error = checked_value((trial.value, trial.std_error))
    return replace(trial, params=design, value=value, std_error=error)


def standard_errors(trials: Sequence[Trial]) -> Tensor | None:
    """Standard errors of the values (n); where only some were told, the others get the median of those."""
    told = [trial.std_error for trial in trials if trial.std_error is not None]
    if not told:
        return None
    middle = sorted(told)[len(told) // 2]
    errors = [middle if trial.std_error is None else trial.std_error for trial in trials]
    return torch.tensor(errors, dtype=torch.float64)


def told(
    value: Value | None, failed: str | None, note: str | None, again: bool, now: float
) -> Callable[[Entry], Entry]:
    """A value or a failure is told. The same twice is harmless; another is refused unless `again`."""

    def rule(old: Entry) -> Entry:
        was = old.trial
        if (value is None) == (failed is None):
            raise StudyError(f"tell trial {was.number} either a value or failed='why', not both and not neither")
        if failed is not None:
            new = replace(was, state=State.FAILED, note=clean(failed), value=None, std_error=None)
        else:
            number, error = checked_value(value)
            kept = was.note if note is None else clean(note)
            new = replace(was, state=State.COMPLETE, value=number, std_error=error, note=kept)
        if was.state in (State.COMPLETE, State.FAILED) and not again:
            if (was.state, was.value, was.std_error) == (new.state, new.value, new.std_error):
                return replace(old, trial=new)  # only the note may be another one
            raise StudyError(f"trial {was.number} was told already: {_outcome(was)}", Advice.CORRECT)
        return replace(old, trial=new, ended_at=now, owner=None, lease_until=None)

    return rule


def withdrawn(note: str, now: float) -> Callable[[Entry], Entry]:
    """A trial will not be run after all."""

    def rule(old: Entry) -> Entry:
        if old.trial.state is not State.RUNNING:
            raise StudyError(
                f"trial {old.trial.number} is {old.trial.state.value}; only a running one can be withdrawn"
            )
        trial = replace(old.trial, state=State.WITHDRAWN, note=clean(note))
        return replace(old, trial=trial, ended_at=now, owner=None, lease_until=None)

    return rule


def _outcome(trial: Trial) -> str:
    return f"value {trial.value:g}" if trial.state is State.COMPLETE else f"failed ({trial.note})"


def clean(text: str) -> str:
    """Text that every database takes: without zero characters and broken code points."""
    return str(text).replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


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
