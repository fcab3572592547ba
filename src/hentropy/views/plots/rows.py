"""How panels are laid out."""

import math
from collections.abc import Sequence

from hentropy.views.plots.marks import Panel, Table


def in_rows(panels: Sequence[Panel | Table], across: int) -> tuple[tuple[Panel | Table, ...], ...]:
    """Panels in rows of at most so many, as even as can be: 4 in rows of 3 are 2 and 2."""
    rows = math.ceil(len(panels) / across)
    width = math.ceil(len(panels) / rows) if rows else 1
    return tuple(tuple(panels[start : start + width]) for start in range(0, len(panels), width))
