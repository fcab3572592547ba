"""Figure 7: the classic acquisition functions."""

from pathlib import Path

from hentropy.bench.experiments.figures.base import Figure
from hentropy.bench.experiments.figures.compose import ABOUT_CURVES, ABOUT_PICTURES, Shown, compose
from hentropy.bench.experiments.plan import Results

CURVES = {
    "curves-2-parameters": ("alpine-2-top-5", "vaccination-pennsylvania-top-5"),
    "curves-3-and-5-parameters": ("alpine-3-top-3", "alpine-5-top-5"),
}
METHODS = ("hentropy", "kg", "ei", "pi", "mes", "botorch-logei", "botorch-qkg", "random")
SHOWN = (
    Shown("alpine-2-top-5", ("hentropy", "kg", "ei", "pi", "mes", "botorch-logei"), after=30),
    Shown("multihills-one-level", ("hentropy", "pom", "straddle", "efi"), after=15),
)


def draw(results: Results, folder: Path) -> list[Path]:
    """Curves and pictures."""
    return compose("figure-7", results, folder, CURVES, METHODS, SHOWN)


FIGURE = Figure(
    name="figure-7",
    title="Classic acquisition functions",
    caption=(
        "Classic acquisition functions, which are about another decision than the one that is made in the end."
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
    draw=draw,
)
