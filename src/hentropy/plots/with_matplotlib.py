"""Pictures as files, by matplotlib: PNG, SVG or PDF. Nothing is computed here but where things go."""

import io
import math
import textwrap
from pathlib import Path
from typing import Any, overload

from hentropy.errors import InputError, MissingExtra
from hentropy.plots.marks import Heat, Panel, Picture, Table
from hentropy.plots.matplotlib_axes import draw_marks, dress, written
from hentropy.plots.theme import BLACK, GREY, Dashes, dashes

try:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError:
    raise MissingExtra("matplotlib", "plots") from None

FORMATS = (".png", ".svg", ".pdf")
DPI = 130
STRETCH = 1.6
"""How many times wider than usual a panel may get to fill its row."""

LINE, LEGEND_LINE = 0.19, 0.24
"""Inches: the height of a line of the caption, and of the legend."""

HEAD = 0.5
ROW = 0.29
"""Inches: the height of the title, and of a row of a table."""

LONGEST_CELL = 44
MOST_ROWS = 24
LETTER = 0.078
"""Inches: the width of a letter of the caption or of a table, on average."""


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
        raise InputError(f"{suffix!r} is no ending of a picture; the endings are {', '.join(FORMATS)}")
    # dates of making would make equal pictures differ
    stamp = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(form)
    buffer = io.BytesIO()
    _figure(picture).savefig(buffer, format=form[1:], dpi=dpi, metadata=stamp)
    return buffer.getvalue()


def _width(each: Panel | Table) -> float:
    if isinstance(each, Table):
        cells = zip(each.columns, *each.rows[:MOST_ROWS], strict=True)
        return 0.4 + sum(LETTER * min(max(map(len, column)), LONGEST_CELL) + 0.35 for column in cells)
    return 5.0 if any(isinstance(mark, Heat) for mark in each.marks) else 4.6


def _height(each: Panel | Table) -> float:
    if isinstance(each, Table):
        return ROW * (min(len(each.rows), MOST_ROWS + 1) + 2) + 0.2
    return 3.7


def _figure(picture: Picture) -> Figure:
    width = min(14.0, max([6.4, *(sum(_width(each) for each in row) for row in picture.rows)]))
    rows = [max((_height(each) for each in row), default=0.3) for row in picture.rows] or [0.3]
    caption = textwrap.wrap(written(picture.caption), int(width / LETTER))
    labels = _labels(picture)
    columns = _columns(labels, width)
    lines = math.ceil(len(labels) / columns)
    heights = [HEAD, sum(rows) + LEGEND_LINE * lines, LINE * len(caption) + 0.15]
    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    FigureCanvasAgg(figure)
    parts: Any = figure.subfigures(3, 1, height_ratios=heights, hspace=0.0)
    head, body, foot = parts
    head.text(0.012, 0.3, written(picture.title), fontsize=14, weight="bold", color=BLACK, va="center")
    foot.text(0.012, 0.95, "\n".join(caption), fontsize=10, color="#444444", va="top", linespacing=1.25)
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
        body.legend(handles, said, loc="outside lower center", ncols=columns, frameon=False, fontsize=10)
    return figure


def _labels(picture: Picture) -> list[str]:
    """What the legend will say."""
    marks = [mark for row in picture.rows for each in row if isinstance(each, Panel) for mark in each.marks]
    said = [name for mark in marks for name in (mark.names if isinstance(mark, Heat) else (mark.label,))]
    return list(dict.fromkeys(name for name in said if name))


def _columns(labels: list[str], width: float) -> int:
    """How many entries of the legend fit side by side."""
    longest = min(max(map(len, labels), default=1), 60)
    return max(1, min(6, int(width / (LETTER * longest + 0.7))))


def _draw_part(axes: Axes, each: Panel | Table, legend: dict[str, Artist], height: float, strokes: Dashes) -> None:
    if isinstance(each, Table):
        _draw_table(axes, each, height)
        return
    for label, artist in draw_marks(axes, each, strokes).items():
        legend.setdefault(label, artist)
    dress(axes, each)


def _draw_table(axes: Axes, table: Table, height: float) -> None:
    axes.set_axis_off()
    axes.set_title(written(table.title), fontsize=11, loc="left").set_x(0.02)
    shown = [[_spaced(cell) for cell in row] for row in table.rows[:MOST_ROWS]]
    if len(table.rows) > MOST_ROWS:
        shown.append([f"... {len(table.rows) - MOST_ROWS} more", *[""] * (len(table.columns) - 1)])
    if not shown:
        axes.text(0.0, 1.0, "(no rows)", va="top", fontsize=10, color=GREY)
        return
    columns = [_spaced(name) for name in table.columns]
    numbers = [all(_is_number(row[k]) for row in table.rows) for k in range(len(columns))]
    drawn = axes.table(shown, colLabels=columns, loc="upper left", edges="horizontal", cellLoc="left")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(10)
    drawn.auto_set_column_width(list(range(len(columns))))
    for (row, column), cell in drawn.get_celld().items():
        cell.set_height(min(1.0 / (len(shown) + 1.5), ROW / (height - 0.6)))
        cell.set_edgecolor("#cccccc")
        cell.PAD = 0.0
        cell.get_text().set_horizontalalignment("right" if numbers[column] else "left")
        if row == 0:
            cell.get_text().set_fontweight("bold")


def _spaced(text: str) -> str:
    # matplotlib's own padding is a share of the width: none where columns are narrow
    return f"  {written(text, LONGEST_CELL)}  "


def _is_number(cell: str) -> bool:
    try:
        float(cell.partition("±")[0])
    except ValueError:
        return False
    return True
