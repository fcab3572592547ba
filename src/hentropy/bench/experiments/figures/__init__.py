"""The paper's figures, made of recorded runs: an explicit table of them. Needs the extra `plots`."""

from hentropy.errors import require

require("matplotlib", "plots")

from hentropy.bench.experiments.figures.figure_1 import FIGURE
from hentropy.bench.experiments.figures.paper import COMPOSED, Figure

FIGURES: dict[str, Figure] = {figure.name: figure for figure in (FIGURE, *COMPOSED)}

__all__ = ["FIGURES", "Figure"]
