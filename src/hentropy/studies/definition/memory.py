"""Amounts of memory as people write them: 512 MiB, 2 GB, or bytes."""

import re

from hentropy.errors import InputError

UNITS = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
}


def bytes_of(amount: int | str) -> int:
    """The number of bytes."""
    if isinstance(amount, int):
        return amount
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", amount)
    if parts is None or parts[2].lower() not in UNITS:
        raise InputError(f'{amount!r} is not an amount of memory; write it like "512 MiB" or "2 GB", or give bytes')
    return int(float(parts[1]) * UNITS[parts[2].lower()])
