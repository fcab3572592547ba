"""`search`: Algorithm 1 in one call, with a progress bar."""

import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from hentropy.core.decisions import Decision
from hentropy.core.given import is_count
from hentropy.core.spaces import DesignSpace
from hentropy.errors import HentropyError, InputError, StudyError
from hentropy.studies.records import Failed, Trial, Values, Verdict
from hentropy.studies.stopping import Budget
from hentropy.studies.study.failures import Failures, has_measured, signals_heard
from hentropy.studies.study.rules import budget_notes
from hentropy.studies.study.study import Study


class SearchResult(NamedTuple):
    """What a search came to: the verdict, and the study with all its trials."""

    verdict: Verdict
    study: Study


def search(
    f: Callable[..., Values],
    space: DesignSpace,
    decision: Decision,
    budget: int,
    *,
    data: Iterable[tuple[Mapping[str, Any], Values | Failed]] = (),
    callback: Callable[[Study], object] | None = None,
    progress: bool = True,
    console: Console | None = None,
    worth: bool = True,
    deterministic: bool = False,
    **options: Any,
) -> SearchResult:
    """Run `budget` experiments `f(**params)`, each chosen for the decision, and decide.

    f returns a number or (value, standard error), or a table of these by outcome; where it raises, the trial counts as
    failed and the search continues, until several in a row have failed: then f is probably broken, and the error shows
    the first of those failures.
    `data` are earlier measurements, as in `Study.attach_many`. `callback` is called with the study after each
    experiment; if it returns True or raises StopIteration, the search ends and decides.
    Ctrl-C ends the search and decides with the results so far. The verdict says what another experiment would be worth,
    which takes one more proposal, unless `worth` is False or the search was ended early. `deterministic` says that f
    returns the same value whenever it is called with the same design, as a simulation does: the same as `noise=0`.
    `options` are those of `Study`. An error that ends the search has the study, with all results, in its attribute
    `study`.
    """
    if not is_count(budget):
        raise InputError(f"the budget, a number of experiments, must be a whole number of at least 1, got {budget!r}")
    if not isinstance(deterministic, bool):
        raise InputError(f"deterministic must be True or False, got {deterministic!r}")
    study = Study(space, decision, **(without_noise(options) if deterministic else options))
    study.outcomes.assays.check_by_hand("the function")
    bar = Progress(
        TextColumn("{task.fields[count]}", markup=False),
        BarColumn(bar_width=12),
        TimeElapsedColumn(),
        TextColumn("{task.fields[status]}", markup=False),
        console=console,
        disable=not progress,
    )
    try:
        study.attach_many(data)
        with bar:
            finished = _run(study, f, budget, bar, callback)
        verdict = study.decide(worth=False)
        if worth and finished:
            with suppress(KeyboardInterrupt):  # all results are there: who does not wait for its worth has the verdict
                verdict = study.with_worth(verdict)
        return SearchResult(verdict, study)
    except HentropyError as error:
        error.study = study
        raise
    except (Exception, KeyboardInterrupt) as error:
        ended = StudyError(
            f"the search stopped with {type(error).__name__}: {error}; the results so far are in this error's `study`"
        )
        ended.study = study
        raise ended from error


def without_noise(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a study of a deterministic function; an `InputError` if they state a noise."""
    if options.get("noise"):
        raise InputError(f"deterministic=True means noise=0, but noise is {options['noise']!r}; leave one of them out")
    return {**options, "noise": 0.0}


def _run(
    study: Study,
    f: Callable[..., Values],
    budget: int,
    bar: Progress,
    callback: Callable[[Study], object] | None,
) -> bool:
    """Ask, evaluate and tell until the budget is used up or a rule says stop; False if it was ended early."""
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


def describe(trial: Trial, study: Study) -> str:
    """A trial in one line: its design, and what it is worth in the words of the decision."""
    values = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in trial.params.items()}
    units = {field.name: f" {field.unit}" for field in study.space.fields if field.unit}
    params = ", ".join(f"{name}={value}{units.get(name, '')}" for name, value in values.items())
    if trial.gain is None:
        return f"first design, {study.first_left} to come  at {params}"
    return f"worth {study.worth_of(trial)}  at {params}"


def _evaluate(study: Study, trial: Trial, f: Callable[..., Values], failures: Failures) -> None:
    raised: BaseException | None = None
    with signals_heard() as heard:
        try:
            value = f(**trial.params)
            if value is None:
                raise InputError("the experiment returned None; it must return a number or (value, standard error)")
            ended = study.tell(trial, value)
        except BaseException as error:  # whatever an experiment raises is its result, not the end of the study
            if heard and not isinstance(error, Exception):
                raise
            raised = error
    if raised is not None:
        ended = study.tell(trial, failed="".join(traceback.format_exception_only(raised)).strip())
    failures.ended(ended, has_measured(study.log.trials), raised)
