"""Marks as plotly draws them: traces, shapes and annotations, as plain values."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hentropy.views.plots import theme
from hentropy.views.plots.marks import Band, Bars, Contour, Dots, Heat, Line, Mark, Panel, Rule
from hentropy.views.plots.plotly_texts import hover, name_at, number, numbers, offset, shown

ON_MAPS = {"color": "#111111", "shadow": "0 0 2px #ffffff, 0 0 4px #ffffff, 0 0 6px #ffffff"}
"""Texts beside marks are read on dark and on bright parts of a map, on light and on dark pages."""

PIXELS_PER_POINT = 4.0 / 3.0


def nth(name: str, position: int) -> str:
    """The name of an axis by its place, from 1: x, x2, x3."""
    return name if position == 1 else f"{name}{position}"


@dataclass
class Traces:
    """What the panels of a picture become; each label is in the legend once, and its marks are hidden together."""

    data: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    colours: dict[int, dict[str, Any]] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    dashes: theme.Dashes = field(default_factory=dict)

    def add(self, panel: Panel, position: int) -> None:
        """All marks of a panel, which is the `position`th of the picture, from 1."""
        for mark in theme.from_below(panel.marks):
            match mark:
                case Line():
                    self._line(mark, panel, position)
                case Band():
                    self._band(mark, panel, position)
                case Dots() if len(mark.x):
                    self._dots(mark, panel, position)
                case Heat():
                    self._heat(mark, panel, position)
                case Contour() if theme.passes(mark):
                    self._contour(mark, position)
                case Bars():
                    self._bars(mark, panel, position)
                case Rule():
                    self._rule(mark, position)

    def _add(self, kind: str, mark: Mark, position: int, **own: Any) -> dict[str, Any]:
        """A trace on the axes of a panel; each mark that stands in the legend has its label."""
        label = "" if isinstance(mark, Heat) else mark.label
        place = {"xaxis": nth("x", position), "yaxis": nth("y", position)}
        named = {} if isinstance(mark, Heat) else self._named(label)
        self.data.append({**place, **named, "type": kind, **own})
        return self.data[-1]

    def _named(self, label: str) -> dict[str, Any]:
        """How a mark stands in the legend."""
        if not label:
            return {"showlegend": False}
        first = label not in self.labels
        if first:
            self.labels.append(label)
        return {"name": shown(label, 60), "legendgroup": shown(label), "showlegend": first}

    def _dash(self, mark: Line | Contour | Rule) -> str:
        return theme.DASHES[theme.dash_of(mark, self.dashes)][1]

    def _line(self, line: Line, panel: Panel, position: int) -> None:
        colour = theme.line_colour(line)
        made = self._add(
            "scatter",
            line,
            position,
            mode="lines+markers" if line.dots else "lines",
            x=numbers(line.x),
            y=numbers(line.y),
            line={"color": colour, "width": 2, "dash": self._dash(line)},
            hovertemplate=hover(panel, line.label),
        )
        if line.dots:
            made["marker"] = _marker(line, theme.LOOKS[line.role].size)
            made["marker"] |= {} if line.option is None else {"color": colour}

    def _band(self, band: Band, panel: Panel, position: int) -> None:
        x, y = _outline(band)
        colour = _faint(theme.stroke(band.role), theme.BAND + 0.15 * theme.bands_below(panel, band))
        look = {"mode": "lines", "fill": "toself", "fillcolor": colour, "line": {"width": 0}, "hoverinfo": "skip"}
        self._add("scatter", band, position, x=numbers(x), y=numbers(y), **look)

    def _dots(self, dots: Dots, panel: Panel, position: int) -> None:
        style = theme.LOOKS[dots.role]
        marker = _marker(dots, theme.marker_size(dots)) | {"opacity": 0.6 if len(dots.x) > theme.MANY_POINTS else 1.0}
        by_option = dots.options is not None and style.filled
        if by_option and dots.label not in ("", *self.labels):
            # the legend has the colour of the role: a mark for it alone
            self._add("scatter", dots, position, x=[None], y=[None], mode="markers", marker=_marker(dots, style.size))
        made = self._add(
            "scatter",
            dots,
            position,
            mode="markers+text" if theme.shows_texts(dots) else "markers",
            x=numbers(dots.x),
            y=numbers(dots.y),
            marker=marker,
            hovertemplate=hover(panel, dots.label, texts=bool(dots.texts), named=True),
        )
        if dots.options is not None and by_option:
            own = dots.options.tolist()
            marker["color"] = [theme.option_colour(each) if math.isfinite(each) else style.colour for each in own]
        if panel.x.names or panel.y.names:  # points stand beside their names
            places = zip(dots.x.tolist(), dots.y.tolist(), strict=True)
            made["customdata"] = [[name_at(panel.x, x), name_at(panel.y, y)] for x, y in places]
        if dots.texts:
            made |= {"text": [shown(text) for text in dots.texts], "textposition": "top right", "textfont": ON_MAPS}
        if dots.error is not None:
            ink = theme.GREY if dots.role in theme.LIGHT else style.colour
            made["error_y"] = {**_error_bars(dots.error), "color": ink, "thickness": 1.2, "width": 3}

    def _heat(self, heat: Heat, panel: Panel, position: int) -> None:
        made = self._add(
            "heatmap",
            heat,
            position,
            x=numbers(heat.x),
            y=numbers(heat.y),
            z=numbers(heat.z),
            coloraxis=nth("coloraxis", position),
            hovertemplate=hover(panel, "", value=heat.label, ends=theme.scale_of(heat)),
            hoverongaps=False,
        )
        self.colours[position] = _label_scale(heat) if heat.names else _number_scale(heat)
        if heat.names:
            names = [shown(name, 40) for name in heat.names]
            made["text"] = [[names[int(v)] if math.isfinite(v) else "" for v in row] for row in heat.z.tolist()]
            made["hovertemplate"] = hover(panel, "").replace("<extra>", "<br>%{text}<extra>")
            for name, x, y in theme.label_places(heat):
                self.annotations.append(_map_text(name, x, y, panel, position))
        for (j, i), value in np.ndenumerate(heat.z):
            if heat.texts and heat.texts[j][i]:
                y = float(heat.y[j]) - theme.CELL_FOOT
                foot = _map_text(heat.texts[j][i], float(heat.x[i]), y, panel, position)
                font = {"size": 10, "color": theme.ink_on(heat, float(value))}
                self.annotations.append(foot | {"font": font, "bgcolor": "rgba(0,0,0,0)", "borderpad": 0})

    def _contour(self, contour: Contour, position: int) -> None:
        level = {"start": number(contour.level), "end": number(contour.level), "size": 1, "coloring": "none"}
        values = {"x": numbers(contour.x), "y": numbers(contour.y), "z": numbers(contour.z), "contours": level}
        colour = theme.stroke(contour.role)
        # a white border shows the line on every colour of a map
        for mark, line in (
            (replace(contour, label=""), {"color": theme.WHITE, "width": 3.5, "dash": "solid"}),
            (contour, {"color": colour, "width": 2, "dash": self._dash(contour)}),
        ):
            self._add("contour", mark, position, **values, line=line, showscale=False, hoverinfo="skip")

    def _bars(self, bars: Bars, panel: Panel, position: int) -> None:
        self._add(
            "bar",
            bars,
            position,
            x=numbers((bars.edges[:-1] + bars.edges[1:]) / 2),
            y=numbers(bars.heights),
            width=numbers(np.diff(bars.edges) * (0.7 if panel.x.names else 1.0)),
            marker={"color": theme.stroke(bars.role), "opacity": 0.8, "line": {"width": 0}},
            hovertemplate=hover(panel, bars.label),
        )

    def _rule(self, rule: Rule, position: int) -> None:
        along, across = ("x", "y") if rule.axis == "x" else ("y", "x")
        ends = {f"{along}0": number(rule.at), f"{along}1": number(rule.at), f"{across}0": 0, f"{across}1": 1}
        axes = {f"{along}ref": nth(along, position), f"{across}ref": f"{nth(across, position)} domain"}
        line = {"color": theme.stroke(rule.role), "width": 2, "dash": self._dash(rule)}
        self.shapes.append({**self._named(rule.label), "type": "line", **axes, **ends, "line": line})


def _marker(mark: Line | Dots, size: float) -> dict[str, Any]:
    style = theme.LOOKS[mark.role]
    # a marker without a face is drawn by its border alone
    border = {"color": theme.BLACK if style.filled else style.colour, "width": 1 if style.filled else 2.5}
    return {"symbol": style.symbol, "size": round(size * PIXELS_PER_POINT, 1), "color": style.colour, "line": border}


def _error_bars(error: np.ndarray) -> dict[str, Any]:
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


def _number_scale(heat: Heat) -> dict[str, Any]:
    scale: dict[str, Any] = {"colorscale": [list(stop) for stop in theme.MAP_STOPS]}
    if heat.low is not None and heat.high is not None:
        scale |= {"cmin": number(heat.low), "cmax": number(heat.high)}
    bar = {"title": {"text": shown(heat.label, 40), "side": "right"}, "tickformat": ".3~g", "nticks": 6}
    away = offset(*theme.scale_of(heat))
    if away is not None:
        title = {"text": shown(away.titled(heat.label), 64), "side": "right"}
        bar |= {"title": title, "tickvals": list(away.places), "ticktext": list(away.texts)}
    return scale | {"colorbar": bar}


def _label_scale(heat: Heat) -> dict[str, Any]:
    """A colour for each label, with the names beside them."""
    count = len(heat.names)
    steps: list[list[Any]] = []
    for position, colour in enumerate(theme.label_colours(count)):
        steps += [[position / count, colour], [(position + 1) / count, colour]]
    ticks = {"tickvals": list(range(count)), "ticktext": [shown(name, 16) for name in heat.names]}
    bar = {"title": {"text": shown(heat.label, 40), "side": "right"}, **ticks}
    return {"colorscale": steps, "cmin": -0.5, "cmax": count - 0.5, "colorbar": bar}


def _map_text(text: str, x: float, y: float, panel: Panel, position: int) -> dict[str, Any]:
    """A name on a map. Annotations are placed by logarithms on logarithmic axes."""
    return {
        "text": shown(text, 24),
        "xref": nth("x", position),
        "yref": nth("y", position),
        "x": number(math.log10(x) if panel.x.log else x),
        "y": number(math.log10(y) if panel.y.log else y),
        "showarrow": False,
        "bgcolor": "rgba(255,255,255,0.8)",
        "font": {"color": theme.BLACK, "size": 12},
        "borderpad": 2,
    }
