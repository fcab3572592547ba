"""Trials and verdicts for a person, as tables that fit the terminal, and as plain values. No number is cut."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from hentropy.core.decisions.headlines import probable
from hentropy.core.spaces import DesignSpace
from hentropy.studies.definition import Description, verdict_units_of
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import CHANCE, Trial, Verdict
from hentropy.views.cli.printing import console, printable, say, table
from hentropy.views.text.formats import design, number, one_line, result, short, titled, units_of, value_text
from hentropy.views.text.sentences import decided_sentence
from hentropy.views.text.trials import to_measure, why

LEFT = ("design", "state", "measure", "note")
LEAST = {"design": 24, "measure": 12, "gain": 12, "note": 12}
"""The columns that may be broken into lines, and how narrow they may get."""

WIDEST = 100_000

FIRST = "first design"
"""Where the gain of a trial would stand that was to fill the space."""


@dataclass(frozen=True)
class TrialRow:
    """A trial, and what else is said of it, by heading."""

    trial: Trial
    more: Mapping[str, str]


@dataclass(frozen=True)
class TrialTable:
    """Trials for a console of any width; `between` stands between the parameters of a design in one column.

    Long tables may be `tight` before they give up a column for each parameter.
    """

    space: DesignSpace
    rows: Sequence[TrialRow]
    between: str = ", "
    tight: bool = False

    @property
    def names(self) -> Sequence[str]:
        """The values of a design."""
        return self.space.names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        wide, room = options.update(width=WIDEST, max_width=WIDEST), options.max_width
        more = list(self.rows[0].more) if self.rows else []
        tight = self._by_parameter(more, tight=True) if self.tight else None
        for made in (self._by_parameter(more), tight, self._by_design(more)):
            if made is not None and _narrowed(made, Measurement.get(console, wide, made).maximum - room):
                yield made
                return
        units = units_of(self.space)
        yield from (Text(printable(_line(row, units)), overflow="fold") for row in self.rows)

    def _by_parameter(self, more: list[str], tight: bool = False) -> Table | None:
        """A column for each parameter, unless one is called as another column.

        A `tight` one has units on lines of their own, short words, no column that says nothing, and no lines between.
        """
        if {"trial", *more} & set(self.names):
            return None
        units = units_of(self.space)
        titles = [f"{name} ({units[name]})" if name in units else name for name in self.names]
        said = [row.more for row in self.rows]
        if tight:
            more = [name for name in more if any(each[name] for each in said)]
            titles = [title.replace(" (", "\n(") for title in titles]
        rows = [
            [*(value_text(row.trial.params[name]) for name in self.names), *(each[name] for name in more)]
            for row, each in zip(self.rows, said, strict=True)
        ]
        if tight:
            rows = [["first" if text == FIRST else text for text in row] for row in rows]
            more = [name.replace(" (", "\n(") for name in more]
        made = self._numbered([*titles, *more], rows)
        if tight:
            made.box, made.padding = box.SIMPLE_HEAD, (0, 1, 0, 0)
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


MAX_NOTE_LENGTH = 40


def asked_table(
    trials: Sequence[Trial],
    outcomes: Outcomes,
    worths: Mapping[int, str] | None = None,
    chances: Mapping[int, float] | None = None,
    cost_unit: str = "",
) -> TrialTable:
    """What to run: number, parameters, what to measure if not everything, why, and the cost where that is known; with
    what probability it succeeds, where some have failed. What a trial is worth is said by number; nothing is said of
    why without `worths`.
    """
    costs = _costs(trials, cost_unit)
    more = [
        ({"measure": to_measure(trial, outcomes)} if outcomes.assays else {})
        | ({} if worths is None else {"gain": why(trial, worths)})
        | cost
        | ({CHANCE: probable(chances[trial.number])} if chances else {})
        for trial, cost in zip(trials, costs, strict=True)
    ]
    return TrialTable(outcomes.space, [TrialRow(*each) for each in zip(trials, more, strict=True)], between="\n")


def _costs(trials: Sequence[Trial], unit: str) -> list[dict[str, str]]:
    """The expected and the actual cost of each trial, by heading: what is known of at least one of them."""
    expected = [trial.expected_cost for trial in trials]
    spent = [trial.cost for trial in trials]
    known = {
        titled("expected cost", unit): ["" if one is None else short(one, least=3) for one in expected],
        titled("cost", unit): [number(one) for one in spent],
    }
    return [{heading: texts[i] for heading, texts in known.items() if any(texts)} for i in range(len(trials))]


def trials_table(
    trials: Sequence[Trial], outcomes: Outcomes, worths: Mapping[int, str], cost_unit: str = ""
) -> TrialTable:
    """What was run, and what came of it: a column for each outcome. What a trial was worth is said by number."""
    rows = [
        TrialRow(
            trial,
            {
                "state": trial.state.value,
                **{
                    outcomes.titles[name]: result(one, words=outcomes.words(name))
                    for name, one in outcomes.shown(trial).items()
                },
                "gain": why(trial, worths),
                **cost,
                "note": one_line(trial.note.partition("\n")[0], MAX_NOTE_LENGTH),
            },
        )
        for trial, cost in zip(trials, _costs(trials, cost_unit), strict=True)
    ]
    return TrialTable(outcomes.space, rows, tight=True)


def print_verdict(verdict: Verdict, called: str, description: Description, details: bool = False) -> None:
    """A verdict: its headline and its rows; with `details`, the decision as it was stated and the expected loss."""
    verdict = replace(verdict, units=verdict_units_of(description))
    say(verdict.heading, "bold")
    console().print(verdict.rows)
    for remark in verdict.remarks:
        say(remark)
    if verdict.more:
        say(f"... and {verdict.more}; hentropy decide {called} --json has all of them")
    if details:
        say(f"{decided_sentence(description)}: {verdict.loss}")
