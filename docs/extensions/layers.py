"""Draws the layers of the code, docs/images/floors.svg, from the table in docs/design.md.

`python -m docs.extensions.layers` writes the drawing.
"""

import re
import textwrap
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

DOCS = Path(__file__).parents[1]
DRAWING = DOCS / "images" / "floors.svg"
COLOURS = {"core": "#dcebf7", "studies": "#f6e3ef", "bench": "#fbf0dc"}
OTHER_COLOUR = "#eceff2"
WIDTH, MARGIN, GAP, HEADING_HEIGHT = 900, 24, 8, 34
BOX_LEFT, BOX_RIGHT, TEXT_LEFT, BOX_HEIGHT = 40.0, 460.0, 478, 36
LETTERS_PER_LINE = 54
ROW = re.compile(r"^\| (.*?) ?\| (\d+) \| (.*?) \| (.*?) \|$", re.MULTILINE)


@dataclass
class Layer:
    """A layer of the code: what it is for, and its rows of parts from the ground up, each with its content."""

    name: str
    purpose: str = ""
    rows: list[tuple[list[str], str]] = field(default_factory=list)

    @property
    def height(self) -> int:
        """Of the box, in pixels."""
        return HEADING_HEIGHT + len(self.rows) * (BOX_HEIGHT + GAP) + GAP


def layers(page: str) -> list[Layer]:
    """The layers of the table of a page, from the ground up."""
    found = list[Layer]()
    for label, number, parts, content in ROW.findall(page):
        if number == "1":
            found.append(Layer(label.strip("`")))
        elif label:
            found[-1].purpose = label
        steps = [re.findall(r"`(\w+)`", step) for step in parts.split(", then ")]
        found[-1].rows += [(step, content.replace("`", "") if step is steps[-1] else "") for step in steps]
    return found


def drawing(page: str) -> str:
    """The layers of the table of a page as SVG, the ground at the bottom."""
    stack = layers(page)[::-1]
    height = 56 + sum(layer.height + 12 for layer in stack) + 60
    names = ", ".join(layer.name for layer in stack)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="The layers of hentropy: {names}; imports point downwards only" '
        'font-family="Helvetica, Arial, sans-serif">',
        _box(1, 1, WIDTH - 2, height - 2, "#ffffff", "#8a94a0"),
        _text(MARGIN, 36, "hentropy: imports point downwards only", 17, bold=True),
    ]
    top = 56
    for layer in stack:
        lines += _layer(layer, top)
        top += layer.height + 12
    lines.append(_box(MARGIN, top, WIDTH - 2 * MARGIN, BOX_HEIGHT, "#f4f4f4", "#8a94a0"))
    lines.append(_text(BOX_LEFT, top + 23, "errors, the version, lazy, loading: below all layers", 14))
    return "\n".join([*lines, "</svg>", ""])


def _layer(layer: Layer, top: int) -> list[str]:
    lines = [
        _box(MARGIN, top, WIDTH - 2 * MARGIN, layer.height, "#ffffff", "#8a94a0"),
        _text(BOX_LEFT, top + 23, layer.name, 15, bold=True),
        _text(BOX_LEFT + 12 + 9 * len(layer.name), top + 23, layer.purpose, 13),
    ]
    top += HEADING_HEIGHT
    for parts, content in reversed(layer.rows):
        width = (BOX_RIGHT - BOX_LEFT - GAP * (len(parts) - 1)) / len(parts)
        for number, part in enumerate(parts):
            left = BOX_LEFT + number * (width + GAP)
            lines.append(_box(left, top, width, BOX_HEIGHT, COLOURS.get(layer.name, OTHER_COLOUR), "#4a5663"))
            lines.append(_text(left + width / 2, top + 23, part, 14, anchor="middle"))
        wrapped = textwrap.wrap(content, LETTERS_PER_LINE)
        first = top + 23 - 8 * (len(wrapped) - 1)
        lines += [_text(TEXT_LEFT, first + 16 * number, line, 13) for number, line in enumerate(wrapped)]
        top += BOX_HEIGHT + GAP
    return lines


def _box(left: float, top: float, width: float, height: float, fill: str, stroke: str) -> str:
    place = f'x="{left:g}" y="{top:g}" width="{width:.1f}" height="{height:g}"'
    return f'<rect {place} rx="8" fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>'


def _text(left: float, base: float, text: str, size: int, bold: bool = False, anchor: str = "start") -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{left:.1f}" y="{base:g}" font-size="{size}" text-anchor="{anchor}"{weight}'
    return f'<text {place} fill="#1f2a36">{escape(text)}</text>'


if __name__ == "__main__":
    DRAWING.write_text(drawing((DOCS / "design.md").read_text()))
