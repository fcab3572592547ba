"""How much each parameter matters by the model, and how far a change of it reaches.

These are two things: along a parameter with a long length scale the value changes smoothly, and it may change a lot.

    d  parameters of a design        B  designs of departure        V  values of a parameter        H  components
"""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.beliefs import Belief, Gaussian, Needs
from hentropy.core.beliefs.kernels import Stationary
from hentropy.core.spaces import DesignSpace

DEPARTURES = 24
VALUES = 13
SEED = 0


@torch.no_grad()
def relevance(belief: Belief, space: DesignSpace) -> np.ndarray:
    """How much the expected value changes when one parameter alone is moved over its range: d.

    It is the standard deviation of the mean along the parameter, from several designs of departure (root mean square),
    as a share of the standard deviation over all those designs. 0 where nothing changes.
    """
    unit = space.to_unit(space.sample(DEPARTURES, SEED)).clamp(0.0, 1.0)
    along = (torch.arange(VALUES, dtype=unit.dtype) + 0.5) / VALUES
    moved = unit.repeat(space.dim, VALUES, 1, 1)  # d x V x B x d
    for index in range(space.dim):
        moved[index, :, :, index] = along[:, None]
    designs = space.from_cube(moved).reshape(-1, space.dim)
    moments = belief.moments(designs.to(belief.X), Needs.MEAN)
    mean = moments.expect_vector(moments.mean).reshape(space.dim, VALUES, DEPARTURES).cpu()
    low, high = space.bounds
    varies = (high > low).to(mean)
    whole = mean.std(correction=0)
    size = mean.abs().amax()
    if bool(whole <= 1e-12 * size) or not bool(torch.isfinite(whole)):
        return np.zeros(space.dim)
    return (mean.var(1, correction=0).mean(-1).sqrt() / whole * varies).numpy()


def by_relevance(belief: Belief, space: DesignSpace) -> tuple[int, ...]:
    """All parameters, those first along which the expected value changes most; equals in their own order."""
    # rounding errors decide nothing
    return tuple(int(index) for index in np.argsort(-relevance(belief, space).round(6), kind="stable"))


@dataclass(frozen=True)
class LengthScales:
    """How far a change of each parameter reaches, as a share of its range (H x d), and the components' weights (H)."""

    shares: np.ndarray
    weights: np.ndarray

    @property
    def median(self) -> np.ndarray:
        """The weighted median over components: d."""
        order = np.argsort(self.shares, axis=0)
        below = np.cumsum(self.weights[order], axis=0)
        middle = np.argmax(below >= 0.5 - 1e-12, axis=0)
        columns = np.arange(self.shares.shape[1])
        return np.asarray(self.shares[order[middle, columns], columns])


def length_scales(belief: Belief, space: DesignSpace) -> LengthScales | None:
    """Each parameter's length scale as a share of its range (on a log scale where it is logarithmic).

    None where the belief is no Gaussian process whose kernel has length scales along the parameters.
    """
    if not isinstance(belief, Gaussian) or not isinstance(belief.kernel, Stationary):
        return None
    low, high = belief.frame.transform(space.bounds.to(belief.X))
    own = belief.kernel.lengthscale
    if low.shape[-1] != space.dim or own.shape[-1] not in (1, space.dim):
        return None
    width = (high - low).abs()
    shares = own.expand(own.shape[0], space.dim) / width  # infinite where a parameter never varies
    return LengthScales(shares.detach().cpu().numpy(), belief.weights.detach().cpu().numpy())
