"""What evaluates experiments: evaluators and executors, and what comes of one evaluation.

An evaluator does one experiment after the other until it is closed; an executor takes experiments and hands back their
outcomes as they end.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from hentropy.core.given import MOST_WORKERS, check_at_once
from hentropy.errors import ExecutionError, InputError
from hentropy.studies.records import Measurement, Values
from hentropy.studies.records.trial import Measured

TAIL = 4_000
"""How many characters of a log are kept: its end says most."""


ONLY = ""
"""Stands for the only outcome of a study, whatever it is called there."""


@dataclass(frozen=True)
class Evaluation(Measured):
    """What an experiment measured, by outcome, or why there is nothing.

    `lost` says that whoever evaluated it disappeared, which is not the experiment's fault: it may be run again.
    `log` is the end of what was written to standard error, and `seconds` is how long it took.
    """

    measurements: Mapping[str, Measurement]
    failed: str | None = None
    lost: bool = False
    log: str = ""
    seconds: float = 0.0

    @property
    def told(self) -> Values:
        """What is told of the trial."""
        values = {name: (one.value, one.std_error) for name, one in self.measurements.items()}
        return values.get(ONLY, values)

    def __str__(self) -> str:
        if self.failed is not None:
            return f"failed: {self.failed}"
        return ", ".join(f"{name} {_written(one)}".strip() for name, one in self.measurements.items())


def _written(one: Measurement) -> str:
    return repr(one.value) if one.std_error is None else f"{one.value!r}, standard error {one.std_error!r}"


def failure(why: str, lost: bool = False) -> Evaluation:
    """An evaluation without a value."""
    return Evaluation({}, why, lost)


class Closed(ABC):
    """Something that is closed at the end of its `with`."""

    @abstractmethod
    def close(self) -> None:
        """End what it has started."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Evaluator(Closed):
    """Evaluates one experiment at a time; it may keep a process or a loaded module from one to the next."""

    @abstractmethod
    def evaluate(self, params: Mapping[str, Any]) -> Evaluation:
        """The outcome of one experiment; what goes wrong in it is an outcome too, and is not raised."""

    @abstractmethod
    def close(self) -> None:
        """End what runs, from any thread; the evaluation it was in comes back as lost."""


class Executor(Closed):
    """Evaluates experiments, `workers` of them at a time; more may be submitted, and wait for their turn.

    It belongs to one thread. Leave it with `close`, or use it in a `with`: nothing that it has started goes on then.
    """

    workers: int
    closed: bool = False
    """Whether it takes no more."""

    @abstractmethod
    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Take an experiment; its number must not be that of one that is pending."""

    @abstractmethod
    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        """Numbers and outcomes of all that have ended: blocks until there is one, or for `timeout` seconds.

        Nothing pending, nothing to wait for: the list is empty then, at once. Each outcome is handed out once. With a
        timeout of 0 nothing begins: only what has ended is handed out.
        """

    @property
    @abstractmethod
    def pending(self) -> frozenset[int]:
        """The numbers that were submitted and whose outcomes were not handed out yet."""

    @abstractmethod
    def close(self) -> None:
        """End what still runs, at once, and forget what is pending; a second call does nothing."""

    def _check(self, number: int) -> None:
        """Raise an error if this number cannot be submitted."""
        if self.closed:
            raise ExecutionError(f"experiment {number} was submitted after the executor was closed; open a new one")
        if number in self.pending:
            raise InputError(f"experiment {number} is pending already; give each experiment a number of its own")


def checked_workers(workers: int) -> int:
    """A number of workers, or an error."""
    check_at_once("the number of workers", workers, MOST_WORKERS)
    return workers
