"""Errors of the library in the words of the command line."""

from collections.abc import Iterator
from contextlib import contextmanager

from hentropy.errors import InputError, StudyError

IN_OTHER_WORDS = {
    "pass replace_value=True to correct it": "give --replace to correct it",
    "if the experiment did not work, tell it with failed='why'": "if the experiment did not work, use `hentropy fail`",
    "all that was measured is kept.": "all that was measured is kept. `hentropy delete` first forgets these failures.",
    "load it only where you trust it": "name its study file instead of its name in the store",
}


@contextmanager
def in_commands() -> Iterator[None]:
    """What an error advises is said as one would type it."""
    try:
        yield
    except (StudyError, InputError) as error:
        text = str(error)
        for python, command in IN_OTHER_WORDS.items():
            text = text.replace(python, command)
        raise type(error)(text) from None
