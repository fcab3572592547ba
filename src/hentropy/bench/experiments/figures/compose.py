"""A figure made of curves on some tasks and of pictures of single runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hentropy.bench.experiments.figures.base import nothing_to_draw
from hentropy.bench.experiments.figures.curves import curves_info, draw_curves
from hentropy.bench.experiments.figures.panels import draw_pictures
from hentropy.bench.experiments.figures.pictures import pictures
from hentropy.bench.experiments.plan import Results

ABOUT_CURVES = (
    "Curves: true score of the decision against the number of queries, mean and one standard error over seeds (the"
    " dashed line is the best that the true function allows), and the mean regret of the true loss on a logarithmic"
    " scale."
)
ABOUT_PICTURES = "Pictures: one seed, the same for all methods; the ground is the true function."
LEVEL_SET_METHODS = (
    "hentropy",
    "hentropy-mixture",
    "hentropy-points",
    "one-shot-paper",
    "pom",
    "straddle",
    "efi",
    "uncertainty",
    "random",
)


@dataclass(frozen=True)
class Shown:
    """Runs to make pictures of: the task, the methods side by side, and after how many queries."""

    task: str
    methods: tuple[str, ...]
    after: int


def compose(
    name: str,
    results: Results,
    folder: Path,
    curves: Mapping[str, Sequence[str]],
    methods: Sequence[str],
    shown: Sequence[Shown],
) -> list[Path]:
    """Draw the methods' curves on the tasks of each file (by what its name ends with), and the pictures, a file each.

    A file without any complete run is left out; that all would be is an `InputError`.
    """
    paths = []
    for ending, tasks in curves.items():
        infos = [curves_info(results, task, methods) for task in tasks]
        paths += draw_curves(infos, folder, f"{name}-{ending}") if any(info.lines for info in infos) else []
    for each in shown:
        plane = pictures(results, each.task, each.methods, each.after)
        paths += draw_pictures(plane, folder, f"{name}-{each.task}") if plane is not None else []
    if not paths:
        raise nothing_to_draw(name, results)
    return paths
