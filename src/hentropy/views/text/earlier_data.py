"""Data that were measured before, from the columns of a CSV file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hentropy.core.spaces import DesignSpace, Params, Pool
from hentropy.errors import Advice, InputError
from hentropy.studies.records import Value
from hentropy.studies.records.csv_tables import cells, csv_table, number_in
from hentropy.studies.study.rules import checked_value
from hentropy.views.text.formats import counted
from hentropy.views.text.trial_files import titles_read, unguarded, values_in

SHOWN_BAD = 20
"""Bad rows that are listed."""


@dataclass(frozen=True)
class Columns:
    """Which column is what: parameters by name, the value, and its standard error if there is one."""

    parameters: Mapping[str, str]
    value: str
    std_error: str | None


@dataclass(frozen=True)
class Data:
    """The rows that can be used, what is wrong with the others, and the columns that nothing was taken from."""

    good: tuple[tuple[Params, Value], ...]
    bad: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def shown_bad(self) -> tuple[str, ...]:
        """What is wrong with rows, as far as a person reads it."""
        more = len(self.bad) - SHOWN_BAD
        return (*self.bad[:SHOWN_BAD], *([f"... and {more} more"] if more > 0 else []))

    def bad_rows(self, where: str) -> str:
        """The rows that cannot be used, one line for each."""
        lines = (f"  {line}" for line in self.shown_bad)
        return "\n".join([f"{counted(len(self.bad), 'row')} of {where} cannot be used:", *lines])


def earlier_data(
    text: str,
    where: str,
    space: DesignSpace,
    renamed: Mapping[str, str],
    value: str | None = None,
    std_error: str | None = None,
    most_rows: int | None = None,
) -> Data:
    """The rows of a CSV text; `renamed` are columns of parameters that are called otherwise, by parameter."""
    table = csv_table(text, where, most_rows)
    names = tuple(unguarded(name) for name in table.columns)
    columns = _columns(names, space, renamed, value, std_error, where)
    good, bad = [], []
    for line, row in table.rows:
        try:
            good.append(_datum(cells(names, row), columns, space))
        except InputError as error:
            bad.append(f"line {line}: {error}")
    known = (*columns.parameters.values(), *titles_read(space.names).values())
    used = (*known, columns.value, columns.std_error)
    return Data(tuple(good), tuple(bad), tuple(name for name in names if name not in used))


def columns_by_parameter(pairs: Iterable[str]) -> dict[str, str]:
    """Columns by parameter, from texts COLUMN=PARAMETER; each column and each parameter may be there once."""
    found: dict[str, str] = {}
    for text in pairs:
        column, _, parameter = (part.strip() for part in text.rpartition("="))
        if not column or not parameter:
            raise InputError(f"{text!r} is not of the form COLUMN=PARAMETER")
        if column in found.values():
            raise InputError(f"the column {column} appears twice; map it to one parameter, once")
        if parameter in found:
            raise InputError(f"the parameter {parameter} appears twice; give it one column")
        found[parameter] = column
    return found


def _columns(
    names: Sequence[str],
    space: DesignSpace,
    renamed: Mapping[str, str],
    value: str | None,
    std_error: str | None,
    where: str,
) -> Columns:
    unknown = [name for name in renamed if name not in space.names]
    if unknown:
        raise InputError(f"columns: {unknown[0]!r} is not a parameter; the parameters are {', '.join(space.names)}")
    chosen = _chosen(names, space, renamed)
    taken = set(chosen.values())
    if std_error is None and "std_error" in names and "std_error" not in taken:
        std_error = "std_error"
    columns = Columns(chosen, value or "value", std_error)
    there = f"the columns of {where} are {', '.join(names)}"
    for name, column in chosen.items():
        if column not in names:
            raise InputError(
                f"there is no column {column!r} for the parameter {name}; {there}", Advice.MAP_COLUMN, between=": "
            )
    if columns.value not in names or columns.value in taken:
        raise InputError(
            f"there is no column {columns.value!r} for the values; {there}", Advice.NAME_VALUES, between=": "
        )
    if std_error is not None and std_error not in names:
        raise InputError(f"there is no column {std_error!r} for the standard errors; {there}")
    _check_taken_once([*chosen.items(), ("the values", columns.value), ("the standard errors", std_error)])
    return columns


def _chosen(names: Sequence[str], space: DesignSpace, renamed: Mapping[str, str]) -> dict[str, str]:
    """The columns of the values of a design: called as these, with or without their units, or as `renamed` says.

    Of a pool with ids, the column of ids is enough; what else is there must agree with it.
    """
    prefixed = titles_read(space.names)
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


def _datum(row: Mapping[str, str], columns: Columns, space: DesignSpace) -> tuple[Params, Value]:
    params = values_in(row, columns.parameters, space)
    number = number_in(columns.value, row[columns.value])
    design = space.cleaned(params)
    if columns.std_error is None or not row[columns.std_error].strip():
        return design, number
    value, error = checked_value((number, number_in(columns.std_error, row[columns.std_error])))
    return design, value if error is None else (value, error)
