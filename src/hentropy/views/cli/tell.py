"""`hentropy tell`, `fail` and `withdraw`: what came of an experiment, and what is said then."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from hentropy.core.spaces import Pool
from hentropy.errors import InputError, NoSuchTrial
from hentropy.studies.files import MOST_IN_TABLE, read_text
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import UNKNOWN, Entry, State, ToldCost, Trial, Value, Values, in_state
from hentropy.studies.records.numbers import plain_number
from hentropy.studies.study.trial_log import TrialLog
from hentropy.views.cli.arguments import (
    AsJson,
    Mapped,
    StoreUrl,
    StudyName,
    TrialName,
    renamed_columns,
    trial_number,
)
from hentropy.views.cli.opening import found, located
from hentropy.views.cli.printing import note, print_json, say
from hentropy.views.cli.store_check import file_differs
from hentropy.views.text.formats import counted, listed, results
from hentropy.views.text.result_tables import ToldTable, lines_of, tell_table
from hentropy.views.text.trials import as_json, not_asked_for


@contextmanager
def log_of(study: str, store: str | None) -> Iterator[TrialLog]:
    """The trials of a study that has begun; none of its code is run. A file that says something else is pointed out."""
    place = located(study, store)
    with found(place) as it:
        if place.words is not None and (differ := file_differs(it, place.words)):
            note(f"{study} {differ}. This command uses the study as it is stored.")
        yield it.log


def confirm(log: TrialLog, entries: Sequence[Entry], json: bool) -> None:
    """Say what is recorded now, and what is still open."""
    if json:
        print_json(as_json(entries[0]) if len(entries) == 1 else [as_json(entry) for entry in entries])
        return
    values = len(in_state(log.trials, State.COMPLETE))
    waiting = [str(other.number) for other in in_state(log.trials, State.RUNNING)]
    *before, last = [f"{entry.trial.number}: {_outcome(entry.trial, log)}" for entry in entries]
    for line in before:
        say(line)
    say(f"{last}. {_standing(values, waiting)}")
    if stopped := log.stopped():
        say(f"The study is finished: {stopped}.")


def _outcome(trial: Trial, log: TrialLog) -> str:
    if trial.state is State.COMPLETE:
        asked = log.outcomes.assays.asked(trial.measures)
        missing = [name for name in asked if name not in trial.measurements]
        rest = f"; {listed(missing)} may be told later" if missing else ""
        several = "are" if len(trial.measurements) > 1 else "is"
        more = not_asked_for(trial, log.outcomes)
        return f"{results(trial.measurements, log.outcomes)} {several} recorded{rest}{more}"
    return trial.state.value + (f" ({trial.note})" if trial.note else "")


def _standing(values: int, waiting: list[str]) -> str:
    open_ones = f", {len(waiting)} pending ({', '.join(waiting)})" if waiting else ", none pending"
    return f"{counted(values, 'result')} so far{open_ones}."


def _number_of(name: str, log: TrialLog) -> int:
    """The number of a trial that was typed, or that of the last one whose design has the id that was typed."""
    id = log.space.id if isinstance(log.space, Pool) else None
    if id is None:
        return trial_number(name)
    try:
        named = log.with_id(name)
    except NoSuchTrial:
        if name.isdecimal():
            return trial_number(name)
        raise
    if name.isdecimal() and int(name) in log.entries and int(name) not in named:
        raise InputError(
            f"{name} is the number of a trial, and {id} {name} is that of trial {named[-1]}; give that number instead"
        )
    return named[-1]


VALUE = "the value"

CostOption = Annotated[
    str | None, typer.Option("--cost", metavar="C", help="What the experiment cost; unknown deletes the cost.")
]


def tell(
    study: StudyName,
    which: Annotated[
        str,
        typer.Argument(
            metavar="NUMBER|CSV",
            help="The number of the trial, or in a pool the id of its design; or a CSV file with many results.",
            show_default=False,
        ),
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VALUE]...",
            help="What was measured: a number, yes or no, a grade. Of several outcomes, NAME=VALUE each.",
            show_default=False,
        ),
    ] = None,
    std_error: Annotated[
        str | None, typer.Option("--std-error", metavar="S", help="The standard error of the value.")
    ] = None,
    remark: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="A note that is stored with it.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Correct an earlier result, which stays in the history.")
    ] = False,
    cost: CostOption = None,
    mapped: Mapped = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what would be recorded, and change nothing.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Tell what an experiment measured, or many experiments from a CSV file.

    Telling the same value twice is harmless; a different value needs --replace. Leave out outcomes that were not
    measured; you can tell them later. A standard error can follow its value: 2.3±0.2.

    Each row of a file names its trial in a column number, or by the design of a pending trial. Each outcome has a
    column of its name, its standard error one named NAME_se. Rows that cannot be used are skipped, the others are
    recorded, and the exit code is then 1; trials whose rows have no result stay pending.

    Example: hentropy tell lab.toml 7 -0.83 --std-error 0.05

    Example: hentropy tell lab.toml 7 yield=80.1 impurity=2.3±0.2

    Example: hentropy tell lab.toml 7 crystal=yes

    Example: hentropy tell lab.toml results.csv --dry-run
    """
    if not values:
        if which.isdecimal() and not Path(which).exists():
            raise typer.BadParameter(f"what was measured in trial {which}? Give a value", param_hint="VALUE")
        if std_error is not None or remark is not None or cost is not None:
            raise typer.BadParameter("a file says this in its columns NAME_se, note and cost", param_hint="CSV")
        _tell_file(study, Path(which), renamed_columns(mapped or []), replace, dry_run, store, json)
        return
    if mapped or dry_run:
        raise typer.BadParameter("only for a file of results", param_hint="--map" if mapped else "--dry-run")
    with log_of(study, store) as log:
        given = _given(values, std_error, log.outcomes)
        told = log.tell(_number_of(which, log), given, note=remark, replace_value=replace, cost=_cost(cost))
        confirm(log, [told], json)


def _tell_file(
    study: str, file: Path, renamed: dict[str, str], replace: bool, dry_run: bool, store: str | None, json: bool
) -> None:
    text = read_text(file, MOST_IN_TABLE)
    with log_of(study, store) as log:
        done = tell_table(log, text, str(file), renamed, replace=replace, dry_run=dry_run)
        if json:
            print_json(
                {
                    "dry_run": dry_run,
                    "told": [as_json(entry) for entry in done.told],
                    "same": [entry.trial.number for entry in done.same],
                    "left_out": list(done.skipped),
                    "unused": list(done.unused),
                }
            )
        else:
            _say_told(log, done, dry_run)
    if done.refused or not (done.told or done.same):  # what could be told is told, and a script notices the rest
        raise typer.Exit(1)


def _say_told(log: TrialLog, done: ToldTable, dry_run: bool) -> None:
    for line in lines_of(done, log):
        say(line)
    if done.unused:
        note(f"unused columns: {', '.join(done.unused)}")
    for line in done.skipped:
        note(f"left out: {line}")
    values = len(in_state(log.trials, State.COMPLETE))
    waiting = [str(other.number) for other in in_state(log.trials, State.RUNNING)]
    say(f"{done.sentence(dry_run)}{'; nothing was changed' if dry_run else ''}. {_standing(values, waiting)}")
    if stopped := log.stopped():
        say(f"The study is finished: {stopped}.")


def _given(values: list[str], std_error: str | None, outcomes: Outcomes) -> Values:
    """What was typed: one value, or values by name."""
    if len(values) == 1 and "=" not in values[0]:
        only = outcomes.measured[0] if len(outcomes.measured) == 1 else None
        one = values[0] if only is not None and outcomes.words(only) else _value(values[0])
        if std_error is None:
            return one
        if isinstance(one, tuple):
            raise typer.BadParameter("the standard error is given twice", param_hint="--std-error")
        return one, _number("the standard error", std_error)
    found: dict[str, Value | None] = {}
    for text in values:
        name, mark, typed = text.partition("=")
        if not mark or not name.strip():
            raise InputError(f"{text!r} does not say which outcome it is; write NAME=VALUE, such as yield=80.1")
        if name.strip() in found:
            raise InputError(f"{name.strip()} is given twice; give it one value")
        outcomes.check_known(name.strip())
        graded = bool(outcomes.words(name.strip()))
        found[name.strip()] = typed if graded else _value(typed, f"the value of {name.strip()}")
    if std_error is not None:
        if len(found) != 1:
            raise InputError("--std-error does not say of which outcome; write it behind the value: impurity=2.3±0.2")
        [(name, value)] = found.items()
        if not isinstance(value, float | str):
            raise InputError(f"the standard error of {name} is given twice")
        found[name] = (value, _number("the standard error", std_error))
    return found


def _value(text: str, what: str = VALUE) -> Value:
    """A value, maybe with its standard error: 2.3±0.2, or 2.3+-0.2."""
    value, mark, error = text.replace("+-", "±").partition("±")
    number = _number(what, value)
    return (number, _number("the standard error", error)) if mark else number


def _cost(text: str | None) -> ToldCost:
    return None if text is None else UNKNOWN if text == UNKNOWN else _number("the cost", text)


def _number(what: str, text: str) -> float:
    """A number from the command line; one that is not finite is left to the study to refuse."""
    try:
        return plain_number(text)
    except ValueError:
        if re.fullmatch(r"[+-]?\d*,\d+", text.strip()):
            raise InputError(
                f"{what} is {text!r}, with a decimal comma; write {text.strip().replace(',', '.')}"
            ) from None
        fail = ". If the experiment failed, use `hentropy fail`" if what.startswith(VALUE) else ""
        raise InputError(f"{what} is {text!r}, which is not a number; write it like 0.83 or -1.2e-3{fail}") from None


More = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NUMBER]... [WHY]", help="More trials, and what happened.", show_default=False),
]

Reason = Annotated[str | None, typer.Option("--reason", metavar="WHY", help="What happened, behind several trials.")]


def _named(number: str, more: list[str], reason: str | None, log: TrialLog) -> tuple[list[int], str]:
    """The trials that were typed, and the reason: the last word, unless it is a trial or the option says it."""
    names, why = [number, *more], reason
    if reason is None and more and not _is_trial(more[-1], log):
        *names, why = names
    found = [_number_of(name, log) for name in names]
    for each in found:
        log.find(each)  # all of them are there before the first is changed
    return list(dict.fromkeys(found)), why or ""


def _is_trial(text: str, log: TrialLog) -> bool:
    """Whether a word is the number of a trial, or the id of its design."""
    if text.isdecimal() or not isinstance(log.space, Pool) or log.space.id is None:
        return text.isdecimal()
    with suppress(NoSuchTrial):
        return bool(log.with_id(text))
    return False


def fail(
    study: StudyName,
    number: TrialName,
    more: More = None,
    reason: Reason = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Correct an earlier result, which stays in the history.")
    ] = False,
    cost: CostOption = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Record that experiments were run and failed.

    Their designs are not asked for again, and similar designs become less likely. Use `hentropy withdraw` for an
    experiment that will not be run at all, or that was lost by an accident that says nothing about its design.

    Example: hentropy fail lab.toml 7 "the sample broke"

    Example: hentropy fail lab.toml 4 5 6 7 --reason "no conversion in the whole plate"
    """
    with log_of(study, store) as log:
        numbers, why = _named(number, more or [], reason, log)
        confirm(log, [log.fail(each, why, replace_value=replace, cost=_cost(cost)) for each in numbers], json)


def withdraw(
    study: StudyName,
    number: TrialName,
    more: More = None,
    reason: Reason = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Withdraw experiments that will not be run, or that were lost by an accident.

    They are no longer pending, and the model ignores them.

    Example: hentropy withdraw lab.toml 7 "no material left"

    Example: hentropy withdraw lab.toml 4 5 6 7 --reason "the plate was dropped"
    """
    with log_of(study, store) as log:
        numbers, why = _named(number, more or [], reason, log)
        confirm(log, [log.withdraw(each, note=why) for each in numbers], json)
