"""Experiments on this machine: one at a time in this process, or side by side in processes."""

from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from queue import SimpleQueue
from typing import Any

from hentropy.studies.execution.executor import Evaluation, Evaluator, Executor, checked_workers
from hentropy.studies.execution.objective import Objective


class Local(Executor):
    """Evaluates inside `wait`, in the thread that calls it, so that an interrupt ends the evaluation.

    One call of `wait` evaluates one experiment, the first that was submitted, however long that takes.
    """

    workers = 1

    def __init__(self, objective: Objective) -> None:
        self._evaluator = objective.here()
        self._queue: dict[int, Mapping[str, Any]] = {}

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Take an experiment; it is evaluated when it is waited for."""
        self._check(number)
        self._queue[number] = dict(params)

    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        """Evaluate the first that is pending, however long that takes; with a timeout of 0, none."""
        if not self._queue or timeout == 0:
            return []
        number = next(iter(self._queue))
        outcome = self._evaluator.evaluate(self._queue[number])
        del self._queue[number]
        return [(number, outcome)]

    @property
    def pending(self) -> frozenset[int]:
        """What was submitted and not evaluated yet."""
        return frozenset(self._queue)

    def close(self) -> None:
        """Forget what is pending."""
        self.closed = True
        self._queue.clear()
        self._evaluator.close()


class Processes(Executor):
    """One thread per worker, each of which waits for a process that evaluates."""

    def __init__(self, objective: Objective, workers: int) -> None:
        self.workers = checked_workers(workers)
        self._evaluators = [objective.apart() for _ in range(workers)]
        self._idle: SimpleQueue[Evaluator] = SimpleQueue()
        for evaluator in self._evaluators:
            self._idle.put(evaluator)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="hentropy-worker")
        self._futures: dict[Future[Evaluation], int] = {}

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Take an experiment; it begins as soon as a worker is free."""
        self._check(number)
        self._futures[self._threads.submit(self._evaluate, dict(params))] = number

    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        """What has ended, in the order in which it was submitted."""
        wait_for(self._futures, timeout, FIRST_COMPLETED)
        ended = [future for future in self._futures if future.done()]
        return [(self._futures.pop(future), future.result()) for future in ended]

    @property
    def pending(self) -> frozenset[int]:
        """What waits, runs, or has ended without being handed out."""
        return frozenset(self._futures.values())

    def close(self) -> None:
        """Kill the processes; the threads then end by themselves."""
        self.closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for evaluator in self._evaluators:
            evaluator.close()
        self._threads.shutdown(wait=True)
        self._futures.clear()

    def _evaluate(self, params: Mapping[str, Any]) -> Evaluation:
        evaluator = self._idle.get()
        try:
            return evaluator.evaluate(params)
        finally:
            self._idle.put(evaluator)
