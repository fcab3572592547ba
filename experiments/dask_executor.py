"""Runs on a Dask cluster: each is one task, and only the process that hands them out writes to the ledger."""

import json
import logging
import threading
import traceback
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from experiments.executors import Report, RunNews, one_thread
from experiments.ledger import Ledger
from experiments.run import RunJob, Step
from hentropy._version import __version__
from hentropy.errors import ExecutionError, MissingExtra
from hentropy.studies.execution.cluster import connect, own_cluster, unwanted

try:
    from distributed import CancelledError, Client, Future, KilledWorker, get_worker
    from distributed.utils import silence_logging_cmgr
except ImportError:
    raise MissingExtra("distributed", "dask") from None

TOPIC = "hentropy-steps"
"""Where the steps of all runs are told on a cluster; one for all, as its scheduler never forgets a topic."""

_ONE_RUN = threading.Lock()
"""A worker with several threads does one run at a time: some settings of GPyTorch are of the whole process."""


@dataclass(frozen=True)
class TaskResult:
    """What a task found: its steps, and the error and its traceback if that ended it.

    `go` names this go at the task: Dask may begin a task anew on another worker, and two goes must not be mixed.
    """

    go: str
    steps: tuple[Step, ...]
    failed: str | None = None
    traceback: str | None = None


def encoded(go: str, step: Step) -> str:
    """A step as it is sent."""
    return json.dumps({"go": go, "step": step.to_json()})


def decoded(text: str) -> tuple[str, Step]:
    """The go and the step, as they were sent."""
    found = json.loads(text)
    return found["go"], Step.from_json(found["step"])


def remaining_steps(job: RunJob, done: Sequence[Step], version: str) -> TaskResult:
    """The rest of a run, each step told when it is done; it stops after a step when nobody wants it any more."""
    worker, go, found = get_worker(), uuid4().hex, list[Step]()
    key = worker.get_current_task()
    try:
        _check(version, worker.address)
        with _ONE_RUN, one_thread():
            if unwanted(worker, key):
                return TaskResult(go, ())
            for step in job.steps(done):
                found.append(step)
                worker.log_event(TOPIC, {"key": key, "step": encoded(go, step)})
                if unwanted(worker, key):
                    break
    except Exception as error:  # as text: not every error can be sent
        return TaskResult(go, tuple(found), f"{type(error).__name__}: {error}", traceback.format_exc())
    return TaskResult(go, tuple(found))


def _check(version: str, where: str) -> None:
    if version != __version__:
        raise ExecutionError(
            f"the Dask worker {where} has hentropy {__version__}, and the run is of {version}; install the same there"
        )


TRIES = 2
"""How often a run is handed out if its worker is lost: machines of a cluster come and go."""
LOOK = 1.0
"""Seconds after which we look whether the cluster is there still, and whether it has grown."""
FETCH = 10.0
"""Seconds to wait for a result that is ready."""


class DaskExecutor:
    """The workers of a Dask cluster: one that is running, or one of this machine that lives as long as the work.

    At most `workers` runs are on the cluster at a time; None, with an address, is one for each of its worker processes.
    A worker process does one run at a time, with one thread: start workers with `--nthreads 1`, as many as there are
    cores. They need the same version of hentropy. An interrupt leaves a cluster that is not ours running; its workers
    end the steps that they are at.
    """

    def __init__(self, workers: int | None, address: str | None = None, patience: float = 10.0) -> None:
        self.workers = workers
        self.address = address
        self.patience = patience

    def work(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        """All runs to their ends."""
        if not jobs:
            return
        with silence_logging_cmgr(logging.CRITICAL), ExitStack() as stack:
            target: Any = self.address
            if target is None:
                target = stack.enter_context(own_cluster(min(self.workers or 1, len(jobs))))
            client = connect(target, self.patience)
            stack.callback(client.close)
            try:
                client.wait_for_workers(1, timeout=self.patience)
            except TimeoutError:
                where = client.scheduler.address
                raise ExecutionError(
                    f"the Dask scheduler at {where} has no workers; start some with `dask worker {where} --nthreads 1`"
                ) from None
            _ClusterScheduler(client, ledger, report, self.workers).work(jobs)


@dataclass
class _ClusterRun:
    """A run that is on the cluster; `claim` keeps others from writing to it."""

    job: RunJob
    claim: ExitStack
    steps: int
    tries: int = 0
    key: str = ""
    go: str | None = None
    future: Future | None = None


class _ClusterScheduler:
    """Hands out runs, and records the steps that are sent back."""

    def __init__(self, client: Client, ledger: Ledger, report: Report, workers: int | None) -> None:
        self.client = client
        self.ledger = ledger
        self.report = report
        self.workers = workers
        self.busy: dict[str, _ClusterRun] = {}
        self.inbox: SimpleQueue[tuple[str, str | Future]] = SimpleQueue()

    def work(self, jobs: Sequence[RunJob]) -> None:
        waiting = deque(jobs)
        self.client.subscribe_topic(TOPIC, self._receive)
        try:
            while waiting or self.busy:
                self._check()
                while waiting and len(self.busy) < self._room():
                    self._begin(waiting.popleft())
                try:
                    key, found = self.inbox.get(timeout=LOOK)
                except Empty:
                    continue
                if key in self.busy:  # else it comes too late, or is not of ours
                    self._handle(self.busy[key], found)
        finally:
            self._close()

    def _room(self) -> int:
        """How many runs may be on the cluster, which grows and shrinks."""
        if self.workers is not None:
            return self.workers
        try:
            return max(1, len(self.client.nthreads()))
        except OSError:  # it does not answer: we look at that elsewhere
            return 0

    def _receive(self, event: tuple[float, dict[str, str]]) -> None:
        self.inbox.put((event[1]["key"], event[1]["step"]))

    def _begin(self, job: RunJob) -> None:
        with ExitStack() as stack:
            try:
                stack.enter_context(self.ledger.claimed(job))
                done = self.ledger.begin(job)
            except Exception as error:  # one run must not end the others
                self.ledger.fail(job, traceback.format_exc())
                self.report(RunNews(job, 0, ended=True, failed=f"{type(error).__name__}: {error}"))
                return
            self.report(RunNews(job, len(done)))
            self._send(_ClusterRun(job, stack.pop_all(), len(done)), done)

    def _send(self, run: _ClusterRun, done: Sequence[Step]) -> None:
        key = f"hentropy-run-{uuid4().hex}"
        run.key, run.go, run.tries = key, None, run.tries + 1
        run.future = self.client.submit(remaining_steps, run.job, list(done), __version__, key=key, pure=False)
        self.busy[key] = run
        run.future.add_done_callback(lambda future: self.inbox.put((key, future)))

    def _handle(self, run: _ClusterRun, found: str | Future) -> None:
        if isinstance(found, str):
            go, step = decoded(found)
            self._add(run, go, [step])
            return
        try:
            result: TaskResult = found.result(timeout=FETCH)
        except TimeoutError:  # it was lost on the way, and Dask makes it again
            found.add_done_callback(lambda future: self.inbox.put((run.key, future)))
        except KilledWorker as error:
            self._retry(run, f"the Dask worker {error.last_worker.address} ended in the middle of the run")
        except CancelledError as error:
            self._check()
            self._retry(run, f"Dask cancelled the run: {error}")
        except Exception as error:  # a worker without hentropy, or without what it needs
            why = f"the Dask worker could not begin the run: {type(error).__name__}: {error}"
            self._end(run, why, why)
        else:
            if self._add(run, result.go, result.steps):
                self._end(run, result.failed, result.traceback)

    def _add(self, run: _ClusterRun, go: str, steps: Sequence[Step]) -> bool:
        """Write down what is new; False if it is of another go, which did not begin after what is recorded."""
        run.go = run.go or go
        if run.go != go:
            self._retry(run, "its Dask worker ended in the middle of the run")
            return False
        for step in steps:
            if step.number == run.steps:
                self.ledger.add(run.job, step)
                run.steps += 1
                self.report(RunNews(run.job, run.steps))
        return True

    def _retry(self, run: _ClusterRun, why: str) -> None:
        """The worker of a run is lost: another goes on after the steps that are recorded."""
        if run.tries == TRIES:
            why = f"{why}; this was try {TRIES} of {TRIES}; out of memory?"
            self._end(run, why, why)
            return
        del self.busy[run.key]
        self.client.cancel([run.future])
        self._send(run, self.ledger.steps(run.job))

    def _end(self, run: _ClusterRun, failed: str | None, trace: str | None) -> None:
        del self.busy[run.key]
        if failed is not None:
            self.ledger.fail(run.job, trace or failed)
            self.client.cancel([run.future])
        run.claim.close()
        self.report(RunNews(run.job, run.steps, ended=True, failed=failed))

    def _check(self) -> None:
        if self.client.status != "running":
            raise ExecutionError(
                "the Dask scheduler is gone; all steps so far are recorded: when it is back, the same command goes on"
            )

    def _close(self) -> None:
        if self.client.status == "running":
            self.client.unsubscribe_topic(TOPIC)
            self.client.cancel([run.future for run in self.busy.values()])
        for run in self.busy.values():
            run.claim.close()
