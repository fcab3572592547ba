"""Pictures as files, by matplotlib: PNG, SVG or PDF. Nothing is computed here but where things go."""

import io
import math
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from hentropy.errors import InputError
from hentropy.studies.records.numbers import short
from hentropy.views.plots import theme
from hentropy.views.plots.marks import (
    Axis,
    Band,
    Bars,
    Contour,
    Dots,
    Heat,
    Line,
    Mark,
    Panel,
    Picture,
    Rule,
    Table,
    cell_edges,
)
from hentropy.views.plots.matplotlib_texts import (
    FONT,
    draw_table,
    families,
    fitted,
    inches,
    table_height,
    table_width,
    wrapped,
    written,
)

FORMATS = (".png", ".svg", ".pdf")
DPI = 130
STRETCH = 1.6
"""How many times wider than usual a panel may get to fill its row."""

LINE, LEGEND_LINE = 0.19, 0.24
"""Inches: the height of a line of the caption, and of the legend."""

HEAD = 0.5
NARROWEST, WIDEST, MARGIN = 6.4, 14.0, 0.1
"""Inches: the height of the title; the smallest and the largest width of a figure, and what is free at its sides."""

SIZE = 10.0
"""The size of the caption and of the legend, in points."""

HINTED = 1.06
"""How many times wider letters get where they are fitted to the pixels of a coarse picture."""

HANDLE = 0.65
"""Inches: what stands before an entry of the legend and after it."""


@overload
def draw(picture: Picture, path: None = None, dpi: int = DPI) -> Figure: ...
@overload
def draw(picture: Picture, path: str | Path, dpi: int = DPI) -> Path: ...
def draw(picture: Picture, path: str | Path | None = None, dpi: int = DPI) -> Figure | Path:
    """The picture as a figure; or, with a path that ends in .png, .svg or .pdf, as that file."""
    if path is None:
        return _figure(picture)
    path = Path(path)
    path.write_bytes(rendered(picture, path.suffix, dpi))
    return path


def rendered(picture: Picture, suffix: str = ".png", dpi: int = DPI) -> bytes:
    """The picture as the bytes of a file that ends in .png, .svg or .pdf."""
    form = suffix.lower()
    if form not in FORMATS:
        raise InputError(f"{suffix!r} is not a format for pictures; the formats are {', '.join(FORMATS)}")
    # dates of making would make equal pictures differ
    stamp = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(form)
    buffer = io.BytesIO()
    figure = _figure(picture)
    figure.set_dpi(dpi)
    layout = figure.get_layout_engine()
    assert layout is not None
    layout.execute(figure)
    figure.set_layout_engine("none")
    if form == ".png":
        FigureCanvasAgg(figure).print_png(buffer)  # `savefig` draws all twice, once for the layout alone
    else:
        figure.savefig(buffer, format=form[1:], dpi=dpi, metadata=stamp)
    return buffer.getvalue()


LOW, HIGH = 1e-3, 1e5
"""Values between these are written out on logarithmic axes."""


def _width(each: Panel | Table) -> float:
    if isinstance(each, Table):
        return table_width(each)
    return 5.0 if any(isinstance(mark, Heat) for mark in each.marks) else 4.6


def _height(each: Panel | Table) -> float:
    return table_height(each) if isinstance(each, Table) else 3.7


def _fitting(picture: Picture) -> Picture:
    """The picture with tables that have room: beside panels in their row, or alone."""
    rows = []
    for row in picture.rows:
        panels = sum(_width(each) for each in row if isinstance(each, Panel))
        tables = sum(isinstance(each, Table) for each in row)
        room = (WIDEST - 2 * MARGIN - panels) / max(tables, 1)
        rows.append(tuple(fitted(each, room) if isinstance(each, Table) else each for each in row))
    return replace(picture, rows=tuple(rows))


def _figure(given: Picture) -> Figure:
    picture = _fitting(given)
    width = min(WIDEST, max([NARROWEST, *(sum(_width(each) for each in row) for row in picture.rows)]))
    rows = [max((_height(each) for each in row), default=0.3) for row in picture.rows] or [0.3]
    # mathematics is taken out after measuring: a backslash has no width
    caption = [written(line) for line in wrapped(picture.caption, (width - 2 * MARGIN) / HINTED, SIZE)]
    labels = _labels(picture)
    columns = _columns(labels, width)
    lines = math.ceil(len(labels) / columns)
    heights = [HEAD, sum(rows) + LEGEND_LINE * lines, LINE * len(caption) + 0.15]
    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    parts: Any = figure.subfigures(3, 1, height_ratios=heights, hspace=0.0)
    head, body, foot = parts
    left = MARGIN / width
    head.text(left, 0.3, written(picture.title), fontsize=14, weight="bold", color=theme.BLACK, va="center")
    foot.text(left, 0.95, "\n".join(caption), fontsize=SIZE, color="#444444", va="top", linespacing=1.25)
    legend: dict[str, Artist] = {}
    dashes = theme.dashes(picture)
    grid = body.add_gridspec(len(rows), 1, height_ratios=rows)
    for position, row in enumerate(picture.rows):
        widths = [_width(each) for each in row]
        # the rest of a row with little in it stays free: nothing is drawn out
        widths.append(max(0.01, width - STRETCH * sum(widths)))
        places = grid[position].subgridspec(1, len(widths), width_ratios=widths)
        for column, each in enumerate(row):
            axes = body.add_subplot(places[0, column])
            if isinstance(each, Table):
                draw_table(axes, each, rows[position])
            else:
                _PanelDrawing(axes, each, dashes, legend).draw()
    if legend:
        handles, said = list(legend.values()), list(legend)
        body.legend(handles, said, loc="outside lower center", ncols=columns, frameon=False, fontsize=SIZE)
    fonts = families(picture)
    if fonts != [FONT]:  # looking for all texts of a figure takes long
        for text in figure.findobj(Text):
            if isinstance(text, Text):
                text.set_fontfamily(fonts)
    return figure


def _labels(picture: Picture) -> list[str]:
    """What the legend will say."""
    marks = [mark for row in picture.rows for each in row if isinstance(each, Panel) for mark in each.marks]
    said = [name for mark in marks for name in (mark.names if isinstance(mark, Heat) else (mark.label,))]
    return list(dict.fromkeys(name for name in said if name))


def _columns(labels: list[str], width: float) -> int:
    """How many entries of the legend fit side by side."""
    longest = max((inches(written(label, 60), SIZE) for label in labels), default=1.0)
    return max(1, min(6, int(width / (longest + HANDLE))))


@dataclass
class _PanelDrawing:
    """A panel on its axes; what the legend shows of it is added to that of the picture, by label."""

    axes: Axes
    panel: Panel
    dashes: theme.Dashes
    legend: dict[str, Artist]

    def draw(self) -> None:
        axes, panel = self.axes, self.panel
        # scales first: colour meshes and contours are laid out by them
        for axis, set_scale in ((panel.x, axes.set_xscale), (panel.y, axes.set_yscale)):
            if axis.log:
                set_scale("log")
        # ranges last: the first of several rules on a logarithmic axis has none of its own
        axes.set_autoscale_on(False)
        for mark in theme.from_below(panel.marks):
            self._mark(mark, theme.place_of(mark))
        axes.set_autoscale_on(True)
        axes.autoscale_view()
        _dress(axes, panel)

    def _name(self, label: str, artist: Artist) -> None:
        if label:
            self.legend.setdefault(written(label, 60), artist)

    def _mark(self, mark: Mark, zorder: int) -> None:
        match mark:
            case Line():
                self._line(mark, zorder)
            case Band(x, low, high, role, label):
                colour = theme.stroke(role)
                self.axes.fill_between(x, low, high, color=colour, alpha=theme.BAND, linewidth=0, zorder=zorder)
                # the legend of a band above others is as dark as they are together
                alpha = 1.0 - (1.0 - theme.BAND) ** (theme.bands_below(self.panel, mark) + 1)
                self._name(label, Patch(facecolor=colour, alpha=alpha, linewidth=0))
            case Dots():
                self._dots(mark, zorder)
            case Heat():
                self._heat(mark)
            case Contour() if theme.passes(mark):
                self._contour(mark, zorder)
            case Bars(edges, heights, role, label):
                width = np.diff(edges) * (0.8 if self.panel.x.names else 1.0)
                style: dict[str, Any] = {"alpha": 0.75, "edgecolor": theme.WHITE, "linewidth": 0.6, "zorder": zorder}
                middle = (edges[:-1] + edges[1:]) / 2
                drawn = self.axes.bar(middle, heights, width, color=theme.stroke(role), **style)
                if drawn.patches:
                    self._name(label, drawn.patches[0])
            case Rule(at, axis, role, label):
                across = self.axes.axvline if axis == "x" else self.axes.axhline
                dash = self._dash(mark)
                self._name(label, across(at, color=theme.stroke(role), linestyle=dash, linewidth=1.8, zorder=zorder))

    def _dash(self, mark: Line | Contour | Rule) -> Any:
        return theme.DASHES[theme.dash_of(mark, self.dashes)][0]

    def _line(self, line: Line, zorder: int) -> None:
        style, colour = theme.LOOKS[line.role], theme.line_colour(line)
        points: dict[str, Any] = {}
        if line.dots:
            face = style.colour if line.option is None else colour
            points = {"marker": style.marker, "markersize": style.size}
            points |= {"markeredgecolor": theme.BLACK, "markerfacecolor": face}
        look: dict[str, Any] = {"color": colour, "linestyle": self._dash(line), "linewidth": 1.8, "zorder": zorder}
        [artist] = self.axes.plot(line.x, line.y, **look, **points)
        self._name(line.label, artist)

    def _dots(self, dots: Dots, zorder: int) -> None:
        style = theme.LOOKS[dots.role]
        seen = _within(dots.x, self.panel.x) & _within(dots.y, self.panel.y)
        if not seen.any():
            return
        x, y = np.asarray(dots.x, float)[seen], np.asarray(dots.y, float)[seen]
        size = theme.marker_size(dots)
        if dots.error is not None:
            error = np.asarray(dots.error, float)[..., seen]
            ink = "#555555" if dots.role in theme.LIGHT else style.colour
            self.axes.errorbar(x, y, error, fmt="none", ecolor=ink, elinewidth=1.0, capsize=2.5, zorder=zorder - 1)
        # two strokes keep a marker without a face visible on maps
        edge: dict[str, Any] = {"markeredgewidth": 2.0}
        if style.filled:
            edge = {"markeredgecolor": theme.BLACK, "markeredgewidth": 0.8}
            edge |= {"alpha": 0.55, "markeredgewidth": 0.3} if len(x) > theme.MANY_POINTS else {}
        # designs on the border keep their markers whole
        look: dict[str, Any] = {"markersize": size, "clip_on": False, "zorder": zorder, **edge}
        [artist] = self.axes.plot(x, y, style.marker, color=style.colour, **look)
        self._name(dots.label, artist)
        if dots.options is not None and style.filled:
            # over the same markers in the colour of their role, which is that of the legend
            own = np.asarray(dots.options, float)[seen]
            for option in np.unique(own[np.isfinite(own)]):
                at = own == option
                self.axes.plot(x[at], y[at], style.marker, color=theme.option_colour(option), **look)
        if theme.shows_texts(dots):
            box = {"boxstyle": "round,pad=0.1", "facecolor": theme.WHITE, "edgecolor": "none", "alpha": 0.65}
            beside: dict[str, Any] = {"xytext": (size / 2 + 2, 3), "textcoords": "offset points", "fontsize": 9}
            for text, a, b in zip(np.array(dots.texts)[seen], x, y, strict=True):
                self.axes.annotate(written(str(text)), (a, b), **beside, zorder=zorder + 10, bbox=box)

    def _heat(self, heat: Heat) -> None:
        x, y = (cell_edges(at, log=axis.log) for at, axis in ((heat.x, self.panel.x), (heat.y, self.panel.y)))
        shown = np.ma.masked_invalid(heat.z)
        if heat.names:
            self._labels(heat, x, y, shown)
            return
        low, high = (heat.low, heat.high) if shown.count() else (0.0, 1.0)
        drawn = self.axes.pcolormesh(x, y, shown, cmap=theme.MAP, vmin=low, vmax=high, rasterized=True, zorder=0)
        self.axes.figure.colorbar(drawn, ax=self.axes, label=written(heat.label, 48), pad=0.02, aspect=26)
        for (j, i), value in np.ndenumerate(heat.z):
            if heat.texts and heat.texts[j][i]:
                ink, foot = theme.ink_on(heat, float(value)), float(heat.y[j]) - theme.CELL_FOOT
                at: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5, "color": ink, "zorder": 16}
                self.axes.text(float(heat.x[i]), foot, heat.texts[j][i], **at)

    def _labels(self, heat: Heat, x: np.ndarray, y: np.ndarray, shown: Any) -> None:
        count = len(heat.names)
        colours = theme.label_colours(count)
        scale: dict[str, Any] = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": count - 0.5}
        self.axes.pcolormesh(x, y, shown, **scale, rasterized=True, zorder=0)
        for label, name in enumerate(heat.names):
            inside = (heat.z == label).astype(float)
            if not inside.any():
                continue
            hatch, faint = theme.HATCHES[label % len(theme.HATCHES)], "#00000055"
            self._name(name, Patch(facecolor=colours[label], hatch=hatch, edgecolor=faint, linewidth=0.5))
            if hatch and min(heat.z.shape) > 1 and 0.0 < inside.mean() < 1.0:
                lined: dict[str, Any] = {"levels": [0.5, 1.5], "colors": "none", "hatches": [hatch], "zorder": 1}
                self.axes.contourf(heat.x, heat.y, inside, **lined).set(edgecolor=faint, linewidth=0.0)
        box = {"boxstyle": "round,pad=0.2", "facecolor": theme.WHITE, "edgecolor": "none", "alpha": 0.8}
        at: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 10, "zorder": 25}
        for name, across, up in theme.label_places(heat):
            self.axes.text(across, up, written(name, 24), **at, bbox=box)

    def _contour(self, contour: Contour, zorder: int) -> None:
        colour, dash, values = theme.stroke(contour.role), self._dash(contour), np.ma.masked_invalid(contour.z)
        # a white border shows the line on every colour of a map
        for line, width, kind in ((theme.WHITE, 3.2, "solid"), (colour, 1.6, dash)):
            look: dict[str, Any] = {"colors": [line], "linewidths": width, "linestyles": [kind], "zorder": zorder}
            self.axes.contour(contour.x, contour.y, values, levels=[contour.level], **look)
        self._name(contour.label, Line2D([], [], color=colour, linestyle=dash, linewidth=1.6))


def _within(values: np.ndarray, axis: Axis) -> np.ndarray:
    low = -np.inf if axis.low is None else axis.low
    high = np.inf if axis.high is None else axis.high
    slack = 1e-9 * (high - low) if np.isfinite(high - low) else 0.0
    return np.asarray((values >= low - slack) & (values <= high + slack))


def _dress(axes: Axes, panel: Panel) -> None:
    """Titles, ranges and ticks of a panel."""
    # nothing else is above a panel; without y, matplotlib looks for a free place each time
    axes.set_title(textwrap.fill(written(panel.title, 120), 44), fontsize=11, pad=9, y=1.0)
    axes.set_xlabel(written(panel.x.title, 60))
    axes.set_ylabel(written(panel.y.title, 48))
    if not any(isinstance(mark, Heat) for mark in panel.marks):
        axes.grid(color="#e4e4e4", linewidth=0.7, zorder=-1)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    for axis, ticks, limit in ((panel.x, axes.xaxis, axes.set_xlim), (panel.y, axes.yaxis, axes.set_ylim)):
        if axis.low is not None or axis.high is not None:
            limit(axis.low, axis.high)
        if axis.names or axis.ticks:
            names = [written(theme.abbreviated(name, 18)) for name in axis.names] or [short(at) for at in axis.ticks]
            ticks.set_ticks(axis.ticks or range(len(names)), names)
            ticks.set_minor_locator(NullLocator())
            ticks.set_minor_formatter(NullFormatter())
        elif axis.whole and not axis.log:
            ticks.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
        elif axis.log and axis.low is not None and axis.high is not None and LOW <= axis.low < axis.high <= HIGH:
            # within two decades powers of ten are too few, and matplotlib would label 6 x 10^-1
            ticks.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if axis.high < 100.0 * axis.low else (1.0,)))
            ticks.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
            ticks.set_minor_formatter(NullFormatter())
    angle = theme.name_angle(panel.x.names)
    if angle:
        for label in axes.get_xticklabels():
            label.set(rotation=angle, ha="center" if angle == 90 else "right")
            label.set_rotation_mode("default" if angle == 90 else "anchor")
            label.set_fontsize(8 if angle == 90 else label.get_fontsize())
    if len(panel.y.names) > theme.MANY_NAMES:
        axes.tick_params(axis="y", labelsize=8)
