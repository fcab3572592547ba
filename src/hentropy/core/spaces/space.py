"""`Space`: the product of named parameters."""

import torch
from torch import Tensor

from hentropy.core.spaces.base import DesignSpace, Params, check_size, sobol
from hentropy.core.spaces.parameters import Parameter, Real
from hentropy.errors import InputError


class Space(DesignSpace):
    """Designs with named parameters: `Space(x1=Real(0, 10), steps=Integer(1, 8))`."""

    def __init__(self, **parameters: Parameter) -> None:
        if not parameters:
            raise InputError("a space needs at least one parameter: Space(x=Real(0, 1))")
        check_size(len(parameters))
        for name, parameter in parameters.items():
            if not isinstance(parameter, Parameter):
                raise InputError(f"parameter {name} is {parameter!r}; it must be Real(low, high) or Integer(low, high)")
        self.parameters = dict(parameters)
        self.names = tuple(parameters)
        kinds = list(parameters.values())
        self._bounds = torch.tensor([[p.low for p in kinds], [p.high for p in kinds]], dtype=torch.float64)
        self._log = torch.tensor([p.log for p in kinds])
        grid = torch.tensor([p.grid for p in kinds], dtype=torch.float64)
        self._on_grid = grid > 0
        self._grid = torch.where(self._on_grid, grid, 1.0)
        self._any_log, self._any_grid = bool(self._log.any()), bool(self._on_grid.any())
        straight = self._straighten(self._bounds)
        self._origin, self._width = straight[0], straight[1] - straight[0]

    @classmethod
    def box(cls, low: list[float], high: list[float]) -> "Space":
        """A space of reals x1, x2, ... from two lists of bounds."""
        if len(low) != len(high):
            raise InputError(f"a box needs as many lower as upper bounds, got {list(low)} and {list(high)}")
        return cls(**{f"x{i}": Real(lo, hi) for i, (lo, hi) in enumerate(zip(low, high, strict=True), start=1)})

    @property
    def bounds(self) -> Tensor:
        """The least and the greatest value of each parameter: 2 x d."""
        return self._bounds

    def _straighten(self, x: Tensor) -> Tensor:
        # torch.where would hand NaN gradients through the branch it did not take: mask the argument as well.
        log = self._log.to(x.device)
        return torch.where(log, torch.where(log, x, 1.0).clamp_min(1e-300).log(), x) if self._any_log else x

    def _bend(self, x: Tensor) -> Tensor:
        """The inverse of `_straighten`."""
        log = self._log.to(x.device)
        return torch.where(log, torch.where(log, x, 0.0).exp(), x) if self._any_log else x

    def to_unit(self, x: Tensor) -> Tensor:
        """Designs to the unit cube: ... x d."""
        return (self._straighten(x) - self._origin.to(x)) / self._width.to(x)

    def from_unit(self, u: Tensor) -> Tensor:
        """The unit cube to designs, integers relaxed: ... x d."""
        return self._bend(self._origin.to(u) + self._width.to(u) * u)

    def project(self, x: Tensor) -> Tensor:
        """Clamped to the bounds, integers rounded: ... x d."""
        low, high = self._bounds.to(x)
        return self._rounded(torch.minimum(torch.maximum(x, low), high))

    def _rounded(self, x: Tensor) -> Tensor:
        """The nearest values of parameters that have not any value: ... x d."""
        if not self._any_grid:
            return x
        grid = self._grid.to(x)
        return torch.where(self._on_grid.to(x.device), (x / grid).round() * grid, x)

    def sample(self, count: int, seed: int) -> Tensor:
        """Scrambled Sobol designs: count x d; integers get equal shares, logarithmic ones shares by their ratios."""
        u = sobol(count, self.dim, seed)
        if not self._any_grid:
            return self.from_unit(u)
        # an integer k stands for the cell from k - 1/2 to k + 1/2: else the first and the last would get half a share
        half = torch.tensor([[-0.5], [0.5]], dtype=torch.float64)
        low, high = self._straighten(self._bounds + half * self._grid * self._on_grid)
        return self.project(self._bend(low + (high - low) * u))

    def check(self, x: Tensor) -> None:
        """Raise an `InputError` that names a value that is outside the bounds, or not whole where it must be."""
        super().check(x)
        bad = self._first(x, (x - self._rounded(x)).abs() > 1e-9 * self._grid.to(x))
        if bad is not None:
            raise InputError(f"parameter {bad[0]} is {bad[1]}; it must be a {self.parameters[bad[0]].must_be}")

    def decode(self, row: Tensor) -> Params:
        """A row (d) as named values; integers as int."""
        values = super().decode(row)
        return {name: self.parameters[name].value(number) for name, number in values.items()}

    def __repr__(self) -> str:
        """As it was written."""
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})"
