"""Verdicts for a person, and as plain values for a script."""

from typing import Any

from hentropy.cli.printing import console, say
from hentropy.records import Verdict
from hentropy.records.verdict import SHOWN_ROWS


def print_verdict(verdict: Verdict, called: str) -> None:
    """A verdict as a table, and where to find the rows that it leaves out."""
    console().print(verdict)
    if len(verdict.action) > SHOWN_ROWS:
        say(f"All {len(verdict.action)} rows: hentropy decide {called} --json")


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values."""
    return {
        "decision": verdict.decision,
        "observations": verdict.observations,
        "expected_loss": verdict.expected_loss,
        "std_error": verdict.std_error,
        "action": verdict.action,
    }
