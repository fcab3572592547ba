r"""Each observation predicted from all the others, without refitting or refactorising anything.

With K = k(X, X) + noise, alpha = K^-1 (y - m(X)), for each of the H components (Rasmussen and Williams 2006, 5.12):

    sd_i^2 = 1 / (K^-1)_ii      mean_i = y_i - alpha_i / (K^-1)_ii      w_ih in proportion to w_h / p_h(y_i | others)

The variance is that of an observation, its own noise included. The weights are divided by what the observation had
contributed to them; stacked ones, which one observation hardly moves, stay. Hyperparameters are those of all data. Of
correlated outcomes one is predicted, each time from all other values: those of the other outcomes of the same design
are known.

A yes or no, or a grade, stands in the latent process as a normal observation of variance t (its site in expectation
propagation). Left out, it leaves g_i with the mean_i above and the variance sd_i^2 - t: the cavity of that site.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hentropy.core.beliefs.correlated import OfOutcome
from hentropy.core.beliefs.gaussian import Gaussian
from hentropy.core.beliefs.graded import Graded
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.lazy import Tensor, torch


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

    @property
    def log_density(self) -> Tensor:
        """How likely each component held each observation to be, from the others: log densities H x n."""
        return torch.distributions.Normal(self.component_mean, self.component_sd).log_prob(self.observed)

    def quantiles(self, shares: Sequence[float]) -> Tensor:
        """Where so much of the probability of each observation lies below: S x n."""
        return mixture_quantiles(shares, self.weights, self.component_mean, self.component_sd)


@torch.no_grad()
def leave_one_out(belief: Gaussian) -> LeftOut:
    """What the belief would have said of each of its observations without it; of many, of those at inducing points."""
    if belief.summary is not None:
        return leave_one_out(belief.summary.part)
    precision = belief.root_inverse.square().sum(-2)  # the diagonal of K^-1 = R^T R: H x n
    gap = belief.alpha / precision  # observed less predicted, in the model's units
    observed = belief.residual + belief.prior_mean(belief.inputs)
    log_density = 0.5 * precision.log() - 0.5 * gap.square() * precision
    weights = belief.weights.unsqueeze(-1).expand_as(gap)
    if not belief.stacked:
        weights = torch.softmax(weights.log() - log_density, 0)
    shift, scale, transform = belief.frame.shift, belief.frame.scale, belief.frame.transform
    own = torch.ones_like(belief.inputs[:, -1], dtype=torch.bool)
    if isinstance(transform, OfOutcome):
        own = belief.inputs[:, -1] == transform.number
    return LeftOut(
        observed=shift + scale * observed[0, own],
        weights=weights[:, own],
        component_mean=shift + scale * (observed - gap)[:, own],
        component_sd=scale * precision[:, own].rsqrt(),
    )


@torch.no_grad()
def chances_left_out(belief: Graded, happened: Tensor) -> Tensor:
    """The probability of what is wanted at each observed design, by all other observations: n.

    `happened` (n, of ones and zeros) is whether it was so.
    """
    latent = belief.latent
    left_out = leave_one_out(latent)
    var = (left_out.component_sd.square() - latent.frame.scale**2 * latent.noise).clamp_min(0.0)
    each = torch.special.ndtr(left_out.component_mean / (1.0 + var).sqrt())  # H x n
    seen = torch.where(happened.to(each) > 0.5, each, 1.0 - each).clamp_min(1e-12)
    weights = torch.softmax(latent.weights.log().unsqueeze(-1) - seen.log(), 0)
    return (weights * each).sum(0)
