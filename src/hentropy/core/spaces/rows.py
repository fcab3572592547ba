"""Where designs stand in a list: by a hash of their values, so that a million rows are not compared in pairs."""

import numpy as np

from hentropy.lazy import Tensor, torch

_ODD = np.uint64(0x9E3779B97F4A7C15)
_START = np.uint64(0x2545F4914F6CDD1D)
_SHIFT = np.uint64(29)


def _hashes(rows: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row (m x d): m. Zero and minus zero are the same number."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    value = np.full(rows.shape[0], _START)
    for column in bits.T:
        value = (value ^ column) * _ODD
        value ^= value >> _SHIFT
    return value


class RowIndex:
    """An index over the rows of a list (m x d). Rows are equal if all their values are, exactly."""

    def __init__(self, rows: Tensor) -> None:
        self._rows = rows.detach().cpu().numpy()
        hashes = _hashes(self._rows)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def find(self, x: Tensor) -> Tensor:
        """The first position of each row of x (... x d) in the list, -1 where it is not listed: ... ."""
        wanted = x.detach().cpu().numpy().reshape(-1, x.shape[-1])
        hashes = _hashes(wanted)
        slot = np.searchsorted(self._hashes, hashes)
        found = np.full(len(wanted), -1)
        left = np.arange(len(wanted))
        while len(left):  # one round, unless different rows share a hash
            left = left[slot[left] < len(self._hashes)]
            left = left[self._hashes[slot[left]] == hashes[left]]
            position = self._order[slot[left]]
            same = (self._rows[position] == wanted[left]).all(-1)
            found[left[same]] = position[same]
            left = left[~same]
            slot[left] += 1
        return torch.from_numpy(found).reshape(x.shape[:-1]).to(x.device)

    def equal_to_any(self, x: Tensor) -> Tensor:
        """Which rows of the list equal one of x (p x d), repeated rows included: m."""
        wanted = x.detach().cpu().numpy()
        hashes = _hashes(wanted)
        ends = zip(*(np.searchsorted(self._hashes, hashes, side) for side in ("left", "right")), strict=True)
        marked = np.zeros(len(self._rows), dtype=bool)
        for row, (start, stop) in zip(wanted, ends, strict=True):
            position = self._order[start:stop]
            marked[position[(self._rows[position] == row).all(-1)]] = True
        return torch.from_numpy(marked).to(x.device)
