"""Templates of HTML: what is put into them is escaped everywhere."""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Letters that could end a script, or begin a comment in it, as JSON may write them too."""


def environment(folder: Path, filters: Mapping[str, Callable[..., Any]] | None = None) -> Environment:
    """The templates of a folder. A name that a template uses and is not given is an error."""
    made = Environment(
        loader=FileSystemLoader(folder, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"json_data": json_data, **(filters or {})}
    return made


def json_data(value: Any) -> Markup:
    """A plain value for a <script type="application/json">: nothing in it can end the script."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter, written in UNSAFE.items():
        text = text.replace(letter, written)
    return Markup(text)


@lru_cache(maxsize=8)
def static_text(name: str) -> str:
    """A static file that the page and the report share."""
    return (files("hentropy.views.web") / "static" / name).read_text(encoding="utf-8")
