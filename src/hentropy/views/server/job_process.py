"""The thread that hands one job after the other to a child process, and ends it when it takes too long."""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from hentropy.studies.execution.piped import Piped
from hentropy.views.server.job_queue import JobQueue
from hentropy.views.server.work import Job, Kind

NICE = 10
"""How much the process that looks gives way to others, from its start on."""

START = 120.0
"""Seconds in which a process must have started, beside those of its job: its imports take a while on a busy machine."""

COMMAND = [sys.executable, "-P", "-m", "hentropy.views.server.worker"]
"""Modules of the current folder are not to be imported: -P."""

log = logging.getLogger("hentropy.views.server")

Message = Mapping[str, Any]


class JobRunner:
    """Works off the jobs of one kind. A child that is killed or dies is replaced when the next job comes.

    `start` says where the store is and how much memory the child may take, `task` what it has to know of a job, and
    `heard` takes what is neither a phase nor the end. A job has `seconds`, whatever it does; then its child is killed.
    """

    def __init__(
        self,
        kind: Kind,
        start: Message,
        seconds: float,
        queue: JobQueue,
        task: Callable[[Job], Message],
        heard: Callable[[Job, Message], None],
    ) -> None:
        self.kind = kind
        self._start = start
        self._seconds = seconds
        self._queue = queue
        self._task = task
        self._heard = heard
        self._child: Piped | None = None
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"hentropy-{kind}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process that is there now."""
        with self._queue.changed:
            return self._child.pid if self._child else None

    def prepare(self) -> None:
        """Start the process before it is needed: its imports take seconds."""
        if not self._queue.closed:
            self._ready()

    def kill(self) -> None:
        """End the process, with what it computes."""
        with self._queue.changed:
            if self._child is not None:
                self._child.kill()

    def close(self) -> None:
        """Wait for the thread, once the queue is closed and the process is killed."""
        self._thread.join()
        with self._starting:  # one that was being prepared
            self._end()

    def _work(self) -> None:
        while (job := self._queue.next(self.kind)) is not None:
            try:
                self._do(job)
            except Exception:  # this thread must go on, whatever happens to one job
                log.exception("the job %s of the study %r", job.id, job.study.name)
                self._end()
                self._queue.end(job.id, "failed", "failed", error="it could not be computed; see the log")
        self._end()

    def _do(self, job: Job) -> None:
        try:
            child = self._ready()
        except OSError as error:
            log.exception("no process for the job %s", job.id)
            self._queue.end(job.id, "failed", "failed", error=f"no process could be started: {error.strerror}")
            return
        late = False
        try:
            # cancelled before there was a process to kill; who cancels after this kills the one that is there
            if not self._queue.cancelling(job.id):
                child.send(json.dumps(self._task(job)).encode())
                message = json.loads(child.receive(time.monotonic() + START + self._seconds))
                deadline = time.monotonic() + self._seconds
                while not self._takes(job, message):
                    message = json.loads(child.receive(deadline))
                return
        except TimeoutError:
            late = True
        except EOFError:
            pass
        code = self._end()
        if self._queue.cancelling(job.id):
            self._queue.end(job.id, "cancelled", "cancelled")
        else:
            why = _too_long(self._seconds) if late else _gone(code)
            log.error("the job %s of the study %r: %s", job.id, job.study.name, why)
            self._queue.end(job.id, "failed", "failed", error=why)
        if self.kind == "ask":  # whoever cancels may soon ask again, and shall not wait for the start
            self.prepare()

    def _takes(self, job: Job, message: Message) -> bool:
        """Take in a message; True if it is the last one of the job."""
        if "phase" in message:
            self._queue.change(job.id, phase=message["phase"])
        elif "done" in message:
            self._queue.end(job.id, "done", "done", result=message["done"])
        elif "failed" in message:
            if message.get("details"):
                log.error("the job %s of the study %r:\n%s", job.id, job.study.name, message["details"])
            self._queue.end(job.id, "failed", "failed", error=message["failed"])
        else:
            self._heard(job, message)
        return "done" in message or "failed" in message

    def _ready(self) -> Piped:
        """The process, one that is there. The event loop takes the lock of the queue: nothing is started under it."""
        with self._starting:
            with self._queue.changed:
                child = self._child
            if child is not None and child.alive:
                return child
            self._end()  # it went while it had nothing to do
            child = Piped(COMMAND, kept=False, environment={**os.environ, "OMP_NUM_THREADS": "1"})
            if self.kind == "look":
                os.setpriority(os.PRIO_PROCESS, child.pid, max(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
            child.send(json.dumps({**self._start, "kind": self.kind}).encode())
            with self._queue.changed:
                self._child = child
                if self._queue.closed:
                    child.kill()
            return child

    def _end(self) -> int:
        with self._queue.changed:
            child, self._child = self._child, None
        return child.end() if child else 0


def _too_long(seconds: float) -> str:
    """What to say of a job that was ended because of its time."""
    return (
        f"it took longer than {seconds:g} s, the limit of this server for one job (--job-seconds), and was ended."
        " All trials and values are safe: ask for fewer experiments at once, or use the command line"
    )


def _gone(code: int) -> str:
    """What to say of a process that ended in the middle of a job."""
    try:
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    except ValueError:
        how = f"killed by signal {-code}"
    return (
        f"the process that computed it ended ({how}); perhaps the machine was out of memory."
        " All trials and values are safe: try again"
    )
