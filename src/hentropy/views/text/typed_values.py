"""Values as people type them: options, lists of them, and tables of numbers by option."""

from typing import Any

from hentropy.errors import InputError
from hentropy.studies.records.numbers import plain_number, plain_whole


def typed_option(text: str) -> Any:
    """A number if it is one, else the text."""
    for read in (plain_whole, plain_number):
        try:
            return read(text)
        except ValueError:
            pass
    return text.strip()


def typed_items(text: str) -> list[str]:
    """The items of a list: one on each line, as a name may have commas; on a single line, separated by commas."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines if len(lines) > 1 else [part.strip() for part in text.split(",") if part.strip()]


def typed_table(text: str) -> tuple[str, dict[str, float]]:
    """A table and its name, from NAME=OPTION:NUMBER,OPTION:NUMBER."""
    name, _, rows = text.partition("=")
    pairs = [row.rpartition(":")[::2] for row in rows.split(",") if row.strip()]
    if not name.strip() or not pairs or not all(option.strip() for option, _ in pairs):
        raise InputError("write it as NAME=OPTION:NUMBER,OPTION:NUMBER, such as boils=THF:66,water:100")
    return name.strip(), {option.strip(): typed_number(number.strip()) for option, number in pairs}


def typed_number(text: str) -> float:
    """A number."""
    try:
        return plain_number(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number") from None
