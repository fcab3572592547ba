"""A figure as wide as a printed page, saved as PNG and SVG; the same words for the same things in all figures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

WIDTH = 7.0
"""Inches: the text width of a page, so that a font of 8 points is printed as such."""

DPI = 200

COLOURS = 256
"""Of a PNG: a table of colours makes drawings a third as large, and nobody sees it."""

SMALL = 8.0
STYLE: dict[str, Any] = {
    "font.size": SMALL,
    "axes.titlesize": 9.0,
    "axes.labelsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "figure.titlesize": 10.0,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.3,
    "svg.hashsalt": "hentropy",  # the same figure gives the same file
}

TITLES = {
    "alpine-2-top-5": "Alpine-2, top 5",
    "alpine-3-top-3": "Alpine-3, top 3",
    "alpine-5-top-5": "Alpine-5, top 5",
    "vaccination-pennsylvania-top-5": "Vaccination (PA), top 5",
    "vaccination-pennsylvania-sequence": "Vaccination (PA), sequence",
    "multihills-one-level": "Multihills, one level",
    "multihills-two-levels": "Multihills, two levels",
    "multihills-sequence": "Multihills, sequence",
    "alpine-2-one-level": "Alpine-2, one level",
    "alpine-2-two-levels": "Alpine-2, two levels",
    "night-light-one-level": "Night light, one level",
}


def title_of(task: str) -> str:
    """A task as a reader calls it."""
    return TITLES.get(task, task)


def plain(value: float, _: object = None) -> str:
    """A number on an axis, as short as it goes: 1 and not 1.00; it can be handed to matplotlib."""
    return f"{value + 0.0:g}".replace("-", "\N{MINUS SIGN}")


def drawn(folder: Path, name: str, height: float, draw: Callable[[Figure], None], width: float = WIDTH) -> list[Path]:
    """Draw on an empty page of so many inches and save it as FOLDER/NAME.png and .svg.

    The style holds while `draw` is at work, whatever settings the reader of this line has made for plots of his own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(width, height), dpi=DPI, layout=ConstrainedLayoutEngine(h_pad=0.06))
        canvas = FigureCanvasAgg(figure)
        draw(figure)
        canvas.draw()  # not `savefig`, which would draw everything twice and write all colours first
        _save_small(Image.fromarray(np.asarray(canvas.buffer_rgba())), paths[0])
        figure.set_layout_engine("none")  # all is in its place; to find it again takes time
        figure.savefig(paths[1], dpi=DPI, metadata={"Date": None})
    return paths


def _save_small(image: Image.Image, path: Path) -> None:
    table = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    table.save(path, optimize=True, dpi=(DPI, DPI))
