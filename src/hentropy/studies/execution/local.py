"""Experiments one at a time, in this process."""

from collections.abc import Mapping
from typing import Any

from hentropy.studies.execution.executor import Evaluation, Executor
from hentropy.studies.execution.objective import Objective


class Local(Executor):
    """Evaluates inside `wait`, in the thread that calls it, so that an interrupt ends the evaluation.

    One call of `wait` evaluates one experiment, the first that was submitted, however long that takes.
    """

    workers = 1

    def __init__(self, objective: Objective) -> None:
        self._evaluator = objective.here()
        self._queue: dict[int, Mapping[str, Any]] = {}
        self._closed = False

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Take an experiment; it is evaluated when it is waited for."""
        self._check(number)
        self._queue[number] = dict(params)

    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        """Evaluate the first that is pending; the timeout has no effect here."""
        if not self._queue:
            return []
        number = next(iter(self._queue))
        outcome = self._evaluator.evaluate(self._queue[number])
        del self._queue[number]
        return [(number, outcome)]

    @property
    def pending(self) -> frozenset[int]:
        """What was submitted and not evaluated yet."""
        return frozenset(self._queue)

    @property
    def closed(self) -> bool:
        """Whether it takes no more."""
        return self._closed

    def close(self) -> None:
        """Forget what is pending."""
        self._closed = True
        self._queue.clear()
        self._evaluator.close()
