"""`Pool`: a finite list of designs, such as the rows of a table of samples on the shelf."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from hentropy.core.given import real_array
from hentropy.core.spaces.base import DesignSpace, check_size, sobol
from hentropy.core.spaces.rows import RowIndex
from hentropy.errors import InputError

PAIRS = 2**22
"""Distances between designs and rows that are held at once."""


@runtime_checkable
class DataFrameLike(Protocol):
    """Columns with names, such as a DataFrame."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def to_numpy(self) -> Any:
        """The values: m x d."""


def _values(rows: Any) -> np.ndarray:
    if isinstance(rows, Tensor):
        rows = rows.detach().cpu().numpy()
    try:
        return real_array(rows.to_numpy() if isinstance(rows, DataFrameLike) else rows)
    except (TypeError, ValueError) as error:
        raise InputError(f"a pool needs a table of numbers (m x d); these rows are not: {error}") from None


class Pool(DesignSpace):
    """Designs from a list: a tensor, an array, nested lists, or a table with named columns (a DataFrame)."""

    def __init__(self, rows: Any, names: Sequence[str] | None = None) -> None:
        values = _values(rows)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or values.shape[0] == 0:
            raise InputError(f"a pool needs a table of designs (m x d, at least one row), got shape {values.shape}")
        check_size(values.shape[1])
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise InputError(
                f"row {row} of the pool has the value {values[row, column]} in column {column}; drop that row"
            )
        if names is None:
            titled = isinstance(rows, DataFrameLike)
            names = [str(c) for c in rows.columns] if titled else [f"x{i + 1}" for i in range(values.shape[1])]
        if len(names) != values.shape[1]:
            raise InputError(f"the pool has {values.shape[1]} columns but {len(names)} names: {list(names)}")
        if len(set(names)) != len(names):
            raise InputError(f"the names of a pool's columns must differ, got {list(names)}")
        self.names = tuple(names)
        self._points = torch.from_numpy(values)
        self._low, self._high = self._points.min(0).values, self._points.max(0).values
        width = self._high - self._low
        self._width = torch.where(width > 0, width, torch.ones_like(width))

    @cached_property
    def index(self) -> RowIndex:
        """Where designs stand in the list."""
        return RowIndex(self._points)

    @property
    def points(self) -> Tensor:
        """All designs: m x d."""
        return self._points

    @property
    def bounds(self) -> Tensor:
        """The least and the greatest value of each column: 2 x d."""
        return torch.stack([self._low, self._high])

    def to_unit(self, x: Tensor) -> Tensor:
        """Designs to the unit cube of the pool's own range: ... x d."""
        return (x - self._low.to(x)) / self._width.to(x)

    def from_unit(self, u: Tensor) -> Tensor:
        """The inverse of `to_unit`."""
        return self._low.to(u) + self._width.to(u) * u

    def project(self, x: Tensor) -> Tensor:
        """The nearest row of the pool, distances in unit coordinates: ... x d."""
        flat = x.detach().reshape(-1, self.dim)
        position = self.index.find(flat.to(self._points))
        missing = (position < 0).nonzero()[:, 0]
        if len(missing):
            position[missing] = self._nearest(flat[missing])
        return self._points.to(x)[position.to(x.device)].reshape(x.shape)

    def _nearest(self, x: Tensor) -> Tensor:
        """The positions of the rows nearest to designs b x d: b."""
        rows = self.to_unit(self._points.to(x))
        # by differences: the faster product form cannot tell rows that are closer than the root of rounding errors
        return torch.cat(
            [
                torch.cdist(part, rows, compute_mode="donot_use_mm_for_euclid_dist").argmin(-1)
                for part in self.to_unit(x).split(max(1, PAIRS // rows.shape[0]))
            ]
        ).to(self._points.device)

    def sample(self, count: int, seed: int) -> Tensor:
        """Rows spread over the pool: count x d; without repetition while the pool lasts."""
        generator = torch.Generator().manual_seed(seed)
        size = self._points.shape[0]
        if count >= size:
            extra = torch.randint(size, (count - size,), generator=generator)
            return self._points[torch.cat([torch.randperm(size, generator=generator), extra])]
        columns = self.to_unit(self._points).T.contiguous()
        taken = torch.zeros(size, dtype=self._points.dtype)  # infinite once a row is
        chosen = []
        for target in sobol(count, self.dim, seed):
            distance = taken.clone()
            for column, place in zip(columns, target.tolist(), strict=True):
                gap = column - place
                distance.addcmul_(gap, gap)
            chosen.append(int(distance.argmin()))
            taken[chosen[-1]] = torch.inf
        return self._points[chosen]

    def check(self, x: Tensor) -> None:
        """Raise an `InputError` for a design that is not a row of the pool."""
        super().check(x)
        flat = x.reshape(-1, self.dim)
        gap = (self.to_unit(flat) - self.to_unit(self.project(flat))).abs().amax(-1)
        if bool((gap > 1e-9).any()):
            row = flat[int((gap > 1e-9).nonzero()[0])]
            raise InputError(f"the design {self.decode(row)} is not in the pool of {self._points.shape[0]} designs")

    def __repr__(self) -> str:
        """How many designs, and of what."""
        return f"Pool({self._points.shape[0]} designs; {', '.join(self.names)})"
