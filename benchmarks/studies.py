"""Studies as they grow, and workers that wait: `python -m benchmarks.studies`.

1. What asking and telling cost beside the proposal itself, with 100 and with 10,000 stored trials.
2. Which share of their time eight workers stand idle for a proposal, with an experiment that takes two seconds.
"""

import os
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import hentropy as he
from hentropy.studies.execution import Processes, PythonObjective
from hentropy.studies.execution.runner import run

SPACE = he.Space(**{f"x{i}": he.Real(0.0, 10.0) for i in range(1, 4)})
SIZES = (100, 10_000)
REPEATS = 200
WORKERS, SECONDS, TRIALS = 8, 2.0, 64


def grown(url: str | None, size: int) -> he.Study:
    """A study with so many trials whose designs fill the space: no model is fitted."""
    study = he.Study(SPACE, he.Maximize(), first=10**6, hyperparameters="map", storage=url, name=f"grown to {size}")
    rows = SPACE.sample(size, seed=1)
    study.attach_many((SPACE.decode(row), float(row.sum())) for row in rows)
    return study


def bookkeeping(kind: str, url: str | None) -> None:
    """Milliseconds of an ask and of a tell, and of opening the study anew."""
    for size in SIZES:
        study = grown(url, size)
        asks, tells = [], []
        for _ in range(REPEATS):
            start = time.perf_counter()
            trial = study.ask()
            between = time.perf_counter()
            study.tell(trial, 1.0)
            asks.append(between - start)
            tells.append(time.perf_counter() - between)
        opening = ""
        if url is not None:
            start = time.perf_counter()
            he.load_study(study.name, url).close()
            opening = f"{time.perf_counter() - start:.2f}"
        ask, tell = (1e3 * statistics.median(times) for times in (asks, tells))
        print(f"| {kind} | {size:,} | {ask:.1f} | {tell:.1f} | {opening} |", flush=True)
        study.close()


def waiting(treatment: str, decision: he.Decision, seconds: float = SECONDS) -> None:
    """The share of their time that workers stand idle between two experiments, as they note it down themselves."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder, "notes")
        Path(folder, "sleeper.py").write_text(
            "import math, os, time\n"
            "def measure(x1, x2, x3):\n"
            f"    start = time.time()\n    time.sleep({seconds})\n"
            f"    with open({str(notes)!r}, 'a') as file:\n"
            "        file.write(f'{os.getpid()} {start} {time.time()}\\n')\n"
            "    return -sum(abs(math.sin(x) * x ** 0.5) for x in (x1, x2, x3))\n"
        )
        options = {"hyperparameters": treatment, "stop": [he.Budget(TRIALS)]}
        study = he.Study(SPACE, decision, storage=f"sqlite:///{folder}/hentropy.db", **options)  # type: ignore[arg-type]
        start = time.perf_counter()
        run(study, Processes(PythonObjective("sleeper:measure", Path(folder)), WORKERS))
        wall = time.perf_counter() - start
        spells: dict[str, list[tuple[float, float]]] = {}
        for line in notes.read_text().splitlines():
            worker, begin, end = line.split()
            spells.setdefault(worker, []).append((float(begin), float(end)))
        busy = sum(end - begin for worker in spells.values() for begin, end in worker)
        idle = sum(later[0] - earlier[1] for worker in spells.values() for earlier, later in pairwise(worker))
        share = 100 * idle / (busy + idle)
        name = type(decision).__name__
        print(f"| {name} | {treatment} | {seconds:g} | {len(study.records)} | {wall:.0f} | {share:.0f} % |", flush=True)
        study.close()


def main() -> None:
    print("| store | stored trials | ms per ask | ms per tell | s to open |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        bookkeeping("memory", None)
        bookkeeping("SQLite", f"sqlite:///{folder}/hentropy.db")
        if "POSTGRES_URL" in os.environ:
            bookkeeping("PostgreSQL", os.environ["POSTGRES_URL"])
    if "--quick" in sys.argv:
        return
    print(
        "\n| decision | model | s per experiment | trials | seconds | idle for a proposal |\n|---|---|---|---|---|---|"
    )
    waiting("map", he.Maximize())
    waiting("map", he.TopK(k=3, weight=1.0, cap=2.0))
    for seconds in (SECONDS, 5 * SECONDS):
        waiting("mixture", he.TopK(k=3, weight=1.0, cap=2.0), seconds)


if __name__ == "__main__":
    main()
