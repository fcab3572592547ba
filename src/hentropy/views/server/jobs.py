"""`JobService`: proposals and looks in the background, in processes of their own; the latest looks are kept."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from cachetools import LRUCache

from hentropy.errors import InputError
from hentropy.studies.records import StudyKey, StudyRecord
from hentropy.views.server.job_process import JobRunner, Message
from hentropy.views.server.job_queue import JobQueue, Listener, known
from hentropy.views.server.problems import Busy
from hentropy.views.server.settings import JOB_SECONDS, usual_memory
from hentropy.views.server.work import Job, Look, Part, job_json

MAX_LOOKS = 20
"""Of how many studies looks are kept; a look is up to some megabytes."""


class LatestLooks:
    """Looks by study; the one that was not wanted for the longest time goes first. Not safe for threads by itself."""

    def __init__(self, most: int = MAX_LOOKS) -> None:
        self._looks: LRUCache[StudyKey, Look] = LRUCache(most)

    def latest(self, study: StudyKey) -> Look | None:
        """What was last seen of a study."""
        return self._looks.get(study)

    def begin(self, study: StudyKey, seen: Mapping[str, Any]) -> Look:
        """A new look, of which all but the pictures is there; those of the look before stand in for them."""
        before = self._looks.get(study)
        kept = before is not None and seen["verdict"] is not None
        look = Look(study, **seen, pictures=before.pictures if before is not None and kept else {})
        self._looks[study] = look
        return look

    def add(self, study: StudyKey, name: str, picture: Mapping[str, Any] | None, trouble: str | None) -> Look:
        """The look with one more picture, or with why it could not be made."""
        look = self._looks[study]
        others = {key: value for key, value in look.pictures.items() if key != name}
        if picture is not None:
            look = replace(look, pictures={**others, name: picture})
        else:
            look = replace(look, pictures=others, troubles={**look.troubles, name: trouble or ""})
        self._looks[study] = look
        return look

    def finish(self, study: StudyKey, order: list[str]) -> Look | None:
        """The look with only the pictures that belong to it, in their order."""
        look = self._looks.get(study)
        if look is None:
            return None
        pictures = {name: look.pictures[name] for name in order if name in look.pictures}
        look = replace(look, pictures=pictures, complete=True)
        self._looks[study] = look
        return look

    def forget(self, study: StudyKey) -> None:
        """The study is gone."""
        self._looks.pop(study, None)


__all__ = ["Busy", "Job", "JobService", "Look", "Part", "job_json"]

LOOK_SECONDS = 120.0
"""The usual processor time for a verdict, and again for its pictures."""

CANCELLING = 60.0
"""The most seconds to wait for the end of a process that was killed: it takes a moment, on a busy machine longer."""


class JobService:
    """Three processes: one asks, one looks (at low priority), one answers inquiries, which record nothing.

    Each is started when it is first needed, and kept.

    `waiting` is how many jobs of each kind may wait, at most half of them for one study, and the studies take turns.
    A job has `seconds`, and `memory` bytes: one that needs more fails, and the next one has its turn. A look also has
    `look_seconds` of processor time for the verdict and as many for the pictures. All methods may be called from any
    thread; only `wait` waits, and `cancel` and `close` do for a moment.
    """

    def __init__(
        self,
        store_url: str,
        *,
        waiting: int = 20,
        look_seconds: float = LOOK_SECONDS,
        seconds: float = JOB_SECONDS,
        memory: int | None = None,
        read_only: bool = False,
    ) -> None:
        if store_url == "memory://":
            raise InputError("a store in memory cannot be shared with other processes; give sqlite:///FILE")
        self._queue = JobQueue(waiting)
        self._results = LatestLooks()
        self._look_seconds = look_seconds
        memory = usual_memory() if memory is None else memory
        start = {"store": store_url, "read_only": read_only, "memory": memory}
        self._asking = JobRunner("ask", start, seconds, self._queue, _asked, self._heard)
        self._looking = JobRunner("look", start, seconds, self._queue, self._looked, self._heard)
        inquiring = JobRunner("inquire", start, seconds, self._queue, _inquired, self._heard)
        self._runners = {"ask": self._asking, "look": self._looking, "inquire": inquiring}

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes that are there now."""
        return tuple(pid for runner in self._runners.values() if (pid := runner.pid) is not None)

    def prepare(self) -> None:
        """Start the process that asks now: the first one to ask then does not wait for its start."""
        self._asking.prepare()

    def ask(self, study: StudyRecord, count: int = 1, anyway: bool = True, measures: str | None = None) -> Job:
        """Ask for the next experiments; the result are the numbers of their trials. `Busy` if too many jobs wait."""
        return self._queue.place(study.key, "ask", count=count, anyway=anyway, measures=measures)

    def inquire(self, study: StudyRecord, question: Mapping[str, Any]) -> Job:
        """Answer a question that records nothing, as `inquiries.answer` does. `Busy` if too many jobs wait."""
        return self._queue.place(study.key, "inquire", question=question)

    def look(self, study: StudyRecord, *, soon: bool = True, revision: int = 0) -> Job:
        """Reach a verdict and make the pictures; one that waits already is as good as a new one.

        One that is not `soon` waits until the process has rested as long as it last worked. If nothing has changed
        since the last look, nothing is computed.
        """
        key = study.key
        with self._queue.changed:
            for job in self._queue.all():
                if (job.study, job.kind, job.state) == (key, "look", "waiting"):
                    return self._queue.change(job.id, soon=soon or job.soon, revision=max(revision, job.revision))
            return self._queue.place(key, "look", soon=soon, revision=revision)

    def renew(self, study: StudyRecord, revision: int, *, soon: bool, opened: bool = False) -> None:
        """See to it that there is a look at the trials of this revision; one done or under way is as good as a new one.

        Whoever changes trials or sees that others did calls this, so the same change is looked at once. Who has just
        `opened` a study does not rely on one that is done: the definition may be another one by now.
        """
        key = study.key
        with self._queue.changed:
            look = self._results.latest(key)
            seen = look is not None and look.revision >= revision and not opened
            under_way = any(
                (job.study, job.kind, job.state) == (key, "look", "running") and job.revision >= revision
                for job in self._queue.all()
            )
            if not seen and not under_way:
                self.look(study, soon=soon, revision=revision)

    def job(self, identity: str) -> Job | None:
        """The job with this id, as it stands."""
        return self._queue.find(identity)

    def jobs(self, study: StudyRecord | None = None) -> tuple[Job, ...]:
        """The jobs of a study or of all, the oldest first; of those that have ended, the last ones."""
        key = None if study is None else study.key
        return tuple(job for job in self._queue.all() if key is None or job.study == key)

    def cancel(self, identity: str) -> Job:
        """End a job; if it runs, its process is killed. One that was done just now stays done."""
        job = known(self._queue.cancel(identity, lambda job: self._runner(job).kill()), identity)
        return job if job.ended else self.wait(identity, CANCELLING)

    def wait(self, identity: str, seconds: float) -> Job:
        """The job when it has ended, or as it stands after so many seconds."""
        return known(self._queue.wait(identity, seconds), identity)

    def latest(self, study: StudyRecord) -> Look | None:
        """What was last seen of a study, perhaps not complete yet."""
        with self._queue.changed:
            return self._results.latest(study.key)

    def forget(self, study: StudyRecord) -> None:
        """The study was deleted: what was seen of it goes, and what waits for it is cancelled."""
        with self._queue.changed:
            self._results.forget(study.key)
            for job in self.jobs(study):
                if job.state == "waiting":
                    self._queue.end(job.id, "cancelled", "cancelled")

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have a function called with every change of a job and every part of a look; the answer ends that.

        It is called from other threads and must return at once.
        """
        return self._queue.listen(listener)

    def close(self) -> None:
        """Kill the processes and wait for their end; what they computed is lost, what is in the store stays."""
        self._queue.close()
        for runner in self._runners.values():
            runner.kill()
        for runner in self._runners.values():
            runner.close()

    def _runner(self, job: Job) -> JobRunner:
        return self._runners[job.kind]

    def _looked(self, job: Job) -> dict[str, Any]:
        with self._queue.changed:
            look = self._results.latest(job.study)
        known = look.mark if look is not None and look.complete else None
        return {"study": asdict(job.study), "known": known, "seconds": self._look_seconds}

    def _heard(self, job: Job, message: Message) -> None:
        """A part of a look."""
        with self._queue.changed:
            name, look = message["part"], None
            if name == "verdict":
                look = self._results.begin(job.study, message["seen"])
            elif name == "end":
                look = self._results.finish(job.study, message["order"])
            elif self._results.latest(job.study) is not None:
                look = self._results.add(job.study, name, message.get("picture"), message.get("trouble"))
            if look is not None:
                self._queue.announce(Part(name, look))


def _asked(job: Job) -> dict[str, Any]:
    return {"study": asdict(job.study), "count": job.count, "anyway": job.anyway, "measures": job.measures}


def _inquired(job: Job) -> dict[str, Any]:
    return {"study": asdict(job.study), "question": dict(job.question)}
