"""Data as people hand them in, checked and brought to the unit cube and to standardised outcomes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Frame
from hentropy.core.given import as_table
from hentropy.core.models.hyperparameters import NOISE_FLOOR
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError

ROUNDING = 1e-12
"""Outcomes whose differences are a smaller share of their size differ by rounding alone."""

LEAST_SPREAD = 1e-140
"""The square of a smaller spread, times a rounding error, is no longer a number in full precision."""


@dataclass(frozen=True)
class UnitRange:
    """Designs to the cube that the data span: (x - low) / width, width 1 along axes where nothing varies."""

    low: Tensor
    width: Tensor

    @classmethod
    def of(cls, X: Tensor) -> "UnitRange":
        """The range of data X: n x d."""
        low = X.min(0).values
        width = X.max(0).values - low
        return cls(low, torch.where(width > 0, width, 1.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Points ... x d."""
        return (x - self.low) / self.width


@dataclass(frozen=True)
class Observations:
    """X (n x d, own units), the frame, and in the frame: inputs (n x d), outcomes (n), noise variances (n) or None."""

    X: Tensor
    frame: Frame
    inputs: Tensor
    outcomes: Tensor
    noise: Tensor | None

    @classmethod
    def of(cls, X: Any, Y: Any, noise: Any, space: DesignSpace | None) -> "Observations":
        """Check and standardise; outcomes that differ by no more than rounding are constant, and keep scale 1."""
        designs = as_table("X", X)
        values = as_table("Y", Y).to(designs.device)
        if designs.dim() != 2 or 0 in designs.shape:
            raise InputError(f"X must be n x d, one row per observation; got shape {tuple(designs.shape)}")
        n = designs.shape[0]
        if tuple(values.shape) not in ((n,), (n, 1)):
            raise InputError(
                f"Y must have one value for each of the {n} rows of X (shape {(n,)} or {(n, 1)}); got shape"
                f" {tuple(values.shape)}"
            )
        values = values.reshape(n)
        _check_finite(designs, "X")
        _check_finite(values, "Y")
        if space is not None and not isinstance(space, DesignSpace):
            raise InputError(f"space must be a Space or a Pool, got {space!r}")
        if space is not None:
            space.check(designs)
        variances = None if noise is None else _variances(noise, n, designs.device)
        shift, scale = _shift_and_scale(values)
        to_unit: Callable[[Tensor], Tensor] = UnitRange.of(designs) if space is None else space.to_unit
        if variances is not None:
            variances = (variances / scale.square()).clamp_min(NOISE_FLOOR)
        return cls(designs, Frame(to_unit, shift, scale), to_unit(designs), (values - shift) / scale, variances)


def _shift_and_scale(values: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of outcomes (n), or an `InputError` if no number can hold their variance."""
    low, high = values.min(), values.max()
    if bool(high - low <= ROUNDING * values.abs().max()):
        return low, torch.ones_like(low)
    spread = values.std(correction=0)
    if not bool(torch.isfinite(spread)):
        raise InputError(
            f"the outcomes range from {float(low):g} to {float(high):g}, a spread beyond"
            " what numbers can hold; correct the one that is wrong, or give them in other units"
        )
    if float(spread) < LEAST_SPREAD:
        raise InputError(
            f"the outcomes range from {float(low):g} to {float(high):g}, so close together that their variance is"
            " beyond what numbers can hold; give them in other units, or their logarithms"
        )
    return values.mean(), spread


def _check_finite(values: Tensor, name: str) -> None:
    bad = ~torch.isfinite(values.reshape(values.shape[0], -1)).all(-1)
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise InputError(
            f"row {row} of {name} is {values[row].tolist()}: NaN or infinite; drop that observation, or mark it failed"
        )


def _variances(noise: Any, n: int, device: torch.device) -> Tensor:
    """Standard errors (one, or one per observation) as variances: n."""
    errors = as_table("noise", noise).to(device)
    if tuple(errors.shape) not in ((), (1,), (n,), (n, 1)):
        raise InputError(
            f"noise must be one standard error or one for each of the {n} observations; got shape {tuple(errors.shape)}"
        )
    errors = errors.reshape(-1).expand(n) if errors.numel() == 1 else errors.reshape(n)
    bad = ~(torch.isfinite(errors) & (errors >= 0))
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise InputError(
            f"the standard error of observation {row} is {float(errors[row])}; it must be a number not below 0. Where"
            " errors are unknown, give none at all (noise=None) and one is fitted for all observations"
        )
    return errors.square()
