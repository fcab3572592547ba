"""A Python function that a study calls: ask, evaluate and tell, with a progress bar."""

import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from hentropy.core.clock import Clock
from hentropy.core.given import is_count
from hentropy.core.spaces import DesignSpace
from hentropy.errors import Gone, InputError, StorageError, StudyError
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Trial, Values
from hentropy.studies.stopping import Budget
from hentropy.studies.study.failures import Failures, has_measured, signals_heard
from hentropy.studies.study.rules import budget_notes

PATIENCE, POLL = 600.0, 1.0
"""Seconds for which a result is held while the store does not answer, and after which it is tried again."""


class Runnable(Protocol):
    """What the loop needs of a study; see `Study`."""

    space: DesignSpace
    outcomes: Outcomes
    first: int

    @property
    def records(self) -> tuple[Trial, ...]:
        """All trials."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user."""

    @property
    def first_left(self) -> int:
        """How many space-filling designs are still to come."""

    @property
    def stopped(self) -> str | None:
        """Why the study should stop now."""

    def ask(self) -> Trial:
        """The next experiment."""

    def tell(self, trial: Trial, value: Values | None = None, *, failed: str | None = None) -> Trial:
        """Record a result."""

    def attach(self, params: Mapping[str, Any], value: Values, *, note: str = "") -> Trial:
        """Add a measurement of its own."""

    def withdraw(self, trial: Trial, note: str = "") -> Trial:
        """Withdraw a trial that will not be run."""

    def worth_of(self, *trials: Trial) -> str:
        """The expected gain of trials, in words."""


S = TypeVar("S", bound=Runnable)


def check_run(f: Any, budget: int, deterministic: bool) -> None:
    """An `InputError` unless f can be run with these options."""
    if not callable(f):
        raise InputError(f"what is run must be a function of the parameters, got {f!r}")
    if not is_count(budget):
        raise InputError(f"the budget, a number of experiments, must be a whole number of at least 1, got {budget!r}")
    if not isinstance(deterministic, bool):
        raise InputError(f"deterministic must be True or False, got {deterministic!r}")


def run_function(
    study: S,
    f: Callable[..., Values],
    budget: int,
    callback: Callable[[S], object] | None = None,
    progress: bool = True,
    console: Console | None = None,
) -> bool:
    """Ask, evaluate and tell until the budget is used up or a rule says stop; False if it was ended early."""
    study.outcomes.assays.check_by_hand("the function")
    bar = Progress(
        TextColumn("{task.fields[count]}", markup=False),
        BarColumn(bar_width=12),
        TimeElapsedColumn(),
        TextColumn("{task.fields[status]}", markup=False),
        console=console,
        disable=not progress,
    )
    with bar:
        return _run(study, f, budget, bar, callback)


def _run(
    study: S, f: Callable[..., Values], budget: int, bar: Progress, callback: Callable[[S], object] | None
) -> bool:
    task = bar.add_task("", total=budget, count=f"0/{budget}", status="")
    failures = Failures()
    notes = (*study.notes, *budget_notes([Budget(budget)], study.first, study.records))
    for line in notes if not bar.disable else ():
        bar.console.print(f"note: {line}", markup=False, highlight=False)
    try:
        for number in range(1, budget + 1):
            if study.stopped:
                break
            trial = study.ask()
            bar.update(task, count=f"{number}/{budget}", status=describe(trial, study))
            if study.stopped:
                # an experiment that is not worth its while is not run
                study.withdraw(trial, note=f"not run: {study.stopped}")
                break
            failures.began(trial)
            _evaluate(study, trial, f, failures)
            bar.advance(task)
            if callback is not None and callback(study) is True:
                return False
        if study.stopped:
            bar.console.print(f"stopped: {study.stopped}", markup=False, highlight=False)
    except StopIteration:
        return False  # the callback has seen enough
    except KeyboardInterrupt:
        bar.console.print("interrupted: deciding on what was measured so far")
        return False
    return True


def describe(trial: Trial, study: Runnable) -> str:
    """A trial in one line: its design, and what it is worth in the words of the decision."""
    values = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in trial.params.items()}
    units = {field.name: f" {field.unit}" for field in study.space.fields if field.unit}
    params = ", ".join(f"{name}={value}{units.get(name, '')}" for name, value in values.items())
    if trial.gain is None:
        return f"first design, {study.first_left} to come  at {params}"
    return f"worth {study.worth_of(trial)}  at {params}"


def _evaluate(study: Runnable, trial: Trial, f: Callable[..., Values], failures: Failures) -> None:
    raised: BaseException | None = None
    value: Values | None = None
    with signals_heard() as heard:
        try:
            value = f(**trial.params)
            if value is None:
                raise InputError("the experiment returned None; it must return a number or (value, standard error)")
            study.outcomes.given(value)
        except BaseException as error:  # whatever an experiment raises is its result, not the end of the study
            if heard and not isinstance(error, Exception):
                raise
            raised = error
    why = None if raised is None else "".join(traceback.format_exception_only(raised)).strip()
    ended = _record(study, trial, value, why)
    failures.ended(ended, has_measured(study.records), raised)


def _record(study: Runnable, trial: Trial, value: Values | None, failed: str | None) -> Trial:
    """The trial with its result. A store that does not answer is waited for; no trouble with it is the experiment's."""
    away = Clock(PATIENCE)
    while True:
        try:
            return study.tell(trial, value) if failed is None else study.tell(trial, failed=failed)
        except StudyError:
            if failed is not None or value is None:
                raise
            # somebody told another result meanwhile
            return study.attach(trial.params, value, note=f"second measurement of trial {trial.number}")
        except StorageError as error:
            if isinstance(error, Gone) or away.expired:
                lost = (
                    f"{error}; the outcome of trial {trial.number} is not recorded, tell it by hand: {failed or value}"
                )
                raise type(error)(lost) from error
            time.sleep(POLL)
