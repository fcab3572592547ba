"""Trials from a file that `hentropy export` wrote."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hentropy.cli.csv_tables import cells, csv_table, number_in, read_text
from hentropy.cli.trial_files import NUMBERS, OTHERS, titles, unguarded
from hentropy.errors import InputError
from hentropy.records import State, Trial
from hentropy.spaces import DesignSpace
from hentropy.study.checks import checked_record
from hentropy.study.telling import clean

ORIGINS = ("first", "proposed", "attached")
NEEDED = ("number", "state", "value")


def trials_in(file: Path, space: DesignSpace) -> list[Trial]:
    """The trials of an exported file, in the order of their numbers, checked against the space."""
    text = read_text(file)
    rows = _json_rows(text, file) if text.lstrip().startswith("{") else _csv_rows(text, file, space)
    trials = []
    for where, plain in rows:
        try:
            trials.append(_trial(plain))
        except InputError as error:
            raise InputError(f"{file}, {where}: {error}; nothing was imported") from None
    trials.sort(key=lambda trial: trial.number)
    return [checked_record(trial, number, space) for number, trial in enumerate(trials)]


def _json_rows(text: str, file: Path) -> list[tuple[str, dict[str, Any]]]:
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
        except ValueError as error:
            raise InputError(f"{file}, line {number}: not JSON: {error}") from None
        if not isinstance(plain, dict) or not isinstance(plain.get("params"), dict):
            raise InputError(f'{file}, line {number}: not a trial: an object with "number", "params" and "state"')
        rows.append((f"line {number}", plain))
    return rows


def _csv_rows(text: str, file: Path, space: DesignSpace) -> list[tuple[str, dict[str, Any]]]:
    table = csv_table(text, str(file))
    columns = tuple(unguarded(name) for name in table.columns)
    named = titles(space.names)
    missing = [name for name in (*NEEDED, *named.values()) if name not in columns]
    unknown = [name for name in columns if name not in OTHERS and name not in named.values()]
    if missing or unknown:
        what = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(unknown)}"] * bool(unknown)
        raise InputError(
            f"{file} is not an export of this study: it {' and '.join(what)}; other data are added by `hentropy attach`"
        )
    rows = []
    for line, row in table.rows:
        where = f"line {line}"
        try:
            rows.append((where, _plain(cells(columns, row), named)))
        except InputError as error:
            raise InputError(f"{file}, {where}: {error}; nothing was imported") from None
    return rows


def _plain(row: Mapping[str, str], named: Mapping[str, str]) -> dict[str, Any]:
    """The values of a row of CSV."""
    params = {name: number_in(title, row[title]) for name, title in named.items()}
    numbers = {name: number_in(name, row[name]) for name in NUMBERS if row.get(name, "").strip()}
    number = number_in("number", row["number"])
    texts = {name: unguarded(row[name]) for name in ("origin", "note") if name in row}
    whole = int(number) if number.is_integer() else number
    return {"number": whole, "params": params, "state": row["state"].strip(), **numbers, **texts}


def _trial(plain: Mapping[str, Any]) -> Trial:
    unknown = [name for name in plain if name not in (*OTHERS, "params")]
    if unknown:
        raise InputError(f"has unknown {', '.join(unknown)}")
    number, state, origin = plain.get("number"), plain.get("state"), plain.get("origin", "proposed")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InputError(f"number is {number!r}; it must be a whole number")
    if state not in [known.value for known in State]:
        raise InputError(f"state is {state!r}; it must be one of {', '.join(known.value for known in State)}")
    if origin not in ORIGINS:
        raise InputError(f"origin is {origin!r}; it must be one of {', '.join(ORIGINS)}")
    numbers = {name: _number(name, plain.get(name)) for name in NUMBERS}
    if (state == State.COMPLETE.value) != (numbers["value"] is not None):
        raise InputError(f"the state is {state} and the value {numbers['value']}; only a complete trial has a value")
    return Trial(number, plain["params"], State(state), origin=origin, note=clean(plain.get("note") or ""), **numbers)


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {value!r}; it must be a number")
    return float(value)
