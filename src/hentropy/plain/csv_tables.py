"""Tables in CSV files as people have them: comma, semicolon or tab, with or without a mark at the start."""

import csv
import io
import math
import re
from dataclasses import dataclass

from hentropy.errors import InputError

DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class CsvTable:
    """The names of the columns, and the rows that are not empty, each with its line in the file."""

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def csv_table(text: str, where: str) -> CsvTable:
    """The table in a text; its first line that is not empty has the names."""
    head = next((line for line in text.split("\n") if line.strip()), "")
    reader = csv.reader([head], strict=True)
    try:
        # the delimiter is the one that makes most of the first line
        delimiter = max(DELIMITERS, key=lambda mark: len(next(csv.reader([head], delimiter=mark), [])))
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        found = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{where} is not right CSV: line {max(1, reader.line_num)}: {error}") from None
    if not found:
        raise InputError(f"{where} is empty; its first line must name the columns")
    columns = tuple(cell.strip() for cell in found[0][1])
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{where} has two columns named {twice!r}; rename one of them")
    return CsvTable(columns, tuple((line, tuple(row)) for line, row in found[1:]))


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
        number = float(text)
    except ValueError:
        if not text:
            raise InputError(f"{what} is empty") from None
        comma = "a decimal comma; write numbers with a point" if re.fullmatch(r"[+-]?[\d.]*,\d+", text) else ""
        raise InputError(f"{what} is {text!r}: {comma or 'not a number'}") from None
    if not math.isfinite(number):
        raise InputError(f"{what} is {text}: not a finite number")
    return number
