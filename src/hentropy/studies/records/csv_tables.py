"""Tables in CSV files as people have them: comma, semicolon or tab, with or without a mark at the start."""

import csv
import io
import math
import re
from collections import Counter
from dataclasses import dataclass

from hentropy.errors import InputError
from hentropy.studies.records.numbers import MAX_VALUE_LENGTH, brief, one_line, plain_number

DELIMITERS = (",", ";", "\t")

MOST_COLUMNS = 1_000
"""More columns than any table of experiments has; each of them costs time and memory."""


@dataclass(frozen=True)
class CsvTable:
    """The names of the columns, and the rows that are not empty, each with its line in the file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def csv_table(text: str, where: str, most_rows: int | None = None) -> CsvTable:
    """The table in a text; its first line that is not empty has the names.

    Rows are counted as they are read, however their lines end, and no further than `most_rows`.
    """
    head = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    reader = csv.reader([head], strict=True)
    try:
        # the delimiter is the one that makes most of the first line
        widths = {mark: _width(head, mark) for mark in DELIMITERS}
        delimiter = max(DELIMITERS, key=widths.__getitem__)
        check_columns(widths[delimiter], where)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        found: list[tuple[int, list[str]]] = []
        for row in reader:
            if any(cell.strip() for cell in row):
                check_columns(len(row), where)
                found.append((reader.line_num, row))
                check_rows(len(found) - 1, most_rows)
    except csv.Error as error:
        raise InputError(f"{where} is not valid CSV: line {max(1, reader.line_num)}: {error}") from None
    if not found:
        raise InputError(f"{where} is empty; its first line must name the columns")
    columns = tuple(cell.strip() for cell in found[0][1])
    twice = next((name for name, times in Counter(columns).items() if times > 1), None)
    if twice is not None:
        raise InputError(f"{where} has two columns named {twice!r}; rename one of them")
    return CsvTable(columns, tuple((line, tuple(row)) for line, row in found[1:]))


def _width(head: str, mark: str) -> int:
    try:
        return len(next(csv.reader([head], delimiter=mark), []))
    except csv.Error:  # a long line is too long for one cell where the mark is another one
        return 0


def check_columns(count: int, where: str) -> None:
    """Refuse a table that is wider than any table of experiments."""
    if count > MOST_COLUMNS:
        raise InputError(f"{where} has {count} columns; at most {MOST_COLUMNS} are read")


def check_rows(count: int, most: int | None) -> None:
    """Refuse more rows than are taken at once, if there is a bound."""
    if most is not None and count > most:
        raise InputError(f"there are more than {most} rows; at most {most} are accepted at once: split the table")


def cells(columns: tuple[str, ...], row: tuple[str, ...]) -> dict[str, str]:
    """The cells of a row by their columns."""
    if len(row) != len(columns):
        cause = "; does it use decimal commas?" if len(row) > len(columns) else ""
        raise InputError(f"{len(row)} cells for {len(columns)} columns{cause}")
    return dict(zip(columns, row, strict=True))


def number_in(what: str, text: str) -> float:
    """A number in a cell."""
    text = text.strip()
    try:
        number = plain_number(text)
    except ValueError:
        if not text:
            raise InputError(f"{what} is empty") from None
        comma = "a decimal comma; write numbers with a point" if re.fullmatch(r"[+-]?[\d.]*,\d+", text) else ""
        raise InputError(f"{what} is {brief(text)}: {comma or 'not a number'}") from None
    if not math.isfinite(number):
        raise InputError(f"{what} is {one_line(text, MAX_VALUE_LENGTH)}: not a finite number")
    return number
