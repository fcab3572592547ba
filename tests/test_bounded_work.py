"""Bounds on time and memory are kept: by a clock that counts numbers computed, and by the largest array made."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import hentropy as he
from hentropy.core.clock import Clock
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Finite, Nested, OneShot, Solver
from support.beliefs import gaussian
from support.decisions import SPACE

POOL = he.Pool(SPACE.sample(20_000, seed=81))


class Work(TorchDispatchMode):
    """Counts the numbers that operations give, and the bytes of the largest array among them."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers, self.largest = 0.0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, Tensor):
                self.numbers += each.numel()
                self.largest = max(self.largest, each.untyped_storage().nbytes())
        return found


SEARCHES: dict[str, tuple[Solver, he.Decision, Any]] = {
    "auto, a formula": (Auto(), he.BestObserved(), SPACE),
    "auto, actions follow": (Auto(), he.TopK(2), SPACE),
    "auto, a list": (Auto(), he.TopK(2), POOL),
    "finite": (Finite(), he.Maximize(), POOL),
    "nested": (Nested(), he.Maximize(), SPACE),
    "one shot": (OneShot(), he.TopK(2), SPACE),
}


def searched(name: str, limit: float = math.inf) -> tuple[float, bool]:
    """How many numbers a search computes when it may compute so many, and whether it says that it is complete."""
    solver, decision, space = SEARCHES[name]
    appraisal = Appraisal.prepare(decision, gaussian(1), space)
    with Work() as work:
        object.__setattr__(appraisal, "clock", Clock(limit, now=lambda: work.numbers))
        found = solver.search(appraisal, 1, None)
    return work.numbers, found.complete


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_ends_when_its_time_is_up(name: str) -> None:
    """In each of its parts: no more is computed than what has to be, and a step beyond the bound."""
    free, complete = searched(name)
    assert complete
    first, complete = searched(name, 0.0)
    assert not complete
    assert first < 0.7 * free
    for share in (0.3, 0.75):
        spent, complete = searched(name, share * free)
        assert spent <= max(first, share * free) + 0.1 * free
        assert not complete


def test_the_largest_array_is_within_the_bound() -> None:
    """Labels at all designs of a list: without a bound, they are found for all designs at once."""
    many, largest = he.Pool(SPACE.sample(1_000, seed=81)), {}
    for bound in (None, 2**20):
        with Work() as work:
            he.propose(he.LevelSets([4.0]), gaussian(1), many, max_memory=bound)
        largest[bound] = work.largest
    assert largest[2**20] <= 2**20 < 3 * 2**20 < largest[None]
