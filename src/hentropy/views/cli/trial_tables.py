"""Tables of trials that fit the terminal: a column for each parameter, or all in one, or lines. No number is cut."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hentropy.studies.records import Trial
from hentropy.views.cli.printing import printable, table
from hentropy.views.text.formats import design, number

LEFT = ("design", "state", "note")
LEAST = {"design": 24, "note": 12}
"""The columns that may be broken into lines, and how narrow they may get."""

WIDEST = 100_000


@dataclass(frozen=True)
class TrialRow:
    """A trial, and what else is said of it, by heading."""

    trial: Trial
    more: Mapping[str, str]


@dataclass(frozen=True)
class TrialTable:
    """Trials for a console of any width; `between` stands between the parameters of a design in one column."""

    names: Sequence[str]
    rows: Sequence[TrialRow]
    between: str = ", "

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        wide, room = options.update(width=WIDEST, max_width=WIDEST), options.max_width
        more = list(self.rows[0].more) if self.rows else []
        for made in (self._by_parameter(more), self._by_design(more)):
            if made is not None and _narrowed(made, Measurement.get(console, wide, made).maximum - room):
                yield made
                return
        yield from (Text(printable(_line(row)), overflow="fold") for row in self.rows)

    def _by_parameter(self, more: list[str]) -> Table | None:
        """A column for each parameter, unless one is called as another column."""
        if {"trial", *more} & set(self.names):
            return None
        rows = [[*(number(row.trial.params[name]) for name in self.names), *row.more.values()] for row in self.rows]
        made = self._numbered([*self.names, *more], rows)
        for column in made.columns[1 : 1 + len(self.names)]:
            column.no_wrap = True
        return made

    def _by_design(self, more: list[str]) -> Table:
        rows = [[design(row.trial.params, self.between), *row.more.values()] for row in self.rows]
        return self._numbered(["design", *more], rows)

    def _numbered(self, columns: list[str], rows: list[list[str]]) -> Table:
        numbered = [[str(row.trial.number), *cells] for row, cells in zip(self.rows, rows, strict=True)]
        return table(["trial", *columns], numbered, left=LEFT)


def _narrowed(made: Table, excess: int) -> bool:
    """Whether a table fits, its columns of text narrowed if need be."""
    for column in made.columns:
        heading = str(column.header)
        if excess <= 0 or column.no_wrap or heading not in LEAST:
            continue
        natural = max(Text(heading).cell_len, *(_width(cell) for cell in column.cells))
        column.width = max(min(natural, LEAST[heading]), natural - excess)
        excess -= natural - column.width
    return excess <= 0


def _width(cell: RenderableType) -> int:
    return max((line.cell_len for line in cell.split("\n")), default=0) if isinstance(cell, Text) else 0


def _line(row: TrialRow) -> str:
    said = "".join(f"; {heading} {text}" for heading, text in row.more.items() if text)
    return f"trial {row.trial.number}: {design(row.trial.params)}{said}"
