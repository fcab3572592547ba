"""Made-up steps of a run, and runs in a process that tells of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from experiments.executors import Processes, RunNews
from experiments.ledger import Ledger
from experiments.run import RunJob, RunKey, Step
from support.waiting import until


def step_with(number: int, score: float = 0.5) -> Step:
    query = None if number == 0 else {"x1": 0.1 * number, "x2": 0.5}
    value, gain = (None, None) if number == 0 else (1.0 + number, 0.1)
    return Step(number, query, value, score, 1.0 - score, -1.0, gain, None, 0.01, None if number == 0 else 0.1)


@dataclass(frozen=True)
class HeldRun(RunKey):
    """A run that goes on after its step of a number only when the folder has the file of that number."""

    folder: Path = Path()

    def steps(self, done: Sequence[Step] = ()) -> Iterator[Step]:
        """As without it."""
        for step in super().steps(done):
            yield step
            until((self.folder / str(step.number)).exists)


def swept(folder: Path, jobs: list[RunJob], line: Connection) -> None:
    """What a process does that a test kills: all runs; after each piece of news it waits to be told to go on."""

    def tell(news: RunNews) -> None:
        line.send(news.steps)
        line.recv()

    ledger = Ledger.open(folder)
    with ledger.writing():
        Processes(1).work(jobs, ledger, tell)
