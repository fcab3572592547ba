"""Pictures of runs on a plane, drawn: the truth as the ground, and on it what each method asked and decided."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import AbstractPathEffect, withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from experiments.figures.page import SMALL, WIDTH, drawn, plain, title_of
from experiments.figures.pictures import Ground, Pictures, RunPicture
from experiments.methods import METHODS

ORANGE, LIGHT_GREEN = "#d55e00", "#44e0b0"
EDGE: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.6, "clip_on": False}
FIRST: dict[str, Any] = {**EDGE, "c": "white", "marker": "X", "s": 22, "zorder": 4, "label": "first designs"}
ASKED: dict[str, Any] = {**EDGE, "c": "white", "marker": "o", "s": 14, "zorder": 4, "label": "queries"}
# hollow, for it often lies on a design of the decision
NEXT: dict[str, Any] = {"marker": "D", "s": 85, "facecolors": "none", "clip_on": False, "zorder": 6}
CHOSEN: dict[str, Any] = {**EDGE, "c": ORANGE, "marker": "*", "s": 110, "zorder": 5, "label": "decision"}
NUMBERED: dict[str, Any] = {**EDGE, "c": ORANGE, "marker": "o", "s": 85, "zorder": 5}
BEST: dict[str, Any] = {"facecolors": "none", "marker": "o", "s": 130, "clip_on": False, "zorder": 3}
WRONG: dict[str, Any] = {**EDGE, "c": ORANGE, "marker": "s", "s": 10, "zorder": 3, "label": "wrong label"}
TRUE_LINE: dict[str, Any] = {"colors": "white", "linewidths": 1.4, "linestyles": "solid"}
GUESSED_LINE: dict[str, Any] = {"colors": ORANGE, "linewidths": 1.4, "linestyles": "dashed"}

OUTLINED: list[AbstractPathEffect] = [withStroke(linewidth=2.2, foreground="black")]
"""White lines are seen on light and on dark ground, and on paper."""

BANDS = 48

NAMES = {"lon": "longitude (° east)", "lat": "latitude (° north)"}
VALUES = {
    "vaccination-pennsylvania-top-5": "share vaccinated",
    "vaccination-pennsylvania-sequence": "share vaccinated, scaled",
    "night-light-one-level": "relative light",
}


def draw_pictures(info: Pictures, folder: Path, name: str) -> list[Path]:
    """A panel for each method: two in a row, or three if that leaves no gap or there are more than four."""
    ground, count = info.ground, len(info.pictures)
    columns = 3 if count == 3 or count > 4 else min(count, 2)
    rows = -(-count // columns)
    tall = (1.85 * _shape(ground) + 0.5) if columns == 3 else (2.6 * _shape(ground) + 0.4)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axes, picture in zip(grid.flat, info.pictures, strict=False):
            _draw_panel(axes, ground, picture)
            _draw_title(axes, ground, picture, ": " if columns < 3 else "\n")
        for axes in grid.flat[count:]:
            axes.set_visible(False)
        for axes in grid.flat[max(0, count - columns) : count]:  # with nothing below
            axes.set_xlabel(NAMES.get(ground.names[0], ground.names[0]))
            axes.tick_params(labelbottom=True)
        for axes in grid[:, 0]:
            axes.set_ylabel(NAMES.get(ground.names[1], ground.names[1]))
        ticks = MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
        bar: dict[str, Any] = {"fraction": 0.04, "pad": 0.025, "aspect": 25, "ticks": ticks}
        figure.colorbar(grid[0, 0].collections[0], ax=grid, label=VALUES.get(ground.task, "f"), **bar)
        queries = f"after {info.after} quer" + ("y" if info.after == 1 else "ies")
        figure.suptitle(f"{title_of(ground.task)}: {queries}, seed {info.seed}")
        handles = _legend(info)
        columns_of_legend = len(handles) if len(handles) < 6 and count > 1 else 3
        figure.legend(handles=handles, loc="outside lower center", ncols=columns_of_legend, frameon=False)

    return drawn(folder, name, rows * tall + 1.0, draw, WIDTH if count > 1 else 0.6 * WIDTH)


def _shape(ground: Ground) -> float:
    """Height over width of the plane."""
    if ground.stretch is None:
        return 1.0
    x, y = ground.axes
    return float(ground.stretch * (y[-1] - y[0]) / (x[-1] - x[0]))


def _draw_panel(axes: Axes, ground: Ground, picture: RunPicture) -> None:
    # flat bands keep the file small; so many of them look smooth
    axes.contourf(*ground.axes, ground.truth, BANDS, cmap="cividis").set_rasterized(True)
    axes.set(xlim=ground.axes[0][[0, -1]], ylim=ground.axes[1][[0, -1]], box_aspect=_shape(ground))
    axes.locator_params(nbins=4)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(plain))
    if picture.mean is not None:
        lines = axes.contour(*ground.axes, ground.truth, levels=ground.heights, **TRUE_LINE)
        lines.set_path_effects(OUTLINED)
        _contour(axes, ground, picture.mean)
        axes.scatter(*picture.wrong.T, **WRONG)
    elif ground.heights:
        _draw_path(axes, ground, picture.chosen)
    else:
        axes.scatter(*ground.best.T, edgecolors="black", linewidths=2.6, **BEST)
        axes.scatter(*ground.best.T, edgecolors="white", linewidths=1.2, **BEST)
        axes.scatter(*picture.chosen.T, **CHOSEN)
    axes.scatter(*picture.queries[: picture.first].T, **FIRST)
    axes.scatter(*picture.queries[picture.first :].T, **ASKED)
    axes.scatter(*picture.following.T, edgecolors="black", linewidths=3.0, **NEXT)
    axes.scatter(*picture.following.T, edgecolors=LIGHT_GREEN, linewidths=1.6, **NEXT)


def _draw_title(axes: Axes, ground: Ground, picture: RunPicture, separator: str) -> None:
    label, score = METHODS[picture.method].label, plain(float(f"{picture.score:.3g}"))
    # clear of a mark on the upper border
    axes.set_title(f"{label}{separator}{ground.score} {score}", fontsize=SMALL, pad=9)


def _contour(axes: Axes, ground: Ground, values: np.ndarray) -> None:
    """Lines at the heights that the values reach; others would be a warning."""
    reached = [height for height in ground.heights if values.min() < height < values.max()]
    if reached:
        axes.contour(*ground.axes, values, levels=reached, **GUESSED_LINE)


def _draw_path(axes: Axes, ground: Ground, path: np.ndarray) -> None:
    """Where the true function has each target, and the chosen designs numbered in their order."""
    order = np.argsort(ground.heights)
    levels = np.array(ground.heights)[order]
    lines = axes.contour(*ground.axes, ground.truth, levels=levels, colors="white", linewidths=0.9)
    names = {level: str(position + 1) for level, position in zip(levels, order, strict=True)}
    for text in axes.clabel(lines, fmt=names, fontsize=SMALL, inline=True, inline_spacing=2):
        text.set_path_effects([withStroke(linewidth=1.5, foreground="black")])
    axes.plot(
        *path.T, color=ORANGE, linewidth=1.2, zorder=4, path_effects=[withStroke(linewidth=2.4, foreground="black")]
    )
    for number, (x, y) in enumerate(path, start=1):
        above = 5.0 + 0.01 * number  # a number that covers another covers it with its mark
        axes.scatter(x, y, **{**NUMBERED, "zorder": above})
        words: dict[str, Any] = {"ha": "center", "va": "center", "color": "white", "fontweight": "bold"}
        axes.annotate(str(number), (x, y), fontsize=SMALL, zorder=above, **words)


def _legend(info: Pictures) -> list[Line2D]:
    """What the marks mean; only those that occur."""
    levels = any(picture.mean is not None for picture in info.pictures)
    path = bool(info.ground.heights) and not levels
    handles = [_mark(FIRST), _mark(ASKED)]
    handles += [_hollow("D", LIGHT_GREEN, "next query")] if any(len(each.following) for each in info.pictures) else []
    if levels:
        handles.append(Line2D([], [], color="white", linewidth=1.4, path_effects=OUTLINED, label="true boundary"))
        handles.append(Line2D([], [], color=ORANGE, linewidth=1.4, linestyle="dashed", label="predicted boundary"))
        handles.append(_mark(WRONG))
    elif path:
        handles.append(_mark(NUMBERED, "decision, in order"))
        handles.append(
            Line2D([], [], color="white", linewidth=1.1, path_effects=OUTLINED, label="where f has a target")
        )
    else:
        handles.append(_mark(CHOSEN))
        handles += [_hollow("o", "white", "true best")] if len(info.ground.best) else []
    return handles


def _hollow(marker: str, colour: str, label: str) -> Line2D:
    edge: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": colour, "markeredgewidth": 1.4}
    effects: list[AbstractPathEffect] = [withStroke(linewidth=2.8, foreground="black")]
    return Line2D([], [], linestyle="none", marker=marker, markersize=7, label=label, path_effects=effects, **edge)


def _mark(look: dict[str, Any], label: str | None = None) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=look["marker"],
        markerfacecolor=look["c"],
        markeredgecolor="black",
        markeredgewidth=look["linewidths"],
        markersize=look["s"] ** 0.5,
        label=label or look["label"],
    )
