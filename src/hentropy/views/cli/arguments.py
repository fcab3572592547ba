"""The arguments that many commands share."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.studies.definition.reading import ENDINGS
from hentropy.studies.records.numbers import brief, plain_whole
from hentropy.views.text.earlier_data import columns_by_parameter

LARGEST = 1_000_000
"""Bytes; a larger file is not looked into."""


def study_files(folder: Path) -> list[str]:
    """The names of the files in a folder that look like study files."""
    return sorted(path.name for path in folder.iterdir() if path.suffix.lower() in ENDINGS and _looks_like_one(path))


def _looks_like_one(path: Path) -> bool:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return False
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r'^\s*\{?\s*["\[]?decision\b', text, re.MULTILINE) is not None


def _complete_study(incomplete: str) -> list[str]:
    return [name for name in study_files(Path()) if name.startswith(incomplete)]


StudyName = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="A study file; or, with --store, the name of a study there.",
        autocompletion=_complete_study,
        show_default=False,
    ),
]


def trial_number(text: str) -> int:
    """The number of a trial, as it is typed."""
    if not text.isdecimal() or len(text) > LONGEST_NUMBER:
        raise typer.BadParameter(f"NUMBER is {brief(text)}; it must be the number of a trial, such as 4")
    return int(text)


LONGEST_NUMBER = 18
"""Digits that the number of a trial can have."""


def whole(least: int, most: int | None = None) -> Callable[[str | int], int]:
    """How a whole number within bounds is read, as it is typed: 1_5, which Python takes for 15, is none."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(text: str | int) -> int:
        try:
            number = plain_whole(str(text))  # a default is handed in as a number
        except ValueError:
            number = None
        if number is None or number < least or (most is not None and number > most):
            raise typer.BadParameter(f"{text!r} is not a whole number {bounds}")
        return number

    return read


TrialName = Annotated[
    str,
    typer.Argument(
        metavar="NUMBER", help="The number of the trial, or in a pool the id of its design.", show_default=False
    ),
]

Mapped = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="COLUMN=NAME", help="A column with another name. Can be repeated."),
]


def renamed_columns(mapped: list[str]) -> dict[str, str]:
    """Columns by parameter or outcome."""
    try:
        return columns_by_parameter(mapped)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--map") from None


StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="Where the study is stored: sqlite:///lab.db or postgresql://user@host/database. Default: see the file.",
        show_default=False,
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]

Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
