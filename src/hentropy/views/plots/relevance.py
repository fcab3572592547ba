"""How much each field of a design matters by the model, and how far a change of it reaches.

These are two things: along a field with a long length scale the value changes smoothly, and it may change a lot.

    d  coordinates of a design    F  fields    B  designs of departure    V  values of a field    H  components
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Gaussian, Graded, Transformed
from hentropy.core.beliefs.kernels import Composed, Coregional, Stationary
from hentropy.core.spaces import Choice, DesignSpace
from hentropy.views.plots.shown_fields import can_run, field_range, owner, varied, varying

DEPARTURES = 24
VALUES = 13
MOST_VALUES = 100
SEED = 0


@torch.no_grad()
def relevance(belief: Belief, space: DesignSpace) -> np.ndarray:
    """How much the expected value changes when one field alone is moved over its range, or its options: F.

    It is the standard deviation of the mean along the field, from several designs of departure (root mean square), as
    a share of the standard deviation over all those designs. 0 where nothing changes. Designs that cannot be run do
    not count.
    """
    start = space.sample(DEPARTURES, SEED).to(torch.float64)
    fields = varying(space)
    means = []
    for index in fields:
        values = _values(space, index)
        designs = varied(space, start.repeat(len(values), 1), {index: values.repeat_interleave(len(start))})
        expected = belief.means(designs.to(belief.X)).mean[0].cpu()
        mean = torch.where(can_run(space, designs), expected, torch.nan)
        means.append(mean.reshape(len(values), len(start)).numpy())
    found = np.zeros(len(space.fields))
    if not means:
        return found
    every = np.concatenate([mean.ravel() for mean in means])
    every = every[~np.isnan(every)]
    if not every.size or not np.isfinite(every).all() or every.std() <= 1e-12 * np.abs(every).max():
        return found
    for index, along in zip(fields, means, strict=True):
        several = along[:, (~np.isnan(along)).sum(0) > 1]
        if several.size:
            found[index] = np.sqrt(np.nanvar(several, 0).mean()) / every.std()
    return found


def _values(space: DesignSpace, index: int) -> Tensor:
    """Values of a field over its range, or all of its options, but not too many."""
    field = space.fields[index]
    if field.options:
        values = [float(v) for v in (field.options if field.is_number else range(len(field.options)))]
        return torch.tensor(values[:: max(1, len(values) // MOST_VALUES)], dtype=torch.float64)
    low, high = field_range(space, index)
    share = (torch.arange(VALUES, dtype=torch.float64) + 0.5) / VALUES
    return low * (high / low) ** share if field.log else low + (high - low) * share


def by_relevance(belief: Belief, space: DesignSpace) -> tuple[int, ...]:
    """All fields, those first along which the expected value changes most; equals in their own order."""
    # rounding errors decide nothing
    return tuple(int(index) for index in np.argsort(-relevance(belief, space).round(6), kind="stable"))


@dataclass(frozen=True)
class LengthScales:
    """How far a change of each field reaches, as a share of its range (H x F), and the components' weights (H)."""

    shares: np.ndarray
    weights: np.ndarray

    @property
    def median(self) -> np.ndarray:
        """The weighted median over components: F."""
        order = np.argsort(self.shares, axis=0)
        below = np.cumsum(self.weights[order], axis=0)
        middle = np.argmax(below >= 0.5 - 1e-12, axis=0)
        columns = np.arange(self.shares.shape[1])
        return np.asarray(self.shares[order[middle, columns], columns])


def length_scales(belief: Belief, space: DesignSpace) -> LengthScales | None:
    """Each field's length scale as a share of its range (on a log scale where it is logarithmic).

    The range of a choice is how far two of its options are apart (root mean square over all pairs), by their
    descriptors too. Of several families, those without waves count: the others vary along their waves as well. None
    where the belief is no Gaussian process whose kernel has length scales along the coordinates; infinite for a field
    that never varies.
    """
    belief = belief.latent if isinstance(belief, Graded | Transformed) else belief
    if not isinstance(belief, Gaussian):
        return None
    correlated = isinstance(belief.kernel, Coregional)
    kernel, weights = belief.kernel.kernel if isinstance(belief.kernel, Coregional) else belief.kernel, belief.weights
    if isinstance(kernel, Composed):
        alone = kernel.stationary_alone()
        if not alone:
            return None
        kernel, weights = kernel.stationary.some(alone), weights[alone] / weights[alone].sum()
    if not isinstance(kernel, Stationary):
        return None
    own = kernel.lengthscale
    # of correlated outcomes, which one it is follows the coordinates
    ends = belief.frame.transform(space.bounds.to(belief.X))[:, : belief.inputs.shape[-1] - correlated]
    if ends.shape[-1] != space.dim or own.shape[-1] not in (1, space.dim):
        return None
    own = own.expand(own.shape[0], space.dim)
    reach = torch.zeros(len(own), len(space.fields), dtype=torch.float64)  # ranges in length scales
    for index in range(len(space.fields)):
        name, parameter, k = owner(space, index)
        place = space.places[name]
        block = parameter.coordinates()
        if isinstance(parameter, Choice) and block is not None:
            rows = space.bounds[:1].repeat(len(parameter.options), 1)
            rows[:, place] = parameter.encode(name, [list(parameter.options)])
            scaled = belief.frame.transform(rows.to(belief.X))[:, place] / own[:, None, place]  # H x m x width
            # twice the variance of the options is the mean square of all differences, those to themselves included
            m = len(parameter.options)
            reach[:, index] = (2.0 * scaled.var(1, correction=0).sum(-1) * m / (m - 1)).sqrt().cpu()
        elif block is not None:
            width = (ends[1] - ends[0]).abs()[place.start + k]
            reach[:, index] = (width / own[:, place.start + k]).cpu()
    return LengthScales((1.0 / reach).detach().numpy(), weights.detach().cpu().numpy())
