"""Texts and tables as matplotlib draws them: how wide they are, in which fonts; wide tables are turned."""

import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
from matplotlib.ft2font import LoadFlags

from hentropy.views.plots.marks import Table
from hentropy.views.plots.theme import GREY

FONT = "DejaVu Sans"
LAST_RESORT = "Last Resort"
"""A font of boxes, which has every letter and shows none."""


def written(text: str, longest: int = 10_000) -> str:
    """Text as it can be drawn: no mathematics in it, no letters that all fonts lack, not too long."""
    line = text if len(text) <= longest else f"{text[: longest - 1]}…"
    # a legend leaves out what begins with an underscore
    line = f" {line}" if line.startswith("_") else line
    return "".join(letter if _drawable(letter) else "�" for letter in line).replace("$", r"\$")


def _drawable(letter: str) -> bool:
    return letter == "\n" or ord(letter) in _letters(_usual()) or _font_with(letter) is not None


def families(part: Any) -> list[str]:
    """The fonts that have all letters of a text, or a picture: the usual one, then others installed, where needed."""
    letters = {letter for text in _texts(part) for letter in text if ord(letter) not in _letters(_usual())} - {"\n"}
    others = [font for letter in sorted(letters) if (font := _font_with(letter)) is not None]
    return [FONT, *dict.fromkeys(others)]


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


@lru_cache(maxsize=4096)
def _font_with(letter: str) -> str | None:
    """The first installed font, by name, that has a letter; None where there is none."""
    for name, path in _installed():
        if ord(letter) in _letters(path):
            return name
    return None


@lru_cache(maxsize=1)
def _installed() -> tuple[tuple[str, str], ...]:
    """Names and files of the upright fonts of usual weight."""
    entries = {
        (entry.name, entry.fname)
        for entry in fontManager.ttflist
        if entry.style == "normal" and entry.weight in (400, "normal", "regular") and LAST_RESORT not in entry.name
    }
    # those for reading before those for mathematics and code
    return tuple(sorted(entries, key=lambda pair: ("Sans" not in pair[0], "Mono" in pair[0], pair)))


@lru_cache(maxsize=512)
def _letters(path: str) -> frozenset[int]:
    try:
        return frozenset(get_font(path).get_charmap())
    except RuntimeError:  # a file that is no font after all
        return frozenset()


@lru_cache(maxsize=1)
def _usual() -> str:
    return str(findfont(FontProperties(family=FONT)))


def inches(text: str, size: float) -> float:
    """How wide a line of text is at a size in points."""
    return sum(map(_advance, text)) * size / 72.0


@lru_cache(maxsize=4096)
def _advance(letter: str) -> float:
    """The width of a letter as a share of the size of the font; letters of other fonts count as square."""
    if ord(letter) not in _letters(_usual()):
        return 1.0
    font = get_font(_usual())
    font.set_size(100.0, 72.0)
    return float(font.load_char(ord(letter), flags=LoadFlags.NO_HINTING).linearHoriAdvance / 65536.0 / 100.0)


def wrapped(text: str, width: float, size: float) -> list[str]:
    """Text as lines that are no wider than this many inches; a word that is too long is broken."""
    lines = [""]
    longest = max(1, int(width * 72.0 / size))
    for part in (part for word in text.split() for part in _parts(word, width, size, longest)):
        longer = f"{lines[-1]} {part}".strip()
        if lines[-1] and inches(longer, size) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


def _parts(word: str, width: float, size: float, longest: int) -> list[str]:
    return [word] if inches(word, size) <= width else textwrap.wrap(word, longest)


ROW = 0.29
"""Inches: the height of a row."""

BETWEEN = 0.32
"""Inches: what lies between two columns."""

MAX_CELL_LENGTH = 44
MAX_ROWS = 24
SIZE, TITLE_SIZE = 10.0, 11.0


def table_width(table: Table) -> float:
    """How many inches a table is wide, with its title above it."""
    cells = zip(table.columns, *table.rows[:MAX_ROWS], strict=True)
    # names of columns are bold, and so a little wider
    columns = sum(max(1.1 * inches(_cut(cell), SIZE) for cell in column) + BETWEEN for column in cells)
    return 0.2 + max(columns, 1.1 * inches(table.title, TITLE_SIZE))


def table_height(table: Table) -> float:
    """How many inches a table is high, with its title."""
    return ROW * (min(len(table.rows), MAX_ROWS + 1) + 2) + 0.2


def fitted(table: Table, room: float) -> Table:
    """The table, or with its rows as columns where it is wider than this many inches; then as many as have room."""
    if table_width(table) <= room or not table.rows:
        return table
    named = table.columns[0] == ""
    heads = [row[0] for row in table.rows] if named else [str(place + 1) for place in range(len(table.rows))]
    heads = heads if any(heads) else ["value"] * len(heads)
    lines = [(name, *cells) for name, *cells in zip(table.columns, *table.rows, strict=True)][named:]
    for count in range(len(heads), 0, -1):
        left = len(heads) - count
        title = f"{table.title} (and {left} more)" if left else table.title
        turned = Table(title, ("", *heads[:count]), tuple(line[: count + 1] for line in lines))
        if table_width(turned) <= room or count == 1:
            break
    return turned if table_width(turned) < table_width(table) else table


def draw_table(axes: Axes, table: Table, height: float) -> None:
    """Draw a table on axes this many inches high."""
    axes.set_axis_off()
    axes.set_title(written(table.title), fontsize=TITLE_SIZE, loc="left", y=1.0).set_x(0.02)
    shown = [[_spaced(cell) for cell in row] for row in table.rows[:MAX_ROWS]]
    if len(table.rows) > MAX_ROWS:
        shown.append([f"... {len(table.rows) - MAX_ROWS} more", *[""] * (len(table.columns) - 1)])
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
    return f"  {_cut(text)}  "


def _is_number(cell: str) -> bool:
    try:
        float(cell.partition("±")[0])
    except ValueError:
        return False
    return True


def _cut(text: str) -> str:
    return written(text, MAX_CELL_LENGTH)
