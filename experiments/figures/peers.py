"""Curves of runs beside peers: a panel for each, with means and bands of one standard error."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.figures.page import drawn
from experiments.peer_tables import PeerLine, PeerPanel

LOOKS: dict[str, dict[str, Any]] = {
    "hentropy": {"color": "#0072b2", "marker": "o"},
    "hentropy-top-3": {"color": "#56b4e9", "marker": "D"},
    "hentropy-ignore": {"color": "#56b4e9", "marker": "D"},
    "baybe": {"color": "#d55e00", "marker": "s"},
    "botorch-mixed": {"color": "#9467bd", "marker": "P"},
    "botorch-mfkg": {"color": "#00563b", "marker": "*"},
    "botorch-qlognei": {"color": "#9467bd", "marker": "P"},
    "botorch-qlognehvi": {"color": "#9467bd", "marker": "P"},
    "random": {"color": "#7f7f7f", "marker": "x", "linestyle": ":"},
}
MARKS = 6
"""About so many markers along a curve."""


def draw_peers(panels: Sequence[PeerPanel], folder: Path, name: str) -> list[Path]:
    """Two panels in a row, each with a legend that says how many runs a curve stands on; none without any run."""
    shown = [panel for panel in panels if panel.lines]
    if not shown:
        return []
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel in zip(grid.flat, shown, strict=False):
            _draw_panel(axes, panel)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)

    return drawn(folder, name, 2.9 * rows + 0.2, draw)


def _draw_panel(axes: Axes, panel: PeerPanel) -> None:
    # of two lines of one method, what it has decided comes with dashes
    for place, line in enumerate(panel.lines):
        _draw_line(axes, panel, line, place)
    if panel.regret:
        axes.set_yscale("log")
    axes.set(title=panel.title, xlabel=panel.axis, ylabel=panel.score)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.legend(frameon=False, loc="best", fontsize=6.5, handlelength=3.2)


def _draw_line(axes: Axes, panel: PeerPanel, line: PeerLine, place: int) -> None:
    look = {"linestyle": "--" if line.label.endswith("decided") else "-", **LOOKS[line.method]}
    mean, error = line.curve.mean, line.curve.error
    step = max(1, len(panel.x) // MARKS)
    # a regret has no place below zero on its scale
    low = np.maximum(mean - error, 0.05 * mean) if panel.regret else mean - error
    axes.fill_between(panel.x, low, mean + error, color=look["color"], alpha=0.11, linewidth=0)
    axes.plot(
        panel.x,
        mean,
        **look,
        markersize=4,
        markevery=(place * step // len(panel.lines), step),
        linewidth=1.6 if line.method.startswith("hentropy") else 1.2,
        label=f"{line.label} ({len(line.seeds)})",
    )
