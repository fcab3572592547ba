"""The main job end to end: the best five designs of Alpine-2, apart from each other, in 50 experiments.

Run it with `make demo`, or `python examples/demo.py [--experiments N] [--seed S] [--out FOLDER]`.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import hentropy as he
from hentropy.bench.problems import Problem, alpine
from hentropy.views.plots import Picture, Scene, scene_of
from hentropy.views.plots.marks import Dots, Heat, Panel, Role
from hentropy.views.plots.slice_marks import shown_trials, trial_dots
from hentropy.views.plots.slices import terrains
from hentropy.views.plots.with_matplotlib import draw

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
        f"Looking for five high-scoring, diverse designs of Alpine-2 with {given.experiments} experiments.\n"
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
    for row in problem.space.from_cube(unit):
        random.attach(problem.space.decode(row), float(problem(row)))
    console.print("\nWhat the decisions are worth (losses: lower is better)", style="bold")
    console.print(comparison(decision, problem, {"hentropy": found.verdict, "random search": random.decide()}))

    given.out.mkdir(parents=True, exist_ok=True)
    title = f"Top 5 of Alpine-2, apart from each other, after {given.experiments} experiments"
    made = beside_the_truth(scene_of(found.study, found.verdict), problem, title)
    path = draw(made, given.out / "demo.png")
    console.print(f"\npicture: {path}", soft_wrap=True)


def beside_the_truth(scene: Scene, truth: Callable[[Tensor], Tensor], title: str, grid: int = 101) -> Picture:
    """What is known over two parameters, with the experiments and the decision, and the true function beside it."""
    [ground] = terrains(scene, plane=grid)
    x, y = ground.grids
    true = truth(torch.stack(torch.meshgrid(torch.from_numpy(x), torch.from_numpy(y), indexing="xy"), -1)).numpy()
    ends = float(min(ground.mean.min(), true.min())), float(max(ground.mean.max(), true.max()))
    trials = shown_trials(scene)
    every = np.ones(len(trials.kinds), dtype=bool)
    made = trial_dots(trials, ground, every, np.zeros(len(every)))
    chosen = scene.action.cpu().numpy()
    stars = Dots(chosen[:, 0], chosen[:, 1], Role.DECIDED, "decision")
    across, up = ground.axes
    known = Panel("what is known", across, up, (Heat(x, y, ground.mean, "value", *ends), *made, stars))
    real = Panel("the truth", across, up, (Heat(x, y, true, "value", *ends), stars))
    caption = (
        "Left: the expected value, and where experiments were made. Right: the true function. The stars are the"
        " decision: high-scoring, diverse designs."
    )
    return Picture("demo", title, caption, ((known, real),))


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
