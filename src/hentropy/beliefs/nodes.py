"""Where the outcome of an experiment is integrated: a few standard normal nodes with weights.

Nodes for searching have mean zero and variance one exactly: what is linear in the outcome is reproduced exactly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.errors import InputError
from hentropy.spaces import sobol


@dataclass(frozen=True)
class Nodes:
    """Standard normal outcomes z (N x q) with weights (N), and which component each is drawn from (N, in (0, 1))."""

    z: Tensor
    weights: Tensor
    component: Tensor

    def to(self, like: Tensor) -> "Nodes":
        """The same nodes on the device and in the precision of a tensor."""
        return Nodes(self.z.to(like), self.weights.to(like), self.component.to(like))

    @property
    def count(self) -> int:
        """N."""
        return self.z.shape[0]


def join(parts: Sequence[Nodes]) -> Nodes:
    """Several sets of nodes as one, each with an equal share of the weight."""
    weights = torch.cat([part.weights for part in parts]) / len(parts)
    return Nodes(torch.cat([part.z for part in parts]), weights, torch.cat([part.component for part in parts]))


def _normal_quantile(u: Tensor) -> Tensor:
    return math.sqrt(2.0) * torch.erfinv(2.0 * u - 1.0)


def _standardised(z: Tensor) -> Tensor:
    z = z - z.mean(0)
    return z / z.square().mean(0).sqrt().clamp_min(1e-12)


def _equal_weights(count: int) -> Tensor:
    return torch.full((count,), 1.0 / count, dtype=torch.float64)


def gauss_hermite(count: int) -> Nodes:
    """Exact for polynomials of degree 2 count - 1 in one outcome (q = 1)."""
    z, w = np.polynomial.hermite_e.hermegauss(count)
    weights = torch.from_numpy(w / w.sum())
    return Nodes(torch.from_numpy(z)[:, None], weights, torch.full((count,), 0.5, dtype=torch.float64))


def outcome_nodes(count: int, q: int, components: int, seed: int | None = None) -> Nodes:
    """Nodes for q outcomes of a belief with so many components.

    One outcome of one component: equally likely strata, at their midpoints (seed None) or at a random place in each.
    Otherwise scrambled Sobol points, whose last coordinate chooses the component. Without a seed, for searching, mean
    and variance are made exact; with one, for auditing, nodes stay as they fall: moving them would bias the tails.
    """
    if count < 2:
        raise InputError(f"at least 2 outcomes are needed to look ahead, got {count}")
    if q == 1 and components == 1:
        jitter = torch.full((count,), 0.5, dtype=torch.float64)
        if seed is not None:  # antithetic: the upper half mirrors the lower one, so that the mean stays zero
            half = torch.rand(count // 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
            jitter = torch.cat([half, jitter[: count % 2], 1.0 - half.flip(0)])
        places = torch.arange(count, dtype=torch.float64)
        u = ((places + jitter) / count).clamp(1e-12, 1.0 - 1e-12).unsqueeze(-1)
        component = torch.full((count,), 0.5, dtype=torch.float64)
    else:
        points = sobol(count, q + 1, 0 if seed is None else seed)
        u, component = points[:, :q], points[:, q]
    z = _normal_quantile(u)
    return Nodes(_standardised(z) if seed is None else z, _equal_weights(count), component)


def value_draws(count: int, dim: int, seed: int) -> Tensor:
    """Fixed quasi-random standard normal base samples for values at the points of an action: count x dim.

    Drawn in antithetic pairs (and zero, where the count is odd): odd moments vanish exactly.
    """
    if count < 2:
        raise InputError(f"at least 2 draws are needed to integrate over values, got {count}")
    half = _normal_quantile(sobol(count // 2, dim, seed))
    draws = torch.cat([half, -half, half.new_zeros(count % 2, dim)])
    return draws / draws.square().mean(0).sqrt().clamp_min(1e-12)
