"""Marks as plotly draws them: traces, shapes and annotations, as plain values."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hentropy.views.plots.marks import Band, Bars, Contour, Dots, Heat, Line, Mark, Panel, Rule
from hentropy.views.plots.plotly_texts import hover, name_at, number, numbers, offset, shown
from hentropy.views.plots.theme import (
    BAND,
    BLACK,
    CELL_FOOT,
    DASHES,
    GREY,
    LIGHT,
    MANY,
    MAP_STOPS,
    WHITE,
    Dashes,
    dash_of,
    from_below,
    ink_on,
    label_colours,
    label_places,
    look,
    marker_size,
    option_colour,
    passes,
    shows_texts,
    stroke,
)


def nth(name: str, position: int) -> str:
    """The name of an axis by its place, from 1: x, x2, x3."""
    return name if position == 1 else f"{name}{position}"


ON_MAPS = {"color": "#111111", "shadow": "0 0 2px #ffffff, 0 0 4px #ffffff, 0 0 6px #ffffff"}
"""Texts beside marks are read on dark and on bright parts of a map, on light and on dark pages."""

POINTS = 4.0 / 3.0
"""Pixels of a page to a point of print."""


@dataclass
class Traces:
    """What the panels of a picture become; each label is in the legend once, and its marks are hidden together."""

    data: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    colours: dict[int, dict[str, Any]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    dashes: Dashes = field(default_factory=dict)

    def add(self, panel: Panel, position: int) -> None:
        """All marks of a panel, which is the `position`th of the picture, from 1."""
        for mark in from_below(panel.marks):
            MAKERS[type(mark)](self, mark, panel, position)

    def _named(self, label: str) -> dict[str, Any]:
        """How a mark stands in the legend."""
        if not label:
            return {"showlegend": False}
        first = label not in self.labels
        if first:
            self.labels.append(label)
        return {"name": shown(label, 60), "legendgroup": shown(label), "showlegend": first}

    def _line(self, line: Line, panel: Panel, position: int) -> None:
        style = look(line)
        colour = stroke(line.role) if line.option is None else option_colour(line.option)
        made = {
            **_place(position),
            **self._named(line.label),
            "type": "scatter",
            "mode": "lines+markers" if line.dots else "lines",
            "x": numbers(line.x),
            "y": numbers(line.y),
            "line": {"color": colour, "width": 2, "dash": DASHES[dash_of(line, self.dashes)][1]},
            "hovertemplate": hover(panel, line.label),
        }
        if line.dots:
            made["marker"] = _marker(line, style.size) | ({} if line.option is None else {"color": colour})
        self.data.append(made)

    def _band(self, band: Band, panel: Panel, position: int) -> None:
        x, y = _outline(band)
        below = sum(isinstance(mark, Band) for mark in panel.marks[: _index(panel, band)])
        self.data.append(
            {
                **_place(position),
                **self._named(band.label),
                "type": "scatter",
                "mode": "lines",
                "x": numbers(x),
                "y": numbers(y),
                "fill": "toself",
                "fillcolor": _faint(stroke(band.role), BAND + 0.15 * below),
                "line": {"width": 0},
                "hoverinfo": "skip",
            }
        )

    def _dots(self, dots: Dots, panel: Panel, position: int) -> None:
        if not len(dots.x):
            return
        style = look(dots)
        many = len(dots.x) > MANY
        made = {
            **_place(position),
            **self._named(dots.label),
            "type": "scatter",
            "mode": "markers+text" if shows_texts(dots) else "markers",
            "x": numbers(dots.x),
            "y": numbers(dots.y),
            "marker": {**_marker(dots, marker_size(dots)), "opacity": 0.6 if many else 1.0},
            "hovertemplate": hover(panel, dots.label, texts=bool(dots.texts), named=True),
        }
        if panel.x.names or panel.y.names:  # points stand beside their names
            places = zip(dots.x.tolist(), dots.y.tolist(), strict=True)
            made["customdata"] = [[name_at(panel.x, x), name_at(panel.y, y)] for x, y in places]
        if dots.texts:
            made |= {"text": [shown(text) for text in dots.texts], "textposition": "top right", "textfont": ON_MAPS}
        if dots.error is not None:
            ink = GREY if dots.role in LIGHT else style.colour
            made["error_y"] = {**_bars_of(dots.error), "color": ink, "thickness": 1.2, "width": 3}
        if dots.options is not None and style.filled:
            if made["showlegend"]:  # the legend has the colour of the role: a mark for it alone
                alone = {"x": [None], "y": [None], "mode": "markers", "marker": _marker(dots, style.size)}
                named = {key: made[key] for key in ("type", "xaxis", "yaxis", "name", "legendgroup", "showlegend")}
                self.data.append({**named, **alone})
            colours = [option_colour(own) if math.isfinite(own) else style.colour for own in dots.options.tolist()]
            made |= {"marker": {**made["marker"], "color": colours}, "showlegend": False}
        self.data.append(made)

    def _heat(self, heat: Heat, panel: Panel, position: int) -> None:
        made: dict[str, Any] = {
            **_place(position),
            "type": "heatmap",
            "x": numbers(heat.x),
            "y": numbers(heat.y),
            "z": numbers(heat.z),
            "coloraxis": nth("coloraxis", position),
            "hovertemplate": hover(panel, "", value=heat.label, ends=_ends(heat)),
            "hoverongaps": False,
        }
        if heat.names:
            names = [shown(name, 40) for name in heat.names]
            made["text"] = [[names[int(v)] if math.isfinite(v) else "" for v in row] for row in heat.z.tolist()]
            made["hovertemplate"] = f"{hover(panel, '')[: -len('<extra></extra>')]}<br>%{{text}}<extra></extra>"
            for place in label_places(heat):
                self.annotations.append(_written(place.name, place.x, place.y, panel, position))
        self.data.append(made)
        self.colours[position] = _labelled(heat) if heat.names else _scaled(heat)
        for j, row in enumerate(heat.texts):
            for i, text in enumerate(row):
                if text:
                    foot = _written(text, float(heat.x[i]), float(heat.y[j]) - CELL_FOOT, panel, position)
                    font = {"size": 10, "color": ink_on(heat, float(heat.z[j, i]))}
                    self.annotations.append(foot | {"font": font, "bgcolor": "rgba(0,0,0,0)", "borderpad": 0})

    def _contour(self, contour: Contour, panel: Panel, position: int) -> None:
        if not passes(contour):
            return
        x, y, z = numbers(contour.x), numbers(contour.y), numbers(contour.z)
        # a white border shows the line on every colour of a map
        for colour, width, dash, name in (
            (WHITE, 3.5, "solid", {"showlegend": False}),
            (stroke(contour.role), 2, DASHES[dash_of(contour, self.dashes)][1], self._named(contour.label)),
        ):
            self.data.append(
                {
                    **_place(position),
                    **name,
                    "type": "contour",
                    "x": x,
                    "y": y,
                    "z": z,
                    "contours": {
                        "start": number(contour.level),
                        "end": number(contour.level),
                        "size": 1,
                        "coloring": "none",
                    },
                    "line": {"color": colour, "width": width, "dash": dash},
                    "showscale": False,
                    "hoverinfo": "skip",
                }
            )

    def _bars(self, bars: Bars, panel: Panel, position: int) -> None:
        middle = (bars.edges[:-1] + bars.edges[1:]) / 2
        named = bool(panel.x.names)
        self.data.append(
            {
                **_place(position),
                **self._named(bars.label),
                "type": "bar",
                "x": numbers(middle),
                "y": numbers(bars.heights),
                "width": numbers(np.diff(bars.edges) * (0.7 if named else 1.0)),
                "marker": {"color": stroke(bars.role), "opacity": 0.8, "line": {"width": 0}},
                "hovertemplate": hover(panel, bars.label),
            }
        )

    def _rule(self, rule: Rule, panel: Panel, position: int) -> None:
        along, across = ("x", "y") if rule.axis == "x" else ("y", "x")
        self.shapes.append(
            {
                **self._named(rule.label),
                "type": "line",
                f"{along}ref": nth(along, position),
                f"{across}ref": f"{nth(across, position)} domain",
                f"{along}0": number(rule.at),
                f"{along}1": number(rule.at),
                f"{across}0": 0,
                f"{across}1": 1,
                "line": {"color": stroke(rule.role), "width": 2, "dash": DASHES[dash_of(rule, self.dashes)][1]},
            }
        )


MAKERS: dict[type[Mark], Callable[[Traces, Any, Panel, int], None]] = {
    Line: Traces._line,
    Band: Traces._band,
    Dots: Traces._dots,
    Heat: Traces._heat,
    Contour: Traces._contour,
    Bars: Traces._bars,
    Rule: Traces._rule,
}


def _place(position: int) -> dict[str, str]:
    return {"xaxis": nth("x", position), "yaxis": nth("y", position)}


def _index(panel: Panel, mark: Mark) -> int:
    # by identity: arrays have no truth value to compare by
    return next(index for index, each in enumerate(panel.marks) if each is mark)


def _marker(mark: Line | Dots, size: float) -> dict[str, Any]:
    style = look(mark)
    # a marker without a face is drawn by its border alone
    border = {"color": BLACK if style.filled else style.colour, "width": 1 if style.filled else 2.5}
    return {"symbol": style.symbol, "size": round(size * POINTS, 1), "color": style.colour, "line": border}


def _bars_of(error: np.ndarray) -> dict[str, Any]:
    """How far the bars of points reach: n to both sides, or 2 x n below and above."""
    if error.ndim == 1:
        return {"type": "data", "array": numbers(error)}
    below, above = error
    return {"type": "data", "symmetric": False, "array": numbers(above), "arrayminus": numbers(below)}


def _outline(band: Band) -> tuple[list[float], list[float]]:
    """Around each stretch of a band: along its upper line and back along the lower one; stretches are apart by NaN."""
    x: list[float] = []
    y: list[float] = []
    finite = np.isfinite(band.low) & np.isfinite(band.high)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(int)))
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        there, low, high = band.x[start:end], band.low[start:end], band.high[start:end]
        x += [*there.tolist(), *there[::-1].tolist(), math.nan]
        y += [*high.tolist(), *low[::-1].tolist(), math.nan]
    return x[:-1], y[:-1]


def _faint(colour: str, share: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{min(share, 1.0):.2f})"


def _ends(heat: Heat) -> tuple[float, float]:
    """The ends of the scale of a map."""
    finite = heat.z[np.isfinite(heat.z)]
    found = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return found if heat.low is None or heat.high is None else (heat.low, heat.high)


def _scaled(heat: Heat) -> dict[str, Any]:
    scale: dict[str, Any] = {"colorscale": [list(stop) for stop in MAP_STOPS]}
    if heat.low is not None and heat.high is not None:
        scale |= {"cmin": number(heat.low), "cmax": number(heat.high)}
    bar = {"title": {"text": shown(heat.label, 40), "side": "right"}, "tickformat": ".3~g", "nticks": 6}
    away = offset(*_ends(heat))
    if away is not None:
        title = {"text": shown(away.titled(heat.label), 64), "side": "right"}
        bar |= {"title": title, "tickvals": list(away.places), "ticktext": list(away.texts)}
    return scale | {"colorbar": bar}


def _labelled(heat: Heat) -> dict[str, Any]:
    """A colour for each label, with the names beside them."""
    count = len(heat.names)
    steps: list[list[Any]] = []
    for position, colour in enumerate(label_colours(count)):
        steps += [[position / count, colour], [(position + 1) / count, colour]]
    ticks = {"tickvals": list(range(count)), "ticktext": [shown(name, 16) for name in heat.names]}
    bar = {"title": {"text": shown(heat.label, 40), "side": "right"}, **ticks}
    return {"colorscale": steps, "cmin": -0.5, "cmax": count - 0.5, "colorbar": bar}


def _written(text: str, x: float, y: float, panel: Panel, position: int) -> dict[str, Any]:
    """A name on a map. Annotations are placed by logarithms on logarithmic axes."""
    return {
        "text": shown(text, 24),
        "xref": nth("x", position),
        "yref": nth("y", position),
        "x": number(math.log10(x) if panel.x.log else x),
        "y": number(math.log10(y) if panel.y.log else y),
        "showarrow": False,
        "bgcolor": "rgba(255,255,255,0.8)",
        "font": {"color": BLACK, "size": 12},
        "borderpad": 2,
    }
