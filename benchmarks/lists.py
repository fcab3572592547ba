"""Proposals on long lists, as multiples of the bare look: mean and variance of the same belief at all rows once.

`python -m benchmarks.lists` prints the table alone; `--rows` chooses lists, `--hyperparameters` a belief other than the
default one of `fit` and `Study`, `--choices` measures a million rows with choices and nothing else.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas
import torch
from torch import Tensor

import hentropy as he
from benchmarks.memory import peak_memory
from benchmarks.timing import median_ratio, proposed, repeated, timed
from hentropy.core.beliefs import Needs
from hentropy.core.models.gp import TREATMENTS, Treatment

DECISIONS: dict[str, Callable[[], he.Decision]] = {
    "Maximize": he.Maximize,
    "BestObserved": he.BestObserved,
    "TopK(3)": lambda: he.TopK(3, weight=2.0, cap=1.0),
    "TopK(10)": lambda: he.TopK(10, weight=2.0, cap=1.0),
}
ASKED = {5_000: (20, 40, 1.5), 100_000: (8, 12, 2.0), 1_000_000: (3, 4, 4.0)}
"""Rows: at most so many looks for one row, and for several rows with distances; GB of the process."""

BEFORE = (
    ("TopK(3)", 250, 6, 1.3),
    ("TopK(3)", 500, 6, 5.0),
    ("TopK(3)", 1_000, 6, 19.0),
    ("TopK(3)", 1_728, 24, 117.0),
    ("Maximize", 4_320, 6, 29.0),
)
"""Cases with one model, and their seconds in the version before."""

PIECE = 1024
COLUMNS, OBSERVED = 6, 60


def case(rows: int, columns: int, hyperparameters: Treatment) -> tuple[he.Gaussian, he.Pool]:
    """Rows that fill the unit cube, of which some were measured: an Alpine function with noise."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(rows, columns, generator=generator, dtype=torch.float64)
    X = points[torch.randperm(rows, generator=generator)[:OBSERVED]]
    t = 10.0 * (X - 0.5)
    Y = -(t * torch.sin(t) + 0.1 * t).abs().sum(-1)
    Y = Y + 0.1 * torch.randn(len(Y), generator=generator, dtype=torch.float64)
    pool = he.Pool(points)
    belief = he.fit(X, Y, space=pool, hyperparameters=hyperparameters)
    assert isinstance(belief, he.Gaussian)
    return belief, pool


@torch.no_grad()
def look(belief: he.Gaussian, points: Tensor) -> Tensor:
    """The bare look: mean and variance over all components at all rows, in pieces that fit the cache."""
    found = points.new_empty(2, len(points))
    for start in range(0, len(points), PIECE):
        part = belief.moments(points[start : start + PIECE], Needs.VARIANCE).total()
        found[:, start : start + PIECE] = torch.stack(part)
    return found


def measure(rows: int, decision: int, hyperparameters: Treatment) -> None:
    """One proposal, for the memory measurement in a process of its own."""
    belief, pool = case(rows, COLUMNS, hyperparameters)
    he.propose(list(DECISIONS.values())[decision](), belief, pool)


def run(
    repeats: int,
    say: Callable[[str], None],
    sizes: Sequence[int] = tuple(ASKED),
    hyperparameters: Treatment = "auto",
) -> Iterator[dict[str, Any]]:
    """A row for each list and decision: looks and proposals by turns, the median of their ratios."""
    for rows in sizes:
        belief, pool = case(rows, COLUMNS, hyperparameters)
        bare = partial(look, belief, pool.points)
        for place, (name, make) in enumerate(DECISIONS.items()):
            say(f"{name} on a list of {rows:,} rows")
            proposal = partial(he.propose, make(), belief, pool)
            turns = range(repeats if rows < 1_000_000 else 1)
            looks, proposals = zip(*((timed(bare).seconds, timed(proposal).seconds) for _ in turns), strict=True)
            most, most_of_sets, memory = ASKED[rows]
            yield {
                "rows": rows,
                "decision": name,
                "look_seconds": median(looks),
                "seconds": median(proposals),
                "looks": median_ratio(list(proposals), list(looks)),
                "asked_looks": most_of_sets if name.startswith("TopK") else most,
                "peak_mib": peak_memory("benchmarks.lists", "measure", rows, place, hyperparameters)["process"],
                "asked_gb": memory,
            }


def run_single(repeats: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The cases with one model that took long before."""
    for name, rows, columns, before in BEFORE:
        say(f"{name} on a list of {rows:,} rows and {columns} columns, one model")
        seconds = repeated(partial(he.propose, DECISIONS[name](), *case(rows, columns, "map")), repeats).seconds
        yield {"decision": name, "rows": rows, "columns": columns, "before": before, "seconds": seconds}


TABLES = {"two choices (20, 8 options), three numbers": (20, 8, 0, 0, 0), "five numbers": (0, 0, 0, 0, 0)}
"""Columns of a table by how many options they have; 0 for numbers."""

FEW = 30
"""Rows of such a table that were measured."""

MILLION = 1_000_000


def mixed_table(columns: Sequence[int]) -> pandas.DataFrame:
    """A million rows of texts and numbers."""
    draw = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            f"c{i}": np.array([f"option {k}" for k in range(options)])[draw.integers(0, options, MILLION)].astype(
                object
            )
            if options
            else draw.random(MILLION)
            for i, options in enumerate(columns)
        }
    )


def run_mixed(repeats: int, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A row for each table: processor seconds to make the pool, and of proposals with one model."""
    for what, columns in TABLES.items():
        say(f"a million rows of {what}")
        table = mixed_table(columns)
        built = repeated(partial(he.Pool, table), repeats)
        pool: he.Pool = built.result
        X = pool.points[torch.randperm(MILLION, generator=torch.Generator().manual_seed(0))[:FEW]]
        belief = he.fit(X, -(pool.to_unit(X) - 0.4).square().sum(-1), space=pool, hyperparameters="map")
        seconds = {
            name: repeated(partial(proposed, decision, belief, pool), repeats).cpu_seconds
            for name, decision in {"Maximize": he.Maximize(), "TopK(5)": he.TopK(5, scaled=True)}.items()
        }
        yield {"table": what, "Pool": built.cpu_seconds, **seconds}


def run_choices(say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """A row for each decision about a million rows with choices, in looks: one of each, by processor seconds."""
    pool = he.Pool(mixed_table(next(iter(TABLES.values()))))
    X = pool.points[torch.randperm(MILLION, generator=torch.Generator().manual_seed(0))[:OBSERVED]]
    belief = he.fit(X, -(pool.to_unit(X) - 0.4).square().sum(-1), space=pool, hyperparameters="mixture")
    most, most_of_sets, _ = ASKED[MILLION]
    for name, make in DECISIONS.items():
        say(f"{name} on a million rows with choices")
        bare, proposal = timed(partial(look, belief, pool.points)), timed(partial(proposed, make(), belief, pool))
        yield {
            "decision": name,
            "look_seconds": bare.cpu_seconds,
            "seconds": proposal.cpu_seconds,
            "looks": proposal.cpu_seconds / bare.cpu_seconds,
            "asked_looks": most_of_sets if name.startswith("TopK") else most,
        }


def table_of_choices(rows: Iterable[dict[str, Any]]) -> str:
    """As Markdown."""
    lines = ["| decision | bare look, CPU s | proposal, CPU s | looks | asked |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['decision']} | {row['look_seconds']:.1f} | {row['seconds']:.1f} | {row['looks']:.1f} |"
        f" {row['asked_looks']} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def table(lists: list[dict[str, Any]], single: list[dict[str, Any]], mixed: list[dict[str, Any]]) -> str:
    """All as Markdown, the asked figure beside each measured one."""
    lines = [
        "| list | decision | bare look s | proposal s | looks | asked | GB of the process | asked |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['rows']:,} rows | {row['decision']} | {row['look_seconds']:.3f} | {row['seconds']:.3f} |"
        f" {row['looks']:.1f} | {row['asked_looks']} | {row['peak_mib'] / 1024:.2f} | {row['asked_gb']} |"
        for row in lists
    ]
    lines += ["", "| list, one model | decision | s before | s now |", "|---|---|---|---|"]
    lines += [
        f"| {row['rows']:,} x {row['columns']} | {row['decision']} | {row['before']:g} | {row['seconds']:.3f} |"
        for row in single
    ]
    titles = ["a million rows, one model", *(f"{what}, CPU s" for what in ("making the pool", "Maximize", "TopK(5)"))]
    lines += ["", f"| {' | '.join(titles)} |", "|---|---|---|---|"]
    lines += [f"| {row['table']} | {row['Pool']:.2f} | {row['Maximize']:.1f} | {row['TopK(5)']:.1f} |" for row in mixed]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, nargs="*", default=list(ASKED), choices=list(ASKED))
    options.add_argument("--hyperparameters", choices=TREATMENTS, default="auto", help="the belief, as in `fit`")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--choices", action="store_true")
    given = options.parse_args()

    def say(what: str) -> None:
        print(what, flush=True)

    if given.choices:
        print(table_of_choices(list(run_choices(say))))
        return
    lists = list(run(given.repeats, say, tuple(given.rows), given.hyperparameters))
    print(table(lists, list(run_single(given.repeats, say)), list(run_mixed(given.repeats, say))))


if __name__ == "__main__":
    main()
