"""`hentropy tell`, `fail` and `withdraw`: what came of an experiment, and what is said then."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.records.numbers import plain_number
from hentropy.studies.study.rules import in_state
from hentropy.studies.study.trial_log import TrialLog
from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName, TrialNumber
from hentropy.views.cli.opening import found, located
from hentropy.views.cli.printing import note, print_json, say
from hentropy.views.cli.store_check import file_differs
from hentropy.views.text.formats import counted, measured
from hentropy.views.text.trials import as_json


@contextmanager
def log_of(study: str, store: str | None) -> Iterator[TrialLog]:
    """The trials of a study that has begun; none of its code is run. A file that says something else is pointed out."""
    place = located(study, store)
    with found(place) as it:
        if place.words is not None and (differ := file_differs(it.record, place.words)):
            note(f"{study} {differ}. This command uses the study as it is stored.")
        yield it.log


def confirm(log: TrialLog, entry: Entry, json: bool) -> None:
    """Say what is recorded now, and what is still open."""
    if json:
        print_json(as_json(entry))
        return
    values = len(in_state(log.trials, State.COMPLETE))
    waiting = [str(other.number) for other in in_state(log.trials, State.RUNNING)]
    say(f"{entry.trial.number}: {_outcome(entry.trial)}. {_standing(values, waiting)}")
    if stopped := log.stopped():
        say(f"The study has enough: {stopped}.")


def _outcome(trial: Trial) -> str:
    if trial.state is State.COMPLETE:
        return f"{measured(trial.value, trial.std_error)} is recorded"
    return trial.state.value + (f" ({trial.note})" if trial.note else "")


def _standing(values: int, waiting: list[str]) -> str:
    open_ones = f", {len(waiting)} still waiting ({', '.join(waiting)})" if waiting else ", none waiting"
    return f"{counted(values, 'value')} so far{open_ones}."


VALUE = "the value"

ToldCost = Annotated[str | None, typer.Option("--cost", metavar="C", help="What it cost, if that is told.")]


def tell(
    study: StudyName,
    number: TrialNumber,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="What was measured; it may be negative.", show_default=False)
    ],
    std_error: Annotated[
        str | None, typer.Option("--std-error", metavar="S", help="The standard error of the value.")
    ] = None,
    remark: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="A remark that is kept with it.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Correct what was told before; that is kept too.")] = False,
    cost: ToldCost = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Tell the value of an experiment.

    To tell the same value twice is harmless; another value is taken only with --replace.

    Example: hentropy tell lab.toml 7 -0.83 --std-error 0.05
    """
    measured = _number(VALUE, value)
    given = measured if std_error is None else (measured, _number("the standard error", std_error))
    with log_of(study, store) as log:
        confirm(log, log.tell(number, given, note=remark, replace_value=replace, cost=_cost(cost)), json)


def _cost(text: str | None) -> float | None:
    return None if text is None else _number("the cost", text)


def _number(what: str, text: str) -> float:
    """A number from the command line; one that is not finite is left to the study to refuse."""
    try:
        return plain_number(text)
    except ValueError:
        if re.fullmatch(r"[+-]?\d*,\d+", text.strip()):
            raise InputError(
                f"{what} is {text!r}, with a decimal comma; write {text.strip().replace(',', '.')}"
            ) from None
        fail = ". If the experiment did not work, use `hentropy fail`" if what == VALUE else ""
        raise InputError(f"{what} is {text!r}, which is not a number; write it like 0.83 or -1.2e-3{fail}") from None


def fail(
    study: StudyName,
    number: TrialNumber,
    why: Annotated[str, typer.Argument(metavar="WHY", help="What went wrong.", show_default=False)] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Correct what was told before; that is kept too.")] = False,
    cost: ToldCost = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Tell that an experiment was run and failed.

    It is not asked again, and its neighbours become less likely. An experiment that will not be run at all is withdrawn
    instead.

    Example: hentropy fail lab.toml 7 "the sample broke"
    """
    with log_of(study, store) as log:
        told = log.tell(number, failed=why or "no reason given", replace_value=replace, cost=_cost(cost))
        confirm(log, told, json)


def withdraw(
    study: StudyName,
    number: TrialNumber,
    why: Annotated[str, typer.Argument(metavar="WHY", help="Why it is not run.", show_default=False)] = "",
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Take back an experiment that will not be run.

    It is no longer waited for, and counts for nothing.

    Example: hentropy withdraw lab.toml 7 "no material left"
    """
    with log_of(study, store) as log:
        confirm(log, log.withdraw(number, note=why), json)
