"""Trials and verdicts for a person, as tables that fit the terminal, and as plain values. No number is cut."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hentropy.core.spaces import DesignSpace
from hentropy.studies.definition import Description
from hentropy.studies.records import Trial, Verdict
from hentropy.views.cli.printing import console, printable, say, table
from hentropy.views.text.formats import counted, design, measured, one_line, units_of, value_text
from hentropy.views.text.sentences import decided_sentence
from hentropy.views.text.trials import why

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

    space: DesignSpace
    rows: Sequence[TrialRow]
    between: str = ", "

    @property
    def names(self) -> Sequence[str]:
        """The values of a design."""
        return self.space.names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        wide, room = options.update(width=WIDEST, max_width=WIDEST), options.max_width
        more = list(self.rows[0].more) if self.rows else []
        for made in (self._by_parameter(more), self._by_design(more)):
            if made is not None and _narrowed(made, Measurement.get(console, wide, made).maximum - room):
                yield made
                return
        units = units_of(self.space)
        yield from (Text(printable(_line(row, units)), overflow="fold") for row in self.rows)

    def _by_parameter(self, more: list[str]) -> Table | None:
        """A column for each parameter, unless one is called as another column."""
        if {"trial", *more} & set(self.names):
            return None
        rows = [[*(value_text(row.trial.params[name]) for name in self.names), *row.more.values()] for row in self.rows]
        units = units_of(self.space)
        titles = [f"{name} ({units[name]})" if name in units else name for name in self.names]
        made = self._numbered([*titles, *more], rows)
        for column in made.columns[1 : 1 + len(self.names)]:
            column.no_wrap = True
        return made

    def _by_design(self, more: list[str]) -> Table:
        units = units_of(self.space)
        rows = [[design(row.trial.params, self.between, units), *row.more.values()] for row in self.rows]
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


def _line(row: TrialRow, units: Mapping[str, str]) -> str:
    said = "".join(f"; {heading} {text}" for heading, text in row.more.items() if text)
    return f"trial {row.trial.number}: {design(row.trial.params, units=units)}{said}"


LONGEST_NOTE = 40


def asked_table(trials: Sequence[Trial], space: DesignSpace, gains: bool = True) -> TrialTable:
    """What to run: number, parameters, and why."""
    rows = [TrialRow(trial, {"gain": why(trial)} if gains else {}) for trial in trials]
    return TrialTable(space, rows, between="\n")


def trials_table(trials: Sequence[Trial], space: DesignSpace) -> TrialTable:
    """What was run, and what came of it."""
    rows = [
        TrialRow(
            trial,
            {
                "state": trial.state.value,
                "measured": measured(trial.value, trial.std_error),
                "gain": why(trial),
                "note": one_line(trial.note.partition("\n")[0], LONGEST_NOTE),
            },
        )
        for trial in trials
    ]
    return TrialTable(space, rows)


def print_verdict(verdict: Verdict, called: str, description: Description) -> None:
    """A verdict as a table, and where to find the rows that it leaves out."""
    say(f"{decided_sentence(description)}, {verdict.stands_on}:", "bold")
    console().print(replace(verdict, units=units_of(description.designs())).rows)
    if verdict.left_out:
        say(f"... and {counted(verdict.left_out, 'more row')}; hentropy decide {called} --json has all of them")
    for line in verdict.summary:
        say(line)
