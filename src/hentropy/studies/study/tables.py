"""A study as tables: for a notebook, and as a pandas DataFrame. Nothing is computed."""

import html
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hentropy.core.spaces.tables import DataFrameLike
from hentropy.errors import InputError, MissingExtra
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import State, StoredVerdict, Trial, judged
from hentropy.studies.records.numbers import short
from hentropy.studies.records.outcome import ERROR_COLUMN

LAST = 5
"""How many of the last trials are shown."""

MAX_LINE_LENGTH = 110


def study_html(
    name: str,
    decision: str,
    trials: Sequence[Trial],
    verdicts: Sequence[StoredVerdict],
    titles: Mapping[str, str],
    outcomes: Outcomes,
    spent: str = "",
) -> str:
    """A summary in HTML in which everything is escaped; `titles` of parameters have their units.

    `spent` is a sentence on costs, or nothing.
    """
    states = [trial.state for trial in trials]
    counts = ", ".join(f"{states.count(state)} {state.value}" for state in State if state in states)
    standing = f"{counts or 'no trials yet'}{f'. {_text(spent)}' if spent else ''}"
    parts = [f"<p><b>{_text(name)}</b>: {_text(decision)}<br>{standing}</p>"]
    if verdicts:
        parts.append(f"<div>Last decided: {verdicts[-1].verdict._repr_html_()}</div>")
    if trials:
        names = list(trials[-1].params)
        rows = (
            [t.number, *(t.params[p] for p in names), t.state.value, *_values(t, outcomes), t.note]
            for t in trials[-LAST:]
        )
        heads = [titles.get(name, name) for name in names]
        parts.append(_table(["trial", *heads, "state", *outcomes.titles.values(), "note"], rows))
    return "".join(parts)


def _values(trial: Trial, outcomes: Outcomes) -> list[float | str | None]:
    shown = [(one, outcomes.words(name)) for name, one in outcomes.shown(trial).items()]
    return [None if one is None else words[int(one.value)] if words else one.value for one, words in shown]


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _text(value: Any) -> str:
    if value is None:
        return ""
    line = short(value) if isinstance(value, float) else " ".join(str(value).split())
    return html.escape(line if len(line) <= MAX_LINE_LENGTH else f"{line[: MAX_LINE_LENGTH - 1]}…")


if TYPE_CHECKING:
    import pandas

NUMBERS = ("gain", "gain_error", "entropy", "expected_cost", "cost")


def titles_of(names: Iterable[str], others: Collection[str]) -> dict[str, str]:
    """The columns of parameters: "param_value" for a parameter that is called as another column, "value"."""
    return {name: f"param_{name}" if _bare(name) in others else name for name in names}


def _bare(name: str) -> str:
    # also "param_value" gets a prefix: else it would be taken for "value"
    while name.startswith("param_"):
        name = name.removeprefix("param_")
    return name


def outcome_columns(outcomes: Iterable[str]) -> list[str]:
    """The columns of outcomes, each with that of its standard errors."""
    return [column for name in outcomes for column in (name, ERROR_COLUMN.format(name))]


def measured_cells(trial: Trial, outcomes: Mapping[str, Sequence[str]]) -> list[float | str | None]:
    """What stands in these columns: values or words, and standard errors; nothing where nothing was measured.

    `outcomes` have the words that can be seen of them, none where it is a number.
    """
    cells: list[float | str | None] = []
    for name, words in outcomes.items():
        one = trial.measurements.get(name)
        cells += [None, None] if one is None else [words[int(one.value)] if words else one.value, one.std_error]
    return cells


def _pandas() -> Any:
    try:
        import pandas  # noqa: PLC0415 (optional)
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    return pandas


def design_rows(designs: Any, names: Collection[str]) -> list[Mapping[str, Any]]:
    """Designs as they are given: one, several, or the rows of a DataFrame that has columns of these names."""
    if isinstance(designs, Mapping):
        return [designs]
    if isinstance(designs, DataFrameLike):
        table = [dict(zip(map(str, designs.columns), row, strict=True)) for row in designs.to_numpy().tolist()]
        return [{name: value for name, value in row.items() if name in names} for row in table]
    rows = list(designs)
    if not rows:
        raise InputError('there are no designs to predict; give some, such as {"x": 0.5}')
    return rows


def predictions_table(designs: Sequence[Mapping[str, Any]], known: Mapping[str, Sequence[float]]) -> "pandas.DataFrame":
    """One row per design: its parameters, and columns of what is known of it."""
    titles = titles_of(designs[0], known)
    columns = {titles[name]: [design[name] for design in designs] for name in designs[0]}
    return _pandas().DataFrame({**columns, **known})


PREDICTED = ("{}_predicted", "{}_predicted_sd", "{}_quantile")
"""The columns of what was predicted of an outcome: centre, spread, and the probability of less than came."""


def quantile_of(trial: Trial, name: str) -> float | None:
    """The probability of a smaller result than the one that came, as predicted; None without a result."""
    found = judged([trial], name)
    return found[0].quantile if found else None


def prediction_columns(outcomes: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The columns of predictions, by outcome; words are not predicted, and outcomes keep their own names."""
    named = {name: tuple(column.format(name) for column in PREDICTED) for name, words in outcomes.items() if not words}
    return {name: columns for name, columns in named.items() if not any(column in outcomes for column in columns)}


def prediction_cells(trial: Trial, names: Iterable[str]) -> list[float | None]:
    """What stands in these columns."""
    cells: list[float | None] = []
    for name in names:
        one = trial.predictions.get(name)
        cells += [None, None, None] if one is None else [one.centre, one.spread, quantile_of(trial, name)]
    return cells


def trials_table(
    trials: Sequence[Trial], names: Sequence[str], outcomes: Mapping[str, Sequence[str]]
) -> "pandas.DataFrame":
    """One row per trial: number, parameters `names`, state, outcomes, and what was expected when it was asked.

    The standard errors of an outcome are in a column of their own, "value_se"; once the model has chosen experiments,
    what it predicted of them is in "value_predicted", "value_predicted_sd" and "value_quantile", the probability of a
    smaller result. A parameter that has the name of another column, such as "value", gets the column "param_value".
    """
    pandas = _pandas()
    apart = ["number", "params", "state", "measurements", "predictions"]
    apart += [] if any(t.measures for t in trials) else ["measures"]
    own = [field.name for field in fields(Trial) if field.name not in apart]
    measured = outcome_columns(outcomes)
    predicted = prediction_columns(outcomes) if any(t.predictions for t in trials) else {}
    expected = [column for columns in predicted.values() for column in columns]
    others = ["state", *measured, *own, *expected]
    titles = titles_of(names, ("number", *others)).values()
    rows = [
        [
            t.number,
            *(t.params[name] for name in names),
            t.state.value,
            *measured_cells(t, outcomes),
            *(getattr(t, name) for name in own),
            *prediction_cells(t, predicted),
        ]
        for t in trials
    ]
    table = pandas.DataFrame(rows, columns=["number", *titles, *others])
    numbers = [name for name in measured if not outcomes.get(name)]
    return table.astype(dict.fromkeys((*numbers, *NUMBERS, *expected), float))
