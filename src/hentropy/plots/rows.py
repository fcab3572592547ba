"""How panels are laid out."""

from collections.abc import Sequence

from hentropy.plots.marks import Panel, Table


def in_rows(panels: Sequence[Panel | Table], across: int) -> tuple[tuple[Panel | Table, ...], ...]:
    """Panels in rows of at most so many."""
    return tuple(tuple(panels[start : start + across]) for start in range(0, len(panels), across))
