"""Verdicts: what would be decided, printed as a table."""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hentropy.core.decisions.headlines import known, probable
from hentropy.studies.records.numbers import counted, short, span

SHOWN_ROWS = 12
MAX_TEXT_LENGTH = 110
WIDTH = 80
WIDEST = 100_000

ACROSS, MOST_LYING = 8, 24
"""Columns that stand beside each other in a document, and rows of an action that are not a long list."""

KEPT_ROWS = 200
"""How many rows of an action are recorded with a verdict: of a long list the first ones."""

LIMITS_HOLD = "limits hold"
"""The column that says with what probability a design holds all limits on outcomes."""

CHANCE = "chance of success"
"""The column that says with what probability a design succeeds, once experiments have failed."""


PROBABILITIES = ("probability", "probability of f")
"""The column of the probability of an outcome that is no number."""


WORTH_NAMING = 0.1
"""An expected advantage below this share of its standard deviation is a tie: nobody is told of it."""


@dataclass(frozen=True)
class Rival:
    """A design beside the recommended one: a row as in an action, and the trials that measured it, with mean `values`.

    `advantage` is what the recommended design is expected to save over it, in units of the loss, with the standard
    deviation `spread`; it is below 0 where the rival is expected to be better. `chance` is the probability that the
    recommended one is truly better.
    """

    row: Mapping[str, Any]
    trials: tuple[int, ...]
    values: Mapping[str, float]
    advantage: float
    spread: float
    chance: float

    @property
    def perhaps_better(self) -> bool:
        """Whether it is expected to be better by more than a tie."""
        return self.advantage < -WORTH_NAMING * self.spread

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> "Rival":
        """From plain values."""
        return cls(**{**plain, "trials": tuple(plain["trials"])})


@dataclass(frozen=True)
class Comparison:
    """The recommended design beside those that were measured, in a `sentence` and in numbers.

    `trials` measured the recommended design, with mean `values`; there are none if it was never run. `best` is the
    measured design with the best values, where that is another one. `alternative` is the Bayes action where that is not
    recommended, as it has no clear advantage: mostly a design that was never run. The recommended design is expected to
    cost `forgone` more than it, in units of the loss.
    """

    sentence: str
    trials: tuple[int, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    best: Rival | None = None
    alternative: Rival | None = None
    forgone: float = 0.0

    def alternative_text(self, units: Mapping[str, str]) -> str:
        """The design that might be better, with what is known of it; empty if there is none."""
        if self.alternative is None or not self.alternative.perhaps_better:
            return ""
        row = self.alternative.row
        cells = [(name, cell_text(row, name), units.get(name)) for name in row]
        said = ", ".join(f"{name} {text}{f' {unit}' if unit else ''}" for name, text, unit in cells)
        return f"{'Measured' if self.alternative.trials else 'Never run'}, perhaps better: {said}"

    def plain(self) -> dict[str, Any]:
        """As plain values: the one description for stores, the command line and the API."""
        own = asdict(self)
        for part in (own, own["best"], own["alternative"]):
            if part is not None:
                part["trials"] = list(part["trials"])
        return own

    @classmethod
    def of(cls, plain: Mapping[str, Any] | None) -> "Comparison | None":
        """From plain values; verdicts of earlier versions have none."""
        if plain is None:
            return None
        rivals = {name: None if plain[name] is None else Rival.of(plain[name]) for name in ("best", "alternative")}
        return cls(**{**plain, "trials": tuple(plain["trials"]), **rivals})


@dataclass(frozen=True)
class Verdict:
    """The current recommendation: the answer in sentences, and the action.

    `action` are rows of named values for a person, some with `units`; `raw` is the action as the decision's loss takes
    it. The expected loss (the entropy) and its Monte Carlo error `std_error` are not printed. The entropy is that of
    the Bayes action: where a measured design is recommended in its place (see `comparison`), that is `bayes`, and the
    recommended design is expected to cost `forgone` more.
    """

    action: list[dict[str, Any]]
    expected_loss: float
    std_error: float
    decision: str
    observations: int
    raw: Any = field(repr=False, compare=False)
    units: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    headline: str = ""
    """The answer in a sentence; empty of verdicts recorded before there were any."""
    worth: str = field(default="", compare=False)
    """What another experiment is worth, in a sentence; empty where that is not known."""
    failed: int = field(default=0, compare=False)
    """How many experiments had failed by then, beside those that gave the observations."""
    comparison: Comparison | None = field(default=None, compare=False)
    """The recommended design beside the measured ones, where one design is decided on by one number."""
    bayes: Any = field(default=None, repr=False, compare=False)
    """The Bayes action, where that is not the recommended one."""
    advice: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """What a person should know of the data so far; not recorded, as later data may change it."""

    @property
    def forgone(self) -> float:
        """How much more the recommended design is expected to cost than the Bayes action."""
        return 0.0 if self.comparison is None else self.comparison.forgone

    @property
    def beside(self) -> str:
        """The recommended design beside the measured ones, in sentences; empty where nothing is compared."""
        return "" if self.comparison is None else self.comparison.sentence

    @property
    def chances(self) -> list[float]:
        """The probability of success of each design of the action; empty while no experiment has failed."""
        return [row[CHANCE] for row in self.action if CHANCE in row]

    @property
    def entropy(self) -> float:
        """The smallest expected loss of any action."""
        return self.expected_loss

    @property
    def columns(self) -> list[str]:
        """The names of the values in the rows of the action."""
        return list(self.action[0]) if self.action else []

    @property
    def heading(self) -> str:
        """The answer in a sentence, what it is based on, and whether more experiments are worthwhile."""
        said = self.headline or f"{_clipped(self.decision, MAX_TEXT_LENGTH)}."
        beside = f"{self.beside} " if self.beside else ""
        return f"{said} {beside}{self.stands_on.capitalize()}. {self.worth}".strip()

    @property
    def stands_on(self) -> str:
        """How many experiments were run before it."""
        return after_runs(self.observations, self.failed)

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
        """The rows that are shown, as text: numbers with the digits that tell rows apart, means with those known."""
        spreads = {name: self._spread(name) for name in self.columns}
        return [[cell_text(row, name, spreads[name]) for name in self.columns] for row in self.action[:SHOWN_ROWS]]

    def _spread(self, column: str) -> float | None:
        return span([row[column] for row in self.action if isinstance(row.get(column), float)])

    @property
    def left_out(self) -> int:
        """How many rows are not shown."""
        return max(0, len(self.action) - SHOWN_ROWS)

    @property
    def loss(self) -> str:
        """The expected loss with its error."""
        error = f" ± {self.std_error:.2g} (Monte Carlo)" if self.std_error else ""
        own = short(self.expected_loss + self.forgone, self.std_error, least=6)
        least = short(self.expected_loss, self.std_error, least=6)
        return f"expected loss {own}{error}{f'; the smallest of any design is {least}' if own != least else ''}"

    @property
    def notes(self) -> list[str]:
        """The notes below the rows."""
        return [*([f"... and {self.more} in verdict.action"] if self.more else []), *self.remarks]

    @property
    def remarks(self) -> list[str]:
        """The design that might be better, if there is one, and the advice, in sentences."""
        advice = [f"{note[0].upper()}{note[1:]}." for note in self.advice]
        return [self.alternative, *advice] if self.alternative else advice

    @property
    def alternative(self) -> str:
        """The design that might be better, but has no clear advantage; empty if there is none."""
        return "" if self.comparison is None else self.comparison.alternative_text(self.units)

    @property
    def more(self) -> str:
        """How many rows are not shown: 8 more rows; without the number where only the first ones were recorded."""
        if len(self.action) == KEPT_ROWS:
            return "more rows"
        return counted(self.left_out, "more row") if self.left_out else ""

    def __rich__(self) -> RenderableType:
        return Group(Text(self.heading, style="bold"), self.rows, *(Text(note) for note in self.notes))

    def __str__(self) -> str:
        console = Console(width=WIDTH, no_color=True, force_terminal=False)
        with console.capture() as captured:
            console.print(self)
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def _repr_html_(self) -> str:
        cells = self.cells
        tables = [self._lying(block) for block in lying(len(self.titles), len(self.action), len(cells))]
        tables = tables or [_html_table(self.titles, cells)]
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        stated = f"{html.escape(_clipped(self.decision, MAX_TEXT_LENGTH))}: {html.escape(self.loss)}"
        details = f"<details><summary>The decision as stated, and its expected loss</summary>{stated}</details>"
        return f"<p><b>{html.escape(self.heading)}</b></p>{''.join(tables)}{notes}{details}"

    def _lying(self, block: range) -> str:
        """Some of the rows as columns."""
        columns = zip(*(self.cells[row] for row in block), strict=True)
        rows = [(title, *column) for title, column in zip(self.titles, columns, strict=True)]
        return _html_table(("", *(str(row + 1) for row in block)), rows)


def lying(columns: int, rows: int, shown: int, across: int = ACROSS) -> list[range]:
    """The rows that stand beside each other as columns, behind the names, so that nothing is cut: table by table.

    Of so many rows the first `shown`. None where the columns fit, or the rows are a long list: then rows stay rows.
    """
    if columns <= across or rows > MOST_LYING:
        return []
    shown = min(rows, shown)
    tables = max(1, math.ceil(shown / (across - 1)))
    beside = max(1, math.ceil(shown / tables))  # about as many in each of them
    return [range(start, min(start + beside, shown)) for start in range(0, shown, beside)]


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = "".join(f"<th>{html.escape(title)}</th>" for title in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{titles}</tr>{body}</table>"


def after_runs(observations: int, failed: int) -> str:
    """After how many experiments: after 24 runs, 8 of which failed."""
    runs = observations + failed
    return f"after {runs} run{'s' if runs != 1 else ''}{f', {failed} of which failed' if failed else ''}"


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


def cell_text(row: Mapping[str, Any], name: str, spread: float | None = None) -> str:
    """What a row of an action says in a column, whose numbers lie so far apart."""
    value, sd = row.get(name), row.get(_its_sd(name))
    if name in (LIMITS_HOLD, CHANCE) and isinstance(value, float):
        return probable(value)
    if isinstance(value, float) and name in _probabilities(row):
        return f"{100.0 * value:.0f} %" if name.startswith("sd") else probable(value)
    if not isinstance(value, float):
        return "" if value is None else _clipped(str(value), MAX_TEXT_LENGTH)
    if isinstance(sd, float) and sd > 0.0:
        return known(value, sd)
    return short(value, spread)


def _probabilities(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of a row that are a probability and its standard deviation; a parameter may have their name."""
    names = list(row)
    for place, name in enumerate(names):
        after = names[place + 1 : place + 2]
        if name in PROBABILITIES and (not after or after[0].startswith("sd")):
            return (name, *after)
    return ()


def _its_sd(column: str) -> str:
    """The column of the standard deviations of a column: "sd" of "mean", "yield sd" of "yield"."""
    return "sd" if column in ("mean", "probability") else column if column.split()[-1:] == ["sd"] else f"{column} sd"


def _clipped(text: str, width: int) -> str:
    """Text on one line of at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
