"""A child process that computes, and the thread that hands it one job after the other."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing import Pipe
from typing import Any

from hentropy.views.server.job_queue import JobQueue
from hentropy.views.server.work import Job, Kind

NICE = 10
"""How much the process that looks gives way to others, from its start on."""


class JobProcess:
    """A process of its own, which ends when this one does, and can be killed at any moment.

    `start` says where the store is and how much memory the process may take.
    """

    def __init__(self, start: Mapping[str, Any], kind: Kind) -> None:
        self._pipe, far = Pipe()
        # modules of the current folder are not to be imported: -P; interrupts of the terminal are not its business
        command = [sys.executable, "-P", "-m", "hentropy.views.server.worker", str(far.fileno())]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=(far.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        except BaseException:
            self._pipe.close()
            raise
        finally:
            far.close()
        self.pid = self._process.pid
        if kind == "look":
            os.setpriority(os.PRIO_PROCESS, self.pid, max(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
        self._opening: Mapping[str, Any] | None = {**start, "kind": kind}

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    def send(self, message: Mapping[str, Any]) -> None:
        """Hand it a job; an `OSError` if it is gone."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            self._pipe.send_bytes(json.dumps(opening).encode())
        self._pipe.send_bytes(json.dumps(message).encode())

    def receive(self) -> dict[str, Any]:
        """Its next message, waited for; an `EOFError` or `OSError` if it is gone."""
        message: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        return message

    def kill(self) -> None:
        """End the process, from any thread; who waits for its messages is released."""
        self._process.kill()

    def end(self) -> int:
        """End it and let go of the pipe; the exit code, negative for a signal."""
        self.kill()
        code = self._process.wait()
        self._pipe.close()
        return code


log = logging.getLogger("hentropy.views.server")

Message = Mapping[str, Any]


class JobRunner:
    """Works off the jobs of one kind. A child that is killed or dies is replaced when the next job comes.

    `task` says what the child has to know of a job, and `heard` takes what is neither a phase nor the end.
    """

    def __init__(
        self,
        kind: Kind,
        start: Message,
        orders: JobQueue,
        task: Callable[[Job], Message],
        heard: Callable[[Job, Message], None],
    ) -> None:
        self.kind = kind
        self._start = start
        self._orders = orders
        self._task = task
        self._heard = heard
        self._child: JobProcess | None = None
        self._starting = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=f"hentropy-{kind}", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The number of the process that is there now."""
        with self._orders.changed:
            return self._child.pid if self._child else None

    def prepare(self) -> None:
        """Start the process before it is needed: its imports take seconds."""
        if not self._orders.closed:
            self._ready()

    def kill(self) -> None:
        """End the process, with what it computes."""
        with self._orders.changed:
            if self._child is not None:
                self._child.kill()

    def close(self) -> None:
        """Wait for the thread, once the orders are closed and the process is killed."""
        self._thread.join()
        with self._starting:  # one that was being prepared
            self._end()

    def _work(self) -> None:
        while (job := self._orders.next(self.kind)) is not None:
            try:
                self._do(job)
            except Exception:  # this thread must go on, whatever happens to one job
                log.exception("the job %s of the study %r", job.id, job.study.name)
                self._end()
                self._orders.end(job.id, "failed", "failed", error="it could not be computed; the log says why")
        self._end()

    def _do(self, job: Job) -> None:
        try:
            child = self._ready()
        except OSError as error:
            log.exception("no process for the job %s", job.id)
            self._orders.end(job.id, "failed", "failed", error=f"no process could be started: {error.strerror}")
            return
        try:
            # cancelled before there was a process to kill; who cancels after this kills the one that is there
            if not self._orders.cancelling(job.id):
                child.send(self._task(job))
                while not self._takes(job, child.receive()):
                    pass
                return
        except (EOFError, OSError):
            pass
        code = self._end()
        if self._orders.cancelling(job.id):
            self._orders.end(job.id, "cancelled", "cancelled")
        else:
            log.error("the process of the job %s of the study %r ended: %d", job.id, job.study.name, code)
            self._orders.end(job.id, "failed", "failed", error=_gone(code))
        if self.kind == "ask":  # whoever cancels may soon ask again, and shall not wait for the start
            self.prepare()

    def _takes(self, job: Job, message: Message) -> bool:
        """Take in a message; True if it is the last one of the job."""
        if "phase" in message:
            self._orders.change(job.id, phase=message["phase"])
        elif "done" in message:
            self._orders.end(job.id, "done", "done", result=message["done"])
        elif "failed" in message:
            if message.get("details"):
                log.error("the job %s of the study %r:\n%s", job.id, job.study.name, message["details"])
            self._orders.end(job.id, "failed", "failed", error=message["failed"])
        else:
            self._heard(job, message)
        return "done" in message or "failed" in message

    def _ready(self) -> JobProcess:
        """The process, one that is there. The event loop takes the lock of the orders: nothing is started under it."""
        with self._starting:
            with self._orders.changed:
                child = self._child
            if child is not None and child.alive:
                return child
            self._end()  # it went while it had nothing to do
            child = JobProcess(self._start, self.kind)
            with self._orders.changed:
                self._child = child
                if self._orders.closed:
                    child.kill()
            return child

    def _end(self) -> int:
        with self._orders.changed:
            child, self._child = self._child, None
        return child.end() if child else 0


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
