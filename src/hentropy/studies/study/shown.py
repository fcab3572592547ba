"""A study for a notebook: what it is, its trials in numbers, the last verdict, the last trials. Nothing is computed."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from hentropy.studies.records import State, StoredVerdict, Trial
from hentropy.studies.records.numbers import short

LAST = 5
"""How many of the last trials are shown."""

LONGEST = 110


def study_html(name: str, decision: str, trials: Sequence[Trial], verdicts: Sequence[StoredVerdict]) -> str:
    """A summary in HTML in which everything is escaped."""
    states = [trial.state for trial in trials]
    counts = ", ".join(f"{states.count(state)} {state.value}" for state in State if state in states)
    parts = [f"<p><b>{_text(name)}</b>: {_text(decision)}<br>{counts or 'no trials yet'}</p>"]
    if verdicts:
        parts.append(f"<div>Last decided: {verdicts[-1].verdict._repr_html_()}</div>")
    if trials:
        names = list(trials[-1].params)
        rows = ([t.number, *(t.params[p] for p in names), t.state.value, t.value, t.note] for t in trials[-LAST:])
        parts.append(_table(["trial", *names, "state", "value", "note"], rows))
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
