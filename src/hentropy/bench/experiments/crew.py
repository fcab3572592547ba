"""What a crew is: does runs, one or many at a time, each with one thread, and tells how they go."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch

from hentropy.bench.experiments.ledger import Ledger
from hentropy.bench.experiments.run import RunJob


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
