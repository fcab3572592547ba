"""Many workers on one PostgreSQL server: `python -m benchmarks.load`.

Each worker is a process of this machine that asks and tells by the same calls as `hentropy worker`, until the budget is
used up. The experiment costs nothing, and the designs fill the space, so that the store is what is measured.
"""

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch

import hentropy as he
from benchmarks.postgres import server
from benchmarks.verbs import kept, note_down, started
from hentropy.studies.execution.executor import ONLY, Evaluation
from hentropy.studies.execution.leases import Terms, finish
from hentropy.studies.records import Measurement, State
from hentropy.studies.storage.turns import new_owner

PATIENCE = 3600.0


def work(url: str, trials: int, notes: Path) -> None:
    """Ask, evaluate and tell until the study has enough; each trial is noted down with its seconds."""
    torch.set_num_threads(1)
    study = kept(url, stop=[he.Budget(trials)])
    owner, terms = new_owner(), Terms()
    while True:
        start = time.perf_counter()
        trial = study.begin(owner, terms.lease)
        if trial is None:
            break
        asked = time.perf_counter()
        finish(study, trial.number, owner, Evaluation({ONLY: Measurement(sum(trial.params.values()))}), terms)
        note_down(notes, json.dumps([trial.number, owner, asked - start, time.perf_counter() - asked]))
    study.close()


@dataclass(frozen=True)
class Load:
    """What came of it: seconds in all, of each ask and of each tell, and how many workers had a trial."""

    seconds: float
    busy: int
    asks: list[float]
    tells: list[float]


def measured(url: str, workers: int, trials: int) -> Load:
    """Let so many workers do so many trials; each is evaluated once, and none is lost."""
    study = kept(url, stop=[he.Budget(trials)])
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "notes")
        start = time.perf_counter()
        processes = [started(work, url, trials, notes) for _ in range(workers)]
        for process in processes:
            process.join(timeout=PATIENCE)
            assert process.exitcode == 0, "a worker did not end well"
        seconds = time.perf_counter() - start
        rows = [json.loads(line) for line in notes.read_text().splitlines()]
    assert sorted(row[0] for row in rows) == list(range(trials)), "a trial was evaluated twice, or never"
    records = study.records
    study.close()
    assert len(records) == trials
    assert all(trial.state is State.COMPLETE and trial.value == sum(trial.params.values()) for trial in records)
    return Load(seconds, len({row[1] for row in rows}), [row[2] for row in rows], [row[3] for row in rows])


def row(what: str, seconds: list[float]) -> str:
    cuts = statistics.quantiles(seconds, n=20)
    return f"| {what} | {1e3 * statistics.median(seconds):,.0f} | {1e3 * cuts[18]:,.0f} | {1e3 * max(seconds):,.0f} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workers", type=int, default=100)
    options.add_argument("--trials", type=int, default=2000)
    given = options.parse_args()
    # a worker has one connection, and for moments a second one: while it renews a lease
    with server(max_connections=2 * given.workers + 20) as url:
        load = measured(url, given.workers, given.trials)
    print(
        f"{given.workers} workers, {load.busy} of which had a trial; {given.trials} trials, each evaluated once, none"
        f" lost; {load.seconds:.0f} s, {given.trials / load.seconds:.1f} trials a second\n"
    )
    print("| ms | median | 95th percentile | longest |\n|---|---|---|---|")
    print(row("ask", load.asks))
    print(row("tell", load.tells))


if __name__ == "__main__":
    main()
