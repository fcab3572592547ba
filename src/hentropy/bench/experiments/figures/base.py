"""What a figure of the paper is, and the error when there is nothing to draw."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hentropy.bench.experiments.plan import Results
from hentropy.errors import InputError

Draw = Callable[[Results, Path], list[Path]]
"""Draws a figure from results into a folder and returns the files it wrote."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its name, a title, a caption, the tasks whose runs it shows, and how it is drawn."""

    name: str
    title: str
    caption: str
    tasks: tuple[str, ...]
    draw: Draw


def nothing_to_draw(name: str, results: Results) -> InputError:
    """The error for a figure none of whose runs is there."""
    folder = results.ledger.folder
    command = f"hentropy reproduce {name}{' --quick' if results.plan.quick else ''} --out {folder}"
    return InputError(f"{folder} has no complete run that {name} shows; make them with: {command}")
