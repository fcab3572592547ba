"""Many observations: hyperparameters of some of them, on a schedule, and the posterior of all.

Which of them choose the hyperparameters depends on n and the first ones alone: a study that is continued from its
records fits the same as one that kept the last fit.
"""

from dataclasses import dataclass, replace

from hentropy.core.beliefs import Frame, Gaussian, Needs
from hentropy.core.beliefs.inducing import summarised
from hentropy.core.beliefs.tails import BLURRED, FUTURE, weights_of
from hentropy.core.models.hyperparameters import NOISE_FLOOR
from hentropy.lazy import Tensor, torch

FITTED = 1000
"""The most observations that hyperparameters are fitted to: some at random. They are the inducing points of more."""

EXACT = 1500
"""Up to this many observations the posterior is exact; beyond, inducing points stand for them."""

GROWTH = 1.25
"""Hyperparameters are refitted when the observations have become this many times as many."""


def whole_fit(n: int) -> int:
    """How many of n observations, the first ones, choose the hyperparameters: the last full fit was with this many."""
    count = FITTED
    while (more := int(count * GROWTH)) <= n:
        count = more
    return count


@dataclass(frozen=True)
class InUserUnits:
    """Observations in the user's units: designs (n x d), values (n), standard errors (n) or None."""

    X: Tensor
    Y: Tensor
    errors: Tensor | None

    def chosen(self, seed: int) -> "InUserUnits":
        """Those to which the hyperparameters are fitted."""
        rows = torch.randperm(whole_fit(len(self.X)), generator=torch.Generator().manual_seed(seed))[:FITTED]
        rows = rows.to(self.X.device)
        return InUserUnits(self.X[rows], self.Y[rows], None if self.errors is None else self.errors[rows])

    def known(self, earlier: Gaussian | None) -> Gaussian | None:
        """The belief of these observations in a belief of more, if that is where its hyperparameters come from."""
        part = None if earlier is None or earlier.summary is None else earlier.summary.part
        if part is None or not torch.equal(part.X, self.X):
            return None
        same = torch.allclose(part.observed, self.Y, rtol=0.0, atol=1e-9 * float(part.frame.scale))
        if same and self.errors is not None:
            usual = part.noise[0] if part.tails is None else part.noise[0] * part.tails[0] / BLURRED
            same = torch.allclose(self.noise(part.frame), usual, rtol=1e-9, atol=0.0)
        return part if same else None

    def noise(self, frame: Frame) -> Tensor:
        """The variances of the standard errors in the model's units: n."""
        assert self.errors is not None
        return (self.errors / frame.scale).square().clamp_min(NOISE_FLOOR)


def posterior(part: Gaussian, whole: InUserUnits) -> Gaussian:
    """The belief after all observations, with the hyperparameters of some."""
    n = len(whole.X)
    noise = part.future_noise.unsqueeze(-1) if whole.errors is None else whole.noise(part.frame)
    noise = noise.expand(part.components, n)
    if part.tails is not None and whole.errors is None:
        noise = noise / FUTURE
    tails = None if part.tails is None else _weights(part, whole, noise)
    noise = noise if tails is None else BLURRED * noise / tails
    if n > EXACT:
        return replace(summarised(part, whole.X, whole.Y, noise), tails=tails)
    outcomes = (whole.Y - part.frame.shift) / part.frame.scale
    own = (part.future_noise, part.kernel, part.prior_mean, part.frame, part.weights)
    belief = Gaussian.from_data(whole.X, outcomes, noise, *own)
    return replace(belief, stacked=part.stacked, tails=tails)


def _weights(part: Gaussian, whole: InUserUnits, scale: Tensor) -> Tensor:
    """The weights of observations with heavy tails of these squared scales (H x n), by the belief of some: H x n."""
    moments, square = part.moments(whole.X, Needs.VARIANCE), part.frame.scale.square()
    assert moments.variance is not None
    return weights_of(((whole.Y - moments.mean).square() + moments.variance) / (square * scale))
