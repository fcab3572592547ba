r"""Each observation predicted from all the others, without fitting or factorising anything anew.

With K = k(X, X) + noise, alpha = K^-1 (y - m(X)), for each of the H components (Rasmussen and Williams 2006, 5.12):

    sd_i^2 = 1 / (K^-1)_ii      mean_i = y_i - alpha_i / (K^-1)_ii      w_ih in proportion to w_h / p_h(y_i | others)

The variance is that of an observation, its own noise included. The weights are divided by what the observation had
contributed to them. Hyperparameters stay those of all data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.core.beliefs.gaussian import Gaussian
from hentropy.core.beliefs.nodes import mixture_quantiles


@dataclass(frozen=True)
class LeftOut:
    """The n observations (n) and what each component says of each from the others (H x n), in the user's units."""

    observed: Tensor
    weights: Tensor
    component_mean: Tensor
    component_sd: Tensor

    @property
    def mean(self) -> Tensor:
        """The predictions, over all components: n."""
        return (self.weights * self.component_mean).sum(0)

    @property
    def sd(self) -> Tensor:
        """The standard deviations of the predicted observations, over all components: n."""
        second = self.component_sd.square() + (self.component_mean - self.mean).square()
        return (self.weights * second).sum(0).sqrt()

    def quantiles(self, shares: Sequence[float]) -> Tensor:
        """Where so much of the probability of each observation lies below: S x n."""
        return mixture_quantiles(shares, self.weights, self.component_mean, self.component_sd)


@torch.no_grad()
def leave_one_out(belief: Gaussian) -> LeftOut:
    """What the belief would have said of each of its observations without it."""
    precision = belief.root_inverse.square().sum(-2)  # the diagonal of K^-1 = R^T R: H x n
    gap = belief.alpha / precision  # observed less predicted, in the model's units
    observed = belief.residual + belief.prior_mean(belief.inputs)
    log_density = 0.5 * precision.log() - 0.5 * gap.square() * precision
    weights = torch.softmax(belief.weights.log().unsqueeze(-1) - log_density, 0)
    shift, scale = belief.frame.shift, belief.frame.scale
    return LeftOut(
        observed=shift + scale * observed[0],
        weights=weights,
        component_mean=shift + scale * (observed - gap),
        component_sd=scale * precision.rsqrt(),
    )
