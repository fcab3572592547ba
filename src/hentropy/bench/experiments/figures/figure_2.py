"""Figure 2: top-k search with diversity."""

from pathlib import Path

from hentropy.bench.experiments.figures.base import Figure
from hentropy.bench.experiments.figures.compose import ABOUT_CURVES, ABOUT_PICTURES, Shown, compose
from hentropy.bench.experiments.plan import Results

CURVES = {"curves": ("alpine-3-top-3", "alpine-5-top-5", "vaccination-pennsylvania-top-5")}
METHODS = ("hentropy", "hentropy-mixture", "one-shot-paper", "kg", "ei", "uncertainty", "random")
SHOWN = (
    Shown("vaccination-pennsylvania-top-5", ("hentropy", "kg", "uncertainty", "random"), after=25),
    Shown("alpine-2-top-5", ("hentropy", "kg", "uncertainty", "random"), after=30),
)


def draw(results: Results, folder: Path) -> list[Path]:
    """Curves and pictures."""
    return compose("figure-2", results, folder, CURVES, METHODS, SHOWN)


FIGURE = Figure(
    name="figure-2",
    title="Top-k with diversity",
    caption=(
        f"The k best designs, apart from each other. {ABOUT_CURVES} {ABOUT_PICTURES} Stars are the decision, rings"
        " the best one. Vaccination: CDC COVID Data Tracker, counties on 16 September 2021, as a network trained"
        " by this project."
    ),
    tasks=("alpine-3-top-3", "alpine-5-top-5", "vaccination-pennsylvania-top-5", "alpine-2-top-5"),
    draw=draw,
)
