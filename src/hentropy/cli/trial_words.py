"""Trials as a table for a person, and as plain values for a script."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from hentropy.cli.printing import measured, number, one_line, table
from hentropy.cli.times import iso
from hentropy.records import Entry, Trial

MOST_COLUMNS = 6
"""More parameters than these share one column."""

LONGEST_NOTE = 40


def as_json(entry: Entry) -> dict[str, Any]:
    """A trial as plain values."""
    trial = entry.trial
    return {
        "number": trial.number,
        "params": dict(trial.params),
        "state": trial.state.value,
        "value": trial.value,
        "std_error": trial.std_error,
        "gain": trial.gain,
        "gain_error": trial.gain_error,
        "entropy": trial.entropy,
        "origin": trial.origin,
        "note": trial.note,
        "asked_at": iso(entry.asked_at),
        "ended_at": iso(entry.ended_at),
    }


def design(params: Mapping[str, Any]) -> str:
    """A design on one line."""
    return ", ".join(f"{name} {number(value)}" for name, value in params.items())


def asked_table(trials: Sequence[Trial], names: Sequence[str]) -> Table:
    """What to run: number, parameters, and why."""
    return _table(trials, names, ["gain"], lambda trial: [why(trial)])


def trials_table(trials: Sequence[Trial], names: Sequence[str]) -> Table:
    """What was run, and what came of it."""

    def outcome(trial: Trial) -> list[str]:
        value = measured(trial.value, trial.std_error)
        return [trial.state.value, value, why(trial), one_line(trial.note.partition("\n")[0], LONGEST_NOTE)]

    return _table(trials, names, ["state", "measured", "gain", "note"], outcome)


def why(trial: Trial) -> str:
    """The gain that was expected when a trial was chosen, or where it came from."""
    if trial.gain is not None:
        return number(trial.gain)
    return {"first": "first design", "attached": "attached"}.get(trial.origin, "")


def _table(trials: Sequence[Trial], names: Sequence[str], more: list[str], cells: Any) -> Table:
    wide = len(names) <= MOST_COLUMNS
    columns = ["number", *(names if wide else ["design"]), *more]
    rows = []
    for trial in trials:
        values = [number(trial.params[name]) for name in names] if wide else [design(trial.params)]
        rows.append([str(trial.number), *values, *cells(trial)])
    return table(columns, rows, left=["design", "state", "note"])
