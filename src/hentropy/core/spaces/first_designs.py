"""First designs: how many there are, and how options take turns in them."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hentropy.core.spaces.coordinates import ValueTable

FIRST_DRAWN = 256
"""Samples from which first designs take their numbers."""

FEWEST_FIRST, MOST_FIRST = 4, 12
"""The default number of first designs is never outside of these: a model learns more from designs that it chooses."""


def usual_first(parameters: int) -> int:
    """How many first designs there are by default, earlier data among them: 2 (d + 1) for d parameters, 4 to 12."""
    return min(max(FEWEST_FIRST, 2 * (parameters + 1)), MOST_FIRST)


Place = tuple[slice, ValueTable]
"""Where the options of a parameter stand in a row, and which they are."""


def taking_turns(
    left: Tensor, tables: Sequence[Place], known: Tensor, holds: Callable[[Tensor], Tensor], count: int, seed: int
) -> Tensor:
    """Designs in which options take turns, those used least, also in designs `known` (m x d), first: count x d.

    Their numbers are those of `left` (n x d), the first ones with which the options satisfy all conditions.
    """
    generator = torch.Generator().manual_seed(seed)
    uses = [uses_of(table, known[:, place]) for place, table in tables]
    chosen: list[Tensor] = []
    for _ in range(count):
        wanted = left.clone()
        for (place, table), used in zip(tables, uses, strict=True):
            tied = used + 0.5 * torch.rand(len(used), generator=generator)
            wanted[:, place] = table.rows[int(tied.argmin())]
        found = holds(wanted).nonzero()[:, 0]
        if len(found):
            row = int(found[0])
            chosen.append(wanted[row])
        else:  # conditions forbid the combination: one whose options were used least
            positions = [table.index(left[:, place]) for place, table in tables]
            seen = torch.stack([used[each] for used, each in zip(uses, positions, strict=True)])
            row = int(seen.sum(0).argmin())
            chosen.append(left[row])
        for (place, table), used in zip(tables, uses, strict=True):
            used[table.index(chosen[-1][place])] += 1.0
        left = torch.cat([left[:row], left[row + 1 :]])
    return torch.stack(chosen) if chosen else left[:0]


def uses_of(table: ValueTable, coordinates: Tensor) -> Tensor:
    """How often each value of a table occurs in designs (m x width): as many numbers as the table has values."""
    return torch.bincount(table.index(coordinates), minlength=len(table.rows)).double()
