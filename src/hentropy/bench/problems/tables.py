"""Reading columns of numbers from a CSV file, with errors that name the file, the line and what was expected."""

import csv
import math
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from hentropy.errors import InputError


def read_columns(path: str | os.PathLike[str], columns: Sequence[str]) -> Tensor:
    """The named columns of a CSV file with a header: rows x columns, float64."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {file}; expected a CSV file with the columns {', '.join(columns)}")
    try:
        with file.open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle)
            found = list(reader.fieldnames or ())
            missing = [name for name in columns if name not in found]
            if missing:
                raise InputError(
                    f"{file} has no column {', '.join(missing)}; found {', '.join(found) or 'an empty file'};"
                    f" expected {', '.join(columns)}"
                )
            rows = [[_number(row[name], name, reader.line_num, file) for name in columns] for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{file} is not a CSV file in UTF-8: {error}") from None
    if not rows:
        raise InputError(f"{file} has a header and no rows; expected at least one")
    return torch.tensor(rows, dtype=torch.float64)


def _number(cell: str | None, column: str, line: int, file: Path) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"line {line} of {file} has {cell!r} in column {column}; expected a finite number: correct the cell or"
            " drop the row"
        )
    return value
