"""Where the trials of a study stand: how many in which state, who has them, and whether they are enough."""

from collections.abc import Sequence

from hentropy.studies.definition import Description, stopping_of
from hentropy.studies.execution.leases import is_gone
from hentropy.studies.records import Entry, State
from hentropy.studies.study.ending import NOTHING_LEFT, is_exhausted, reason_to_stop
from hentropy.views.text.times import ago


def counts(entries: Sequence[Entry]) -> dict[str, int]:
    """How many trials are in each state."""
    states = [entry.trial.state for entry in entries]
    return {state.value: states.count(state) for state in State}


def last_activity(entries: Sequence[Entry], begun: float) -> float:
    """When something last happened."""
    return max([begun, *(entry.ended_at or entry.asked_at for entry in entries)])


def stop_reason(description: Description, entries: Sequence[Entry]) -> str | None:
    """Why the study has enough, by those of its rules that look at trials."""
    reason = reason_to_stop(stopping_of(description), [entry.trial for entry in entries], seconds=0.0)
    return NOTHING_LEFT if reason is None and description.stop.when_exhausted and is_exhausted(entries) else reason


def holder(entry: Entry, now: float) -> str:
    """Who has a running trial, and since when."""
    since = f"asked {ago(entry.asked_at)}"
    if entry.lease_until is None:
        return f"waits for a person, {since}"
    if entry.owner is None:
        return f"waits for a worker, {since}"
    machine, _, rest = entry.owner.partition("|")
    parts = rest.split("|")
    who = f"process {parts[1]} on {machine}" if len(parts) == 4 else entry.owner
    if is_gone(entry.owner):
        return f"was with {who}, which has ended; the next worker takes it ({since})"
    if entry.lease_until < now:
        return f"was with {who}, which is silent; the next worker takes it ({since})"
    return f"runs with {who}, {since}"
