"""Small study files that tests share."""

import tomllib
from pathlib import Path
from typing import Any

SMALL = """
version = 1
name = "small"
[space.x]
type = "real"
low = -1.0
high = 3.0
[decision]
name = "maximize"
"""


def written(folder: Path, text: str, name: str = "study.toml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def with_changes(**parts: Any) -> dict[str, Any]:
    """The words of the small study with other parts; None takes one away."""
    words = {**tomllib.loads(SMALL), **parts}
    return {key: value for key, value in words.items() if value is not None}
