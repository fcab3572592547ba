"""What people hand to a study, checked at the door, and the rules of telling: what may become of an entry."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.core.decisions import Decision
from hentropy.core.given import MOST_FIRST, SEEDS, check_at_once, check_seed
from hentropy.core.spaces import DesignSpace
from hentropy.errors import Advice, InputError, StudyError
from hentropy.studies.records import Entry, State, Trial, Value
from hentropy.studies.stopping import StoppingRule

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
