"""Verdicts: what would be decided, printed as a table."""

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hentropy.studies.records.numbers import short, span

SHOWN_ROWS = 12
LONGEST = 110
WIDTH = 80
WIDEST = 100_000


@dataclass(frozen=True)
class Verdict:
    """What would be decided now: the action, its expected loss (the entropy) and the Monte Carlo error of that.

    `action` are rows of named values for a person, some with `units`; `raw` is the action as the decision's loss takes
    it.
    """

    action: list[dict[str, Any]]
    expected_loss: float
    std_error: float
    decision: str
    observations: int
    raw: Any = field(repr=False, compare=False)
    units: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def entropy(self) -> float:
        """The least expected loss of any action: that of this one."""
        return self.expected_loss

    @property
    def columns(self) -> list[str]:
        """The names of the values in the rows of the action."""
        return list(self.action[0]) if self.action else []

    @property
    def heading(self) -> str:
        """The decision, shortened to a line, and what it stands on."""
        return f"{_clipped(self.decision, LONGEST)}, {self.stands_on}"

    @property
    def stands_on(self) -> str:
        """How much was known."""
        return f"after {self.observations} observation{'s' if self.observations != 1 else ''}"

    @property
    def rows(self) -> "Rows":
        """The rows that are shown, for a console of any width."""
        return Rows(self.titles, self.cells)

    @property
    def titles(self) -> tuple[str, ...]:
        """The columns with their units."""
        return tuple(f"{name} ({self.units[name]})" if name in self.units else name for name in self.columns)

    @property
    def cells(self) -> list[list[str]]:
        """The rows that are shown, as texts: numbers as exact as those of their column lie apart, means as their sd."""
        spreads = {name: self._spread(name) for name in self.columns}
        return [[self._cell(row, name, spreads[name]) for name in self.columns] for row in self.action[:SHOWN_ROWS]]

    def _spread(self, column: str) -> float | None:
        return span([row[column] for row in self.action if isinstance(row.get(column), float)])

    @staticmethod
    def _cell(row: dict[str, Any], name: str, spread: float | None) -> str:
        value, sd = row.get(name), row.get("sd")
        if not isinstance(value, float):
            return "" if value is None else _clipped(str(value), LONGEST)
        if name == "mean" and isinstance(sd, float) and sd > 0.0:
            spread = min(sd, spread or sd)
        return short(value, spread)

    @property
    def left_out(self) -> int:
        """How many rows are not shown."""
        return max(0, len(self.action) - SHOWN_ROWS)

    @property
    def summary(self) -> list[str]:
        """All rows in short, if some are not shown, and the expected loss."""
        error = f" ± {self.std_error:.2g} (Monte Carlo)" if self.std_error else ""
        loss = f"expected loss {short(self.expected_loss, self.std_error, least=6)}{error}"
        if not self.left_out:
            return [loss]
        stated = self.columns[-1]
        return [_summary(stated, [row[stated] for row in self.action]), loss]

    @property
    def notes(self) -> list[str]:
        """What stands under the rows."""
        more = (
            [f"... and {self.left_out} more row{'s' if self.left_out > 1 else ''} in verdict.action"]
            if self.left_out
            else []
        )
        return [*more, *self.summary]

    def __rich__(self) -> RenderableType:
        return Group(Text(self.heading, style="bold"), self.rows, *(Text(note) for note in self.notes))

    def __str__(self) -> str:
        console = Console(width=WIDTH, no_color=True, force_terminal=False)
        with console.capture() as captured:
            console.print(self)
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(title)}</th>" for title in self.titles)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>" for cells in self.cells
        )
        notes = "<br>".join(html.escape(note) for note in self.notes)
        return f"<p><b>{html.escape(self.heading)}</b></p><table><tr>{head}</tr>{body}</table><p>{notes}</p>"


@dataclass(frozen=True)
class Rows:
    """Rows under named columns; where these do not fit, each name has a line and each row a column."""

    names: Sequence[str]
    cells: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        table = self._upright()
        if _fits(table, console, options):
            yield table
            return
        done = 0
        while done < len(self.cells):
            upto = done + 1
            while upto < len(self.cells) and _fits(self._lying(done, upto + 1), console, options):
                upto += 1
            yield self._lying(done, upto)
            done = upto

    def _upright(self) -> Table:
        table = Table()
        table.add_column("", justify="right", style="dim")
        for name in self.names:
            table.add_column(Text(name), justify="right", overflow="fold")
        for position, row in enumerate(self.cells, start=1):
            table.add_row(str(position), *map(Text, row))
        return table

    def _lying(self, start: int, end: int) -> Table:
        """The rows from one to another, as columns."""
        table = Table()
        table.add_column("", overflow="fold")
        for position in range(start + 1, end + 1):
            table.add_column(str(position), justify="right", overflow="fold")
        for column, name in enumerate(self.names):
            table.add_row(Text(name), *(Text(row[column]) for row in self.cells[start:end]))
        return table


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    """Whether no cell has to be broken."""
    wide = options.update(width=WIDEST, max_width=WIDEST)
    return Measurement.get(console, wide, table).maximum <= options.max_width


def _clipped(text: str, width: int) -> str:
    """Text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _summary(name: str, values: list[Any]) -> str:
    """Many values of a column in one line: how many of each label, or the range of numbers."""
    if all(isinstance(value, float) for value in values):
        ends_and_mean = min(values), max(values), sum(values) / len(values)
        low, high, middle = (short(value, span(values)) for value in ends_and_mean)
        return f"{name}: from {low} to {high}, {middle} on average"
    counts = sorted(Counter(str(value) for value in values).items())
    return f"{name}: " + ", ".join(f"{label} at {count} points" for label, count in counts[:SHOWN_ROWS])
