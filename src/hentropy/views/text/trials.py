"""Trials and verdicts as plain values, and in a few words."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hentropy.studies.records import Entry, Observation, Trial, Verdict
from hentropy.views.text.formats import design, iso, number


def as_json(entry: Entry) -> dict[str, Any]:
    """A trial as plain values."""
    return {**entry.trial.plain(), "asked_at": iso(entry.asked_at), "ended_at": iso(entry.ended_at)}


def why(trial: Trial) -> str:
    """The gain that was expected when a trial was chosen, or where it came from."""
    if trial.gain is not None:
        return number(trial.gain)
    return {"first": "first design", "attached": "attached"}.get(trial.origin, "")


def history_json(entry: Entry, told: Sequence[Observation]) -> dict[str, Any]:
    """A trial and all that was ever told of it, as plain values."""
    history = [{**vars(one), "state": one.state.value, "at": iso(one.at)} for one in told]
    return {**as_json(entry), "history": history}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values."""
    return {
        "decision": verdict.decision,
        "observations": verdict.observations,
        "expected_loss": verdict.expected_loss,
        "std_error": verdict.std_error,
        "action": verdict.action,
    }


def in_short(verdict: Verdict) -> str:
    """What would be decided, on one line."""
    rows = verdict.action
    if not rows:
        return "nothing"
    if len(rows) == 1:
        return design(rows[0], units=verdict.units)
    stated = "mean" if "mean" in rows[0] else verdict.columns[-1]
    values = [row[stated] for row in rows]
    if all(isinstance(value, float) for value in values):
        what = "designs, means" if stated == "mean" else f"rows, {stated} from"
        return f"{len(rows)} {what} {number(min(values))} to {number(max(values))}"
    counts = sorted(Counter(map(str, values)).items())
    return f"{stated} {', '.join(f'{label} at {count}' for label, count in counts)}"
