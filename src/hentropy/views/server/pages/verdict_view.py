"""A verdict on a page, beside the one before: how the decision changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hentropy.core.given import is_number
from hentropy.core.spaces import DesignSpace
from hentropy.studies.records import Comparison
from hentropy.studies.records.verdict import KEPT_ROWS, after_runs, cell_text, lying
from hentropy.views.text.formats import counted, number, titled

Row = Mapping[str, Any]
Rows = Sequence[Row]
InWords = Callable[[float], str]
"""By how much an expected loss is less, in the words of the decision."""

NEAR = 0.005
"""The share of a parameter's range up to which a design counts as the same: searches end a little beside each other."""

LONGEST_MATCHED = 40
"""Longer actions are lists of points that stay in their order."""


def counterparts(rows: Rows, before: Rows, space: DesignSpace) -> list[Row | None]:
    """For each row the one of the verdict before that it stands for: the nearest that no other row stands for."""
    if len(rows) > LONGEST_MATCHED or len(before) > LONGEST_MATCHED:
        return [before[i] if i < len(before) else None for i in range(len(rows))]
    pairs = sorted((_distance(row, old, space), i, j) for i, row in enumerate(rows) for j, old in enumerate(before))
    found: list[Row | None] = [None] * len(rows)
    taken: set[int] = set()
    for _, i, j in pairs:
        if found[i] is None and j not in taken:
            found[i] = before[j]
            taken.add(j)
    return found


def moved(name: str, row: Row, old: Row, space: DesignSpace) -> bool:
    """Whether a cell says something else than before: a parameter that moved, a label that is another one."""
    return _apart(name, row.get(name), old.get(name), _ranges(space)) > NEAR


def change_sentences(now: Row, before: Row | None, movers: int, in_words: InWords) -> list[str]:
    """How a verdict differs from the one before, of whose rows so many moved."""
    if before is None:
        return ["This is the first verdict; there is nothing to compare it with yet."]
    said = [f"{_improved(before, now, in_words)} {_runs(before, now)}"]
    rows = len(now["action"])
    if len(before["action"]) != rows:
        said.append(f"The decision has {rows} rows; it had {len(before['action'])}.")
    elif rows == 1:
        said.append("The decision moved." if movers else "The decision stayed where it was.")
    else:
        said.append(_moving(movers, rows))
    return said


def _moving(movers: int, rows: int) -> str:
    if rows == KEPT_ROWS:
        return f"{movers or 'None'} of the first {rows} rows changed."
    if movers == rows:
        return f"All {rows} rows moved."
    return f"{movers} of {rows} rows moved." if movers else "All rows stayed where they were."


def _improved(before: Row, now: Row, in_words: InWords) -> str:
    """Whether more is expected of the decision than before, and how much."""
    better = before["expected_loss"] - now["expected_loss"]
    if number(before["expected_loss"]) == number(now["expected_loss"]):
        return "The decision is expected to be as good as before"
    amount = in_words(abs(better))
    if better > 0:
        return f"The decision is expected to be better, by {amount}"
    hint = "; the results were worse than expected" if _run_count(now) != _run_count(before) else ""
    return f"The decision is expected to be worse, by {amount}{hint}"


def loss_sentence(now: Row, before: Row | None) -> str:
    """The expected loss before and now."""
    if before is None or number(before["expected_loss"]) == number(now["expected_loss"]):
        return ""
    return f"It was {number(before['expected_loss'])} {after_runs(before['observations'], before['failed'])}."


def _run_count(verdict: Row) -> int:
    return int(verdict["observations"] + verdict["failed"])


def _runs(before: Row, now: Row) -> str:
    old, new = _run_count(before), _run_count(now)
    return f"(after {old}, now {counted(new, 'run')})." if old != new else f"(both after {counted(new, 'run')})."


def _distance(row: Row, old: Row, space: DesignSpace) -> float:
    """How far apart two rows are."""
    ranges = _ranges(space)
    return sum(_apart(name, value, old.get(name), ranges) for name, value in row.items())


def _apart(name: str, now: Any, then: Any, ranges: Mapping[str, float]) -> float:
    """How far apart two values are: numbers of a design in shares of their range; others count 1 if they differ.

    Numbers that are no part of a design, such as a mean, count nothing.
    """
    if is_number(now) and is_number(then):
        return float(abs(now - then) / ranges[name] if name in ranges else 0.0)
    return float(isinstance(now, str | bool) and now != then)


def _ranges(space: DesignSpace) -> dict[str, float]:
    """How wide the ranges of numbers are; a number that is an option is another one or not."""
    return {
        field.name: 1e-300 if field.options and not field.ordered else max(field.high - field.low, 1e-300)
        for field in space.fields
    }


SHOWN_ROWS = 12

MOST_ACROSS = 5
"""Columns that stand beside each other in half of a window."""

MEANING = (
    "What this decision is expected to cost, given the data so far, in the units of the decision's loss. Lower is"
    " better; below 0 it is a gain."
)


@dataclass(frozen=True)
class VerdictColumn:
    """A column, whose numbers stand to the right; parameters with their units."""

    title: str
    numeric: bool


@dataclass(frozen=True)
class VerdictCell:
    """A value, and what it was before if it changed."""

    text: str
    was: str = ""


@dataclass(frozen=True)
class VerdictView:
    """What would be decided, how sure that is, and how it differs from before; `behind` says what it misses."""

    columns: tuple[VerdictColumn, ...]
    rows: tuple[tuple[VerdictCell, ...], ...]
    wide: bool
    """Whether it has more columns than stand beside each other with ease."""
    lying: tuple[range, ...]
    """The rows that stand beside each other as columns, table by table, where they do."""
    more: str
    headline: str
    beside: str
    """The recommended design beside the measured ones."""
    alternative: str
    stands_on: str
    says_worth: bool
    """Whether the headline says what another experiment is worth."""
    loss: str
    error: str
    loss_before: str
    meaning: str
    changes: tuple[str, ...]
    behind: str
    say: str


def verdict_view(
    now: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    space: DesignSpace,
    observations: int,
    units: Mapping[str, str],
    in_words: InWords,
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
    stands_on = after_runs(now["observations"], now["failed"])
    count = counted(len(rows), "row")
    compared = Comparison.of(now.get("comparison"))
    return VerdictView(
        columns=tuple(VerdictColumn(titled(name, units.get(name, "")), _numeric(rows, name)) for name in names),
        rows=cells,
        wide=len(names) > MOST_ACROSS,
        lying=tuple(lying(len(names), len(rows), SHOWN_ROWS, MOST_ACROSS)),
        more=_more(len(rows)),
        headline=f"{now['headline']} {now['worth']}".strip(),
        beside="" if compared is None else compared.sentence,
        alternative="" if compared is None else compared.alternative_text(units),
        stands_on=stands_on,
        says_worth=bool(now["worth"]) and observations == now["observations"],
        loss=number(now["expected_loss"] + (0.0 if compared is None else compared.forgone)),
        error=f"{now['std_error']:.2g}" if now["std_error"] else "",
        loss_before=loss_sentence(now, before),
        meaning=MEANING,
        changes=tuple(change_sentences(now, before, movers, in_words)),
        behind=_behind(observations - now["observations"]),
        say=f"Verdict {stands_on}: {now['headline'] or f'{count}.'}{f' {compared.sentence}' if compared else ''}",
    )


def _cells(row: Mapping[str, Any], then: Mapping[str, Any] | None, names: Sequence[str], space: DesignSpace) -> Any:
    return tuple(
        VerdictCell(
            cell_text(row, name), cell_text(then, name) if then is not None and moved(name, row, then, space) else ""
        )
        for name in names
    )


def _more(rows: int) -> str:
    """Of a long list, what the rows that are shown are, and where to see all of it."""
    if rows <= SHOWN_ROWS:
        return ""
    of_all = "" if rows == KEPT_ROWS else f" of {rows}"
    return (
        f"These are the first {SHOWN_ROWS} rows{of_all}. The sentence above is about all of them, and the picture"
        " “Current recommendation” shows them."
    )


def _behind(missing: int) -> str:
    if missing > 0:
        return f"{counted(missing, 'newer result')} not in it yet"
    return "Some of its results were taken back since" if missing < 0 else ""


def _numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return all(is_number(row.get(name)) for row in rows)
