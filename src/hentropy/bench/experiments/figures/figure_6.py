"""Figure 6: a sequence of targets on Multihills."""

from pathlib import Path

from hentropy.bench.experiments.figures.base import Figure
from hentropy.bench.experiments.figures.compose import ABOUT_CURVES, ABOUT_PICTURES, Shown, compose
from hentropy.bench.experiments.plan import Results

CURVES = {"curves": ("multihills-sequence",)}
METHODS = ("hentropy", "hentropy-mixture", "one-shot-paper", "kg", "ei", "uncertainty", "random")
SHOWN = (Shown("multihills-sequence", ("hentropy", "kg", "uncertainty", "random"), after=20),)


def draw(results: Results, folder: Path) -> list[Path]:
    """Curves and pictures."""
    return compose("figure-6", results, folder, CURVES, METHODS, SHOWN)


FIGURE = Figure(
    name="figure-6",
    title="Sequence search on Multihills",
    caption=(
        f"Designs whose values run through a list of targets, from a summit down to the plain. {ABOUT_CURVES}"
        f" {ABOUT_PICTURES} The decision is numbered in its order; white lines with the same numbers are where the"
        " true function has the targets."
    ),
    tasks=("multihills-sequence",),
    draw=draw,
)
