"""A table of results, told at once: which trial each row is about, what was told, what was left out and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hentropy.core.given import is_number
from hentropy.core.spaces import Params
from hentropy.errors import Advice, DocPage, HentropyError, InputError, explained_in
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.records.csv_tables import cells, csv_table, number_in
from hentropy.studies.records.numbers import plain_number, plain_whole
from hentropy.studies.study.rules import told
from hentropy.studies.study.trial_log import TrialLog
from hentropy.views.text.earlier_data import Columns, has_failed, matched_columns, unused_columns
from hentropy.views.text.formats import brief, counted, listed, results, value_text
from hentropy.views.text.trial_files import measured_in, unguarded, values_in
from hentropy.views.text.trials import not_asked_for

NUMBERS = ("number", "trial")
"""What the column of the numbers of trials is called."""


@dataclass(frozen=True)
class ToldTable:
    """The trials that were told, what was told before as it is, and what was left out and why, by line.

    `refused` counts those left out in which something was entered.
    """

    told: tuple[Entry, ...]
    same: tuple[Entry, ...]
    skipped: tuple[str, ...]
    unused: tuple[str, ...]
    refused: int

    def sentence(self, would: bool) -> str:
        """How much was, or would be, told."""
        are = "would be" if would else "was" if len(self.told) == 1 else "were"
        said = f"{counted(len(self.told), 'trial')} {are} told"
        same = f", {len(self.same)} had the same values already" if self.same else ""
        left = f", {counted(len(self.skipped), 'row')} left out" if self.skipped else ""
        return f"{said}{same}{left}"


@explained_in(DocPage.CSV)
def tell_table(
    log: TrialLog,
    text: str,
    where: str,
    renamed: Mapping[str, str],
    *,
    replace: bool = False,
    dry_run: bool = False,
    most_rows: int | None = None,
) -> ToldTable:
    """Tell the rows of a CSV text, each by the number of its trial, or by its design where a trial waits with that.

    A row that cannot be told is left out; the others are told all the same.
    """
    table = csv_table(text, where, most_rows)
    names = tuple(unguarded(name) for name in table.columns)
    numbered = next((name for name in NUMBERS if name in names and name not in log.space.names), None)
    by_number = [f"a column {NUMBERS[0]} for the trials"]
    columns = matched_columns(names, log.outcomes, renamed, where, design=numbered is None, instead=by_number)
    known = (*columns.parameters.values(), *columns.outcomes.values())
    extra = ("measures",) if log.outcomes.assays else ()
    used = (*known, columns.status, columns.note, numbered, "note", "cost", *extra)
    unused = unused_columns(names, used, columns, log.outcomes)
    done: set[int] = set()
    new: list[Entry] = []
    same: list[Entry] = []
    skipped: list[str] = []
    refused = 0
    for line, cells_of in table.rows:
        try:
            row = cells(names, cells_of)
            old = _trial(log, row, numbered, columns)
            if old.trial.number in done:
                raise InputError(f"trial {old.trial.number} is told in an earlier row of the table")
            entry = _told(log, old, row, columns, replace, dry_run)
            done.add(entry.trial.number)
            (same if entry.trial == old.trial else new).append(entry)
        except HentropyError as error:
            skipped.append(f"line {line}: {error.what if error.advice is Advice.CORRECT else error}")
            refused += not isinstance(error, NothingEnteredError)
    return ToldTable(tuple(new), tuple(same), tuple(skipped), unused, refused)


class NothingEnteredError(InputError):
    """A row of a table has no result yet."""


def _told(log: TrialLog, old: Entry, row: Mapping[str, str], columns: Columns, replace: bool, dry_run: bool) -> Entry:
    values = measured_in(row, columns.outcomes, log.outcomes)
    said = unguarded(row.get(columns.note or "note", "").strip())
    failed = has_failed(row, columns, values)
    if not (failed or values):
        raise NothingEnteredError(f"nothing is entered for {listed(log.outcomes.measured)}")
    cost = number_in("cost", row["cost"]) if row.get("cost", "").strip() else None
    note = None if failed else said or None
    measured, why = (None, said) if failed else (values, None)
    rule = told(measured, why, note, replace, log.outcomes, cost)
    return rule(old, log.store.now()) if dry_run else log.change(old.trial.number, rule)


def _trial(log: TrialLog, row: Mapping[str, str], numbered: str | None, columns: Columns) -> Entry:
    """The trial that a row is about."""
    given = {name: column for name, column in columns.parameters.items() if row[column].strip()}
    if numbered is not None:
        entry = log.find(_number(numbered, row[numbered]))
        other = [name for name, value in _values(log, row, given).items() if not _same(entry.trial.params[name], value)]
        if other:
            raise InputError(
                f"{other[0]} is {row[columns.parameters[other[0]]].strip()}, but trial {entry.trial.number} has"
                f" {value_text(entry.trial.params[other[0]])}; is it another trial?"
            )
        return entry
    values = _values(log, row, columns.parameters)
    alike = [entry for entry in log.entries.values() if _is_design(entry.trial, values)]
    waiting = [entry for entry in alike if entry.trial.state is State.RUNNING]
    if len(waiting) == 1:
        return waiting[0]
    if waiting:
        which = listed([str(entry.trial.number) for entry in waiting])
        raise InputError(f"trials {which} wait with this design; say which in a column number")
    if alike:
        last = alike[-1].trial
        raise InputError(
            f"no trial waits with this design; trial {last.number}, which has it, is {last.state.value}; to tell it,"
            " give its number in a column number"
        )
    log.space.cleaned(values)  # one outside the space, or an id that is not in the pool, is named
    raise InputError("no trial has this design; results that were not asked for are added by `hentropy attach`")


def _values(log: TrialLog, row: Mapping[str, str], columns: Mapping[str, str]) -> Params:
    return values_in(row, columns, log.space)


def _number(column: str, text: str) -> int:
    try:
        return plain_whole(text.strip())
    except ValueError:
        pass
    try:  # as spreadsheets write them
        number = plain_number(text.strip())
        if number.is_integer():
            return int(number)
    except ValueError:
        pass
    raise InputError(f"{column} is {brief(text)}; it must be the number of a trial") from None


def _is_design(trial: Trial, values: Params) -> bool:
    return all(_same(trial.params[name], value) for name, value in values.items())


def _same(known: Any, given: Any) -> bool:
    """Whether a value of a design is the one that was given, in full or as tables show it."""
    if not is_number(known) or not is_number(given) or isinstance(known, bool):
        return bool(known == given) or (known is not None and str(known) == str(given))
    return bool(known == given) or float(value_text(known)) == float(given)


def lines_of(table: ToldTable, log: TrialLog) -> list[str]:
    """What was told, a line for each trial."""
    return [f"{entry.trial.number}: {_result(entry.trial, log)}" for entry in table.told]


def _result(trial: Trial, log: TrialLog) -> str:
    if trial.state is State.FAILED:
        return f"failed ({trial.note})" if trial.note else "failed"
    return f"{results(trial.measurements, log.outcomes)}{not_asked_for(trial, log.outcomes)}"
