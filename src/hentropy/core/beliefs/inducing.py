r"""Many observations: a Gaussian process that knows all n of them through its values at M of their designs.

The posterior of Titsias (2009) for inducing inputs Z, and of the deterministic training conditional before him. With
K = k(Z, Z) = L L^T, noise N = diag(v) and r = y - m(X), for each component:

    V = L^-1 k(Z, X) N^-1/2        V V^T = U diag(e) U^T        D = e / (1 + e)
    mean(a) = m(a) + k(a, Z) alpha                              alpha = L^-T U (1 + e)^-1 U^T V N^-1/2 r
    cov(a, b) = k(a, b) - k(a, Z) R^T R k(Z, b)                 R = D^1/2 U^T L^-1

These are the mean and the covariance of a `Gaussian` whose data are M coordinates U^T L^-1 f(Z), each observed with
noise 1 / e: everything that is exact for one (looking ahead, conditioning, paths) is exact for this posterior, and
costs what M observations cost. Where Z is all of X, it is the exact posterior.
"""

from dataclasses import replace

from hentropy.core.beliefs.gaussian import Gaussian, Summary
from hentropy.core.beliefs.linalg import cholesky
from hentropy.lazy import Tensor, torch

ROWS_SUMMED_TOGETHER = 2048
"""Observations that are looked at together: k(Z, X) of all of them would be the largest array."""


@torch.no_grad()
def summarised(part: Gaussian, X: Tensor, Y: Tensor, noise: Tensor) -> Gaussian:
    """The belief after observing Y (n) at X (n x d), with the hyperparameters, weights and inputs of `part` as Z.

    Y is in the user's units, noise variances (H x n) are in the model's.
    """
    inputs = part.frame.transform(X)
    outcomes = (Y - part.frame.shift) / part.frame.scale
    residual = outcomes - part.prior_mean(inputs)
    each = [
        _component(part.component(h), inputs, residual[h], noise[h]) for h in range(part.components)
    ]  # one after the other: they need not be in memory together
    alpha, root, white = (torch.stack(tensors) for tensors in zip(*each, strict=True))
    return replace(
        part, X=X, residual=residual, noise=noise, root_inverse=root, alpha=alpha, summary=Summary(part, white)
    )


def _component(one: Gaussian, inputs: Tensor, residual: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """alpha (M), R (M x M), and the root of R times the covariance of the noise times R^T: (1 + e)^-1/2 (M x M)."""
    Z, kernel = one.inputs, one.kernel
    L = cholesky(kernel(Z, Z), "kernel matrix of the inducing points")[0]
    inverse = torch.linalg.solve_triangular(L, torch.eye(len(Z)).to(Z), upper=False)
    square, seen = torch.zeros_like(L), torch.zeros_like(L[0])
    for rows in torch.arange(len(inputs), device=Z.device).split(ROWS_SUMMED_TOGETHER):
        V = inverse @ (kernel(Z, inputs[rows])[0] * noise[rows].rsqrt())  # M x rows
        square.addmm_(V, V.mT)
        seen.addmv_(V, noise[rows].rsqrt() * residual[rows])
    e, U = torch.linalg.eigh(square)
    e = e.clamp_min(0.0)
    alpha = inverse.mT @ (U @ ((U.mT @ seen) / (1.0 + e)))
    R = (e / (1.0 + e)).sqrt().unsqueeze(-1) * (U.mT @ inverse)
    return alpha, R, torch.diag((1.0 + e).rsqrt())
