"""The paper's figures, made of recorded runs: an explicit table of them. Needs the extra `plots`."""

from hentropy.bench.experiments.figures import figure_1, figure_2, figure_3, figure_4, figure_5, figure_6, figure_7
from hentropy.bench.experiments.figures.base import Figure

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        figure_1.FIGURE,
        figure_2.FIGURE,
        figure_3.FIGURE,
        figure_4.FIGURE,
        figure_5.FIGURE,
        figure_6.FIGURE,
        figure_7.FIGURE,
    )
}

__all__ = ["FIGURES", "Figure"]
