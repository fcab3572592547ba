"""Trials as plain values, and why each was asked."""

from collections.abc import Sequence
from typing import Any

from hentropy.studies.records import Entry, Observation, Trial
from hentropy.views.text.formats import number
from hentropy.views.text.times import iso


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


def why(trial: Trial) -> str:
    """The gain that was expected when a trial was chosen, or where it came from."""
    if trial.gain is not None:
        return number(trial.gain)
    return {"first": "first design", "attached": "attached"}.get(trial.origin, "")


def history_json(entry: Entry, told: Sequence[Observation]) -> dict[str, Any]:
    """A trial and all that was ever told of it, as plain values."""
    history = [{**vars(one), "state": one.state.value, "at": iso(one.at)} for one in told]
    return {**as_json(entry), "history": history}
