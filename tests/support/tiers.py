"""Which cases of a long table run each time, and which only before a release: `make test` and `make test-all`."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def nightly(*case: Any) -> Any:
    """A case that only `make test-all` runs."""
    return pytest.param(*case, marks=pytest.mark.nightly)


def covering(cases: Iterable[Sequence[Any]], together: int = 2) -> list[Any]:
    """All cases of a table as parameters, of which those run each time that cover it.

    A case is a tuple of what varies. Those that run each time have every value that occurs (`together` = 1), or every
    pair of values that occurs in some case (2): what one value does wrong shows in each of its cases, and what two do
    wrong together in theirs. Cases are taken one after the other, if they add something.
    """
    seen: set[tuple[Any, ...]] = set()
    chosen = []
    for case in cases:
        named = [(place, repr(value)) for place, value in enumerate(case)]
        found = set(itertools.combinations(named, together))
        chosen.append(nightly(*case) if found <= seen else pytest.param(*case))
        seen |= found
    return chosen
