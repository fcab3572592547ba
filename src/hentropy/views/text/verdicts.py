"""Verdicts as plain values, and in a few words."""

from collections import Counter
from typing import Any

from hentropy.studies.records import Verdict
from hentropy.views.text.formats import number


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
        return ", ".join(f"{name} {_value(value)}" for name, value in rows[0].items())
    stated = "mean" if "mean" in rows[0] else verdict.columns[-1]
    values = [row[stated] for row in rows]
    if all(isinstance(value, float) for value in values):
        what = "designs, means" if stated == "mean" else f"rows, {stated} from"
        return f"{len(rows)} {what} {number(min(values))} to {number(max(values))}"
    counts = sorted(Counter(map(str, values)).items())
    return f"{stated} {', '.join(f'{label} at {count}' for label, count in counts)}"


def _value(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
