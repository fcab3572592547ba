"""Who does runs, one or many at a time, each with one thread, and tells how they go.

An executor is this process, several processes of this machine, or a Dask cluster (`dask_executor`).

Each run has a process of its own and no pool of `concurrent.futures`: that one breaks as a whole when one of its
processes is killed, and tells nothing of a run before its end. They are forked from one that has everything imported,
which takes seconds, and no threads.
"""

import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import torch

from experiments.ledger import Ledger
from experiments.run import RunJob
from hentropy.errors import InputError


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, PyTorch has one thread; after it, as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class RunNews:
    """What happened in a run: so many steps of it are done; `ended` says that no more will come."""

    job: RunJob
    steps: int
    ended: bool = False
    failed: str | None = None


Report = Callable[[RunNews], None]


class Executor(Protocol):
    """Does runs.

    Every step is in the ledger soon after it is done. A run that ends by an error is written down with its traceback,
    and the others go on, also when a worker dies. An interrupt ends all that the executor has started.
    """

    def work(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        """All runs to their ends; each goes on from the steps that are recorded."""


def run(job: RunJob, ledger: Ledger, report: Report) -> None:
    """One run to its end, or to the error that ends it."""
    count = 0
    try:
        with ledger.claimed(job):
            done = ledger.begin(job)
            count = len(done)
            report(RunNews(job, count))
            for step in job.steps(done):
                ledger.add(job, step)
                count += 1
                report(RunNews(job, count))
    except Exception as error:  # one run must not end the others
        ledger.fail(job, traceback.format_exc())
        report(RunNews(job, count, ended=True, failed=f"{type(error).__name__}: {error}"))
    else:
        report(RunNews(job, count, ended=True))


class Processes:
    """So many runs at a time, each in a process that writes to the ledger itself; a single worker is this process."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def work(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        """All runs to their ends."""
        if self.workers > 1:
            self._in_processes(jobs, ledger, report)
            return
        with one_thread():
            for job in jobs:
                run(job, ledger, report)

    def _in_processes(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        waiting, running = deque(jobs), dict[Connection, tuple[ForkServerProcess, RunNews]]()
        try:
            while waiting or running:
                while waiting and len(running) < self.workers:
                    job = waiting.popleft()
                    connection, process = _started(job, ledger.folder)
                    running[connection] = process, RunNews(job, 0)
                for connection in cast("list[Connection[Any, Any]]", wait(list(running))):
                    process, last = running[connection]
                    try:
                        news = connection.recv()
                    except (EOFError, ConnectionError):
                        del running[connection]
                        connection.close()
                        process.join()
                        if last.ended:
                            continue
                        why = f"its process ended in the middle of the run (exit code {process.exitcode})"
                        news = RunNews(last.job, last.steps, ended=True, failed=f"{why}; out of memory?")
                        ledger.fail(last.job, f"{why}; out of memory?")
                    else:
                        running[connection] = process, news
                    report(news)
        finally:
            for process, _ in running.values():
                process.terminate()
            for connection, (process, _) in running.items():
                process.join()
                connection.close()


def _started(job: RunJob, folder: Path) -> tuple[Connection, ForkServerProcess]:
    """A process that does a run, and what it is listened to by."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, "experiments.peers"])
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_run_and_tell, args=(job, folder, sending), daemon=True)
    process.start()
    sending.close()
    return receiving, process


def _run_and_tell(job: RunJob, folder: Path, connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who started this process
    try:
        with one_thread():
            run(job, Ledger(folder), partial(_tell, connection))
    except _NobodyListens:
        return


class _NobodyListens(BaseException):
    """The process that started this one is gone: no failure of the run, which goes on when it is asked for again."""


def _tell(connection: Connection, news: RunNews) -> None:
    try:
        connection.send(news)
    except ConnectionError:
        raise _NobodyListens from None


Kind = Literal["processes", "dask"]


def executor_of(kind: Kind, workers: int | None = None, address: str | None = None) -> Executor:
    """Who does the runs: processes of this machine, or a Dask cluster (its scheduler's address, or one of our own).

    If `workers` is None, one per core of this machine; with an address, as many as the cluster has.
    """
    if workers is not None and workers < 1:
        raise InputError(f"at least 1 worker is needed, got {workers}")
    if address is not None and kind != "dask":
        raise InputError(f"the address {address!r} is that of a Dask scheduler, but the executor is {kind}")
    here = workers or os.cpu_count() or 1
    if kind == "processes":
        return Processes(here)
    # distributed is an optional dependency, and takes its time to load
    from experiments.dask_executor import DaskExecutor  # noqa: PLC0415

    return DaskExecutor(here if address is None else workers, address)
