"""Pictures as files, by matplotlib: PNG, SVG or PDF. Nothing is computed here but where things go."""

import io
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, overload

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from hentropy.errors import InputError
from hentropy.views.plots.marks import Heat, Panel, Picture, Table
from hentropy.views.plots.matplotlib_axes import draw_marks, dress
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
from hentropy.views.plots.theme import BLACK, Dashes, dashes

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


def _width(each: Panel | Table) -> float:
    if isinstance(each, Table):
        return table_width(each)
    return 5.0 if any(isinstance(mark, Heat) for mark in each.marks) else 4.6


def _height(each: Panel | Table) -> float:
    if isinstance(each, Table):
        return table_height(each)
    return 3.7


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
    head.text(left, 0.3, written(picture.title), fontsize=14, weight="bold", color=BLACK, va="center")
    foot.text(left, 0.95, "\n".join(caption), fontsize=SIZE, color="#444444", va="top", linespacing=1.25)
    legend: dict[str, Artist] = {}
    strokes = dashes(picture)
    grid = body.add_gridspec(len(rows), 1, height_ratios=rows)
    for position, row in enumerate(picture.rows):
        widths = [_width(each) for each in row]
        # the rest of a row with little in it stays free: nothing is drawn out
        widths.append(max(0.01, width - STRETCH * sum(widths)))
        places = grid[position].subgridspec(1, len(widths), width_ratios=widths)
        for column, each in enumerate(row):
            _draw_part(body.add_subplot(places[0, column]), each, legend, rows[position], strokes)
    if legend:
        handles, said = list(legend.values()), list(legend)
        body.legend(handles, said, loc="outside lower center", ncols=columns, frameon=False, fontsize=SIZE)
    _set_fonts(figure, picture)
    return figure


def _set_fonts(figure: Figure, picture: Picture) -> None:
    """Other fonts for letters that the usual one lacks."""
    fonts = families(_texts(picture))
    if fonts != [FONT]:  # looking for all texts of a figure takes long
        for text in figure.findobj(Text):
            if isinstance(text, Text):
                text.set_fontfamily(fonts)


def _texts(part: Any) -> Iterator[str]:
    """All texts in a picture or a part of it."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _texts(each)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _texts(getattr(part, field.name))


def _labels(picture: Picture) -> list[str]:
    """What the legend will say."""
    marks = [mark for row in picture.rows for each in row if isinstance(each, Panel) for mark in each.marks]
    said = [name for mark in marks for name in (mark.names if isinstance(mark, Heat) else (mark.label,))]
    return list(dict.fromkeys(name for name in said if name))


def _columns(labels: list[str], width: float) -> int:
    """How many entries of the legend fit side by side."""
    longest = max((inches(written(label, 60), SIZE) for label in labels), default=1.0)
    return max(1, min(6, int(width / (longest + HANDLE))))


def _draw_part(axes: Axes, each: Panel | Table, legend: dict[str, Artist], height: float, strokes: Dashes) -> None:
    if isinstance(each, Table):
        draw_table(axes, each, height)
        return
    for label, artist in draw_marks(axes, each, strokes).items():
        legend.setdefault(label, artist)
    dress(axes, each)
