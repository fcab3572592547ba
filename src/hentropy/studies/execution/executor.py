"""What an executor is: takes experiments, and hands back their outcomes as they end."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from hentropy.errors import ExecutionError, InputError
from hentropy.studies.execution.outcome import Outcome


class Executor(ABC):
    """Evaluates experiments, `workers` of them at a time; more may be submitted, and wait for their turn.

    It belongs to one thread. Leave it with `close`, or use it in a `with`: nothing that it has started goes on then.
    """

    workers: int

    @abstractmethod
    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Take an experiment; its number must not be that of one that is pending."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:
        """Numbers and outcomes of all that have ended: blocks until there is one, or for `timeout` seconds.

        Nothing pending, nothing to wait for: the list is empty then, at once. Each outcome is handed out once.
        """

    @property
    @abstractmethod
    def pending(self) -> frozenset[int]:
        """The numbers that were submitted and whose outcomes were not handed out yet."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether it takes no more."""

    @abstractmethod
    def close(self) -> None:
        """End what still runs, at once, and forget what is pending; a second call does nothing."""

    def _check(self, number: int) -> None:
        """Raise an error if this number cannot be submitted."""
        if self.closed:
            raise ExecutionError(f"experiment {number} was submitted after the executor was closed; open a new one")
        if number in self.pending:
            raise InputError(f"experiment {number} is pending already; give each experiment a number of its own")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def checked_workers(workers: int) -> int:
    """A number of workers, or an error."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"the number of workers is {workers!r}; it must be a whole number of at least 1")
    return workers
