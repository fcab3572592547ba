"""Covariances: Cholesky factors, with the least jitter that works, and what is left once something is explained."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hentropy.errors import NumericalError, last_line
from hentropy.lazy import Tensor, torch

JITTERS = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1e-1)

RESOLVABLE = 1e-12
"""An outcome whose variance is below this share of the prior's says nothing: rounding errors are of that size."""


def is_numerical(error: BaseException) -> bool:
    """Whether an error says that numbers cannot be computed with, by whatever library."""
    if isinstance(error, NumericalError | torch.linalg.LinAlgError | np.linalg.LinAlgError | ArithmeticError):
        return True
    # that of GPyTorch and BoTorch: who raises one has imported it
    operators = sys.modules.get("linear_operator.utils.errors")
    return operators is not None and isinstance(error, operators.NotPSDError | operators.NanError)


@contextmanager
def numerical_errors(what: str) -> Iterator[None]:
    """Raw numerical errors within become a `NumericalError` in plain words."""
    try:
        yield
    except Exception as error:
        if not is_numerical(error) or isinstance(error, NumericalError):
            raise
        raise NumericalError(
            f"{what} came to numbers that cannot be computed with ({last_line(error)}); results that are wrong by"
            " orders of magnitude, or many results of almost the same design, are the likeliest cause: all results are"
            " kept, so correct such values and go on"
        ) from error


def _check_finite(matrix: Tensor, what: str) -> None:
    if not bool(torch.isfinite(matrix).all()):
        raise NumericalError(
            f"the {what} has entries that are NaN or infinite; check the kernel's hyperparameters and the data"
        )


def cholesky(matrix: Tensor, what: str) -> Tensor:
    """The lower factor of symmetric matrices (... x n x n), with jitter where one needs it."""
    return jittered_cholesky(matrix, what)[0]


def jittered_cholesky(matrix: Tensor, what: str) -> tuple[Tensor, Tensor]:
    """The same, and what was added to the diagonal of each (...): a share of its mean, the least that works."""
    _check_finite(matrix, what)
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    scale = matrix.diagonal(dim1=-2, dim2=-1).mean(-1)
    factor, info = torch.linalg.cholesky_ex(matrix)
    added = torch.zeros_like(scale)
    for jitter in JITTERS[1:]:
        if not bool(info.any()):
            return factor, added
        added = torch.where(info > 0, jitter * scale, added)
        again, info = torch.linalg.cholesky_ex(matrix + added[..., None, None] * eye)
        factor = again
    if not bool(info.any()):
        return factor, added
    n = matrix.shape[-1]
    least = float(torch.linalg.eigvalsh(matrix).min())
    raise NumericalError(
        f"the {what} ({n} x {n}) is not positive definite: its smallest eigenvalue is {least:.3g} and a jitter of"
        f" {JITTERS[-1]:g} did not help. The likely cause is repeated designs without noise or a kernel that is not a"
        " covariance function: give the model some noise, drop the repeated rows, or change the kernel"
    )


def outcome_root(S: Tensor, prior: Tensor, what: str) -> tuple[Tensor, Tensor]:
    """The root L (H x ... x q x q) of covariances of outcomes, and which outcomes are known already (H x ... x q).

    An outcome is known where its variance given the data and the outcomes before it is, for every component, no more
    than rounding errors of its prior variance (prior, H x ... x q). Such an outcome counts as if its noise were as
    large as the prior: L can be divided by, and the caller leaves out the outcome's own coordinate of L^-1 (...).
    """
    prior = prior.clamp_min(1e-200)
    floor = RESOLVABLE * prior
    if S.shape[-1] == 1:
        pivot, known = _pivot(S.squeeze(-1), prior, floor)
        return pivot.unsqueeze(-1), known
    L, info = torch.linalg.cholesky_ex(S)
    resolved = (info == 0) & (L.diagonal(dim1=-2, dim2=-1).square() > floor).all(-1)
    if bool(resolved.all()):
        return L, torch.zeros_like(floor, dtype=torch.bool)
    _check_finite(S, what)
    return _outcome_root_by_columns(S, prior, floor)


def _pivot(variance: Tensor, prior: Tensor, floor: Tensor) -> tuple[Tensor, Tensor]:
    known = (variance <= floor).all(0, keepdim=True).expand_as(variance)
    return torch.where(known, prior, torch.maximum(variance, floor)).sqrt(), known


def _outcome_root_by_columns(S: Tensor, prior: Tensor, floor: Tensor) -> tuple[Tensor, Tensor]:
    columns: list[Tensor] = []
    marks: list[Tensor] = []
    for j in range(S.shape[-1]):
        rest = S[..., j:, j]
        for column in columns:
            rest = rest - column[..., j:] * column[..., j : j + 1]
        pivot, known = _pivot(rest[..., 0], prior[..., j], floor[..., j])
        below = torch.where(known.unsqueeze(-1), 0.0, rest[..., 1:] / pivot.unsqueeze(-1))
        above = torch.zeros_like(S[..., :j, j])
        columns.append(torch.cat([above, pivot.unsqueeze(-1), below], -1))
        marks.append(known)
    return torch.stack(columns, -1), torch.stack(marks, -1)


def white_outcomes(innovation: Tensor, L: Tensor, blind: Tensor) -> tuple[Tensor, Tensor]:
    """L^-1 times innovations (... x N x q), and their log density up to a constant (... x N), blind ones left out."""
    white = innovation / L if L.shape[-1] == 1 else torch.linalg.solve_triangular(L, innovation.mT, upper=False).mT
    white = torch.where(blind.unsqueeze(-2), 0.0, white)
    log_det = torch.where(blind, 0.0, L.diagonal(dim1=-2, dim2=-1).log()).sum(-1, keepdim=True)
    return white, -0.5 * white.square().sum(-1) - log_det


def less_explained(root: Tensor, var: Tensor | None, cov: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Variances (... x K) or covariances (... x K x K), whichever is given, less root root^T: root is ... x K x q."""
    if cov is not None:
        cov = cov - root @ root.mT
        return cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0), cov
    return (None if var is None else (var - root.square().sum(-1)).clamp_min(0.0)), None


def extended_inverse(inverse: Tensor, corner: Tensor, lower: Tensor) -> Tensor:
    """The inverse of the root (L, 0; corner^T, lower) from that of L: H x (n + m) x (n + m)."""
    small = torch.linalg.solve_triangular(lower, torch.eye(lower.shape[-1]).to(lower), upper=False)
    above = inverse.new_zeros(*corner.shape)
    return torch.cat([torch.cat([inverse, above], -1), torch.cat([-small @ corner.mT @ inverse, small], -1)], -2)


def robust_root(cov: Tensor) -> Tensor:
    """A lower triangular root of covariances that may be singular (repeated or known points): ... x m x m.

    Where rounding has made eigenvalues negative it is a constant: the derivatives of equal eigenvalues are no numbers.
    """
    _check_finite(cov, "covariance to draw from")
    scale = cov.diagonal(dim1=-2, dim2=-1).mean(-1).clamp_min(1e-300)[..., None, None]
    eye = torch.eye(cov.shape[-1], dtype=cov.dtype, device=cov.device)
    for jitter in (1e-12, 1e-10, 1e-9, 1e-8):
        root, info = torch.linalg.cholesky_ex(cov + jitter * scale * eye)
        if not bool(info.any()):
            return root
    failed = info > 0
    own = failed[..., None, None]
    root = torch.linalg.cholesky(torch.where(own, eye, cov + jitter * scale * eye))
    # nearly zero, or rounding has made eigenvalues negative: take those for zero
    values, vectors = torch.linalg.eigh(cov[failed].detach())
    half = vectors * values.clamp_min(0.0).sqrt().unsqueeze(-2)
    upper = torch.linalg.qr(half.mT).R
    others = (upper * torch.where(upper.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).unsqueeze(-1)).mT
    return root.masked_scatter(own, others)


def scaled_root(cov: Tensor) -> Tensor:
    """The same for values in different units, some of them known: rounding in one does not move another."""
    variance = cov.diagonal(dim1=-2, dim2=-1)
    certain = variance <= 0
    sd = torch.where(certain, 1.0, variance).sqrt()
    known = certain.unsqueeze(-1)
    unit = torch.where(known | known.mT, 0.0, cov / (sd.unsqueeze(-1) * sd.unsqueeze(-2)))
    return torch.where(known, 0.0, sd.unsqueeze(-1) * robust_root(unit))
