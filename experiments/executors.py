"""Who does runs, one or many at a time, each with one thread, and tells how they go.

A crew is this process, several worker processes of this machine, or a Dask cluster (`dask_crew`).

The processes are our own and no pool of `concurrent.futures`: that one breaks as a whole when one of its processes is
killed, and tells nothing of a run before its end. They are forked from one that has everything imported, which takes
seconds, and no threads.
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
from typing import Literal, Protocol

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


class Crew(Protocol):
    """Does runs.

    Every step is in the ledger soon after it is done. A run that ends by an error is written down with its traceback,
    and the others go on, also when a worker dies. An interrupt ends all that the crew has started.
    """

    def work(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        """All runs to their ends; each goes on from the steps that are recorded."""


class LocalCrew:
    """Worker processes that write to the ledger themselves; a single worker is this process."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def work(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        """All runs to their ends."""
        if self.workers > 1:
            _ProcessScheduler(jobs, ledger, report).work(min(self.workers, len(jobs)))
            return
        with one_thread():
            for job in jobs:
                run(job, ledger, report)


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


class _ProcessScheduler:
    """Hands worker processes one run after the other."""

    def __init__(self, jobs: Sequence[RunJob], ledger: Ledger, report: Report) -> None:
        self.waiting = deque(jobs)
        self.ledger = ledger
        self.report = report
        self.workers: dict[Connection, ForkServerProcess] = {}
        self.busy: dict[Connection, RunNews] = {}

    def work(self, workers: int) -> None:
        try:
            for _ in range(workers):
                self._hire()
            while self.busy:
                for line in wait(list(self.busy)):
                    if isinstance(line, Connection):
                        self._listen(line)
        finally:
            for line, worker in self.workers.items():
                line.close()  # an idle worker ends by this
                if line in self.busy:
                    worker.terminate()
            for worker in self.workers.values():
                worker.join()

    def _hire(self) -> None:
        """One more worker, with a run to do, if any is waiting."""
        if not self.waiting:
            return
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__])
        here, there = context.Pipe()
        worker = context.Process(target=_labour, args=(there, self.ledger.folder), daemon=True)
        worker.start()
        there.close()
        self.workers[here] = worker
        self._hand_out(here)

    def _hand_out(self, line: Connection) -> None:
        self.busy.pop(line, None)
        if self.waiting:
            job = self.waiting[0]
            try:
                line.send(job)
            except ConnectionError:  # it died with nothing to do: nothing is lost, and another takes its place
                self.workers.pop(line).join()
                self._hire()
            else:
                self.waiting.popleft()
                self.busy[line] = RunNews(job, 0)

    def _listen(self, line: Connection) -> None:
        try:
            news = line.recv()
        except (EOFError, ConnectionError):
            self._bury(line)
            return
        self.busy[line] = news
        self.report(news)
        if news.ended:
            self._hand_out(line)

    def _bury(self, line: Connection) -> None:
        """A worker is gone in the middle of a run: say so, and go on with another."""
        last, worker = self.busy.pop(line), self.workers.pop(line)
        worker.join()
        line.close()
        why = f"the worker process ended in the middle of the run (exit code {worker.exitcode}); out of memory?"
        self.ledger.fail(last.job, why)
        self.report(RunNews(last.job, last.steps, ended=True, failed=why))
        self._hire()


def _labour(line: Connection, folder: Path) -> None:
    """What a worker does: runs, until nobody hands out any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who hands out
    ledger = Ledger(folder)
    try:
        with one_thread():
            while True:
                run(line.recv(), ledger, partial(_tell, line))
    except (EOFError, ConnectionError, _NobodyListens):
        return


class _NobodyListens(BaseException):
    """The process that hands out runs is gone: no failure of the run, which goes on when it is asked for again."""


def _tell(line: Connection, news: RunNews) -> None:
    try:
        line.send(news)
    except ConnectionError:
        raise _NobodyListens from None


Kind = Literal["processes", "dask"]


def sweep(
    jobs: Sequence[RunJob],
    ledger: Ledger,
    workers: int | None,
    report: Report,
    kind: Kind = "processes",
    address: str | None = None,
) -> None:
    """All runs, so many at a time; what is recorded already is not run again. `crew_of` says who does them."""
    crew_of(kind, workers, address).work(jobs, ledger, report)


def crew_of(kind: Kind, workers: int | None = None, address: str | None = None) -> Crew:
    """Who does the runs: processes of this machine, or a Dask cluster (its scheduler's address, or one of our own).

    If `workers` is None, one per core of this machine; with an address, as many as the cluster has.
    """
    if workers is not None and workers < 1:
        raise InputError(f"at least 1 worker is needed, got {workers}")
    if address is not None and kind != "dask":
        raise InputError(f"the address {address!r} is that of a Dask scheduler, but the executor is {kind}")
    here = workers or os.cpu_count() or 1
    if kind == "processes":
        return LocalCrew(here)
    # distributed is an optional dependency, and takes its time to load
    from experiments.dask_executor import DaskCrew  # noqa: PLC0415

    return DaskCrew(here if address is None else workers, address)
