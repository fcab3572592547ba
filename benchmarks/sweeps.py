"""Rows of results: computed by processes of one thread each, and kept in a file, one row of JSON a line."""

import json
import math
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

Job = TypeVar("Job")
Row = dict[str, Any]


def results_of(
    function: Callable[[Job], Row], jobs: Sequence[Job], workers: int, seconds: float = math.inf
) -> Iterator[Row]:
    """Rows as they come, so many at a time; those that are not there after so many seconds are left out."""
    end = time.monotonic() + seconds
    with multiprocessing.get_context("spawn").Pool(workers, one_quiet_thread) as pool:
        found = pool.imap_unordered(function, jobs)
        for _ in jobs:
            try:
                yield found.next(None if math.isinf(end) else max(0.0, end - time.monotonic()))
            except multiprocessing.TimeoutError:
                return


def one_quiet_thread() -> None:
    """PyTorch has one thread, and nothing is warned of."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; none if it is not there yet."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()] if path.exists() else []


def recorded(rows: Iterable[Row], path: Path) -> Iterator[Row]:
    """The same rows, each appended to a file as it comes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
            file.flush()
            yield row
