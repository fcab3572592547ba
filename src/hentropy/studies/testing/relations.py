"""Comparisons that say what was compared."""

import torch
from torch import Tensor

SIGMAS = 6.0
"""Standard errors that a statistical relation may be off: errors come from few replicates, so their tails are heavy."""


def require(holds: bool, message: str) -> None:
    """Raise an `AssertionError` with the message unless the relation holds."""
    if not holds:
        raise AssertionError(message)


def require_close(what: str, found: Tensor, expected: Tensor, slack: Tensor | float, rtol: float = 1e-6) -> None:
    """found = expected up to `slack` and a share `rtol` of the largest value; shapes broadcast."""
    found, expected = torch.broadcast_tensors(found, expected)
    scale = float(expected.abs().max()) if expected.numel() else 0.0
    excess = (found - expected).abs() - slack - rtol * max(scale, 1e-6)
    bad = ~((excess <= 0) | (found == expected))  # NaN is bad, equal infinities are not
    if bool(bad.any()):
        index = tuple(bad.nonzero()[0].tolist())
        raise AssertionError(
            f"{what}: {float(found[index]):.8g} where {float(expected[index]):.8g} was expected (entry {index} of shape"
            f" {tuple(found.shape)})"
        )


def replicated(values: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard error over the first dimension, whose entries are independent replicates."""
    return values.mean(0), values.std(0) / values.shape[0] ** 0.5
