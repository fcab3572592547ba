"""A verdict on a page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hentropy.core.spaces import DesignSpace
from hentropy.studies.records import Verdict
from hentropy.views.server.pages.changes import change_sentences, counterparts, moved
from hentropy.views.text.formats import counted, number, one_line

SHOWN_ROWS = 12

MEANING = (
    "What this decision is expected to cost by what is known now, in the units of the decision's loss. Lower is"
    " better; below 0 it is a gain."
)


@dataclass(frozen=True)
class Column:
    """A column, whose numbers stand to the right."""

    name: str
    numeric: bool


@dataclass(frozen=True)
class Cell:
    """A value, and what it was before if it changed."""

    text: str
    was: str = ""


@dataclass(frozen=True)
class VerdictView:
    """What would be decided, how sure that is, and how it differs from before; `behind` says what it misses."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more: str
    stands_on: str
    loss: str
    error: str
    meaning: str
    changes: tuple[str, ...]
    behind: str
    say: str


def verdict_view(
    now: Mapping[str, Any], before: Mapping[str, Any] | None, space: DesignSpace, observations: int
) -> VerdictView:
    """A verdict (as plain values) for a page, of a study that has so many observations by now."""
    rows = now["action"]
    old = counterparts(rows, before["action"] if before else (), space)
    names = list(rows[0]) if rows else []
    movers = sum(
        then is not None and any(moved(name, row, then, space) for name in names)
        for row, then in zip(rows, old, strict=True)
    )
    cells = tuple(_cells(row, then, names, space) for row, then in zip(rows[:SHOWN_ROWS], old, strict=False))
    stands_on = f"after {counted(now['observations'], 'observation')}"
    loss, left = number(now["expected_loss"]), len(rows) - SHOWN_ROWS
    return VerdictView(
        columns=tuple(Column(name, _numeric(rows, name)) for name in names),
        rows=cells,
        more=f"And {counted(left, 'more row')}. {_summary(now)}" if left > 0 else "",
        stands_on=stands_on,
        loss=loss,
        error=f"{now['std_error']:.2g}" if now["std_error"] else "",
        meaning=MEANING,
        changes=tuple(change_sentences(now, before, movers)),
        behind=_behind(observations - now["observations"]),
        say=f"Verdict {stands_on}: expected loss {loss}.",
    )


def _cells(row: Mapping[str, Any], then: Mapping[str, Any] | None, names: Sequence[str], space: DesignSpace) -> Any:
    return tuple(
        Cell(_text(row.get(name)), _text(then.get(name)) if then is not None and moved(name, row, then, space) else "")
        for name in names
    )


def _behind(missing: int) -> str:
    if missing > 0:
        return f"{counted(missing, 'newer result')} not in it yet"
    return "Some of its results were taken back since" if missing < 0 else ""


def _numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(isinstance(row.get(name), float | int) and not isinstance(row.get(name), bool) for row in rows)


def _text(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return number(value)
    return one_line(str(value), 200)


def _summary(now: Mapping[str, Any]) -> str:
    whole = Verdict(now["action"], now["expected_loss"], now["std_error"], now["decision"], now["observations"], None)
    return f"{whole.summary[0]}." if whole.left_out else ""
