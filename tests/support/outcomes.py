"""Gains of a decision about two outcomes the slow way: dense inverses, products of Gauss-Hermite nodes, all actions."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Frame, Gaussian, Moments, Needs, Several
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.models.gp import ConstantMean
from support.beliefs import dense, tensor

LIMIT, PENALTY = -1.0, 4.0
"""Impurity above the limit costs so much for each unit."""


class Sold(he.Decision):
    """A product is worth its yield, less a penalty for impurity above a limit; the expectation in closed form."""

    actions = he.Points(1, as_set=True)
    needs = Needs.VARIANCE
    outcomes = ("yield", "impurity")

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return sold(f, a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        return -moments.mean[..., 0] + PENALTY * excess(moments.mean[..., 1] - LIMIT, moments.variance[..., 1].sqrt())


def sold(f: Tensor, a: Any) -> Tensor:
    """The loss itself: f ... x 1 x 2 to ... ."""
    return -f[..., 0, 0] + PENALTY * (f[..., 0, 1] - LIMIT).clamp_min(0.0)


def excess(mean: Tensor, sd: Tensor) -> Tensor:
    """E (mean + sd Z)^+."""
    z = mean / sd.clamp_min(1e-12)
    density = torch.exp(-0.5 * z.square()) / math.sqrt(2.0 * math.pi)
    return mean * torch.special.ndtr(z) + sd * density


@dataclass(frozen=True)
class Brute:
    """The least expected loss now (of which row) and the gain of designs, over actions that are rows m x d."""

    belief: Several
    rows: Tensor
    count: int

    def losses(self, means: list[Tensor], covs: list[Tensor], weights: Tensor) -> Tensor:
        """Expected losses of all rows: means H x ... x m of each outcome, variances H x m, weights H x ...: ... x m."""
        sd = [cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0).sqrt() for cov in covs]
        sd2 = sd[1].view(sd[1].shape[0], *[1] * (means[1].dim() - 2), -1)
        each = -means[0] + PENALTY * excess(means[1] - LIMIT, sd2)
        return (weights.unsqueeze(-1) * each).sum(0)

    @property
    def now(self) -> tuple[float, int]:
        parts = [dense(part, self.rows) for part in self._parts]
        losses = self.losses([m for m, _ in parts], [c for _, c in parts], self.belief.weights)
        return float(losses.min()), int(losses.argmin())

    @property
    def _parts(self) -> list[Gaussian]:
        return [part for part in self.belief.parts if isinstance(part, Gaussian)]

    def gain(self, x: Tensor) -> float:
        """The gain of designs q x d observed together."""
        q, m = len(x), len(self.rows)
        z, node_weights = _product(self.count, 2 * q)  # N x 2q
        stay = self.now[1]
        priors = [dense(part, torch.cat([self.rows, x])) for part in self._parts]
        noise = [part.frame.scale**2 * part.future_noise for part in self._parts]
        S = [c[:, m:, m:] + n[:, None, None] * torch.eye(q).double() for (_, c), n in zip(priors, noise, strict=True)]
        H, total = len(self.belief.weights), 0.0
        for h in range(H):
            y = [
                mean[h, m:] + z[:, i * q : (i + 1) * q] @ torch.linalg.cholesky(S[i][h]).mT
                for i, (mean, _) in enumerate(priors)
            ]
            log_density = sum(
                torch.distributions.MultivariateNormal(mean[:, None, m:], S[i][:, None]).log_prob(y[i])
                for i, (mean, _) in enumerate(priors)
            )
            weights = torch.softmax(self.belief.weights.log()[:, None] + log_density, 0)  # H x N
            means, covs = [], []
            for i, (mean, cov) in enumerate(priors):
                K = cov[:, :m, m:] @ torch.linalg.inv(S[i])  # H x m x q
                means.append(mean[:, None, :m] + (y[i] - mean[:, None, m:]) @ K.mT)
                covs.append(cov[:, :m, :m] - K @ cov[:, m:, :m])
            losses = self.losses(means, covs, weights)  # N x m
            saved = losses[:, stay] - losses.min(-1).values
            total += float(self.belief.weights[h] * (node_weights @ saved))
        return total


def _product(count: int, dim: int) -> tuple[Tensor, Tensor]:
    """A product of Gauss-Hermite rules: nodes N x dim, weights N."""
    z, w = np.polynomial.hermite_e.hermegauss(count)
    axes = torch.meshgrid(*[tensor(z)] * dim, indexing="ij")
    weights = torch.meshgrid(*[tensor(w / w.sum())] * dim, indexing="ij")
    return torch.stack([a.flatten() for a in axes], -1), torch.stack([v.flatten() for v in weights]).prod(0)


def lines(H: int = 1, seed: int = 0, n: int = 6) -> Several:
    """Yield and impurity along one parameter between 0 and 1: H components each."""
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for i, (name, low, spread) in enumerate((("yield", 4.0, 2.0), ("impurity", -1.2, 0.8))):
        X = torch.rand(n, 1, generator=generator, dtype=torch.float64)
        phase = 6.0 * torch.rand(2, generator=generator, dtype=torch.float64)
        outcomes = torch.sin((5.0 + 2.0 * i) * X[:, 0] + phase[0]) + 0.3 * torch.cos(11.0 * X[:, 0] + phase[1])
        factors = tensor([1.0, 1.5, 0.7])[:H]
        part = Gaussian.from_data(
            X,
            outcomes,
            2e-3 * factors[:, None].expand(H, n),
            4e-3 * factors,
            Stationary(Profile.MATERN52, tensor([[0.25], [0.15], [0.4]])[:H], factors),
            ConstantMean(tensor([0.0, 0.3, -0.2])[:H]),
            Frame(_same, tensor(low), tensor(spread)),
            tensor([0.5, 0.3, 0.2])[:H],
        )
        parts.append(replace(part, outcomes=(name,)))
    return Several(tuple(parts))


def _same(x: Tensor) -> Tensor:
    return x
