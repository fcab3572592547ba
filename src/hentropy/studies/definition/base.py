"""What all words of a study file share: how strict they are, and the plain values they are made of."""

import math
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from hentropy.lazy import Tensor
from hentropy.studies.definition.importing import split

MAX_NAME_LENGTH = 200
"""Letters of the name of a study that every store can keep."""


class Words(BaseModel):
    """A table of a study file: a frozen value; a key that is not known is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


T = TypeVar("T")


def _rectangular(rows: tuple[tuple[T, ...], ...]) -> tuple[tuple[T, ...], ...]:
    if not rows or not rows[0]:
        raise ValueError("at least one row with at least one value is needed")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"row {number} has length {len(row)}, row 0 has length {len(rows[0])}; make them equal")
    return rows


def _whole_text(text: str) -> str:
    bad = next((letter for letter in text if letter == "\x00" or unicodedata.category(letter) == "Cs"), None)
    if bad is not None:  # neither every database nor an answer in UTF-8 takes these
        raise ValueError(f"{text!r} has the control character {bad!r}; leave it out")
    return text


def _one_line(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; give it at least one letter")
    bad = next((letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")), None)
    if bad is not None:
        raise ValueError(f"{text!r} has the control character {bad!r}; leave it out")
    return text


def _empty_or_one_line(text: str) -> str:
    return _one_line(text) if text else text


def _study_name(text: str) -> str:
    if text.startswith("-"):
        raise ValueError(f"{text!r} starts with a dash, which commands take for an option; start with a letter")
    if len(text) > MAX_NAME_LENGTH:
        raise ValueError(f"it has {len(text)} letters; at most {MAX_NAME_LENGTH} are allowed")
    return text


def _two_names(reference: str) -> str:
    split(reference)
    return reference


# a number is not taken from text, and a whole number not from a broken one: a slip would pass unseen
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
YesNo = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True), AfterValidator(_whole_text)]
Label = Annotated[Text, AfterValidator(_one_line)]
"""Text on one line that is not empty."""

Unit = Annotated[Text, AfterValidator(_empty_or_one_line)]
"""What a number is measured in; empty where it has none."""

StudyName = Annotated[Label, AfterValidator(_study_name)]
"""What a study can be called: the store has room for so much, and commands take it for a name."""

Reference = Annotated[Text, AfterValidator(_two_names)]
"""Something in a Python module: "package.module:name"."""

Plain = Text | Number | Whole | YesNo
"""An option of a choice: a text, a number, or a truth value; it comes back as what it was."""

Cells = Annotated[tuple[tuple[Number | Text | YesNo | None, ...], ...], AfterValidator(_rectangular)]
"""A table: numbers, texts and truth values, or nothing where nothing is known."""


def plain(value: Any) -> Any:
    """Numbers, texts, lists and tables as JSON has them; a TypeError for anything else."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(part) for key, part in value.items()}
    raise TypeError(f"{value!r} is not a plain value")


def _kind_of_design(places: Any) -> str:
    first = places[0] if isinstance(places, list | tuple) and places else None
    return "named" if isinstance(first, Mapping) else "rows"


_Rows = Annotated[tuple[tuple[Number, ...], ...], AfterValidator(_rectangular), Tag("rows")]
_Named = Annotated[tuple[dict[Text, Plain], ...], Tag("named")]
Places = Annotated[_Rows | _Named, Discriminator(_kind_of_design)]
"""Designs: tables of values by parameter, or with an id; or rows of numbers, the coordinates of designs."""
