"""All jobs as they stand, in the order in which they came, shared by the threads of a server."""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hentropy.errors import InputError
from hentropy.studies.records import StudyKey
from hentropy.views.server.problems import Busy
from hentropy.views.server.work import Job, JobState, Kind, Part
from hentropy.views.text.formats import counted

KEPT = 200
"""How many jobs that have ended are remembered."""

LONGEST_REST = 30.0
"""The most seconds of rest after a look."""

Listener = Callable[[Job | Part], None]


class JobQueue:
    """Jobs by their ids. Every change is announced, in order: listeners are called under the lock, so must be quick."""

    def __init__(self, most_waiting: int) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.closed = False
        self._most_waiting = most_waiting
        self._jobs: dict[str, Job] = {}
        self._cancelling: set[str] = set()
        self._listeners: list[Listener] = []
        self._rested_at = 0.0

    def place(self, study: StudyKey, kind: Kind, **options: Any) -> Job:
        """A new job; `Busy` if too many wait, or too many of this study: half of the places are for others."""
        with self.changed:
            waiting = self._waiting(kind)
            own = sum(job.study == study for job in waiting)
            if self.closed:
                raise Busy("the server is shutting down and accepts no more jobs")
            if len(waiting) >= self._most_waiting:
                raise Busy(f"the queue is full: {len(waiting)} jobs are waiting; try again later")
            if own >= max(1, self._most_waiting // 2):
                raise Busy(
                    f"this study already has {counted(own, 'job')} in the queue, the most it may have; try again later"
                )
            identity, now = secrets.token_hex(8), time.time()
            job = Job(identity, study, kind, "waiting", "waiting", now, **options)
            self._put(job)
            return job

    def find(self, identity: str) -> Job | None:
        """The job with this id."""
        with self.changed:
            return self._jobs.get(identity)

    def all(self) -> tuple[Job, ...]:
        """All jobs that are remembered, the oldest first."""
        with self.changed:
            return tuple(self._jobs.values())

    def next(self, kind: Kind) -> Job | None:
        """Wait for the next job of a kind, which begins with this; None when all is over."""
        with self.changed:
            while not self.closed:
                waiting = self._waiting(kind)
                rest = max(0.0, self._rested_at - time.monotonic()) if waiting else None
                able = [job for job in waiting if job.soon or not rest]
                if able:
                    ready = self._first(able)
                    return self.change(ready.id, state="running", began_at=time.time(), phase="starting")
                self.changed.wait(rest)
            return None

    def _waiting(self, kind: Kind) -> list[Job]:
        return [job for job in self._jobs.values() if job.state == "waiting" and job.kind == kind]

    def _first(self, able: list[Job]) -> Job:
        """Whose turn it is: those whom a person waits for first, then the study that had no turn for longest."""
        turns: dict[StudyKey, float] = {}
        for job in self._jobs.values():
            if job.kind == able[0].kind and job.began_at is not None:
                turns[job.study] = max(job.began_at, turns.get(job.study, 0.0))
        return min(able, key=lambda job: (not job.soon, turns.get(job.study, 0.0)))

    def change(self, identity: str, **fields: Any) -> Job:
        """The job with other fields; one that has ended stays as it is."""
        with self.changed:
            job = self._jobs[identity]
            if not job.ended:
                job = replace(job, **fields)
                self._put(job)
            return job

    def end(self, identity: str, state: JobState, phase: str, **fields: Any) -> Job:
        """The job has ended; after a look the process rests as long as it took, so that it has half of the time."""
        with self.changed:
            now = time.time()
            job = self.change(identity, state=state, phase=phase, ended_at=now, **fields)
            self._cancelling.discard(identity)
            if job.kind == "look" and job.began_at is not None:
                self._rested_at = time.monotonic() + min(LONGEST_REST, max(0.0, now - job.began_at))
            self._forget()
            return job

    def cancelling(self, identity: str) -> bool:
        """Whether somebody wants this job no more."""
        with self.changed:
            return identity in self._cancelling or self.closed

    def cancel(self, identity: str, kill: Callable[[Job], None]) -> Job | None:
        """End a job that waits; `kill` what computes one that runs."""
        with self.changed:
            job = self._jobs.get(identity)
            if job is None or job.ended:
                return job
            if job.state == "waiting":
                return self.end(identity, "cancelled", "cancelled")
            self._cancelling.add(identity)
            kill(job)
            return self._jobs[identity]

    def wait(self, identity: str, seconds: float) -> Job | None:
        """The job when it has ended, or as it stands after so many seconds."""
        with self.changed:
            self.changed.wait_for(lambda: self._over(identity), seconds)
            return self._jobs.get(identity)

    def _over(self, identity: str) -> bool:
        job = self._jobs.get(identity)
        return job is None or job.ended or self.closed

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have a function called with all that happens; the answer ends that."""
        with self.changed:
            self._listeners.append(listener)
        return lambda: self._leave(listener)

    def announce(self, news: Job | Part) -> None:
        """Tell everybody who listens."""
        with self.changed:
            for listener in tuple(self._listeners):
                listener(news)

    def close(self) -> None:
        """No more jobs; those who wait for one are released."""
        with self.changed:
            self.closed = True
            self._listeners.clear()
            self.changed.notify_all()

    def _leave(self, listener: Listener) -> None:
        with self.changed:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def _put(self, job: Job) -> None:
        self._jobs[job.id] = job
        self.announce(job)
        self.changed.notify_all()

    def _forget(self) -> None:
        ended = [job.id for job in self._jobs.values() if job.ended]
        for identity in ended[: max(0, len(ended) - KEPT)]:
            del self._jobs[identity]


def known(job: Job | None, identity: str) -> Job:
    """A job that is there."""
    if job is None:
        raise InputError(f"there is no job {identity!r}; jobs that ended long ago are forgotten")
    return job
