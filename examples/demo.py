"""The main job end to end: the best five designs of Alpine-2, apart from each other, in 50 experiments.

Run it with `make demo`, or `python examples/demo.py [--experiments N] [--seed S] [--out FOLDER]`.
"""

import argparse
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import hentropy as he
from hentropy.plots import draw_plane, plane_info
from hentropy.problems import Problem, alpine

FIRST = 10


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--experiments", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path("out"))
    given = options.parse_args()

    console = Console()
    problem, decision = alpine(2), he.TopK(k=5, weight=10.0, cap=1.25)
    console.print(
        f"Looking for the top 5 of Alpine-2, apart from each other, with {given.experiments} experiments.\n"
        "Each one is chosen to make that decision better.\n"
    )
    found = he.search(
        problem.at, problem.space, decision, given.experiments, seed=given.seed, first=FIRST, console=console
    )
    console.print()
    console.print(found.verdict)

    random = he.Study(problem.space, decision, seed=given.seed)
    generator = torch.Generator().manual_seed(given.seed)
    unit = torch.rand(given.experiments, problem.space.dim, generator=generator, dtype=torch.float64)
    for row in problem.space.from_unit(unit):
        random.attach(problem.space.decode(row), float(problem(row)))
    console.print("\nWhat the decisions are worth (losses: lower is better)", style="bold")
    console.print(comparison(decision, problem, {"hentropy": found.verdict, "random search": random.decide()}))

    given.out.mkdir(parents=True, exist_ok=True)
    info = plane_info(found.study.belief, problem.space, found.verdict.raw, first=FIRST)
    grid = torch.stack(torch.meshgrid(*map(torch.from_numpy, info.axes), indexing="xy"), -1)
    title = f"Top 5 of Alpine-2, apart from each other, after {given.experiments} experiments"
    path = draw_plane(info, given.out / "demo.png", title, problem(grid).numpy())
    console.print(f"\npicture: {path}", soft_wrap=True)


def comparison(decision: he.Decision, problem: Problem, verdicts: dict[str, he.Verdict]) -> Table:
    """Expected and true losses of the decisions side by side."""
    table = Table("experiments chosen by")
    for column in ("expected loss", "true loss"):
        table.add_column(column, justify="right")
    for name, verdict in verdicts.items():
        true = float(decision.loss(problem(verdict.raw), verdict.raw))
        table.add_row(name, f"{verdict.expected_loss:.3f}", f"{true:.3f}")
    return table


if __name__ == "__main__":
    main()
