"""Figure 4: a sequence of targets on a map."""

from pathlib import Path

from hentropy.bench.experiments.figures.base import Figure
from hentropy.bench.experiments.figures.compose import ABOUT_CURVES, ABOUT_PICTURES, Shown, compose
from hentropy.bench.experiments.plan import Results

CURVES = {"curves": ("vaccination-pennsylvania-sequence",)}
METHODS = ("hentropy", "hentropy-mixture", "one-shot-paper", "kg", "ei", "uncertainty", "random")
SHOWN = (Shown("vaccination-pennsylvania-sequence", ("hentropy", "kg", "uncertainty", "random"), after=20),)


def draw(results: Results, folder: Path) -> list[Path]:
    """Curves and pictures."""
    return compose("figure-4", results, folder, CURVES, METHODS, SHOWN)


FIGURE = Figure(
    name="figure-4",
    title="Sequence search on vaccination in Pennsylvania",
    caption=(
        f"Places whose values run through a list of targets. {ABOUT_CURVES} {ABOUT_PICTURES} The decision is"
        " numbered in its order; white lines with the same numbers are where the true function has the targets."
        " Vaccination: CDC COVID Data Tracker, counties on 16 September 2021, as a network trained by this"
        " project, from 0 at its least to 1 at its greatest value."
    ),
    tasks=("vaccination-pennsylvania-sequence",),
    draw=draw,
)
