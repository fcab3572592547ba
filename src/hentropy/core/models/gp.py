"""`fit`: the default Gaussian process, its hyperparameters maximised or integrated over.

With few data one best set of hyperparameters is overconfident: the default draws several from their posterior, and the
belief is the mixture. An ensemble of chains explores the posterior; a few states that stand for all of them are kept.

Data come as people hand them in; they are checked and brought to the unit cube and to standardised outcomes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from hentropy.core.beliefs import Frame, Gaussian
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.given import as_table, check_seed, is_count
from hentropy.core.models.ensemble import explore, representatives
from hentropy.core.models.hyperparameters import NOISE_FLOOR, LogPosterior, maximise, summits
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError

ROUNDING = 1e-12
"""Outcomes whose differences are a smaller share of their size differ by rounding alone."""

LEAST_SPREAD = 1e-140
"""The square of a smaller spread, times a rounding error, is no longer a number in full precision."""


@dataclass(frozen=True)
class UnitRange:
    """Designs to the cube that the data span: (x - low) / width, width 1 along axes where nothing varies."""

    low: Tensor
    width: Tensor

    @classmethod
    def of(cls, X: Tensor) -> "UnitRange":
        """The range of data X: n x d."""
        low = X.min(0).values
        width = X.max(0).values - low
        return cls(low, torch.where(width > 0, width, 1.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Points ... x d."""
        return (x - self.low) / self.width


@dataclass(frozen=True)
class Observations:
    """X (n x d, own units), the frame, and in the frame: inputs (n x d), outcomes (n), noise variances (n) or None."""

    X: Tensor
    frame: Frame
    inputs: Tensor
    outcomes: Tensor
    noise: Tensor | None

    @classmethod
    def of(cls, X: Any, Y: Any, noise: Any, space: DesignSpace | None) -> "Observations":
        """Check and standardise; outcomes that differ by no more than rounding are constant, and keep scale 1."""
        designs = as_table("X", X)
        values = as_table("Y", Y).to(designs.device)
        if designs.dim() != 2 or 0 in designs.shape:
            raise InputError(f"X must be n x d, one row per observation; got shape {tuple(designs.shape)}")
        n = designs.shape[0]
        if tuple(values.shape) not in ((n,), (n, 1)):
            raise InputError(
                f"Y must have one value for each of the {n} rows of X (shape {(n,)} or {(n, 1)}); got shape"
                f" {tuple(values.shape)}"
            )
        values = values.reshape(n)
        _check_finite(designs, "X")
        _check_finite(values, "Y")
        if space is not None and not isinstance(space, DesignSpace):
            raise InputError(f"space must be a Space or a Pool, got {space!r}")
        if space is not None:
            space.check(designs)
        variances = None if noise is None else _variances(noise, n, designs.device)
        shift, scale = _shift_and_scale(values)
        to_unit: Callable[[Tensor], Tensor] = UnitRange.of(designs) if space is None else space.to_unit
        if variances is not None:
            variances = (variances / scale.square()).clamp_min(NOISE_FLOOR)
        return cls(designs, Frame(to_unit, shift, scale), to_unit(designs), (values - shift) / scale, variances)


def _shift_and_scale(values: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of outcomes (n), or an `InputError` if no number can hold their variance."""
    low, high = values.min(), values.max()
    if bool(high - low <= ROUNDING * values.abs().max()):
        return low, torch.ones_like(low)
    spread = values.std(correction=0)
    if not bool(torch.isfinite(spread)):
        raise InputError(
            f"the outcomes range from {float(low):g} to {float(high):g}, a spread beyond"
            " what numbers can hold; correct the one that is wrong, or give them in other units"
        )
    if float(spread) < LEAST_SPREAD:
        raise InputError(
            f"the outcomes range from {float(low):g} to {float(high):g}, so close together that their variance is"
            " beyond what numbers can hold; give them in other units, or their logarithms"
        )
    return values.mean(), spread


def _check_finite(values: Tensor, name: str) -> None:
    bad = ~torch.isfinite(values.reshape(values.shape[0], -1)).all(-1)
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise InputError(
            f"row {row} of {name} is {values[row].tolist()}: NaN or infinite; drop that observation, or mark it failed"
        )


def _variances(noise: Any, n: int, device: torch.device) -> Tensor:
    """Standard errors (one, or one per observation) as variances: n."""
    errors = as_table("noise", noise).to(device)
    if tuple(errors.shape) not in ((), (1,), (n,), (n, 1)):
        raise InputError(
            f"noise must be one standard error or one for each of the {n} observations; got shape {tuple(errors.shape)}"
        )
    errors = errors.reshape(-1).expand(n) if errors.numel() == 1 else errors.reshape(n)
    bad = ~(torch.isfinite(errors) & (errors >= 0))
    if bool(bad.any()):
        row = int(bad.nonzero()[0])
        raise InputError(
            f"the standard error of observation {row} is {float(errors[row])}; it must be a number not below 0. Where"
            " errors are unknown, give none at all (noise=None) and one is fitted for all observations"
        )
    return errors.square()


Treatment = Literal["auto", "map", "mixture"]

MIXTURE_LIMIT = 128
"""Up to so many observations "auto" integrates over the hyperparameters; beyond, that takes over a second a fit."""

CHAINS = 16
BURN_IN = 60
"""Sweeps until chains have forgotten the normal approximations they started from."""

SWEEPS = 60
KEEP_EVERY = 3


@dataclass(frozen=True)
class Hyperparameters:
    """Rows of hyperparameters (C x p, standardised units, see `hyperparameters`) from which the next fit may start."""

    theta: Tensor
    lengthscales: int


@dataclass(frozen=True)
class ConstantMean:
    """The prior mean of each component: values H; inputs ... x m x d to H x ... x m."""

    values: Tensor

    def __call__(self, inputs: Tensor) -> Tensor:
        """The same at every point."""
        H = self.values.shape[0]
        return self.values.view(H, *[1] * (inputs.dim() - 1)).expand(H, *inputs.shape[:-1])


def fit(
    X: Any,
    Y: Any,
    *,
    space: DesignSpace | None = None,
    noise: Any = None,
    hyperparameters: Treatment = "auto",
    draws: int = 8,
    profile: Profile | str = Profile.MATERN52,
    seed: int = 0,
    start: Hyperparameters | None = None,
) -> Gaussian:
    """The belief after observing Y (n or n x 1) at designs X (n x d), in the data's own units.

    `space` says how designs enter the unit cube; without it the range of X does. `noise` is the standard error of the
    observations (one, or one each, in units of Y), or None to fit it. `hyperparameters` are the most probable ("map"),
    or `draws` from their posterior ("mixture"); "auto" takes draws while the data are few. `start` is what `fit_with`
    returned for similar data: a faster beginning.
    """
    return fit_with(
        X,
        Y,
        start,
        space=space,
        noise=noise,
        hyperparameters=hyperparameters,
        draws=draws,
        profile=profile,
        seed=seed,
    )[0]


def fit_with(
    X: Any,
    Y: Any,
    start: Hyperparameters | None = None,
    *,
    space: DesignSpace | None = None,
    noise: Any = None,
    hyperparameters: Treatment = "auto",
    draws: int = 8,
    profile: Profile | str = Profile.MATERN52,
    seed: int = 0,
) -> tuple[Gaussian, Hyperparameters]:
    """As `fit`, and what the next fit may start from."""
    if hyperparameters not in ("auto", "map", "mixture"):
        raise InputError(f'hyperparameters must be "auto", "map" or "mixture", got {hyperparameters!r}')
    if not is_count(draws):
        raise InputError(f"draws of the hyperparameters must be a whole number of at least 1, got {draws!r}")
    check_seed(seed)
    data = Observations.of(X, Y, noise, space)
    scales = None if space is None else space.scales
    target = LogPosterior(data.inputs, data.outcomes, data.noise, _profile(profile), scales)
    generator = torch.Generator().manual_seed(seed)
    known = _known(start, target, generator)
    few = data.outcomes.shape[0] <= MIXTURE_LIMIT
    if hyperparameters == "mixture" or (hyperparameters == "auto" and few):
        theta, state = _draw(target, known, draws, generator)
    else:
        theta = state = maximise(target, known, generator)
    return _belief(data, target, theta), Hyperparameters(state, target.groups)


def _profile(profile: Profile | str) -> Profile:
    try:
        return Profile(profile)
    except ValueError:
        names = ", ".join(repr(known.value) for known in Profile)
        raise InputError(f"the profile {profile!r} is unknown; choose one of {names}") from None


def _known(start: Hyperparameters | None, target: LogPosterior, generator: torch.Generator) -> Tensor:
    """The rows of a start as the target has them (C x p, none without a start): the noise is added or dropped."""
    if start is None:
        return target.inputs.new_empty(0, target.size)
    if start.lengthscales != target.groups:
        raise InputError(
            f"the start was fitted to designs with {start.lengthscales} length scales, these have {target.groups};"
            " start without it"
        )
    theta = start.theta.to(target.inputs)
    if theta.shape[-1] == target.size:
        return theta
    return theta[:, : target.groups + 2] if target.noise is not None else target.with_noise(theta, generator)


def _draw(target: LogPosterior, known: Tensor, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Rows that stand for the posterior (draws x p), and the last state of the chains (C x p).

    Chains that start from the prior keep its large noise for long where the data are many; chains that start around the
    summits of the posterior are where they belong at once.
    """
    chains = max(CHAINS, 2 * (target.size + 1))
    known = known[:chains]
    missing = chains - known.shape[0]
    beginning = torch.cat([known, summits(target, known, generator).around(missing, generator)]) if missing else known
    explored = explore(target, beginning, SWEEPS, generator, burn_in=BURN_IN, every=KEEP_EVERY)
    kept = explored.kept.flatten(0, 1)
    return kept[representatives(kept, draws)], explored.last.chains


def _belief(data: Observations, target: LogPosterior, theta: Tensor) -> Gaussian:
    """The mixture of the rows of theta (H x p), equally weighted."""
    g, H = target.groups, theta.shape[0]
    kernel = Stationary(target.profile, target.lengthscales(theta), theta[:, g].exp())
    noise = target.noise_variance(theta)
    weights = theta.new_full((H,), 1.0 / H)
    mean = ConstantMean(theta[:, g + 1])
    # all columns are equal where the noise was fitted; given errors say what the next is likely to be
    future = noise.mean(-1)
    return Gaussian.from_data(data.X, data.outcomes, noise, future, kernel, mean, data.frame, weights)
