"""The paper's figures, made of recorded runs."""

from experiments.figures.figure_1 import FIGURE
from experiments.figures.paper import COMPOSED, Figure

FIGURES: dict[str, Figure] = {figure.name: figure for figure in (FIGURE, *COMPOSED)}

__all__ = ["FIGURES", "Figure"]
