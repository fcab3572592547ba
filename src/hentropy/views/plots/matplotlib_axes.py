"""Panels on matplotlib's axes: each mark, then the axes' own dress."""

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Band, Bars, Contour, Dots, Heat, Line, Mark, Panel, Rule, cell_edges
from hentropy.views.plots.matplotlib_texts import written
from hentropy.views.plots.theme import (
    BAND,
    BLACK,
    CELL_FOOT,
    DASHES,
    HATCHES,
    LIGHT,
    MANY,
    MANY_NAMES,
    MAP,
    WHITE,
    Dashes,
    abbreviated,
    dash_of,
    from_below,
    ink_on,
    label_colours,
    label_places,
    look,
    marker_size,
    name_angle,
    option_colour,
    passes,
    place_of,
    shows_texts,
    stroke,
)

LOW, HIGH = 1e-3, 1e5
"""Values between these are written out on logarithmic axes."""


def draw_marks(axes: Axes, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    """Draw the marks of a panel; returns what the legend shows, by label."""
    # scales first: colour meshes and contours are laid out by them
    for axis, set_scale in ((panel.x, axes.set_xscale), (panel.y, axes.set_yscale)):
        if axis.log:
            set_scale("log")
    # ranges last: the first of several rules on a logarithmic axis has none of its own
    axes.set_autoscale_on(False)
    legend: dict[str, Artist] = {}
    for mark in from_below(panel.marks):
        artists = DRAWERS[type(mark)](axes, mark, panel, dashes)
        for label, artist in artists.items():
            if label:
                legend.setdefault(written(label, 60), artist)
    axes.set_autoscale_on(True)
    axes.autoscale_view()
    return legend


def _line(axes: Axes, line: Line, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    style = look(line)
    colour = stroke(line.role) if line.option is None else option_colour(line.option)
    points: dict[str, Any] = {}
    if line.dots:
        points = {"marker": style.marker, "markersize": style.size}
        points |= {"markeredgecolor": BLACK, "markerfacecolor": style.colour if line.option is None else colour}
    [artist] = axes.plot(
        line.x,
        line.y,
        color=colour,
        linestyle=DASHES[dash_of(line, dashes)][0],
        linewidth=1.8,
        zorder=place_of(line),
        **points,
    )
    return {line.label: artist}


def _band(axes: Axes, band: Band, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    colour = stroke(band.role)
    place = place_of(band)
    axes.fill_between(band.x, band.low, band.high, color=colour, alpha=BAND, linewidth=0, zorder=place)
    # where bands lie on each other they are darker, and so is the legend of those above
    below = sum(isinstance(mark, Band) for mark in panel.marks[: _position(panel, band)])
    return {band.label: Patch(facecolor=colour, alpha=1.0 - (1.0 - BAND) ** (below + 1), linewidth=0)}


def _position(panel: Panel, mark: Mark) -> int:
    # by identity: arrays have no truth value to compare by
    return next(position for position, each in enumerate(panel.marks) if each is mark)


def _dots(axes: Axes, dots: Dots, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    style = look(dots)
    seen = _within(dots.x, panel.x) & _within(dots.y, panel.y)
    if not seen.any():
        return {}
    x, y = np.asarray(dots.x, float)[seen], np.asarray(dots.y, float)[seen]
    place, size = place_of(dots), marker_size(dots)
    if dots.error is not None:
        error = np.asarray(dots.error, float)[..., seen]
        ink = "#555555" if dots.role in LIGHT else style.colour
        axes.errorbar(x, y, error, fmt="none", ecolor=ink, elinewidth=1.0, capsize=2.5, zorder=place - 1)
    # two strokes keep a marker without a face visible on maps
    edge: dict[str, Any] = {"markeredgewidth": 2.0}
    if style.filled:
        edge = {"markeredgecolor": BLACK, "markeredgewidth": 0.8}
        edge |= {"alpha": 0.55, "markeredgewidth": 0.3} if len(x) > MANY else {}
    # designs on the border keep their markers whole
    [artist] = axes.plot(x, y, style.marker, color=style.colour, markersize=size, clip_on=False, zorder=place, **edge)
    if dots.options is not None and style.filled:
        # over the same markers in the colour of their role, which is that of the legend
        own = np.asarray(dots.options, float)[seen]
        for option in np.unique(own[np.isfinite(own)]):
            at = own == option
            faces = {**edge, "color": option_colour(option), "markersize": size, "clip_on": False}
            axes.plot(x[at], y[at], style.marker, **faces, zorder=place)
    if shows_texts(dots):
        for text, a, b in zip(np.array(dots.texts)[seen], x, y, strict=True):
            axes.annotate(
                written(str(text)),
                (a, b),
                xytext=(size / 2 + 2, 3),
                textcoords="offset points",
                fontsize=9,
                zorder=place + 10,
                bbox={"boxstyle": "round,pad=0.1", "facecolor": WHITE, "edgecolor": "none", "alpha": 0.65},
            )
    return {dots.label: artist}


def _within(values: np.ndarray, axis: Axis) -> np.ndarray:
    low = -np.inf if axis.low is None else axis.low
    high = np.inf if axis.high is None else axis.high
    slack = 1e-9 * (high - low) if np.isfinite(high - low) else 0.0
    return np.asarray((values >= low - slack) & (values <= high + slack))


def _heat(axes: Axes, heat: Heat, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    x, y = cell_edges(heat.x, log=panel.x.log), cell_edges(heat.y, log=panel.y.log)
    shown = np.ma.masked_invalid(heat.z)
    if heat.names:
        return _labels(axes, heat, x, y, shown)
    low, high = heat.low, heat.high
    if shown.count() == 0:
        low, high = 0.0, 1.0
    drawn = axes.pcolormesh(x, y, shown, cmap=MAP, vmin=low, vmax=high, rasterized=True, zorder=0)
    axes.figure.colorbar(drawn, ax=axes, label=written(heat.label, 48), pad=0.02, aspect=26)
    for j, row in enumerate(heat.texts):
        for i, text in enumerate(row):
            if text:
                ink, foot = ink_on(heat, float(heat.z[j, i])), float(heat.y[j]) - CELL_FOOT
                axes.text(float(heat.x[i]), foot, text, ha="center", va="center", fontsize=7.5, color=ink, zorder=16)
    return {}


def _labels(axes: Axes, heat: Heat, x: np.ndarray, y: np.ndarray, shown: Any) -> dict[str, Artist]:
    count = len(heat.names)
    colours = label_colours(count)
    kinds = ListedColormap(colours)
    axes.pcolormesh(x, y, shown, cmap=kinds, vmin=-0.5, vmax=count - 0.5, rasterized=True, zorder=0)
    legend: dict[str, Artist] = {}
    for label, name in enumerate(heat.names):
        inside = (heat.z == label).astype(float)
        if not inside.any():
            continue
        hatch = HATCHES[label % len(HATCHES)]
        legend[name] = Patch(facecolor=colours[label], hatch=hatch, edgecolor="#00000055", linewidth=0.5)
        if hatch and min(heat.z.shape) > 1 and 0.0 < inside.mean() < 1.0:
            shaded = axes.contourf(heat.x, heat.y, inside, levels=[0.5, 1.5], colors="none", hatches=[hatch], zorder=1)
            shaded.set(edgecolor="#00000055", linewidth=0.0)
    for place in label_places(heat):
        axes.text(
            place.x,
            place.y,
            written(place.name, 24),
            ha="center",
            va="center",
            fontsize=10,
            zorder=25,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": WHITE, "edgecolor": "none", "alpha": 0.8},
        )
    return legend


def _contour(axes: Axes, contour: Contour, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    if not passes(contour):
        return {}
    colour, dash = stroke(contour.role), DASHES[dash_of(contour, dashes)][0]
    values, place = np.ma.masked_invalid(contour.z), place_of(contour)
    # a white border shows the line on every colour of a map
    for line, width, kind in ((WHITE, 3.2, "solid"), (colour, 1.6, dash)):
        lines: dict[str, Any] = {"levels": [contour.level], "colors": [line], "linewidths": width, "linestyles": [kind]}
        axes.contour(contour.x, contour.y, values, **lines, zorder=place)
    return {contour.label: Line2D([], [], color=colour, linestyle=dash, linewidth=1.6)}


def _bars(axes: Axes, bars: Bars, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    width = np.diff(bars.edges) * (0.8 if panel.x.names else 1.0)
    middle = (bars.edges[:-1] + bars.edges[1:]) / 2
    colour = stroke(bars.role)
    artist = axes.bar(
        middle, bars.heights, width, color=colour, alpha=0.75, edgecolor=WHITE, linewidth=0.6, zorder=place_of(bars)
    )
    return {bars.label: artist.patches[0]} if artist.patches else {}


def _rule(axes: Axes, rule: Rule, panel: Panel, dashes: Dashes) -> dict[str, Artist]:
    across = axes.axvline if rule.axis == "x" else axes.axhline
    dash = DASHES[dash_of(rule, dashes)][0]
    artist = across(rule.at, color=stroke(rule.role), linestyle=dash, linewidth=1.8, zorder=place_of(rule))
    return {rule.label: artist}


DRAWERS: dict[type[Mark], Callable[[Axes, Any, Panel, Dashes], dict[str, Artist]]] = {
    Line: _line,
    Band: _band,
    Dots: _dots,
    Heat: _heat,
    Contour: _contour,
    Bars: _bars,
    Rule: _rule,
}


def dress(axes: Axes, panel: Panel) -> None:
    """Titles, ranges and ticks of a panel."""
    # nothing else is above a panel; without y, matplotlib looks for a free place each time
    axes.set_title(textwrap.fill(written(panel.title, 120), 44), fontsize=11, pad=9, y=1.0)
    axes.set_xlabel(written(panel.x.title, 60))
    axes.set_ylabel(written(panel.y.title, 48))
    is_map = any(isinstance(mark, Heat) for mark in panel.marks)
    if not is_map:
        axes.grid(color="#e4e4e4", linewidth=0.7, zorder=-1)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    for axis, ticks, limit in ((panel.x, axes.xaxis, axes.set_xlim), (panel.y, axes.yaxis, axes.set_ylim)):
        if axis.low is not None or axis.high is not None:
            limit(axis.low, axis.high)
        if axis.names:
            ticks.set_ticks(range(len(axis.names)), [written(abbreviated(name, 18)) for name in axis.names])
            ticks.set_minor_locator(NullLocator())
            ticks.set_minor_formatter(NullFormatter())
        elif axis.ticks:
            ticks.set_ticks(axis.ticks, [short(value) for value in axis.ticks])
            ticks.set_minor_locator(NullLocator())
            ticks.set_minor_formatter(NullFormatter())
        elif axis.whole and not axis.log:
            ticks.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
        elif axis.log and axis.low is not None and axis.high is not None and LOW <= axis.low < axis.high <= HIGH:
            # within two decades powers of ten are too few, and matplotlib would label 6 x 10^-1
            ticks.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if axis.high < 100.0 * axis.low else (1.0,)))
            ticks.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            ticks.set_minor_formatter(NullFormatter())
    angle = name_angle(panel.x.names)
    if angle:
        many = angle == 90
        axes.set_xticks(
            axes.get_xticks(),
            [label.get_text() for label in axes.get_xticklabels()],
            rotation=angle,
            ha="center" if many else "right",
            rotation_mode="default" if many else "anchor",
            fontsize=8 if many else None,
        )
    if len(panel.y.names) > MANY_NAMES:
        axes.tick_params(axis="y", labelsize=8)
