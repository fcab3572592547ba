"""Trials as a file: CSV for spreadsheets, JSON lines for programs. What is written can be read again."""

from collections.abc import Iterable, Sequence
from typing import Any

from hentropy.studies.records import Entry
from hentropy.studies.study.tables import NUMBERS, titles_of
from hentropy.views.text.formats import json_text
from hentropy.views.text.trials import as_json

TEXTS = ("origin", "note")
TIMES = ("asked_at", "ended_at")
OTHERS = ("number", "state", *NUMBERS, *TEXTS, *TIMES)
"""The columns that are not parameters."""

RISKY = ("=", "+", "-", "@", "\t", "\r", "'")
"""How a text begins that a spreadsheet would take for a formula, or that begins as a guarded one does."""


def titles(names: Iterable[str]) -> dict[str, str]:
    """The columns of parameters."""
    return titles_of(names, OTHERS)


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(RISKY) else text


def unguarded(text: str) -> str:
    """The text that was guarded."""
    return text.removeprefix("'")


def csv_text(entries: Sequence[Entry], names: Sequence[str]) -> str:
    """One line for each trial; numbers in full precision."""
    columns = titles(names)
    after = [name for name in OTHERS if name != "number"]
    rows: list[list[Any]] = [["number", *(guarded(title) for title in columns.values()), *after]]
    for entry in entries:
        plain = as_json(entry)
        plain |= {name: guarded(plain[name]) for name in TEXTS}
        rows.append([plain["number"], *(plain["params"][name] for name in columns), *(plain[name] for name in after)])
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: Any) -> str:
    # not by csv.writer: it leaves a lone carriage return without quotes, and then cannot read it back
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',;"\t\r\n') else text


def json_lines(entries: Sequence[Entry]) -> str:
    """One JSON object for each trial."""
    return "".join(f"{json_text(as_json(entry))}\n" for entry in entries)
