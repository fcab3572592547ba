"""How keys and values of a study file are shown to a person, and which word was probably meant."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

SHOWN = 60
"""Letters of a value that are shown."""

Place = tuple[str | int, ...]
"""The keys that lead to a value."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that names the nearest known word, or nothing."""
    spelt = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), spelt, n=1)
    return f"; did you mean {spelt[close[0]]}?" if close else ""


def dotted(path: Place) -> str:
    """Keys as they are written in a file: space.x1.low, decision.at[2][0]."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += "." * bool(text) + (part if re.fullmatch(r"[\w-]+", part) else json.dumps(part))
    return text


def shown(value: Any) -> str:
    """A value as it would stand in a file, cut if it is long."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
