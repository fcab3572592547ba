"""Trials as a table for a person, and as plain values for a script."""

from collections.abc import Sequence
from typing import Any

from hentropy.cli.printing import measured, number, one_line
from hentropy.cli.times import iso
from hentropy.cli.trial_tables import TrialRow, TrialTable
from hentropy.records import Entry, Trial

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


def asked_table(trials: Sequence[Trial], names: Sequence[str], gains: bool = True) -> TrialTable:
    """What to run: number, parameters, and why."""
    rows = [TrialRow(trial, {"gain": why(trial)} if gains else {}) for trial in trials]
    return TrialTable(names, rows, between="\n")


def trials_table(trials: Sequence[Trial], names: Sequence[str]) -> TrialTable:
    """What was run, and what came of it."""
    rows = [
        TrialRow(
            trial,
            {
                "state": trial.state.value,
                "measured": measured(trial.value, trial.std_error),
                "gain": why(trial),
                "note": one_line(trial.note.partition("\n")[0], LONGEST_NOTE),
            },
        )
        for trial in trials
    ]
    return TrialTable(names, rows)


def why(trial: Trial) -> str:
    """The gain that was expected when a trial was chosen, or where it came from."""
    if trial.gain is not None:
        return number(trial.gain)
    return {"first": "first design", "attached": "attached"}.get(trial.origin, "")
