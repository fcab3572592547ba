"""Figure 5: sets above one level."""

from pathlib import Path

from hentropy.bench.experiments.figures.base import Figure
from hentropy.bench.experiments.figures.compose import ABOUT_CURVES, ABOUT_PICTURES, LEVEL_SET_METHODS, Shown, compose
from hentropy.bench.experiments.plan import Results

CURVES = {"curves": ("multihills-one-level", "alpine-2-one-level", "night-light-one-level")}
SHOWN = (Shown("night-light-one-level", ("hentropy", "straddle", "uncertainty", "random"), after=30),)


def draw(results: Results, folder: Path) -> list[Path]:
    """Curves and pictures."""
    return compose("figure-5", results, folder, CURVES, LEVEL_SET_METHODS, SHOWN)


FIGURE = Figure(
    name="figure-5",
    title="One-level sets",
    caption=(
        f"For each point of a grid, whether the function exceeds a level there. {ABOUT_CURVES} {ABOUT_PICTURES}"
        " White lines bound the true set, dashed lines the predicted one; squares are points with a wrong label."
        " Night light: NASA Earth Observatory / NOAA NGDC, Suomi NPP VIIRS day-night band, 2012."
    ),
    tasks=("multihills-one-level", "alpine-2-one-level", "night-light-one-level"),
    draw=draw,
)
