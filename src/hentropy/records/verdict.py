"""Verdicts: what would be decided, printed as a table."""

import html
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

SHOWN_ROWS = 12
LONGEST = 110
WIDTH = 80


@dataclass(frozen=True)
class Verdict:
    """What would be decided now: the action, its expected loss (the entropy) and the Monte Carlo error of that.

    `action` are rows of named values for a person; `raw` is the action as the decision's loss takes it.
    """

    action: list[dict[str, Any]]
    expected_loss: float
    std_error: float
    decision: str
    observations: int
    raw: Any = field(repr=False, compare=False)

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
        plural = "s" if self.observations != 1 else ""
        return f"{_clipped(self.decision, LONGEST)}, after {self.observations} observation{plural}"

    @property
    def notes(self) -> list[str]:
        """What stands under the rows: a summary of those left out, and the expected loss."""
        error = f" ± {self.std_error:.2g} (Monte Carlo)" if self.std_error else ""
        loss = [f"expected loss {self.expected_loss + 0.0:.6g}{error}"]
        left = len(self.action) - SHOWN_ROWS
        if left <= 0:
            return loss
        stated = self.columns[-1]
        summary = _summary(stated, [row[stated] for row in self.action])
        return [f"... and {left} more rows in verdict.action", summary, *loss]

    def __rich__(self) -> RenderableType:
        table = Table()
        table.add_column("", justify="right", style="dim")
        for name in self.columns:
            table.add_column(Text(name), justify="right")
        for position, row in enumerate(self.action[:SHOWN_ROWS], start=1):
            table.add_row(str(position), *(Text(_short(row.get(name))) for name in self.columns))
        return Group(Text(self.heading, style="bold"), table, *(Text(note) for note in self.notes))

    def __str__(self) -> str:
        console = Console(width=WIDTH, no_color=True, force_terminal=False)
        with console.capture() as captured:
            console.print(self)
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_short(row.get(name)))}</td>" for name in self.columns) + "</tr>"
            for row in self.action[:SHOWN_ROWS]
        )
        notes = "<br>".join(html.escape(note) for note in self.notes)
        return f"<p><b>{html.escape(self.heading)}</b></p><table><tr>{head}</tr>{body}</table><p>{notes}</p>"


def _short(value: Any) -> str:
    return f"{value + 0.0:.5g}" if isinstance(value, float) else _clipped(str(value), LONGEST)


def _clipped(text: str, width: int) -> str:
    """Text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _summary(name: str, values: list[Any]) -> str:
    """Many values of a column in one line: how many of each label, or the range of numbers."""
    if all(isinstance(value, float) for value in values):
        low, middle, high = min(values), sum(values) / len(values), max(values)
        return f"{name}: from {low:.5g} to {high:.5g}, {middle:.5g} on average"
    counts = sorted(Counter(str(value) for value in values).items())
    return f"{name}: " + ", ".join(f"{label} at {count} points" for label, count in counts[:SHOWN_ROWS])
