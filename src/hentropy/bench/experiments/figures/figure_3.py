"""Figure 3: sets above two levels."""

from pathlib import Path

from hentropy.bench.experiments.figures.base import Figure
from hentropy.bench.experiments.figures.compose import ABOUT_CURVES, ABOUT_PICTURES, LEVEL_SET_METHODS, Shown, compose
from hentropy.bench.experiments.plan import Results

CURVES = {"curves": ("multihills-two-levels", "alpine-2-two-levels")}
SHOWN = (Shown("multihills-two-levels", ("hentropy", "straddle", "uncertainty", "random"), after=15),)


def draw(results: Results, folder: Path) -> list[Path]:
    """Curves and pictures."""
    return compose("figure-3", results, folder, CURVES, LEVEL_SET_METHODS, SHOWN)


FIGURE = Figure(
    name="figure-3",
    title="Two-level sets",
    caption=(
        f"For each point of a grid, which of two levels the function exceeds there. {ABOUT_CURVES}"
        f" {ABOUT_PICTURES} White lines bound the true sets, dashed lines the predicted ones; squares are points"
        " with a wrong label."
    ),
    tasks=("multihills-two-levels", "alpine-2-two-levels"),
    draw=draw,
)
