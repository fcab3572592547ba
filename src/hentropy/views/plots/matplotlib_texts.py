"""Texts as matplotlib draws them: how wide they are, in which fonts, and no mathematics in them."""

import textwrap
from collections.abc import Iterable
from functools import lru_cache

from hentropy.errors import MissingExtra

try:
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font
    from matplotlib.ft2font import LoadFlags
except ImportError:
    raise MissingExtra("matplotlib", "plots") from None

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


def families(texts: Iterable[str]) -> list[str]:
    """The fonts that have all letters of some texts: the usual one, then others that are installed, where needed."""
    known = _letters(_usual())
    missing = sorted({letter for text in texts for letter in text if ord(letter) not in known and letter != "\n"})
    others = [font for letter in missing if (font := _font_with(letter)) is not None]
    return [FONT, *dict.fromkeys(others)]


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
    """Text as lines that are no wider than so many inches; a word that is too long is broken."""
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
