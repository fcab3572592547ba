"""`Identify`: state a distribution over a property of f; the gain is mutual information (Proposition 1).

"argmax"          where f is largest                  entropy search
"max"             how great f gets                    max-value entropy search
points (m x d)    the values of f there               information about given points
"""

import math
from collections.abc import Callable
from typing import Any, Literal

from hentropy.core.beliefs import Belief, Gaussian, Moments, Needs, outcome_nodes
from hentropy.core.beliefs.base import joint_draws
from hentropy.core.beliefs.linalg import robust_root
from hentropy.core.beliefs.links import of_logarithm
from hentropy.core.beliefs.transformed import normal_fantasy
from hentropy.core.decisions.actions import Places, Report, as_places, places_in
from hentropy.core.decisions.argmax import argmax_gain, shannon
from hentropy.core.decisions.base import GainFormula, Solved, believed_as_log, named, totals
from hentropy.core.decisions.headlines import Quantity, known_digits, percent, roughly, rounded
from hentropy.core.decisions.max_value import log_density, max_value_gain, max_value_numbers
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

_LOG_TWO_PI_E = math.log(2.0 * math.pi * math.e)

PROPERTY_DRAWS = 512
"""Functions drawn to find the distribution of the property."""


COMPONENT_OUTCOMES = 32
"""Outcomes that show what is learnt about the component of a mixture."""


class Identify(Solved):
    """A distribution q over a property of f: loss -log q(property).

    On a box, the argmax and the max are searched among `candidates` space-filling points. Under a mixture, values at
    points are identified together with the component they come from. `outcome` names the value where there are several.
    """

    needs = Needs.JOINT
    scores_actions = False
    _log = False

    def __init__(
        self, what: Literal["argmax", "max"] | Places, candidates: int = 256, outcome: str | None = None
    ) -> None:
        if isinstance(what, str) and what not in ("argmax", "max"):
            raise InputError(f'Identify knows "argmax", "max" or points (m x d), not {what!r}')
        if candidates < 2:
            raise InputError(f"at least 2 candidates are needed to tell them apart, got {candidates}")
        self.what = what
        self.candidates = candidates
        self.outcome = outcome
        self.outcomes = named(outcome)
        self.at = None if isinstance(what, str) else as_places(what)
        self.actions = Report("a distribution over the property")

    def informed(self, belief: Belief) -> "Identify":
        """With the information whether the values are modelled as logarithms."""
        return self.settled(_log=believed_as_log(belief, self.outcome))

    def within(self, space: DesignSpace) -> "Identify":
        """With its points chosen."""
        settled = Identify(self.what, self.candidates, self.outcome)
        settled.at = places_in(space, self.at, self.candidates)
        return settled

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """-log q of the property of values f (... x m).

        a: probabilities per candidate (argmax), draws whose kernel density is q (max), or mean and root of a normal
        distribution, stacked to m x (1 + m) (values at points).
        """
        if self.what == "argmax":
            return -a.expand_as(f).gather(-1, f.argmax(-1, keepdim=True)).squeeze(-1).log()
        if self.what == "max":
            return -log_density(f.max(-1).values, a)
        gap = (f - a[..., 0]).unsqueeze(-1)
        white = torch.linalg.solve_triangular(a[..., 1:], gap, upper=False).squeeze(-1)
        return 0.5 * white.square().sum(-1) + 0.5 * f.shape[-1] * math.log(2 * math.pi) + _half_log_det(a[..., 1:])

    def solve(self, moments: Moments) -> Tensor:
        """The Shannon entropy of the property (differential for "max" and for values)."""
        if isinstance(self.what, str):
            return self._sampled_entropy(moments, seed=0)
        m = moments.mean.shape[-1]
        if moments.point_mass:  # drawn functions: the normal distribution with their mean and covariance
            return 0.5 * m * _LOG_TWO_PI_E + _half_log_det(self.bayes_action(moments)[..., 1:])
        chosen = torch.xlogy(moments.weights, moments.weights).neg()
        if moments.latent is None:
            inside = 0.5 * m * _LOG_TWO_PI_E + _half_log_det(robust_root(moments.covariance))
        else:
            slopes = moments.latent.mean_log_slope().sum(-1)
            inside = 0.5 * m * _LOG_TWO_PI_E + _half_log_det(moments.normal[1]) + slopes
        return (chosen + moments.weights * inside).sum(0)

    def _sampled_entropy(self, moments: Moments, seed: int) -> Tensor:
        if self.what == "argmax":
            return shannon(self._chances(moments, seed))
        maxima = self._draws(moments, seed).max(-1).values
        return -log_density(maxima, maxima, leave_out=True).mean()

    def replicates(self, moments: Moments, seed: int) -> Tensor | None:
        """The entropy of a sampled property, from eight different seeds."""
        if not isinstance(self.what, str) or moments.point_mass:
            return None
        return torch.stack([self._sampled_entropy(moments, seed + replicate) for replicate in range(8)])

    def bayes_action(self, moments: Moments) -> Tensor:
        """The distribution itself, in the form that `loss` takes (of a mixture of values, its first two moments)."""
        if self.what == "argmax":
            return self._chances(moments)
        if self.what == "max":
            return self._draws(moments).max(-1).values.sort().values
        mean = moments.expect_vector(moments.mean)
        apart = moments.mean - mean
        within = moments.weights[..., None, None] * (moments.covariance + apart.unsqueeze(-1) * apart.unsqueeze(-2))
        return torch.cat([mean.unsqueeze(-1), robust_root(within.sum(0))], -1)

    def _draws(self, moments: Moments, seed: int = 0) -> Tensor:
        """Joint draws of f at the candidates from unbatched moments (H x m): PROPERTY_DRAWS x m."""
        return joint_draws(moments, PROPERTY_DRAWS, torch.Generator().manual_seed(seed))

    def _chances(self, moments: Moments, seed: int = 0) -> Tensor:
        if moments.point_mass:
            wins = torch.nn.functional.one_hot(moments.mean.argmax(-1), moments.mean.shape[-1]).to(moments.mean)
            return (moments.weights.unsqueeze(-1) * wins).sum(0)
        draws = self._draws(moments, seed)
        return torch.bincount(draws.argmax(-1), minlength=draws.shape[-1]).to(draws) / PROPERTY_DRAWS

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """Argmax: Shannon entropy of moved paths. Max: truncated normals. Values: half a log det ratio."""
        at = self.settled_points.to(belief.X)
        # of correlated outcomes, what the others tell is not counted
        belief = belief.alone() if isinstance(self.what, str) else belief
        if self.what == "argmax":
            whole, quick = argmax_gain(belief, at, seed)
            return GainFormula(whole, exact=False, differentiable=False, quick=quick)
        if self.what == "max":
            return GainFormula(max_value_gain(belief, at, seed), exact=False, numbers=max_value_numbers(belief))
        if belief.process is None:
            return None
        return GainFormula(_values_gain(belief, at, seed), exact=belief.components == 1, numbers=2 * at.shape[0])

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The most probable location, the range of the maximum, or the values."""
        if self.what == "argmax":
            likely = f"with {percent(float(a.max()))} probability at the first of these"
            return f"The {about.name} is highest {likely} ({len(a):,} candidates)."
        if self.what == "max":
            greatest = a.exp() if about.log else a
            low, middle, high = (about.within(float(torch.quantile(greatest, p))) for p in (0.05, 0.5, 0.95))
            apart = (high - low) / 3.29
            ends = [rounded(end, known_digits(apart, middle)) for end in (low, high)]
            found, within = about.amount(middle, apart), about.with_unit(" and ".join(ends))
            return f"The highest {about.name} is {found}, with 90 % probability between {within}."
        mean, sd = totals(moments, about)
        return f"{len(mean):,} points: {about.among(mean, sd)}."

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """The information, in nats."""
        return f"{roughly(amount, error)} nats of information"

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """The most probable locations, the quantiles of the maximum, or each value with its standard deviation."""
        if self.what == "argmax":
            likely = a.argsort(descending=True)[:5].tolist()
            return [{**space.decode(self.settled_points[i]), "probability": float(a[i])} for i in likely if a[i] > 0]
        if self.what == "max":
            greatest = a.exp() if self._log else a
            return [{"quantile": p, "max": float(torch.quantile(greatest, p))} for p in (0.05, 0.25, 0.5, 0.75, 0.95)]
        means, var = a[:, 0], a[:, 1:].square().sum(-1)
        means, var = of_logarithm(means, var) if self._log else (means, var)
        rows = zip(self.settled_points, means.tolist(), var.sqrt().tolist(), strict=True)
        return [{**space.decode(point), "mean": mean, "sd": s} for point, mean, s in rows]

    def __repr__(self) -> str:
        what = repr(self.what) if isinstance(self.what, str) else f"values at {len(self.what)} points"
        return f"Identify({what})" if self.outcome is None else f"Identify({what}, outcome={self.outcome!r})"


def _values_gain(observed: Belief, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    """The information of the outcome about the values at points (m x d), and about the component they come from.

    Of transformed values it is that about the normal values behind them.

    Given the component, -1/2 log det (I - R^T Sigma^-1 R) with R = C L^-T, whatever the outcome; they are averaged.
    The rest is what the outcome says about the component of a mixture: E_y sum_g w'_g log(w'_g / w_g).
    """
    belief: Gaussian = observed.process
    H, m = belief.components, at.shape[0]
    root = robust_root(belief.moments(at, Needs.JOINT).covariance)

    def gain(x: Tensor) -> Tensor:
        b, q, _ = x.shape
        look = belief.look_ahead(x)
        R = look.whitened_cross(at).movedim(2, 1).reshape(H, m, b * q)
        white = torch.linalg.solve_triangular(root, R, upper=False).unflatten(-1, (b, q)).movedim(1, 2)  # H x b x m x q
        eye = torch.eye(q, dtype=x.dtype, device=x.device)
        values = belief.weights @ -_half_log_det(robust_root(eye - white.mT @ white))
        if H == 1:
            return values
        nodes = outcome_nodes(COMPONENT_OUTCOMES, q, H, seed).to(x)
        after = normal_fantasy(observed, x, nodes).component_weights  # H x b x N
        return (
            values + (torch.xlogy(after, after / belief.weights.clamp_min(1e-300).view(H, 1, 1)).sum(0)) @ nodes.weights
        )

    return gain


def _half_log_det(root: Tensor) -> Tensor:
    """Half the log determinant of root root^T: ... x m x m to ... ."""
    return root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
