"""Trials and the workers that have them: taking, renewing, giving back, ending.

A worker renews the leases of its trials, so that a long experiment is not taken for a lost one. A lease is over once
another worker has watched it for its length, by a steady clock of its own, and it was not renewed: a clock that jumps,
that of the store or of any machine, ends no lease and prolongs none.

A lease says who works on a trial, not whose result counts. What a worker measures after it has lost its lease is the
result of the trial, or a second measurement of the same design if the trial has another result by then. The loss of a
worker says nothing about a design: its trial is tried again, and in the end withdrawn; it never counts as failed.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from hentropy.core.clock import Clock
from hentropy.errors import HentropyError, InputError
from hentropy.studies.execution.executor import Evaluation
from hentropy.studies.records import Entry, Measurement, State, StudyRecord, Trial
from hentropy.studies.storage import Change, Store
from hentropy.studies.storage.turns import is_alive, is_gone, who
from hentropy.studies.study import Study
from hentropy.studies.study.rules import clean, ended


@dataclass(frozen=True)
class Terms:
    """How long a lease lasts, and how often a trial is tried again.

    After more failures than `retries` it has failed; after more losses of its worker than `lost_retries` it is
    withdrawn.
    """

    lease: float = 60.0
    retries: int = 0
    lost_retries: int = 3


SILENT_LEASES = 60
"""Extra leases for a worker that does not renew its lease, but is seen to be alive."""


WITHDRAWN_AS_LOST = "; withdrawn, as this says nothing about the design: tell it as failed if the design is the cause"


class Taken(HentropyError):  # noqa: N818 (it reads better where it is caught)
    """Another worker has taken over this trial."""


class LeaseObserver:
    """What one worker has seen of the leases of all: which trials it may take over."""

    def __init__(self, terms: Terms, now: Callable[[], float] = time.monotonic) -> None:
        self._terms = terms
        self._now = now
        self._watched: dict[int, tuple[Entry, Clock]] = {}

    def claim(self, study: Study, owner: str, but: Collection[int] = ()) -> Trial | None:
        """Take over a trial that nobody works on any more: given back, or left by a worker that was lost.

        Not those that the owner still evaluates, although their leases were lost.
        """
        study.log.sync()
        entries = study.log.entries.values()
        leased = [entry for entry in entries if entry.trial.state is State.RUNNING and entry.lease_until is not None]
        self._watched = {entry.trial.number: (entry, self._since(entry)) for entry in leased}
        for entry, clock in list(self._watched.values()):
            if entry.trial.number in but or not self._is_free(entry, clock):
                continue
            try:
                taken = study.log.change(entry.trial.number, take(entry, owner, self._terms))
            except Taken:
                continue
            if taken.trial.state is State.RUNNING:
                return taken.trial
        return None

    def _since(self, entry: Entry) -> Clock:
        """A clock that began when this worker first saw the lease as it is."""
        before, clock = self._watched.get(entry.trial.number, (None, None))
        return clock if clock is not None and before == entry else Clock(now=self._now)

    def _is_free(self, entry: Entry, clock: Clock) -> bool:
        """Whether anybody may take a trial: given back, left by a process that has ended, or its lease is over.

        A worker that surely lives, on this machine, may have an objective that lets nothing else run for long, not even
        the renewal of the lease: it is given more time.
        """
        leases = 1 + SILENT_LEASES if is_alive(entry.owner) else 1
        return entry.owner is None or is_gone(entry.owner) or clock.spent > leases * self._terms.lease


def take(seen: Entry, owner: str, terms: Terms) -> Change:
    """The rule by which a trial becomes another owner's, if nothing happened to it since one looked."""

    def rule(old: Entry, now: float) -> Entry:
        if old != seen:
            raise Taken(f"trial {old.trial.number} has another worker by now")
        if old.owner is None:
            return replace(old, owner=owner, lease_until=now + terms.lease)
        lost = _again(old, "its worker was lost", True, terms, now)
        if lost.trial.state is not State.RUNNING:
            return lost
        return replace(lost, owner=owner, lease_until=now + terms.lease)

    return rule


def renew(store: Store, study: StudyRecord, number: int, owner: str, lease: float) -> None:
    """Have a trial for longer; nothing happens to one that is no longer this owner's."""

    def rule(old: Entry, now: float) -> Entry:
        return replace(old, lease_until=now + lease) if old.owner == owner else old

    store.change(study, number, rule, owner)


def give_back(study: Study, number: int, owner: str) -> None:
    """Release a trial for other workers; nothing happens if this owner no longer has it."""

    def rule(old: Entry, now: float) -> Entry:
        return replace(old, owner=None, lease_until=now) if old.owner == owner else old

    study.log.change(number, rule)


@dataclass(frozen=True)
class Finished:
    """The trial that has the result, and a sentence for a person about one that came after its lease was lost."""

    trial: Trial
    late: str = ""


def finish(study: Study, number: int, owner: str, outcome: Evaluation, terms: Terms) -> Finished:
    """Record the outcome of a trial: a value, a failure, or a retry. The same outcome once more has no effect."""
    measured: Mapping[str, Measurement] = {}
    if outcome.failed is None:
        try:
            measured = study.outcomes.given(outcome.told)
        except InputError as error:  # outcomes that the study does not have
            outcome = replace(outcome, failed=str(error))
    seen: list[Entry] = []

    def rule(old: Entry, now: float) -> Entry:
        seen.append(old)
        if old.owner != owner:
            return _late(old, owner, outcome, measured, now)
        if outcome.failed is not None:
            return _again(old, _reason(outcome), outcome.lost, terms, now)
        # why earlier tries failed stays in the history
        note = old.trial.note if old.tries + old.losses == 0 else ""
        return ended(old, State.COMPLETE, note, now, measured)

    new, old = study.log.change(number, rule), seen[-1]
    if old.owner == owner or outcome.lost or _is_recorded(old, outcome, measured):
        return Finished(new.trial)
    now_with = f"with {who(old.owner)}" if old.owner else f"{old.trial.state.value}"
    why = (
        f"trial {number} is no longer this worker's, but {now_with}: its lease was not renewed in time, or somebody"
        " told it."
    )
    if outcome.failed is not None:
        return Finished(new.trial, f"{why} That it failed here is only noted: {outcome.failed}")
    if new != old:
        return Finished(new.trial, f"{why} The result is kept as that of the trial: {outcome}")
    second = _second(study, old.trial, owner, outcome, measured)
    return Finished(second, f"{why} The result is kept as trial {second.number}, a second measurement: {outcome}")


def _is_recorded(old: Entry, outcome: Evaluation, measured: Mapping[str, Measurement]) -> bool:
    """Whether an outcome was recorded already, perhaps just before the store went away."""
    if outcome.failed is not None:
        return _reason(outcome) in old.trial.note
    return (old.trial.state, old.trial.measurements) == (State.COMPLETE, measured)


def _late(old: Entry, owner: str, outcome: Evaluation, measured: Mapping[str, Measurement], now: float) -> Entry:
    """The entry once a worker that has lost it comes to its end. No result is put in the place of another one.

    A value ends the trial. A failure may come of whatever stopped the worker: it stays in the history.
    """
    has_result = old.trial.state in (State.COMPLETE, State.FAILED)
    if has_result or outcome.lost or _is_recorded(old, outcome, measured):
        return old
    worker = f"{who(owner)}, whose lease was over"
    if outcome.failed is None:
        return ended(old, State.COMPLETE, f"measured by {worker}", now, measured)
    return replace(old, trial=replace(old.trial, note=clean(f"failed for {worker}: {_reason(outcome)}")))


def _second(study: Study, first: Trial, owner: str, outcome: Evaluation, measured: Mapping[str, Measurement]) -> Trial:
    """A measurement of a design that has another result already, as a trial of its own; added once."""
    note = f"second measurement of trial {first.number}, by {who(owner)}, whose trial it no longer was"
    known = (trial for trial in study.log.trials if (trial.note, trial.measurements) == (note, measured))
    return next(known, None) or study.log.attach([(first.params, outcome.told)], note=note)[0].trial


def _again(old: Entry, why: str, lost: bool, terms: Terms, now: float) -> Entry:
    """One more try, open to anybody at once, or the end of the trial: as failed, or withdrawn if workers were lost."""
    tries, losses = old.tries + (not lost), old.losses + lost
    spent = losses > terms.lost_retries if lost else tries > terms.retries
    counted = f" (time {losses})" if lost and losses > 1 else f" (try {tries})" if not lost and tries > 1 else ""
    note = f"{why}{counted}{WITHDRAWN_AS_LOST if lost and spent else ''}"
    new = replace(ended(old, State.WITHDRAWN if lost else State.FAILED, note, now), tries=tries, losses=losses)
    if spent:
        return new
    return replace(new, trial=replace(new.trial, state=State.RUNNING), ended_at=None, lease_until=now)


def _reason(outcome: Evaluation) -> str:
    said, log = str(outcome.failed), outcome.log.strip()
    return said if log in said else f"{said}\n{log}"
