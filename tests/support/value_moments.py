"""Moments of several independent outcomes, and what losses are on average under them, the slow way."""

import torch
from torch import Tensor

from hentropy.core.beliefs import Moments
from hentropy.core.decisions import Decision

WEIGHTS = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)


def moments(points: int, outcomes: int, components: int = 1, seed: int = 0) -> Moments:
    """Random moments of independent outcomes at some points, each outcome with its own covariance: H x K o."""
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(components, points, outcomes, generator=generator, dtype=torch.float64)
    root = torch.randn(components, outcomes, points, points, generator=generator, dtype=torch.float64)
    own = root @ root.mT / points  # H x o x K x K
    cov = torch.diag_embed(own.permute(0, 2, 3, 1), dim1=-2, dim2=-1)  # H x K x K x o x o
    cov = cov.transpose(2, 3).reshape(components, points * outcomes, points * outcomes)
    weights = WEIGHTS[:components] / WEIGHTS[:components].sum()
    return Moments(weights, mean.flatten(1), cov.diagonal(dim1=-2, dim2=-1), cov, outcomes=outcomes)


def values(at: Moments, count: int, seed: int = 0) -> Tensor:
    """Draws of the values in each component, as a loss takes them: count x H x K (x o)."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(count, *at.mean.shape, generator=generator, dtype=torch.float64)
    root = torch.linalg.cholesky(at.covariance + 1e-12 * torch.eye(at.mean.shape[-1]))
    flat = at.mean + torch.einsum("hij,nhj->nhi", root, noise)
    return flat if at.outcomes == 1 else flat.unflatten(-1, (-1, at.outcomes))


def average_loss(decision: Decision, at: Moments, a: Tensor, count: int = 200_000) -> tuple[Tensor, Tensor]:
    """The average loss over draws of the values in each component, and its standard error: H."""
    f = values(at, count)
    losses = decision.loss(f, a.expand(*f.shape[:2], *a.shape))
    return losses.mean(0), losses.std(0) / count**0.5
