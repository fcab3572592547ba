"""Which cases of a long table `make test` runs: enough to cover it. The others are nightly: `make test-all`."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def nightly(*case: Any) -> Any:
    """A case that only `make test-all` runs."""
    return pytest.param(*case, marks=pytest.mark.nightly)


def cover(cases: Iterable[Sequence[Any]], together: int = 1) -> list[tuple[Any, ...]]:
    """Few cases of a table that have every value that occurs (`together` = 1), or every pair of values (2).

    A case is a tuple of what varies. What one value does wrong shows in each of its cases, and what two do wrong
    together in theirs. The case that adds most comes first; of several, the one whose values have been used least.
    """
    values = {tuple(case): list(enumerate(map(repr, case))) for case in cases}
    left = {case: set(itertools.combinations(own, together)) for case, own in values.items()}
    used, found = Counter[tuple[int, str]](), []
    while any(left.values()):
        best = max(left, key=lambda case: (len(left[case]), -sum(used[value] for value in values[case])))
        found.append(best)
        used.update(values[best])
        new = left.pop(best)
        left = {case: parts - new for case, parts in left.items()}
    return found
