"""Pictures for pages: what plotly.js draws, as plain values. Nothing is computed here but where things go."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Dots, Heat, Panel, Picture, Table, extent
from hentropy.views.plots.plotly_texts import number, offset, shown, wrapped
from hentropy.views.plots.plotly_traces import Traces, nth
from hentropy.views.plots.theme import MANY_NAMES, abbreviated, dashes, name_angle

PANEL, TOP, BETWEEN, BELOW = 290, 42, 112, 58
"""Pixels: the height of a panel, of the title above it, of what lies between two rows, and of what lies below."""

LEFT, RIGHT, BETWEEN_COLUMNS, COLOUR_BAR = 62, 14, 70, 78
"""Pixels: the margins, and what the axis of a further column and the scale of a map take."""

COLUMN = 400
"""Pixels: the width of a column for which layouts are made; a page fits them to the width it has (layout.meta)."""

LEGEND_LINE, LETTER, HANDLE = 21, 6.7, 46
"""Pixels: the height of a line of the legend, the width of a letter, and of what stands before the letters."""

MAX_NAME_LENGTH, CELLS_ACROSS = 20, 6
"""Letters of a name along an axis; cells with numbers side by side in a narrow panel."""

Numbered = tuple[int, Panel]
"""A panel, and its place in the picture, from 1."""


def layout(rows: Sequence[Sequence[Numbered]], traces: Traces, columns: int) -> dict[str, Any]:
    """The layout of panels in at most this many columns."""
    chunks = [row[start : start + columns] for row in rows for start in range(0, len(row), columns)]
    wide = columns * COLUMN
    widths = [round(LETTER * min(len(label), 60) + HANDLE) for label in traces.labels]
    lines = _legend_lines(widths, wide - LEFT - RIGHT)
    turned = [_turned(chunk) for chunk in chunks]
    plot = PANEL * len(chunks) + BETWEEN * (len(chunks) - 1) + sum(turned[:-1])
    below = BELOW + turned[-1]
    legend = LEGEND_LINE * lines + 14 if lines else 0
    made: dict[str, Any] = {
        "height": TOP + plot + below + legend,
        "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": below + legend},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 12},
        "hovermode": "closest",
        "bargap": 0,
        "barmode": "overlay",
        "showlegend": bool(traces.labels),
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -(below - 6) / plot, "yanchor": "top"},
        "shapes": traces.shapes,
        "annotations": list(traces.annotations),
        "meta": {
            "columns": columns,
            "legend": {"widths": widths, "lines": lines, "line": LEGEND_LINE},
            "across": {
                "rows": [[position for position, _ in chunk] for chunk in chunks],
                "gaps": [_gaps(chunk) for chunk in chunks],
                "bar": COLOUR_BAR,
            },
        },
    }
    for index, chunk in enumerate(chunks):
        top = 1.0 - (index * (PANEL + BETWEEN) + sum(turned[:index])) / plot
        _set_row(made, chunk, traces, (max(top - PANEL / plot, 0.0), top), wide - LEFT - RIGHT)
    return made


def _turned(row: Sequence[Numbered]) -> int:
    """How many pixels more the names below the panels of a row take where they are turned."""
    taken = [0.0]
    for _, panel in row:
        letters = _longest(panel.x)
        taken.append(LETTER * letters * math.sin(math.radians(name_angle(panel.x.names))) - LEGEND_LINE / 3)
    return round(max(taken))


def _longest(axis: Axis) -> int:
    return max((len(abbreviated(name, MAX_NAME_LENGTH)) for name in axis.names), default=0)


def _gaps(row: Sequence[Numbered]) -> list[int]:
    """How many pixels are free left of each panel of a row; margins see to the first. Names take more than numbers."""
    made = [0]
    for numbered in row[1:]:
        longer = round(max(0.0, LETTER * (_longest(numbered[1].y) - 5)))
        more = -BETWEEN_COLUMNS // 2 if _shares_names(row, numbered) else longer
        made.append(BETWEEN_COLUMNS + more)
    return made


def _shares_names(row: Sequence[Numbered], numbered: Numbered) -> bool:
    """Whether the names left of a panel stand left of the first of its row already."""
    return numbered[0] != row[0][0] and bool(numbered[1].y.names) and numbered[1].y == row[0][1].y


def _legend_lines(widths: Sequence[int], room: float) -> int:
    """How many lines the legend takes: each is filled with entries as long as they fit."""
    lines, used = 0, math.inf
    for width in widths:
        if used + width > room:
            lines, used = lines + 1, 0.0
        used += width
    return lines


def _set_row(
    made: dict[str, Any], row: Sequence[Numbered], traces: Traces, heights: tuple[float, float], room: float
) -> None:
    bars = [COLOUR_BAR / room if position in traces.colours else 0.0 for position, _ in row]
    gaps = [gap / room for gap in _gaps(row)]
    each = (1.0 - sum(bars) - sum(gaps)) / len(row)
    bottom, top = (round(height, 5) for height in heights)
    for column, (position, panel) in enumerate(row):
        left = column * each + sum(gaps[: column + 1]) + sum(bars[:column])
        right = left + each
        across = [round(left, 5), round(right, 5)]
        made[nth("xaxis", position)] = _axis(panel, panel.x, "x") | {"domain": across, "anchor": nth("y", position)}
        made[nth("yaxis", position)] = _axis(panel, panel.y, "y") | {
            "domain": [bottom, top],
            "anchor": nth("x", position),
        }
        if _shares_names(row, (position, panel)):
            made[nth("yaxis", position)] |= {"showticklabels": False, "title": {"text": ""}}
        made["annotations"].append(_title(panel.title, position, left, top, len(row)))
        if position in traces.colours:
            made[nth("coloraxis", position)] = _colours(traces.colours[position], right, bottom, top)


def _colours(scale: dict[str, Any], right: float, bottom: float, top: float) -> dict[str, Any]:
    """The scale of a map, standing right of it."""
    place = {"x": round(right, 5), "xanchor": "left", "xpad": 6, "ypad": 0, "thickness": 12, "outlinewidth": 0}
    height = {"y": bottom, "yanchor": "bottom", "len": round(top - bottom, 5), "tickfont": {"size": 11}}
    return scale | {"colorbar": scale["colorbar"] | place | height}


def _title(text: str, position: int, left: float, top: float, columns: int) -> dict[str, Any]:
    place = {"xref": "paper", "yref": "paper", "x": round(left, 5), "y": top, "xanchor": "left", "yanchor": "bottom"}
    # one column may be as narrow as a phone: there the title begins left of the axis
    font = {"font": {"size": 13, "weight": 600}, "align": "left", "yshift": 4, "xshift": 0 if columns > 1 else 8 - LEFT}
    return {"name": f"title{position}", "text": wrapped(text, 34), "showarrow": False, **place, **font}


def _axis(panel: Panel, axis: Axis, letter: str) -> dict[str, Any]:
    low, high = extent(panel, axis, letter)
    made: dict[str, Any] = {
        "title": {"text": shown(axis.title, 44), "standoff": 6},
        "type": "log" if axis.log else "linear",
        "showgrid": not _is_map(panel),
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "ticklen": 4,
        "tickformat": "~g" if axis.log or axis.whole else "",
        "exponentformat": "power",
        "nticks": 7,
        "automargin": True,
    }
    limits = _range(panel, axis)
    if limits != [None, None]:
        made["range"] = limits
    away = None if axis.names or axis.ticks or axis.log else offset(low, high)
    if axis.names:
        names = [shown(abbreviated(name, MAX_NAME_LENGTH)) for name in axis.names]
        made |= {"tickvals": list(range(len(names))), "ticktext": names}
        made |= {"tickangle": -name_angle(axis.names) if letter == "x" else 0}
        made |= {"tickfont": {"size": 10}} if len(names) > MANY_NAMES else {}
    elif axis.ticks:
        made |= {"tickvals": list(map(number, axis.ticks)), "ticktext": list(map(short, axis.ticks))}
    elif axis.log:
        decades = math.log10(high / low) if low > 0.0 and high > low else 1.0
        made["dtick"] = "D2" if decades < 1.5 else 1
    elif axis.whole and high - low <= 8:
        made["dtick"] = 1
    if away is not None:
        made |= {"tickvals": list(away.places), "ticktext": list(away.texts)}
        made["title"]["text"] = shown(away.titled(axis.title), 64)
    return made


def _is_map(panel: Panel) -> bool:
    return any(isinstance(mark, Heat) for mark in panel.marks)


def _range(panel: Panel, axis: Axis) -> list[float | None]:
    """The range of an axis, by logarithms on a logarithmic one; a little wider where markers lie on the border."""
    low, high = (None if at is None else math.log10(at) if axis.log else at for at in (axis.low, axis.high))
    if low is not None and high is not None and any(isinstance(mark, Dots) for mark in panel.marks):
        room = 0.02 * (high - low)
        low, high = low - room, high + room
    return [None if value is None else number(value) for value in (low, high)]


def specification(picture: Picture) -> dict[str, Any]:
    """The picture for plotly.js, JSON-able, with layouts for narrow pages."""
    traces = Traces(dashes=dashes(picture))
    rows: list[list[Numbered]] = []
    count = 0
    for panels in ([each for each in row if isinstance(each, Panel)] for row in picture.rows):
        if panels:
            rows.append(list(enumerate(panels, start=count + 1)))
            count += len(panels)
        for position, panel in rows[-1] if panels else ():
            traces.add(_uncrowded(panel) if len(panels) > 2 else panel, position)
    columns = max((len(row) for row in rows), default=0)
    made: dict[str, Any] = layout(rows, traces, columns) if rows else {"meta": {"columns": 0}}
    # maps are not drawn out
    widths = [len(row) * (600 if all(_is_map(panel) for _, panel in row) else 800) for row in rows]
    tables = [each for row in picture.rows for each in row if isinstance(each, Table)]
    made["meta"] |= {
        "widest": max(widths, default=COLUMN),
        "narrower": [layout(rows, traces, fewer) for fewer in (2, 1) if fewer < columns],
        "tables": [{"title": t.title, "columns": list(t.columns), "rows": list(map(list, t.rows))} for t in tables],
    }
    return {"data": traces.data, "layout": made}


def _uncrowded(panel: Panel) -> Panel:
    """A narrow panel: the numbers in the cells of a wide matrix have no room, and are told on hovering."""
    marks = (
        replace(mark, texts=()) if isinstance(mark, Heat) and mark.z.shape[1] > CELLS_ACROSS else mark
        for mark in panel.marks
    )
    return replace(panel, marks=tuple(marks))
