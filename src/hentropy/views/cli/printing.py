"""How commands print: lines and tables for a person, JSON for a script, errors in the words of the command line."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hentropy.errors import Advice
from hentropy.views.text.plain_json import json_text

IN_COMMANDS = {
    Advice.CORRECT: "give --replace to correct it",
    Advice.TELL_FAILED: "if the experiment failed, use `hentropy fail`",
    Advice.RUN_AGAIN: f"{Advice.RUN_AGAIN.value} `hentropy delete` first forgets these failures.",
    Advice.NAME_OUTCOMES: "write NAME=VALUE, such as yield=80.1",
    Advice.TRUST: "name its study file instead of its name in the store",
    Advice.MAP_COLUMN: "use --map COLUMN=NAME",
    Advice.ATTACH: "other data are added by `hentropy attach`",
    Advice.OWN_BACKUP: "once there is a backup, give --no-backup",
    Advice.ATTACH_AGAIN: "if they are measurements of their own, give --again",
}
"""What an error advises, as one would type it."""

WIDTH = 100
"""The most columns of a table that is not printed on a terminal."""


def console(stderr: bool = False) -> Console:
    """Standard output or standard error as it is now."""
    real = Console(stderr=stderr, highlight=False)
    return real if real.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def say(text: str, style: str = "", *, to: Console | None = None) -> None:
    """Print lines as they are; a long one is broken by the terminal alone."""
    (to or console()).print(Text(printable(text), style), soft_wrap=True)


def note(text: str) -> None:
    """Say something besides the result: on standard error, so that the result can be piped."""
    say(text, "yellow", to=console(stderr=True))


def print_json(value: Any) -> None:
    """Print a plain value for a script."""
    typer.echo(json_text(value, indent=2))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()) -> Table:
    """A table of texts; columns are set to the right but for those named `left`."""
    made = Table()
    for name in columns:
        made.add_column(Text(printable(name)), justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


def printable(text: str) -> str:
    """Text without what would move the cursor or colour the terminal; lines stay lines."""
    return "".join(letter if letter in "\n\t" or _is_shown(letter) else "�" for letter in text)


def _is_shown(letter: str) -> bool:
    return unicodedata.category(letter) not in ("Cc", "Cs")
