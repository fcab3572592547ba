"""First designs: how many there are, and how options take turns in them."""

from collections.abc import Callable, Sequence

from hentropy.core.spaces.coordinates import ValueTable
from hentropy.lazy import Tensor, torch

SAMPLES_PER_DESIGN = 256
"""Samples among which numbers are looked for that go with the options of a first design."""

MIN_FIRST_DESIGNS, MAX_FIRST_DESIGNS = 4, 12
"""The default number of first designs is never outside of these: a model learns more from designs that it chooses."""


def usual_first(parameters: int) -> int:
    """How many first designs there are by default, earlier data among them: 2 (d + 1) for d parameters, 4 to 12."""
    return min(max(MIN_FIRST_DESIGNS, 2 * (parameters + 1)), MAX_FIRST_DESIGNS)


Place = tuple[slice, ValueTable]
"""Where the options of a parameter stand in a row, and which they are."""


def balanced_over_options(
    numbers: Tensor,
    drawn: Callable[[torch.Generator], Tensor],
    feasible: Callable[[], Tensor],
    tables: Sequence[Place],
    known: Tensor,
    holds: Callable[[Tensor], Tensor],
    seed: int,
) -> Tensor:
    """Designs in which options take turns, those used least, also in designs `known` (m x d), first: count x d.

    Each has its own row of `numbers` (count x d), which fill the space without conditions. Where the options do not
    allow these, it has the first that they allow of some that are `drawn` anew: so numbers fill what each option allows
    evenly, and not what most options allow. Only where little is allowed they are those of a `feasible` design (n x d).
    """
    generator = torch.Generator().manual_seed(seed)
    uses = [uses_of(table, known[:, place]) for place, table in tables]
    left: Tensor | None = None
    chosen: list[Tensor] = []
    for own in numbers:
        tied = [used + 0.5 * torch.rand(len(used), generator=generator) for used in uses]
        options = [(place, table.rows[int(each.argmin())]) for (place, table), each in zip(tables, tied, strict=True)]
        found = _allowed(own.unsqueeze(0), options, holds)
        if not len(found):
            found = _allowed(drawn(generator), options, holds)
        if not len(found):
            left = feasible() if left is None else left
            wanted = _with_options(left, options)
            allowed = holds(wanted).nonzero()[:, 0]
            if len(allowed):
                used_up, found = int(allowed[0]), wanted[allowed]
            else:  # conditions forbid the combination: one whose options were used least
                positions = [table.index(left[:, place]) for place, table in tables]
                least = torch.stack([used[each] for used, each in zip(uses, positions, strict=True)]).sum(0).argmin()
                used_up, found = int(least), left[least].unsqueeze(0)
            left = torch.cat([left[:used_up], left[used_up + 1 :]])
        chosen.append(found[0])
        for (place, table), used in zip(tables, uses, strict=True):
            used[table.index(chosen[-1][place])] += 1.0
    return torch.stack(chosen) if chosen else numbers[:0]


def _allowed(rows: Tensor, options: Sequence[tuple[slice, Tensor]], holds: Callable[[Tensor], Tensor]) -> Tensor:
    """Designs n x d with these options, those that satisfy all conditions."""
    wanted = _with_options(rows, options)
    return wanted[holds(wanted)]


def _with_options(rows: Tensor, options: Sequence[tuple[slice, Tensor]]) -> Tensor:
    wanted = rows.clone()
    for place, row in options:
        wanted[:, place] = row
    return wanted


def uses_of(table: ValueTable, coordinates: Tensor) -> Tensor:
    """How often each value of a table occurs in designs (m x width): as many numbers as the table has values."""
    return torch.bincount(table.index(coordinates), minlength=len(table.rows)).double()
