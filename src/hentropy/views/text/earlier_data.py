"""Data that were measured before, from the columns of a CSV file."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hentropy.core.given import closest
from hentropy.core.spaces import Params, Pool
from hentropy.errors import Advice, DocPage, InputError, explained_in
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Failed, Values
from hentropy.studies.records.csv_tables import cells, csv_table, number_in
from hentropy.studies.records.outcome import ERROR_COLUMN
from hentropy.studies.study.tables import outcome_columns
from hentropy.views.text.formats import counted, listed
from hentropy.views.text.trial_files import measured_in, titles_read, unguarded, values_in

STATUS, NOTES = ("status", "state"), ("note", "reason")
"""What the columns are called that say whether experiments failed, and why."""

FAILED = ("failed", "failure", "crashed", "error")
SUCCEEDED = ("", "complete", "completed", "ok", "success", "succeeded")
"""What a status may say."""

SHOWN_BAD = 20
"""Bad rows that are listed."""


@dataclass(frozen=True)
class Columns:
    """Which column is what: parameters by name, outcomes by name, and their standard errors by `name_se`.

    Optional: `status` says which experiments failed, and `note` says why; notes of others are kept too.
    """

    parameters: Mapping[str, str]
    outcomes: Mapping[str, str]
    status: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Data:
    """The rows that can be used, a note of each, what is wrong with the others, and the columns that nobody used."""

    good: tuple[tuple[Params, Values | Failed], ...]
    notes: tuple[str, ...]
    bad: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def shown_bad(self) -> tuple[str, ...]:
        """What is wrong with rows, as far as a person reads it."""
        more = len(self.bad) - SHOWN_BAD
        return (*self.bad[:SHOWN_BAD], *([f"... and {more} more"] if more > 0 else []))

    def check(self, where: str, skip_bad: bool, mend: str) -> None:
        """An `InputError` if there are no rows, or bad ones that may not be left out; `mend` says what to do then."""
        if not self.bad and not self.good:
            raise InputError(f"{where} has no rows below its header; nothing was attached")
        if self.bad and not skip_bad:
            raise InputError(f"{self.bad_rows(where)}\nNothing was attached. {mend}.")

    def bad_rows(self, where: str) -> str:
        """The rows that cannot be used, one line for each."""
        lines = (f"  {line}" for line in self.shown_bad)
        return "\n".join([f"{counted(len(self.bad), 'row')} of {where} cannot be used:", *lines])


@explained_in(DocPage.CSV)
def earlier_data(
    text: str, where: str, outcomes: Outcomes, renamed: Mapping[str, str], most_rows: int | None = None
) -> Data:
    """The rows of a CSV text; `renamed` are columns that are called otherwise, by parameter or outcome."""
    table = csv_table(text, where, most_rows)
    names = tuple(unguarded(name) for name in table.columns)
    columns = matched_columns(names, outcomes, renamed, where)
    known = (*columns.parameters.values(), *titles_read(outcomes).values(), *columns.outcomes.values())
    unused = unused_columns(names, (*known, columns.status, columns.note), columns, outcomes)
    good, notes, bad = [], [], []
    for line, given in table.rows:
        try:
            row = cells(names, given)
            good.append(_datum(row, columns, outcomes))
            notes.append("" if columns.note is None else unguarded(row[columns.note].strip()))
        except InputError as error:
            bad.append(f"line {line}: {error}")
    return Data(tuple(good), tuple(notes), tuple(bad), unused)


@explained_in(DocPage.CSV)
def columns_by_parameter(pairs: Iterable[str]) -> dict[str, str]:
    """Columns by parameter or outcome, from texts COLUMN=NAME; each column and each name may be there once."""
    found: dict[str, str] = {}
    for text in pairs:
        column, _, parameter = (part.strip() for part in text.rpartition("="))
        if not column or not parameter:
            raise InputError(f"{text!r} is not of the form COLUMN=NAME")
        if column in found.values():
            raise InputError(f"the column {column} appears twice; map it to one name, once")
        if parameter in found:
            raise InputError(f"{parameter} appears twice; give it one column")
        found[parameter] = column
    return found


def matched_columns(
    names: Sequence[str],
    outcomes: Outcomes,
    renamed: Mapping[str, str],
    where: str,
    design: bool = True,
    instead: Sequence[str] = (),
) -> Columns:
    """Which column is what, by their names; without `design`, those of parameters need not be there.

    A message about those that are missing names the columns that would do `instead`.
    """
    space, measured = outcomes.space, outcome_columns(outcomes.measured)
    unknown = [name for name in renamed if name not in (*space.names, *measured)]
    if unknown:
        close = closest(unknown[0], (*space.names, *measured))
        raise InputError(
            f"columns: {unknown[0]!r} is neither a parameter nor an outcome; these are"
            f" {', '.join((*space.names, *outcomes.measured))}{f'; did you mean {close}?' if close else ''}"
        )
    chosen = _chosen(names, outcomes, renamed)
    there = f"the columns of {where} are {', '.join(names)}"
    if not design:
        chosen = {name: column for name, column in chosen.items() if column in names}
    absent = [(name, column) for name, column in chosen.items() if column not in names]
    if absent:
        name, column = absent[0]
        ids = [repr(renamed.get(space.id, space.id))] if isinstance(space, Pool) and space.id else []
        others = [*instead, *(f"a column {each} for the ids" for each in ids)]
        what = f"a column {column!r} for the parameter {name}"
        lacks = f"neither {', nor '.join([what, *others])}" if others else f"no {what.removeprefix('a ')}"
        raise InputError(f"there is {lacks}; {there}", Advice.MAP_COLUMN, between=": ")
    values = {name: renamed.get(name, name) for name in measured}
    titled = {name: title for name, title in outcomes.titles.items() if title in names and name not in renamed}
    found = {name: column for name, column in {**values, **titled}.items() if column in names and name in measured}
    found = {name: column for name, column in found.items() if name in renamed or column not in chosen.values()}
    missing = [name for name in measured if name in renamed and name not in found]
    columns = _with_status(Columns(chosen, found), names)
    if missing or not (columns.status or any(name in found for name in outcomes.measured)):
        wanted = values[missing[0]] if missing else " or ".join(map(repr, outcomes.measured))
        raise InputError(f"there is no column {wanted} for the values; {there}", Advice.MAP_COLUMN, between=": ")
    _check_taken_once([*chosen.items(), *found.items()])
    return columns


MISSPELT = 0.8
"""How alike the name of a column and that of an outcome without one are where the column is taken for misspelt."""


def unused_columns(
    names: Sequence[str], used: Collection[str | None], columns: Columns, outcomes: Outcomes
) -> tuple[str, ...]:
    """The columns that nobody uses; an `InputError` where one is probably the misspelt column of an outcome."""
    unused = tuple(name for name in names if name not in used)
    missing = [name for name in outcome_columns(outcomes.measured) if name not in columns.outcomes]
    ending = ERROR_COLUMN.format("")
    for name in unused:
        stem = name.lower().removesuffix(ending)
        by_stem = {one.removesuffix(ending): one for one in missing if one.endswith(ending) == (stem != name.lower())}
        if close := closest(stem, by_stem, MISSPELT):
            raise InputError(
                f"the column {name!r} is neither a parameter nor an outcome; did you mean {by_stem[close]}?",
                Advice.MAP_COLUMN,
                between=" Rename it, or ",
            )
    return unused


def _with_status(columns: Columns, names: Sequence[str]) -> Columns:
    """With the columns that say which experiments failed, and why, if there are any."""
    free = [name for name in names if name not in (*columns.parameters.values(), *columns.outcomes.values())]
    status = next((name for name in STATUS if name in free), None)
    note = next((name for name in NOTES if name in free), None)
    return replace(columns, status=status, note=note)


def _chosen(names: Sequence[str], outcomes: Outcomes, renamed: Mapping[str, str]) -> dict[str, str]:
    """The columns of the values of a design: called as these, with or without their units, or as `renamed` says.

    Of a pool with ids, the column of ids is enough; what else is there must agree with it.
    """
    space, prefixed = outcomes.space, titles_read(outcomes)
    called: dict[str, str] = {}
    for field in space.fields:
        usual = [title for title in (prefixed[field.name], field.title) if title in names]
        called[field.name] = renamed.get(field.name, [*usual, field.name][0])
    if not isinstance(space, Pool) or space.id is None:
        return called
    id_column = renamed.get(space.id, prefixed[space.id])
    if id_column not in names:
        return called
    return {space.id: id_column, **{name: title for name, title in called.items() if title in names}}


def _check_taken_once(uses: Iterable[tuple[str, str | None]]) -> None:
    """Refuse a column that is to be two things."""
    taken: dict[str | None, str] = {}
    for use, column in uses:
        if column is not None and column in taken:
            raise InputError(f"the column {column!r} is taken for {taken[column]} and for {use}; name another for one")
        taken[column] = use


def _datum(row: Mapping[str, str], columns: Columns, outcomes: Outcomes) -> tuple[Params, Values | Failed]:
    params = outcomes.space.cleaned(values_in(row, columns.parameters, outcomes.space))
    values = measured_in(row, columns.outcomes, outcomes)
    if has_failed(row, columns, values):
        return params, Failed("" if columns.note is None else unguarded(row[columns.note].strip()))
    if len(outcomes.measured) == 1:  # an empty cell is a mistake where nothing else is measured
        [name] = outcomes.measured
        column = columns.outcomes.get(name, name)
        if column not in row:
            raise InputError(f"there is no column {column} for its value, and {columns.status} says no failure")
        if not outcomes.words(name):
            number_in(column, row.get(column, ""))
        elif not row.get(column, "").strip():
            raise InputError(f"{column} is empty; it must be one of {', '.join(outcomes.words(name))}")
    found = outcomes.given(values)
    return params, {name: outcomes.as_told(name, one) for name, one in found.items()}


def has_failed(row: Mapping[str, str], columns: Columns, values: Collection[str]) -> bool:
    """Whether the status of a row says that its experiment failed; then it has no values."""
    said = "" if columns.status is None else row[columns.status].strip().lower()
    if said not in (*FAILED, *SUCCEEDED):
        known = ", ".join((*FAILED, *SUCCEEDED[1:]))
        raise InputError(f"{columns.status} is {said!r}; it must be one of {known}, or empty for a success")
    if said in FAILED and values:
        were = "was" if len(values) == 1 else "were"
        raise InputError(
            f"{columns.status} says that it failed, but {listed(list(values))} {were} measured; which is it?"
        )
    return said in FAILED
