"""A study as tables: for a notebook, and as a pandas DataFrame. Nothing is computed."""

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hentropy.errors import MissingExtra
from hentropy.studies.records import State, StoredVerdict, Trial
from hentropy.studies.records.numbers import short

LAST = 5
"""How many of the last trials are shown."""

LONGEST = 110


def study_html(
    name: str,
    decision: str,
    trials: Sequence[Trial],
    verdicts: Sequence[StoredVerdict],
    titles: Mapping[str, str],
) -> str:
    """A summary in HTML in which everything is escaped; `titles` of parameters have their units."""
    states = [trial.state for trial in trials]
    counts = ", ".join(f"{states.count(state)} {state.value}" for state in State if state in states)
    parts = [f"<p><b>{_text(name)}</b>: {_text(decision)}<br>{counts or 'no trials yet'}</p>"]
    if verdicts:
        parts.append(f"<div>Last decided: {verdicts[-1].verdict._repr_html_()}</div>")
    if trials:
        names = list(trials[-1].params)
        rows = ([t.number, *(t.params[p] for p in names), t.state.value, t.value, t.note] for t in trials[-LAST:])
        heads = [titles.get(name, name) for name in names]
        parts.append(_table(["trial", *heads, "state", "value", "note"], rows))
    return "".join(parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    line = short(value) if isinstance(value, float) else " ".join(str(value).split())
    return html.escape(line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…")


if TYPE_CHECKING:
    import pandas

NUMBERS = ("value", "std_error", "gain", "gain_error", "entropy", "expected_cost", "cost")


def titles_of(names: Iterable[str], others: Collection[str]) -> dict[str, str]:
    """The columns of parameters: "param_value" for a parameter that is called as another column, "value"."""
    return {name: f"param_{name}" if _bare(name) in others else name for name in names}


def _bare(name: str) -> str:
    # also "param_value" gets a prefix: else it would be taken for "value"
    while name.startswith("param_"):
        name = name.removeprefix("param_")
    return name


def trials_table(trials: Sequence[Trial], names: Sequence[str]) -> "pandas.DataFrame":
    """One row per trial: number, parameters `names`, state, value, and what was expected when it was asked.

    A parameter that has the name of another column, such as "value", gets the column "param_value".
    """
    try:
        import pandas  # noqa: PLC0415 (optional)
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    others = [field.name for field in fields(Trial) if field.name not in ("number", "params")]
    titles = titles_of(names, ("number", *others)).values()
    rows = [[t.number, *(t.params[name] for name in names), *(getattr(t, name) for name in others)] for t in trials]
    table = pandas.DataFrame(rows, columns=["number", *titles, *others])
    table["state"] = [trial.state.value for trial in trials]
    return table.astype(dict.fromkeys(NUMBERS, float))
