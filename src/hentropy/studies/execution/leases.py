"""Trials and the workers that have them: taking, renewing, giving back, ending.

A worker's name tells others on the same machine whether it still lives; a thread of each renews the leases of its
trials, so that a long experiment is not taken for a lost one.
"""

import os
import socket
import threading
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from hentropy.errors import HentropyError, StorageError
from hentropy.studies.execution.executor import Outcome
from hentropy.studies.records import Entry, State, StudyRecord, Trial
from hentropy.studies.storage import Store
from hentropy.studies.study import Study
from hentropy.studies.study.telling import checked_value, clean

UNSEEN = "unseen"
"""The start of a process that is there, but cannot be looked at."""


def new_owner() -> str:
    """A name for one worker of this process: machine, process, its start, and a part that no other worker has."""
    pid = os.getpid()
    return f"{socket.gethostname()[:60]}|{_machine()}|{pid}|{_start(pid)}|{uuid.uuid4().hex[:8]}"


def is_gone(owner: str | None) -> bool:
    """Whether the process of an owner surely has ended: only for those of this machine can that be known."""
    return _lives(owner) is False


def is_alive(owner: str | None) -> bool:
    """Whether the process of an owner surely lives, on this machine."""
    return _lives(owner) is True


def _lives(owner: str | None) -> bool | None:
    try:
        _, machine, pid, start, _ = (owner or "").split("|")
        number = int(pid)
    except ValueError:
        return None
    if machine != _machine():
        return None
    return _start(number) in (start, UNSEEN)


def _machine() -> str:
    """This machine since it was started, and this name space of processes: within it a process has one number."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}{os.readlink('/proc/self/ns/pid').removeprefix('pid:')}"
    except OSError:
        return f"{uuid.getnode():x}"


def _start(pid: int) -> str:
    """When a process was started, in words of the system; empty where there is none with this number."""
    try:
        # the name of the program, in parentheses, may hold blanks; the start is the 20th word after it
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)  # asks only; some systems show /proc only to the owner of a process, or have none
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return UNSEEN


@dataclass(frozen=True)
class Terms:
    """How long a lease lasts, and how often a trial is tried again after a failure or after the loss of its worker."""

    lease: float = 60.0
    retries: int = 0
    lost_retries: int = 3


SILENT_LEASES = 60
"""So many leases more has a worker that does not renew its lease, but is seen to live."""


class Taken(HentropyError):  # noqa: N818 (it reads better where it is caught)
    """Somebody else has this trial by now."""


def claim(study: Study, owner: str, terms: Terms) -> Trial | None:
    """Take over a trial that nobody works on any more: given back, or left by a worker that was lost."""
    study.log.sync()
    now = study.store.now()
    for entry in list(study.log.entries.values()):
        if not _is_free(entry, now, terms):
            continue
        try:
            taken = study.log.change(entry.trial.number, _take(owner, terms, now))
        except Taken:
            continue
        if taken.trial.state is State.RUNNING:
            return taken.trial
    return None


def _is_free(entry: Entry, now: float, terms: Terms) -> bool:
    """Whether anybody may take a trial: given back, left by a process that has ended, or its lease is over.

    A worker that surely lives, on this machine, may have an objective that lets nothing else run for long, not even the
    renewal of the lease: it is given more time.
    """
    if entry.trial.state is not State.RUNNING or entry.lease_until is None:
        return False
    grace = SILENT_LEASES * terms.lease if is_alive(entry.owner) else 0.0
    return entry.owner is None or is_gone(entry.owner) or entry.lease_until + grace <= now


def _take(owner: str, terms: Terms, now: float) -> Callable[[Entry], Entry]:
    def rule(old: Entry) -> Entry:
        if not _is_free(old, now, terms):
            raise Taken(f"trial {old.trial.number} has another worker by now")
        if old.owner is None:
            return replace(old, owner=owner, lease_until=now + terms.lease)
        lost = _again(old, "its worker was lost", True, terms, now)
        return lost if lost.trial.state is State.FAILED else replace(lost, owner=owner, lease_until=now + terms.lease)

    return rule


def renew(store: Store, study: StudyRecord, number: int, owner: str, lease: float) -> None:
    """Have a trial for longer; nothing happens to one that is no longer this owner's."""
    until = store.now() + lease

    def rule(old: Entry) -> Entry:
        return replace(old, lease_until=until) if old.owner == owner else old

    store.change(study, number, rule, owner)


def give_back(study: Study, number: int, owner: str) -> None:
    """Let somebody else have a trial, at once; nothing happens to one that is no longer this owner's."""
    now = study.store.now()

    def rule(old: Entry) -> Entry:
        return replace(old, owner=None, lease_until=now) if old.owner == owner else old

    study.log.change(number, rule)


def finish(study: Study, number: int, owner: str, outcome: Outcome, terms: Terms) -> Trial:
    """Record what came of a trial: a value, a failure, or another try. `Taken` if it is no longer this owner's."""
    now = study.store.now()

    def rule(old: Entry) -> Entry:
        if old.owner is None and (old.trial.state, old.trial.value) == (State.COMPLETE, outcome.value):
            return old  # it was recorded just before the store went away
        if old.owner != owner:
            raise Taken(f"trial {number} was taken over by another worker; this result is dropped")
        if outcome.failed is not None:
            return _again(old, _reason(outcome), outcome.lost, terms, now)
        value, error = checked_value((outcome.value, outcome.std_error))
        # why earlier tries failed stays in the history
        note = old.trial.note if old.tries + old.losses == 0 else ""
        trial = replace(old.trial, state=State.COMPLETE, value=value, std_error=error, note=note)
        return replace(old, trial=trial, ended_at=now, owner=None, lease_until=None)

    return study.log.change(number, rule).trial


def _again(old: Entry, why: str, lost: bool, terms: Terms, now: float) -> Entry:
    """One more try, open to anybody at once, or the end of the trial as failed."""
    tries, losses = old.tries + (not lost), old.losses + lost
    spent = losses > terms.lost_retries if lost else tries > terms.retries
    counted = f" (time {losses})" if lost and losses > 1 else f" (try {tries})" if not lost and tries > 1 else ""
    trial = replace(old.trial, state=State.FAILED if spent else State.RUNNING, note=clean(f"{why}{counted}"))
    ended, until = (now, None) if spent else (None, now)
    return replace(old, trial=trial, ended_at=ended, owner=None, lease_until=until, tries=tries, losses=losses)


def _reason(outcome: Outcome) -> str:
    said, log = str(outcome.failed), outcome.log.strip()
    return said if log in said else f"{said}\n{log}"


class Heartbeat:
    """Renews, three times a lease, what `in_hand` says is being worked on; as a context manager it stops at the end."""

    def __init__(
        self, store: Store, study: StudyRecord, owner: str, lease: float, in_hand: Callable[[], Collection[int]]
    ) -> None:
        self._store = store
        self._study = study
        self._owner = owner
        self._lease = lease
        self._in_hand = in_hand
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="hentropy heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=5.0)

    def _beat(self) -> None:
        while not self._stop.wait(self._lease / 3):
            for number in tuple(self._in_hand()):
                try:
                    renew(self._store, self._study, number, self._owner, self._lease)
                except StorageError:  # also one that says that all is gone: the runner will be told the same
                    # a store that does not answer now may do so the next time; if not, the lease ends, as it should
                    break
