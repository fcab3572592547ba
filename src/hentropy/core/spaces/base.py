"""What a design space is: where experiments live, and the only place that knows the unit cube.

Designs are rows of float64 tensors in their own units. `unit` coordinates are for searching (every axis then has the
same length, and logarithmic parameters are straight); nothing outside this package scales designs.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.errors import InputError

Params = dict[str, Any]


class DesignSpace(ABC):
    """The set of experiments that can be run; `dim` numbers describe each."""

    names: tuple[str, ...]

    @property
    def dim(self) -> int:
        """How many numbers describe a design."""
        return len(self.names)

    @property
    @abstractmethod
    def bounds(self) -> Tensor:
        """The least and the greatest value of each parameter, in its own units: 2 x d."""

    @property
    def points(self) -> Tensor | None:
        """All designs where they are finitely many and listed (m x d); None otherwise."""
        return None

    @abstractmethod
    def to_unit(self, x: Tensor) -> Tensor:
        """Designs in their own units to the unit cube: ... x d."""

    @abstractmethod
    def from_unit(self, u: Tensor) -> Tensor:
        """The inverse of `to_unit`; integers come out relaxed, `project` rounds them."""

    @abstractmethod
    def project(self, x: Tensor) -> Tensor:
        """The nearest design that can really be run: clamped, rounded, or the nearest row of a list: ... x d."""

    @abstractmethod
    def sample(self, count: int, seed: int) -> Tensor:
        """Designs that fill the space evenly: count x d, the same for the same seed."""

    def encode(self, params: Mapping[str, Any]) -> Tensor:
        """One design as a row (d), checked."""
        return self.encode_many([params])[0]

    def encode_many(self, designs: Sequence[Mapping[str, Any]]) -> Tensor:
        """Designs as rows (n x d), checked together: much faster than one by one."""
        rows = torch.tensor([self._values(params) for params in designs], dtype=torch.float64)
        rows = rows.reshape(len(designs), self.dim)
        self.check(rows)
        return rows

    def _values(self, params: Mapping[str, Any]) -> list[float]:
        """The values of a design in the order of the parameters, or an error that says what is wrong with it."""
        if not isinstance(params, Mapping):
            raise InputError(f"a design is given by name, such as {{{self.names[0]!r}: ...}}; got {params!r}")
        if params.keys() != set(self.names):
            missing = [name for name in self.names if name not in params]
            unknown = [name for name in params if name not in self.names]
            what = [f"misses {', '.join(missing)}"] * bool(missing) + [f"has unknown {', '.join(unknown)}"] * bool(
                unknown
            )
            raise InputError(
                f"the design {dict(params)} {' and '.join(what)}; its parameters are {', '.join(self.names)}"
            )
        return [_number(name, params[name]) for name in self.names]

    def decode(self, row: Tensor) -> Params:
        """A row (d) as named values."""
        return {name: float(value) for name, value in zip(self.names, row.tolist(), strict=True)}

    def check(self, x: Tensor) -> None:
        """Raise an `InputError` that names a value of x (... x d) that is not in the space."""
        if x.dim() == 0 or x.shape[-1] != self.dim:
            raise InputError(
                f"designs of this space have {self.dim} values ({', '.join(self.names)}), got shape {tuple(x.shape)}"
            )
        bad = self._first(x, ~torch.isfinite(x))
        if bad is not None:
            raise InputError(f"parameter {bad[0]} is {bad[1]}; remove that row or mark the trial as failed")
        low, high = self.bounds.to(x)
        slack = 1e-9 * (high - low)
        bad = self._first(x, (x < low - slack) | (x > high + slack))
        if bad is not None:
            column = self.names.index(bad[0])
            raise InputError(
                f"parameter {bad[0]} is {bad[1]}, outside [{float(low[column]):g}, {float(high[column]):g}];"
                " correct the value, or widen the space"
            )

    def _first(self, x: Tensor, marked: Tensor) -> tuple[str, float] | None:
        """Name and value of the first marked entry of x (... x d), if there is one."""
        where = marked.reshape(-1, self.dim).nonzero()
        if not len(where):
            return None
        row, column = where[0].tolist()
        return self.names[column], float(x.reshape(-1, self.dim)[row, column])


def _number(name: str, value: Any) -> float:
    try:
        plain = value.item() if isinstance(value, Tensor | np.ndarray) else value
        if isinstance(plain, str | bytes | complex | np.complexfloating):  # NumPy would drop the imaginary part
            raise TypeError
        return float(plain)
    except OverflowError:
        raise InputError(f"parameter {name} is a whole number beyond what double precision can hold") from None
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"parameter {name} is {value!r}; it must be a number") from None


MOST_PARAMETERS = 5_000
"""No model learns from experiments with more, and the points that fill a space end soon after."""


def check_size(parameters: int) -> None:
    """Refuse a space with more parameters than can be searched."""
    if parameters > MOST_PARAMETERS:
        raise InputError(
            f"a design has at most {MOST_PARAMETERS} parameters, got {parameters}; choose those that matter"
        )


FEWEST_FIRST, MOST_FIRST = 4, 12
"""The default number of first designs is never outside of these: a model learns more from designs that it chooses."""


def usual_first(parameters: int) -> int:
    """How many first designs there are by default, earlier data among them: 2 (d + 1) for d parameters, 4 to 12."""
    return min(max(FEWEST_FIRST, 2 * (parameters + 1)), MOST_FIRST)


def sobol(count: int, dim: int, seed: int) -> Tensor:
    """Scrambled Sobol points in the open unit cube: count x dim, float64."""
    engine = torch.quasirandom.SobolEngine(dim, scramble=True, seed=seed)
    return engine.draw(count, dtype=torch.float64).clamp(1e-9, 1 - 1e-9)
