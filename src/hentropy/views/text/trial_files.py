"""Trials as a file: CSV for spreadsheets, JSON lines for programs. What is written can be read again."""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.spaces import DesignSpace
from hentropy.core.spaces.parameters import Field
from hentropy.errors import Advice, DocPage, InputError, explained_in
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.records.csv_tables import cells, check_rows, csv_table, number_in
from hentropy.studies.records.numbers import plain_number
from hentropy.studies.records.outcome import ERROR_COLUMN
from hentropy.studies.records.prediction import SHARES
from hentropy.studies.setting import BETWEEN
from hentropy.studies.study.rules import checked_record, clean
from hentropy.studies.study.tables import (
    NUMBERS,
    measured_cells,
    outcome_columns,
    prediction_cells,
    prediction_columns,
    titles_of,
)
from hentropy.views.text.formats import brief, json_text, seconds
from hentropy.views.text.trials import as_json

TEXTS = ("origin", "note")
TIMES = ("asked_at", "ended_at")
NEEDED = ("number", "state")
AFTER = (*NUMBERS, *TEXTS, *TIMES)
"""The columns that are neither parameters nor outcomes: those that must be there, and those after the outcomes."""

BETWEEN_NAMES = f"{BETWEEN} "

RISKY = tuple("=+-@'")
"""How a text begins that a spreadsheet would take for a formula, or that begins as a guarded one does."""

INVISIBLE_CATEGORIES = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""Categories of letters that are not seen, spaces and line breaks among them: a formula may be found behind them."""


MEASURES = "measures"
"""The column of what a trial is to measure, where the study has assays."""


PREDICTIONS = "predictions"
"""The column of what was predicted, as JSON: all that a study needs to continue. Those before it are for people."""


def others(outcomes: Outcomes) -> tuple[str, ...]:
    """The columns that are not parameters."""
    asked = (MEASURES,) if outcomes.assays else ()
    measured = (*outcome_columns(outcomes.measured), *outcomes.computed)
    return (*NEEDED, *measured, *AFTER, *asked, *_predicted(outcomes))


def _predicted(outcomes: Outcomes) -> tuple[str, ...]:
    """The columns of predictions, which are there once the model has chosen a trial."""
    each = prediction_columns(outcomes.words_of_measured).values()
    return (*(column for columns in each for column in columns), PREDICTIONS)


def titles(outcomes: Outcomes) -> dict[str, str]:
    """The columns of parameters."""
    return titles_of(outcomes.space.names, others(outcomes))


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula: a ' in front of what could be one."""
    # full-width and small signs count as the usual ones, which they become by normalising, as in some spreadsheets
    risky = unicodedata.normalize("NFKC", text[:1]).startswith(RISKY)
    return f"'{text}" if risky or (text and unicodedata.category(text[0]) in INVISIBLE_CATEGORIES) else text


def unguarded(text: str) -> str:
    """The text that was guarded."""
    return text.removeprefix("'")


def titles_read(outcomes: Outcomes) -> dict[str, str]:
    """The columns of parameters as they come back from a table, which takes spaces around a column's name away."""
    return {name: unguarded(guarded(title).strip()) for name, title in titles(outcomes).items()}


def csv_text(entries: Sequence[Entry], outcomes: Outcomes) -> str:
    """One line for each trial; numbers in full precision."""
    columns, behind = titles(outcomes), others(outcomes)[1:]
    names = prediction_columns(outcomes.words_of_measured)
    predicted = any(entry.trial.predictions for entry in entries)
    behind = behind if predicted else behind[: -len(_predicted(outcomes))]
    rows: list[list[Any]] = [["number", *(guarded(title) for title in columns.values()), *behind]]
    for entry in entries:
        plain = as_json(entry)
        plain |= {name: guarded(plain[name]) for name in TEXTS}
        values = (plain["params"][name] for name in columns)
        options = (guarded(value) if isinstance(value, str) else value for value in values)
        shown = outcomes.shown(entry.trial) if outcomes.computed else {}
        computed = (one.value for name in outcomes.computed if (one := shown[name]) is not None)
        measured = (*measured_cells(entry.trial, outcomes.words_of_measured), *computed)
        asked = [guarded(BETWEEN_NAMES.join(entry.trial.measures))] if outcomes.assays else []
        row = [plain["number"], *options, plain["state"], *measured, *(plain[name] for name in AFTER), *asked]
        kept = json_text(entry.trial.plain()[PREDICTIONS]) if entry.trial.predictions else None
        rows.append([*row, *prediction_cells(entry.trial, names), kept] if predicted else row)
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: Any) -> str:
    # not by csv.writer: it leaves a lone carriage return without quotes, and then cannot read it back
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',;"\t\r\n') else text


def json_lines(entries: Sequence[Entry]) -> str:
    """One JSON object for each trial."""
    return "".join(f"{json_text(as_json(entry))}\n" for entry in entries)


ORIGINS = ("first", "proposed", "attached")
MAX_TRIAL_NUMBER = 2**53
"""No trial has so large a number: the greatest whole number that every reader of JSON has."""


@dataclass(frozen=True)
class Exported:
    """A trial of a file, and when it was asked and ended if the file says so."""

    trial: Trial
    asked_at: float | None
    ended_at: float | None

    def entry(self, now: float) -> Entry:
        """The trial as a store keeps it; times that are not known are those of now."""
        ended = None if self.trial.state is State.RUNNING else now if self.ended_at is None else self.ended_at
        begun = ended if self.asked_at is None else self.asked_at
        return Entry(self.trial, now if begun is None else begun, ended)


@explained_in(DocPage.CSV)
def exported_in(text: str, file: str, outcomes: Outcomes, most_rows: int | None = None) -> list[Exported]:
    """The trials of an exported text, in the order of their numbers, checked against the space and the outcomes."""
    json_lines = text.lstrip().startswith("{")
    rows = _json_rows(text, file, most_rows) if json_lines else _csv_rows(text, file, outcomes, most_rows)
    trials = []
    for where, plain in rows:
        with _at(file, where):
            trials.append((where, Exported(_trial(plain), *(_time(name, plain.get(name)) for name in TIMES))))
    trials.sort(key=lambda one: one[1].trial.number)
    checked = []
    for number, (where, one) in enumerate(trials):
        with _at(file, where):
            checked.append(replace(one, trial=checked_record(one.trial, number, outcomes)))
    return checked


@contextmanager
def _at(file: str, where: str) -> Iterator[None]:
    """Within, what is wrong is told with its place."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{file}, {where}: {error}; nothing was imported") from None


def _json_rows(text: str, file: str, most_rows: int | None) -> list[tuple[str, dict[str, Any]]]:
    rows: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        check_rows(len(rows) + 1, most_rows)
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file}, line {number}: not JSON: {error}") from None
        if not isinstance(plain, dict) or not isinstance(plain.get("params"), dict):
            raise InputError(f'{file}, line {number}: not a trial: an object with "number", "params" and "state"')
        rows.append((f"line {number}", plain))
    return rows


def _csv_rows(text: str, file: str, outcomes: Outcomes, most_rows: int | None) -> list[tuple[str, dict[str, Any]]]:
    table = csv_table(text, str(file), most_rows)
    columns = tuple(unguarded(name) for name in table.columns)
    named = titles_read(outcomes)
    missing = [name for name in (*NEEDED, *outcomes.measured, *named.values()) if name not in columns]
    unknown = [name for name in columns if name not in others(outcomes) and name not in named.values()]
    if missing or unknown:
        what = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(unknown)}"] * bool(unknown)
        raise InputError(f"{file} is not an export of this study: it {' and '.join(what)}", Advice.ATTACH)
    rows = []
    for line, row in table.rows:
        where = f"line {line}"
        with _at(file, where):
            rows.append((where, _plain(cells(columns, row), named, outcomes)))
    return rows


def values_in(row: Mapping[str, str], named: Mapping[str, str], space: DesignSpace) -> dict[str, Any]:
    """The values of a design by name, from the cells of a row, whose columns are `named` by value."""
    fields = {field.name: field for field in space.fields}
    found: dict[str, Any] = {}
    for name, title in named.items():
        field = fields.get(name)
        if field is None:  # an id, or a column of a pool that is not modelled
            found[name] = unguarded(row[title].strip()) or None
        else:
            found[name] = _option_in(field, title, row[title]) if field.options else number_in(title, row[title])
    return found


def _option_in(field: Field, title: str, text: str) -> Any:
    """An option as somebody typed it, or as a spreadsheet wrote it: 1.0 for 1, TRUE for True, with a ' in front."""
    if not text.strip():
        raise InputError(f"{title} is empty")
    try:
        return field.read(text)
    except InputError:
        alike = [option for option in field.options if _alike(option, unguarded(text.strip()))]
        if len(alike) == 1:
            return alike[0]
        raise


def _alike(option: Any, text: str) -> bool:
    if isinstance(option, bool):
        return str(option).lower() == text.lower()
    try:
        return option == text if isinstance(option, str) else option == plain_number(text)
    except ValueError:
        return False


def _plain(row: Mapping[str, str], named: Mapping[str, str], outcomes: Outcomes) -> dict[str, Any]:
    """The values of a row of CSV."""
    params = values_in(row, named, outcomes.space)
    found = measured_in(row, {column: column for column in outcome_columns(outcomes.measured)}, outcomes)
    told = {name: vars(one) for name, one in outcomes.read(found).items() if one is not None}
    numbers = {name: number_in(name, row[name]) for name in NUMBERS if row.get(name, "").strip()}
    number = number_in("number", row["number"])
    texts = {name: unguarded(row[name]) for name in TEXTS if name in row}
    texts |= {name: row[name].strip() for name in TIMES if row.get(name, "").strip()}
    whole = int(number) if number.is_integer() else number
    state = row["state"].strip()
    asked = [name.strip() for name in unguarded(row.get(MEASURES, "")).split(BETWEEN) if name.strip()]
    plain = {"number": whole, "params": params, "state": state, "measurements": told}
    return {**plain, **numbers, **texts, MEASURES: asked if outcomes.assays else [], PREDICTIONS: _kept(row)}


def _kept(row: Mapping[str, str]) -> Any:
    """The predictions in a row of CSV."""
    text = row.get(PREDICTIONS, "").strip()
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        raise InputError(f"{PREDICTIONS} is {brief(text)}; it must be as it was exported, or empty") from None


def measured_in(
    row: Mapping[str, str], columns: Mapping[str, str], outcomes: Outcomes
) -> dict[str, tuple[float | str, float | None]]:
    """The measurements of a row, whose `columns` are by outcome and column of its errors; an empty cell is none."""

    def text(name: str) -> str | None:
        column = columns.get(name)
        return None if column is None else unguarded(row.get(column, "").strip()) or None

    def cell(name: str) -> float | None:
        return None if text(name) is None else number_in(columns[name], row[columns[name]])

    found: dict[str, tuple[float | str, float | None]] = {}
    for name in outcomes.measured:
        value = text(name) if outcomes.words(name) else cell(name)
        error = cell(ERROR_COLUMN.format(name))
        if value is not None:
            found[name] = (value, error)
        elif error is not None:
            raise InputError(f"{name} is empty, but there is a standard error")
    return found


def _trial(plain: Mapping[str, Any]) -> Trial:
    unknown = [name for name in plain if name not in (*NEEDED, *AFTER, "params", "measurements", MEASURES, PREDICTIONS)]
    if unknown:
        raise InputError(f"has unknown {', '.join(unknown)}")
    number, state, origin = plain.get("number"), plain.get("state"), plain.get("origin", "proposed")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InputError(f"number is {brief(number)}; it must be a whole number")
    if number >= MAX_TRIAL_NUMBER:
        raise InputError(f"number is {brief(number)}; the trials of a study are numbered 0, 1, 2, ...")
    if state not in [known.value for known in State]:
        raise InputError(f"state is {brief(state)}; it must be one of {', '.join(known.value for known in State)}")
    if origin not in ORIGINS:
        raise InputError(f"origin is {brief(origin)}; it must be one of {', '.join(ORIGINS)}")
    numbers = {name: _number(name, plain.get(name)) for name in NUMBERS}
    told = _measurements(plain.get("measurements", {}))
    if (state == State.COMPLETE.value) != bool(told):
        values = ", ".join(f"{name} {one['value']}" for name, one in told.items()) or None
        raise InputError(f"the state is {state} and the value {values}; only a complete trial has a value")
    asked = plain.get(MEASURES, [])
    if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
        raise InputError(f"{MEASURES} is {brief(asked)}; it must be a list of outcomes")
    note = clean(plain.get("note") or "")
    kept = _predictions(plain.get(PREDICTIONS, {}))
    return Trial.of({**plain, **numbers, "measurements": told, "origin": origin, "note": note, PREDICTIONS: kept})


def _predictions(plain: Any) -> dict[str, dict[str, Any]]:
    """Predictions that were exported, checked."""
    if not isinstance(plain, dict) or not all(isinstance(one, dict) for one in plain.values()):
        raise InputError(f"{PREDICTIONS} is {brief(plain)}; it must be as it was exported, or empty")
    for name, one in plain.items():
        numbers = [one.get("mean"), one.get("sd"), one.get("widened", 1.0)]
        quantiles = one.get("quantiles")
        known = isinstance(quantiles, list) and len(quantiles) == len(SHARES) and None not in (*numbers, *quantiles)
        if not known or not isinstance(one.get("log", False), bool):
            raise InputError(
                f"the prediction of {name} is {brief(one)}; it must have mean, sd and {len(SHARES)} quantiles, as"
                " exported"
            )
        _, sd, widened, *each = (_number(f"the prediction of {name}", value) or 0.0 for value in (*numbers, *quantiles))
        if sd < 0 or widened <= 0 or sorted(each) != each or (one.get("log", False) and each[0] <= 0):
            raise InputError(f"the prediction of {name} is {brief(one)}; it is no distribution of results")
    return plain


def _measurements(plain: Any) -> dict[str, dict[str, float | None]]:
    if not isinstance(plain, dict) or not all(isinstance(one, dict) and "value" in one for one in plain.values()):
        raise InputError(f'measurements is {brief(plain)}; it must be like {{"yield": {{"value": 80.1}}}}')
    unknown = [part for one in plain.values() for part in one if part not in ("value", "std_error")]
    if unknown:
        raise InputError(f"measurements has unknown {', '.join(unknown)}")
    return {
        name: {"value": _number(name, one["value"]), "std_error": _number("std_error", one.get("std_error"))}
        for name, one in plain.items()
    }


def _time(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        return seconds(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {brief(value)}; it must be a time such as 2026-01-31T12:00:00Z") from None


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {brief(value)}; it must be a number")
    try:
        number = float(value)
    except OverflowError:  # a whole number that no double can hold
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name} is {brief(value)}: not a finite number in double precision")
    return number
