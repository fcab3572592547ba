"""Trials as a table for a person, and as plain values for a script."""

from collections.abc import Sequence

from hentropy.studies.records import Trial
from hentropy.views.cli.trial_tables import TrialRow, TrialTable
from hentropy.views.text.formats import measured, one_line
from hentropy.views.text.trials import why

LONGEST_NOTE = 40


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
