"""`Space`: the product of named parameters."""

import torch
from torch import Tensor

from hentropy.core.spaces.base import DesignSpace, Params, check_size, sobol
from hentropy.core.spaces.parameters import Integer, Parameter, Real
from hentropy.errors import InputError


class Space(DesignSpace):
    """Designs with named parameters: `Space(x1=Real(0, 10), steps=Integer(1, 8))`."""

    def __init__(self, **parameters: Parameter) -> None:
        if not parameters:
            raise InputError("a space needs at least one parameter: Space(x=Real(0, 1))")
        check_size(len(parameters))
        for name, parameter in parameters.items():
            if not isinstance(parameter, Real | Integer):
                raise InputError(f"parameter {name} is {parameter!r}; it must be Real(low, high) or Integer(low, high)")
        self.parameters = dict(parameters)
        self.names = tuple(parameters)
        kinds = list(parameters.values())
        self._bounds = torch.tensor([[p.low for p in kinds], [p.high for p in kinds]], dtype=torch.float64)
        self._log = torch.tensor([p.log for p in kinds])
        self._whole = torch.tensor([isinstance(p, Integer) for p in kinds])
        self._any_log, self._any_whole = bool(self._log.any()), bool(self._whole.any())
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
        x = torch.minimum(torch.maximum(x, low), high)
        return torch.where(self._whole.to(x.device), x.round(), x) if self._any_whole else x

    def sample(self, count: int, seed: int) -> Tensor:
        """Scrambled Sobol designs: count x d; integers get equal shares, logarithmic ones shares by their ratios."""
        u = sobol(count, self.dim, seed)
        if not self._any_whole:
            return self.from_unit(u)
        # an integer k stands for the cell from k - 1/2 to k + 1/2: else the first and the last would get half a share
        half = torch.tensor([[-0.5], [0.5]], dtype=torch.float64)
        low, high = self._straighten(self._bounds + half * self._whole)
        return self.project(self._bend(low + (high - low) * u))

    def check(self, x: Tensor) -> None:
        """Raise an `InputError` that names a value that is outside the bounds, or not whole where it must be."""
        super().check(x)
        bad = self._first(x, self._whole.to(x.device) & ((x - x.round()).abs() > 1e-9))
        if bad is not None:
            raise InputError(f"parameter {bad[0]} is {bad[1]}; it must be a whole number")

    def decode(self, row: Tensor) -> Params:
        """A row (d) as named values; integers as int."""
        values = super().decode(row)
        return {name: round(v) if isinstance(self.parameters[name], Integer) else v for name, v in values.items()}

    def __repr__(self) -> str:
        """As it was written."""
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})"
