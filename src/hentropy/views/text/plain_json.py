"""Plain values as JSON: for stores, scripts and pages."""

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """A plain value as JSON, which knows no infinite numbers: they become null; what is not plain becomes text.

    Broken code points are escaped: UTF-8 has none, and the text could be neither sent nor written.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent, default=str)
    return text.encode("utf-8", "backslashreplace").decode()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inside) for inside in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
