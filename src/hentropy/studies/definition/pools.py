"""The designs of a pool from a CSV file."""

import csv
from pathlib import Path

from hentropy.errors import InputError


def designs_in(file: Path) -> tuple[list[str], list[list[float]]]:
    """Names and rows of a CSV file with a header; empty lines are passed over."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            lines = [(reader.line_num, line) for reader in [csv.reader(stream)] for line in reader if any(line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the designs in {file} cannot be read: {error}") from None
    if len(lines) < 2:
        raise InputError(f"{file} needs a line with the names of the parameters and at least one design")
    names = [name.strip() for name in lines[0][1]]
    rows = [_row(f"{file}, line {number}", names, line) for number, line in lines[1:]]
    return names, rows


def _row(where: str, names: list[str], line: list[str]) -> list[float]:
    if len(line) != len(names):
        raise InputError(f"{where}: {len(line)} values for {len(names)} parameters ({', '.join(names)})")
    return [_number(where, name, text) for name, text in zip(names, line, strict=True)]


def _number(where: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where}: {name} is {text!r}; it must be a number") from None
