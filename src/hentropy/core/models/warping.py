r"""Whether coordinates are better modelled on a stretched scale, and on which: input warping.

A function may vary fast near one end of a coordinate and slowly elsewhere; no length scale describes that. A coordinate
u in [0, 1] may be replaced by one of

    one end      w(u) = (e^(k u) - 1) / (e^k - 1)                      the upper end for k > 0, the lower one for k < 0
    both ends    w(u) = 1/2 + sinh(k (2 u - 1)) / (2 sinh k)
    the middle   w(u) = 1/2 + asinh(sinh(k) (2 u - 1)) / (2 k)

which stretch that part at the expense of the rest. They map [0, 1] onto itself and have bounded slopes; those of the
Kumaraswamy distribution, often used for this, are infinite at the ends, where a descent often stops.

Candidates are judged by the likelihood of a Gaussian process with the hyperparameters that were fitted without them;
mean and variance are the best for each candidate,

    -n/2 log min_m (y - m)' K^-1 (y - m) - 1/2 log det K

one coordinate after the other, given those already chosen. Each stretched coordinate must earn `MARGIN`, here and again
when the hyperparameters have been fitted to the stretched coordinates.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hentropy.core.models.families import Fitted, basis_of
from hentropy.core.models.hyperparameters import LogPosterior
from hentropy.lazy import Tensor, torch

MARGIN = 3.5
"""Nats of log likelihood that a stretched coordinate must earn."""

ENOUGH = 30
"""With fewer observations a stretch is a guess: with 20 some made predictions worse."""

ROUNDS = 2
"""So often all coordinates are looked at: the best stretch of one depends on the others."""


@dataclass(frozen=True)
class Stretch:
    """A monotone map of [0, 1] onto itself that stretches one end, both ends or the middle, the more the greater k."""

    part: Literal["end", "ends", "middle"]
    k: float

    def __call__(self, u: Tensor) -> Tensor:
        """w(u)."""
        k = self.k
        if self.part == "end":
            return torch.expm1(k * u) / math.expm1(k)
        t = 2.0 * u - 1.0
        if self.part == "ends":
            return 0.5 + torch.sinh(k * t) / (2.0 * math.sinh(k))
        return 0.5 + torch.asinh(math.sinh(k) * t) / (2.0 * k)

    def __str__(self) -> str:
        if self.part == "end":
            return "upper end" if self.k > 0 else "lower end"
        return {"ends": "both ends", "middle": "middle"}[self.part]


STRETCHES = (*(Stretch("end", k) for k in (-2.0, -1.0, 1.0, 2.0)), Stretch("ends", 1.5), Stretch("middle", 1.5))
"""Slopes vary by a factor of up to 7: stronger stretches were overconfident where a coordinate is almost flat."""

Stretches = tuple[Stretch | None, ...]
"""One for each coordinate; None leaves it as it is."""


@dataclass(frozen=True)
class Warped:
    """Designs to the cube in which a model sees them: `transform`, then each coordinate stretched."""

    transform: Callable[[Tensor], Tensor]
    stretches: Stretches

    def __call__(self, x: Tensor) -> Tensor:
        """Points ... x d."""
        return stretched(self.transform(x), self.stretches)


def stretched(u: Tensor, stretches: Sequence[Stretch | None]) -> Tensor:
    """Points of the cube ... x d, each coordinate by its stretch."""
    columns = zip(u.unbind(-1), stretches, strict=True)
    return torch.stack([column if stretch is None else stretch(column) for column, stretch in columns], -1)


@torch.no_grad()
def best_stretches(fitted: Sequence[Fitted]) -> Stretches | None:
    """Those under which the outcomes are likeliest; None where no coordinate earns its margin.

    Coordinates that share a length scale, such as those of a choice, stay as they are.
    """
    best = max(fitted, key=lambda one: one.summit)
    target, theta = best.target, best.theta[:1]
    plain = target.inputs
    chosen: list[Stretch | None] = [None] * plain.shape[-1]
    highest = _likelihood(target, theta)
    for _ in range(ROUNDS):
        before = list(chosen)
        for j in basis_of(plain.shape[-1], target.scales).waving:
            for stretch in (None, *STRETCHES):
                tried = [*chosen[:j], stretch, *chosen[j + 1 :]]
                if stretch == chosen[j]:
                    continue
                price = MARGIN * sum(one is not None for one in tried)
                value = _likelihood(replace(target, inputs=stretched(plain, tried)), theta) - price
                if value > highest:
                    highest, chosen = value, tried
        if chosen == before:
            break
    return tuple(chosen) if any(chosen) else None


def _likelihood(target: LogPosterior, theta: Tensor) -> float:
    """With the best mean and variance; -inf where the kernel matrix is not positive definite."""
    y = target.outcomes
    K = target.covariance(theta)[0] + torch.diag(target.noise_variance(theta)[0])
    L, info = torch.linalg.cholesky_ex(K)
    if bool(info):
        return -math.inf
    one, white = torch.linalg.solve_triangular(L, torch.stack([torch.ones_like(y), y], -1), upper=False).unbind(-1)
    rest = white - one * ((one @ white) / (one @ one))
    return float(-0.5 * len(y) * rest.square().sum().log() - L.diagonal().log().sum())
