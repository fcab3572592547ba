"""What an evaluator is: one who evaluates, one experiment after the other, until it is closed."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from hentropy.studies.execution.outcome import Outcome


class Evaluator(ABC):
    """Evaluates one experiment at a time; it may keep a process or a loaded module from one to the next."""

    @abstractmethod
    def evaluate(self, params: Mapping[str, Any]) -> Outcome:
        """The outcome of one experiment; what goes wrong in it is an outcome too, and is not raised."""

    @abstractmethod
    def close(self) -> None:
        """End what runs, from any thread; the evaluation it was in comes back as lost."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
