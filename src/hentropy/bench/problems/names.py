"""Looking things up by name, with an error that helps."""

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from hentropy.errors import InputError

Thing = TypeVar("Thing")


def named(name: str, known: Mapping[str, Thing], kind: str) -> Thing:
    """The thing with this name, or an `InputError` that says which names there are and which one is nearest."""
    if name in known:
        return known[name]
    raise unknown(name, known, kind)


def unknown(name: str, known: Iterable[str], kind: str) -> InputError:
    """The error for a name that is not among those known."""
    near = difflib.get_close_matches(str(name).lower(), sorted(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return InputError(f"there is no {kind} {name!r}; {hint}known are {', '.join(sorted(known))}")
