"""The rules of trials: what may be told, what may become of an entry, and when a study has enough.

They are pure functions. A `TrialLog` applies them to entries as they stand in a store.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from hentropy.core.spaces import DesignSpace
from hentropy.errors import Advice, InputError, StudyError
from hentropy.studies.records import Entry, State, Trial, Value
from hentropy.studies.stopping import Standing, StoppingRule


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


def checked_told_cost(cost: Any) -> float | None:
    """A cost that was told, or an error that says what is wrong with it."""
    if cost is None:
        return None
    number = _number(cost)
    if number is None or not (math.isfinite(number) and number > 0):
        raise InputError(f"the cost told is {cost!r}; it must be a finite number above 0")
    return number


def space_notes(space: DesignSpace) -> tuple[str, ...]:
    """What a person should know of how parameters were taken, in sentences."""
    return tuple(note for name, parameter in space.parameters.items() for note in parameter.notes(name))


def violations(space: DesignSpace, rows: Tensor) -> str:
    """How many data from outside (n x d) do not satisfy the conditions of the space; empty if all do."""
    count = int((~space.holds(rows)).sum())
    violate = "violates" if count == 1 else "violate"
    whole = f"{count} of {len(rows)} earlier measurements"
    return f"{whole} {violate} the conditions of the space; the model uses them all the same" if count else ""


def checked_record(trial: Any, number: int, space: DesignSpace) -> Trial:
    """A record of an earlier study, if it can be the one with this number."""
    if not isinstance(trial, Trial):
        raise InputError(f"record {number} is {trial!r}; records are the Trial objects of study.records")
    if trial.number != number:
        raise InputError(
            f"record {number} has the number {trial.number}; give all records of the earlier study, in their order"
        )
    design = space.cleaned(trial.params)
    if trial.state is not State.COMPLETE:
        return replace(trial, params=design)
    value, error = checked_value((trial.value, trial.std_error))
    return replace(trial, params=design, value=value, std_error=error)


def told(
    value: Value | None, failed: str | None, note: str | None, again: bool, now: float, cost: float | None = None
) -> Callable[[Entry], Entry]:
    """A value or a failure is told. The same twice is harmless; another is refused unless `again`."""
    spent = checked_told_cost(cost)

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
        if spent is not None:
            new = replace(new, cost=spent)
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
    proposed = [trial for trial in trials if trial.gain is not None]
    return Standing(
        count,
        seconds,
        tuple(trial.gain for trial in proposed if trial.gain is not None),
        spent_on(trials, running),
        tuple(trial.expected_cost for trial in proposed),
    )


def spent_on(trials: Iterable[Trial], running: bool = False) -> float:
    """What the trials that have ended cost; with `running`, also those that run, as far as it is known."""
    ended = {State.COMPLETE, State.FAILED} | ({State.RUNNING} if running else set())
    return sum(trial.spent or 0.0 for trial in trials if trial.state in ended and trial.origin != "attached")


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
