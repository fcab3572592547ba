"""Experiments on a Dask cluster: one that is running, or one of this machine that lives as long as the executor."""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from hentropy.errors import ExecutionError, MissingExtra
from hentropy.studies.execution.executor import Evaluation, Evaluator, Executor, checked_workers, failure
from hentropy.studies.execution.objective import Objective

try:
    import dask.config
    from distributed import CancelledError, Client, Future, KilledWorker, LocalCluster, Worker, get_worker
    from distributed.client import ClosedClientError
    from distributed.comm import resolve_address
except ImportError:
    raise MissingExtra("distributed", "dask") from None

FETCH = 10.0
"""Seconds to wait for an outcome that is ready."""
ALIVE = 1.0
"""Seconds after which one who waits looks whether the scheduler is still there."""
LOOK = 0.2
"""Seconds after which a worker looks whether anybody still wants the outcome."""
GIVE_UP = "1000 days"
"""Dask ends a worker for good that is not there some time after it was lost, also if that is for the second time."""


class Dask(Executor):
    """Sends each experiment to a Dask cluster as one task; there it is evaluated in a process of its own.

    Without an address, a cluster of `workers` processes is started on this machine, and ends with the executor. Its
    processes import the program that started them: a script has to do its work under `if __name__ == "__main__"`.
    With one, the cluster goes on after `close`. hentropy and the folder of the objective must be found by its workers.

    A worker that is gone makes its experiments lost. A cluster that is not ours may first try them elsewhere, as often
    as its setting `allowed-failures` says.
    """

    def __init__(self, objective: Objective, workers: int, address: str | None = None, patience: float = 10.0) -> None:
        self.workers = checked_workers(workers)
        self._objective = objective
        self._ours = contextlib.ExitStack()
        cluster = self._ours.enter_context(own_cluster(workers)) if address is None else None
        self._client = connect(cluster or address, patience)
        self._address = self._client.scheduler.address
        self._futures: dict[int, Future] = {}
        self._ended: SimpleQueue[tuple[int, Future]] = SimpleQueue()

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Send an experiment to the cluster."""
        self._check(number)
        try:
            self._futures[number] = self._client.submit(_evaluate, self._objective, dict(params), pure=False)
        except ClosedClientError:
            raise self._gone() from None
        self._listen(number)

    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        """What has ended, in the order in which it did."""
        deadline = None if timeout is None else time.monotonic() + timeout
        outcomes: list[tuple[int, Evaluation]] = []
        while self._futures and (not outcomes or not self._ended.empty()):
            left = ALIVE if deadline is None else min(ALIVE, max(0.0, deadline - time.monotonic()))
            try:
                number, future = self._ended.get(timeout=left)
            except Empty:
                if self._client.status == "closed":  # it has tried to reach the scheduler for a while
                    raise self._gone() from None
                if deadline is not None and time.monotonic() >= deadline:
                    break
                continue
            outcome = _fetched(future)
            if outcome is None:
                self._listen(number)
            else:
                outcomes.append((number, outcome))
                del self._futures[number]
        return outcomes

    @property
    def address(self) -> str:
        """Where the scheduler listens: others may join the same cluster."""
        return str(self._address)

    @property
    def pending(self) -> frozenset[int]:
        """What is on the cluster and was not handed out yet."""
        return frozenset(self._futures)

    def close(self) -> None:
        """Cancel what runs, which ends its processes, and leave; a cluster of our own ends."""
        if self.closed:
            return
        self.closed = True
        try:
            if self._client.status != "closed":
                for future in self._futures.values():
                    future.cancel()
                self._client.close()
        finally:
            self._futures.clear()
            self._ours.close()

    def _gone(self) -> ExecutionError:
        return ExecutionError(
            f"the Dask scheduler at {self._address} is gone, and with it what ran there; start it again, and run again"
        )

    def _listen(self, number: int) -> None:
        self._futures[number].add_done_callback(lambda future: self._ended.put((number, future)))


@contextlib.contextmanager
def own_cluster(workers: int) -> Iterator[LocalCluster]:
    """A cluster of this machine, which listens to this machine alone, and starts every worker again that dies."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": GIVE_UP}):
        cluster = _started(workers)
        try:
            yield cluster
        finally:
            _end(cluster)


def _started(workers: int) -> LocalCluster:
    scheduler = {
        "allowed_failures": 0,  # we say what is run again
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",  # it answers questions about its health in any case: on a free port
    }
    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=None,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs=scheduler,
            preload=["hentropy.studies.execution.preload"],
        )
    except RuntimeError as error:
        raise ExecutionError(
            f"the Dask cluster of this machine did not start ({error}); "
            'a script that starts one has to do its work under `if __name__ == "__main__"`'
        ) from error


def _end(cluster: LocalCluster) -> None:
    """End a cluster at once: its workers have nothing to put in order, and would take seconds to do so."""
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # do not start it again
        if nanny.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)
    cluster.close()


def connect(target: Any, patience: float) -> Client:
    """A client of a cluster of ours, or of the scheduler at an address."""
    try:
        if isinstance(target, str):
            resolve_address(target)  # a client that was given nonsense cannot be closed any more
        return Client(target, timeout=patience, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ExecutionError(
            f"no Dask scheduler answers at {target!r} ({type(error).__name__}: {error}); "
            "start one with `dask scheduler`, or give the address that it prints"
        ) from error


def _fetched(future: Future) -> Evaluation | None:
    """The outcome of a task that has ended; None if its result was lost on the way and Dask makes it again."""
    try:
        return future.result(timeout=FETCH)
    except TimeoutError:
        return None
    except KilledWorker as error:
        where = error.last_worker.address
        return failure(f"the Dask worker ended in the middle of the evaluation, and was lost ({where})", lost=True)
    except CancelledError as error:
        return failure(f"Dask cancelled the evaluation: {error}", lost=True)
    except Exception as error:  # a worker without hentropy, or of another version
        return failure(f"the Dask worker could not evaluate it: {type(error).__name__}: {error}")


def _evaluate(objective: Objective, params: Mapping[str, Any]) -> Evaluation:
    """What a worker does: evaluates apart from its own process, and ends that when nobody wants it any more."""
    worker = get_worker()
    ended = threading.Event()
    with objective.apart() as evaluator:
        arguments = (worker, worker.get_current_task(), evaluator, ended)
        watcher = threading.Thread(target=_watch, args=arguments, daemon=True)
        watcher.start()
        try:
            return evaluator.evaluate(params)
        finally:
            ended.set()
            watcher.join()


def _watch(worker: Worker, key: Any, evaluator: Evaluator, ended: threading.Event) -> None:
    while not ended.wait(LOOK):
        if unwanted(worker, key):
            evaluator.close()
            return


def unwanted(worker: Worker, key: Any) -> bool:
    """Whether nobody waits any more for what a task of this worker will find."""
    task = worker.state.tasks.get(key)
    return task is None or task.state == "cancelled"
