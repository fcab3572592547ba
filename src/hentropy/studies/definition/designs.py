"""The designs of a study in words: parameters, or a pool, also one from a CSV file."""

import csv
import io
import math
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, model_validator

from hentropy.core.spaces import Integer, Parameter, Pool, Real
from hentropy.errors import InputError
from hentropy.studies.definition.base import Label, Number, Rows, Whole, Words, YesNo
from hentropy.studies.files import MOST_IN_TABLE, read_text
from hentropy.studies.records.numbers import plain_number

_LOG = "Whether equal ratios count as equal steps, as for rates and concentrations; low must then be above 0."


def _check_range(low: float, high: float) -> None:
    try:
        wide = float(high) - float(low)
    except OverflowError:  # of whole numbers beyond what a double can be
        wide = math.inf
    if not math.isfinite(wide):
        raise InputError("the range is too wide for double precision; bring low and high closer together")


class RealWords(Words):
    """A parameter that can have any value between two bounds."""

    model_config = ConfigDict(title="Real parameter")

    type: Annotated[Literal["real"], Field(description="A real number.")]
    low: Annotated[Number, Field(description="The least value that can be run.")]
    high: Annotated[Number, Field(description="The greatest value that can be run.")]
    log: Annotated[YesNo, Field(description=_LOG)] = False

    def made(self) -> Parameter:
        """The parameter itself."""
        return Real(self.low, self.high, self.log)

    @model_validator(mode="after")
    def _can_be_made(self) -> "RealWords":
        _check_range(self.low, self.high)
        self.made()
        return self


class IntegerWords(Words):
    """A parameter that is a whole number from one bound to the other, both included."""

    model_config = ConfigDict(title="Integer parameter")

    type: Annotated[Literal["integer"], Field(description="A whole number.")]
    low: Annotated[Whole, Field(description="The least value that can be run.")]
    high: Annotated[Whole, Field(description="The greatest value that can be run.")]
    log: Annotated[YesNo, Field(description=_LOG)] = False

    def made(self) -> Parameter:
        """The parameter itself."""
        return Integer(self.low, self.high, self.log)

    @model_validator(mode="after")
    def _can_be_made(self) -> "IntegerWords":
        _check_range(self.low, self.high)
        self.made()
        return self


ParameterWords = Annotated[RealWords | IntegerWords, Field(discriminator="type")]

PARAMETERS: dict[str, type[Words]] = {
    get_args(words.model_fields["type"].annotation)[0]: words for words in get_args(get_args(ParameterWords)[0])
}
"""The words of every kind of parameter, by its type."""


class PoolWords(Words):
    """A list of the designs that can be run: in a CSV file, or row by row."""

    model_config = ConfigDict(title="Pool")

    file: Annotated[
        Label | None,
        Field(description="A CSV file with a header; its path is taken from the folder of the study file."),
    ] = None
    names: Annotated[tuple[Label, ...] | None, Field(description="The names of the parameters, for rows.")] = None
    rows: Annotated[Rows | None, Field(description="The designs, each a list of numbers in the order of names.")] = None

    def made(self) -> Pool:
        """The pool itself."""
        if self.rows is None:
            raise InputError(f"the designs in {self.file} have not been read; read the study file with `read`")
        return Pool(self.rows, self.names)

    @model_validator(mode="after")
    def _can_be_made(self) -> "PoolWords":
        if self.file is None and self.rows is None:
            raise InputError('give file = "designs.csv", or names and rows')
        if self.file is not None and (self.rows is not None or self.names is not None):
            raise InputError("give either a file, or names and rows, not both")
        if self.rows is not None:
            self.made()
        return self


def designs_in(file: Path) -> tuple[list[str], list[list[float]]]:
    """Names and rows of a CSV file with a header; empty lines are passed over."""
    reader = csv.reader(io.StringIO(read_text(file, MOST_IN_TABLE), newline=""))
    try:
        lines = [(reader.line_num, line) for line in reader if any(line)]
    except csv.Error as error:
        raise InputError(f"{file} is not valid CSV: line {reader.line_num}: {error}") from None
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
        return plain_number(text)
    except ValueError:
        raise InputError(f"{where}: {name} is {text!r}; it must be a number") from None
