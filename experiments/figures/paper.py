"""What a figure of the paper is; and figures 2 to 7, made of curves on some tasks and of pictures of single runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.figures.curves import curves_info, draw_curves
from experiments.figures.panels import draw_pictures
from experiments.figures.pictures import pictures
from experiments.plan import Results
from hentropy.errors import InputError

Draw = Callable[[Results, Path], list[Path]]
"""Draws a figure from results into a folder and returns the files it wrote."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its name, a title, a caption, the tasks whose runs it shows, and how it is drawn."""

    name: str
    title: str
    caption: str
    tasks: tuple[str, ...]
    draw: Draw


def nothing_to_draw(name: str, results: Results) -> InputError:
    """The error for a figure none of whose runs is there."""
    folder = results.ledger.folder
    command = f"python -m experiments {name}{' --quick' if results.plan.quick else ''} --out {folder}"
    return InputError(f"{folder} has no complete run that {name} shows; make them with: {command}")


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


def _composed(
    name: str,
    title: str,
    caption: str,
    tasks: tuple[str, ...],
    curves: Mapping[str, Sequence[str]],
    methods: Sequence[str],
    shown: Sequence[Shown],
) -> Figure:
    def draw(results: Results, folder: Path) -> list[Path]:
        return compose(name, results, folder, curves, methods, shown)

    return Figure(name, title, caption, tasks, draw)


ABOUT_CURVES = (
    "Curves: true score of the decision against the number of queries, mean and one standard error over seeds (the"
    " dashed line is the best that the true function allows), and the mean regret of the true loss on a logarithmic"
    " scale."
)
ABOUT_PICTURES = "Pictures: one seed, the same for all methods; the background is the true function."
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

COMPOSED = (
    _composed(
        name="figure-2",
        title="Top-k with diversity",
        caption=(
            f"The k best designs that lie apart from each other. {ABOUT_CURVES} {ABOUT_PICTURES} Stars are the"
            " decision, rings the best one. Vaccination: CDC COVID Data Tracker, counties on 16 September 2021, as a"
            " network trained by this project."
        ),
        tasks=("alpine-3-top-3", "alpine-5-top-5", "vaccination-pennsylvania-top-5", "alpine-2-top-5"),
        curves={"curves": ("alpine-3-top-3", "alpine-5-top-5", "vaccination-pennsylvania-top-5")},
        methods=("hentropy", "hentropy-mixture", "one-shot-paper", "kg", "ei", "uncertainty", "random"),
        shown=(
            Shown("vaccination-pennsylvania-top-5", ("hentropy", "kg", "uncertainty", "random"), after=25),
            Shown("alpine-2-top-5", ("hentropy", "kg", "uncertainty", "random"), after=30),
        ),
    ),
    _composed(
        name="figure-3",
        title="Two-level sets",
        caption=(
            f"For each point of a grid, which of two levels the function exceeds there. {ABOUT_CURVES}"
            f" {ABOUT_PICTURES} White lines bound the true sets, dashed lines the predicted ones; squares are points"
            " with a wrong label."
        ),
        tasks=("multihills-two-levels", "alpine-2-two-levels"),
        curves={"curves": ("multihills-two-levels", "alpine-2-two-levels")},
        methods=LEVEL_SET_METHODS,
        shown=(Shown("multihills-two-levels", ("hentropy", "straddle", "uncertainty", "random"), after=15),),
    ),
    _composed(
        name="figure-4",
        title="Sequence search on vaccination in Pennsylvania",
        caption=(
            f"Places whose values run through a list of targets. {ABOUT_CURVES} {ABOUT_PICTURES} The decision is"
            " numbered in its order; white lines with the same numbers are where the true function has the targets."
            " Vaccination: CDC COVID Data Tracker, counties on 16 September 2021, as a network trained by this"
            " project, scaled to run from 0 to 1."
        ),
        tasks=("vaccination-pennsylvania-sequence",),
        curves={"curves": ("vaccination-pennsylvania-sequence",)},
        methods=("hentropy", "hentropy-mixture", "one-shot-paper", "kg", "ei", "uncertainty", "random"),
        shown=(Shown("vaccination-pennsylvania-sequence", ("hentropy", "kg", "uncertainty", "random"), after=20),),
    ),
    _composed(
        name="figure-5",
        title="One-level sets",
        caption=(
            f"For each point of a grid, whether the function exceeds a level there. {ABOUT_CURVES} {ABOUT_PICTURES}"
            " White lines bound the true set, dashed lines the predicted one; squares are points with a wrong label."
            " Night light: NASA Earth Observatory / NOAA NGDC, Suomi NPP VIIRS day-night band, 2012."
        ),
        tasks=("multihills-one-level", "alpine-2-one-level", "night-light-one-level"),
        curves={"curves": ("multihills-one-level", "alpine-2-one-level", "night-light-one-level")},
        methods=LEVEL_SET_METHODS,
        shown=(Shown("night-light-one-level", ("hentropy", "straddle", "uncertainty", "random"), after=30),),
    ),
    _composed(
        name="figure-6",
        title="Sequence search on Multihills",
        caption=(
            f"Designs whose values run through a list of targets, from a summit down to the plain. {ABOUT_CURVES}"
            f" {ABOUT_PICTURES} The decision is numbered in its order; white lines with the same numbers are where the"
            " true function has the targets."
        ),
        tasks=("multihills-sequence",),
        curves={"curves": ("multihills-sequence",)},
        methods=("hentropy", "hentropy-mixture", "one-shot-paper", "kg", "ei", "uncertainty", "random"),
        shown=(Shown("multihills-sequence", ("hentropy", "kg", "uncertainty", "random"), after=20),),
    ),
    _composed(
        name="figure-7",
        title="Classic acquisition functions",
        caption=(
            "Classic acquisition functions, which optimise a different decision from the one that is made in the end."
            f" {ABOUT_CURVES} {ABOUT_PICTURES} Alpine-2: stars are the decision, rings the best one. Multihills, with"
            " acquisition functions made for level sets: white lines bound the true set, dashed lines the predicted"
            " one; squares are points with a wrong label. Vaccination: CDC COVID Data Tracker, counties on 16"
            " September 2021, as a network trained by this project."
        ),
        tasks=(
            "alpine-2-top-5",
            "vaccination-pennsylvania-top-5",
            "alpine-3-top-3",
            "alpine-5-top-5",
            "multihills-one-level",
        ),
        curves={
            "curves-2-parameters": ("alpine-2-top-5", "vaccination-pennsylvania-top-5"),
            "curves-3-and-5-parameters": ("alpine-3-top-3", "alpine-5-top-5"),
        },
        methods=("hentropy", "kg", "ei", "pi", "mes", "botorch-logei", "botorch-qkg", "random"),
        shown=(
            Shown("alpine-2-top-5", ("hentropy", "kg", "ei", "pi", "mes", "botorch-logei"), after=30),
            Shown("multihills-one-level", ("hentropy", "pom", "straddle", "efi"), after=15),
        ),
    ),
)
"""Figures 2 to 7."""
