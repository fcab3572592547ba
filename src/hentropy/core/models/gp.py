"""`fit`: the default belief over families of Gaussian processes; or one kernel, maximised or integrated over.

With few data one best set of hyperparameters is overconfident: several are drawn from their posterior, and the belief
is the mixture. Of families they are drawn around the summits of the posterior (see `families`). Of a single kernel an
ensemble of chains explores the posterior; a few states that stand for all of them are kept.

Data come as people hand them in; they are checked and brought to the unit cube and to standardised outcomes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, overload

from hentropy.core.beliefs import Frame, Gaussian, Transformed
from hentropy.core.beliefs.kernels import Kernel, Profile
from hentropy.core.given import Best, Tails, as_device, as_table, check_seed, check_tails, is_count
from hentropy.core.models import many
from hentropy.core.models.bending import CANDIDATES, Bent, bend_of_decades, best_bend
from hentropy.core.models.ensemble import explore, representatives
from hentropy.core.models.families import (
    FAMILIES,
    Fitted,
    doubting,
    fit_families,
    joined,
    leave_one_out,
    log_odds,
    stacked,
    suspects,
    weigh_noise,
)
from hentropy.core.models.hyperparameters import (
    NOISE_FLOOR,
    KernelPosterior,
    LogPosterior,
    maximise,
    summits,
)
from hentropy.core.models.tails import weighed
from hentropy.core.models.warping import ENOUGH, MARGIN, Stretches, Warped, best_stretches, stretched
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

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
                f" {tuple(values.shape)}; several outcomes have names, and are fitted by fit_outcomes"
            )
        values = values.reshape(n)
        check_finite(designs, "X")
        check_finite(values, "Y")
        if space is not None and not isinstance(space, DesignSpace):
            raise InputError(f"space must be a Space or a Pool, got {space!r}")
        if space is not None:
            space.check(designs)
        variances = None if noise is None else _variances(noise, n, designs.device)
        shift, scale = _shift_and_scale(values)
        to_unit: Callable[[Tensor], Tensor] = UnitRange.of(designs) if space is None else space.to_unit
        if variances is not None:
            variances = (variances / scale.square()).clamp_min(NOISE_FLOOR)
        frame = Frame(to_unit, shift, scale)
        return cls(designs, frame, to_unit(designs), (values - shift) / scale, variances)

    def standardised(self, shift: Tensor, scale: Tensor) -> "Observations":
        """The same, their outcomes less a shift and in units of a scale."""
        frame = replace(self.frame, shift=self.frame.shift + self.frame.scale * shift, scale=self.frame.scale * scale)
        noise = None if self.noise is None else self.noise / scale.square()
        return replace(self, frame=frame, outcomes=(self.outcomes - shift) / scale, noise=noise)

    def warped(self, stretches: Stretches) -> "Observations":
        """The same, their coordinates stretched."""
        frame = replace(self.frame, transform=Warped(self.frame.transform, stretches))
        return replace(self, frame=frame, inputs=stretched(self.inputs, stretches))

    def bent(self, found: Bent) -> "Observations":
        """The same with transformed outcomes, and the frame that the outcomes have."""
        noise = None if self.noise is None else (self.noise * (2.0 * found.log_slope).exp()).clamp_min(NOISE_FLOOR)
        return replace(self, outcomes=found.values, noise=noise)

    def seen_by(self, target: LogPosterior) -> LogPosterior:
        """A log posterior of the same designs, given these outcomes and noises instead."""
        return replace(target, outcomes=self.outcomes, noise=self.noise)

    def as_told(self) -> many.InUserUnits:
        """In the user's units."""
        errors = None if self.noise is None else self.frame.scale * self.noise.sqrt()
        return many.InUserUnits(self.X, self.frame.shift + self.frame.scale * self.outcomes, errors)


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


def check_finite(values: Tensor, name: str) -> None:
    """An `InputError` that names the first row (of n, or n x d) with a value that is not finite."""
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


Treatment = Literal["auto", "map", "mixture", "families", "transformed"]

TREATMENTS: tuple[str, ...] = get_args(Treatment)

MIXTURE_LIMIT = 128
"""Up to this many observations hyperparameters are integrated out by default; beyond, a fit takes over a second."""

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


@overload
def fit(
    X: Any,
    Y: Any,
    *,
    space: DesignSpace | None = None,
    noise: Any = None,
    tails: Tails | None = None,
    hyperparameters: Literal["map", "mixture", "families"],
    draws: int = 8,
    profile: Profile | str | None = None,
    seed: int = 0,
    start: Hyperparameters | None = None,
    earlier: Gaussian | None = None,
    device: Any = None,
    best: Best | None = None,
) -> Gaussian: ...


@overload
def fit(
    X: Any,
    Y: Any,
    *,
    space: DesignSpace | None = None,
    noise: Any = None,
    tails: Tails | None = None,
    hyperparameters: Treatment = "auto",
    draws: int = 8,
    profile: Profile | str | None = None,
    seed: int = 0,
    start: Hyperparameters | None = None,
    earlier: Gaussian | None = None,
    device: Any = None,
    best: Best | None = None,
) -> Gaussian | Transformed: ...


def fit(
    X: Any,
    Y: Any,
    *,
    space: DesignSpace | None = None,
    noise: Any = None,
    tails: Tails | None = None,
    hyperparameters: Treatment = "auto",
    draws: int = 8,
    profile: Profile | str | None = None,
    seed: int = 0,
    start: Hyperparameters | None = None,
    earlier: Gaussian | None = None,
    device: Any = None,
    best: Best | None = None,
) -> Gaussian | Transformed:
    """The belief after observing Y (n or n x 1) at designs X (n x d), in the data's own units.

    `space` maps designs to the unit cube; by default, the range of X does. `noise` is the standard error of the
    observations (one, or one each, in units of Y), or None to fit one for all of them. Where some designs are noisier
    than others, give one each. With tails="heavy" it has Student's t distribution with 4 degrees of freedom in place of
    a normal one, and gross errors count for little (see `beliefs.tails`); standard errors are then those of usual
    measurements.

    By default ("auto" or "transformed") the belief mixes two families of kernels, with half of the draws of
    hyperparameters for each, or one for each with many data (see `families`), and coordinates are stretched where 30 to
    500 observations clearly ask for it (see `warping`).
    Where 10 to 500 outcomes are so skewed that the evidence prefers it (see `bending`), it is a `Transformed`, in units
    of Y as ever: two draws of each family (one beyond 128 observations) and one about transformed outcomes. "families"
    has no such transforms. One kernel (a `profile`, or Matern-5/2) has its most probable hyperparameters ("map"), or
    `draws` from their posterior ("mixture"); "auto" with a profile is a mixture while there are few data. A `start`
    that `fit_with` returned for similar data speeds up the fit of one kernel.

    More than 1,500 observations are summarised by 1,000 inducing points, to which the hyperparameters are fitted (see
    `inducing`). They are kept until there are a quarter more observations: `earlier`, the belief of a fit with the same
    options to the first of these data, avoids fitting them again, and changes nothing else.

    `best`, "low" or "high", says which outcomes matter: where those lie over decades, all of the belief is about
    transformed outcomes, close to logarithms. Without it that must not make other predictions much worse.

    `device` is where it is computed, such as "cuda"; by default, where X is. Gains and proposals follow the belief.
    """
    return fit_with(
        X,
        Y,
        start,
        space=space,
        noise=noise,
        tails=tails,
        hyperparameters=hyperparameters,
        draws=draws,
        profile=profile,
        seed=seed,
        earlier=earlier,
        device=device,
        best=best,
    )[0]


def fit_with(
    X: Any,
    Y: Any,
    start: Hyperparameters | None = None,
    *,
    space: DesignSpace | None = None,
    noise: Any = None,
    tails: Tails | None = None,
    hyperparameters: Treatment = "auto",
    draws: int = 8,
    profile: Profile | str | None = None,
    seed: int = 0,
    earlier: Gaussian | None = None,
    device: Any = None,
    best: Best | None = None,
) -> tuple[Gaussian | Transformed, Hyperparameters]:
    """As `fit`, and what the next fit may start from."""
    if hyperparameters not in TREATMENTS:
        raise InputError(f"hyperparameters must be one of {', '.join(TREATMENTS)}, got {hyperparameters!r}")
    if not is_count(draws):
        raise InputError(f"draws of the hyperparameters must be a whole number of at least 1, got {draws!r}")
    check_seed(seed)
    check_tails(tails)
    data = Observations.of(as_table("X", X).to(device=as_device(device)), Y, noise, space)
    scales = None if space is None else space.scales
    few = data.outcomes.shape[0] <= MIXTURE_LIMIT
    hyperparameters = settled(hyperparameters, profile, few)
    target = LogPosterior(data.inputs, data.outcomes, data.noise, as_profile(profile), scales)
    if len(data.X) > many.FITTED:
        whole = data.as_told()
        some = whole.chosen(seed)
        part, found = some.known(earlier), Hyperparameters(target.inputs.new_empty(0, target.size), target.groups)
        if part is None:
            fitted, found = fit_with(
                some.X,
                some.Y,
                start,
                space=space,
                noise=some.errors,
                tails=tails,
                hyperparameters=hyperparameters,
                draws=draws,
                profile=profile,
                seed=seed,
            )
            assert isinstance(fitted, Gaussian)  # so many have no transform
            part = fitted
        return many.posterior(part, whole), found
    target = replace(target, tails=torch.ones_like(target.outcomes) if tails else None)
    generator = torch.Generator().manual_seed(seed)
    known = _known(start, target, generator)
    if hyperparameters in ("families", "transformed"):
        own = max(1, draws // 2) if few else 1
        belief: Gaussian | Transformed
        trusting = fit_families(target, own, generator)
        belief, accounts = _stretched(data, trusting, own, generator)
        if hyperparameters == "transformed" and (own > 1 or not few) and LEAST <= len(data.X) <= MOST:
            over_decades = _over_decades(data, trusting, belief, own, generator, best)
            belief = over_decades or _transformed(accounts, 2 if few else 1, generator) or belief
        return belief, Hyperparameters(known[:0], target.groups)
    if tails:
        target, heavy = weighed(target, known, generator)
        known = heavy.theta[heavy.value.topk(1).indices]
    if hyperparameters == "mixture":
        theta, state = draw(target, known, draws, generator)
    elif tails:
        theta = state = known
    else:
        theta = state = maximise(target, known, generator)
    return _belief(data, target, theta), Hyperparameters(state, target.groups)


def settled(hyperparameters: Treatment, profile: Profile | str | None, few: bool) -> Treatment:
    """What "auto" is: families with transforms, or one kernel whose profile somebody wants."""
    if hyperparameters in ("families", "transformed") and profile is not None:
        raise InputError(
            f"families have kernels of their own, and the profile {profile!r} was given; leave it out, or choose"
            ' hyperparameters="mixture" or "map"'
        )
    if hyperparameters != "auto":
        return hyperparameters
    if profile is None:
        return "transformed"
    return "mixture" if few else "map"


def as_profile(profile: Profile | str | None) -> Profile:
    """The profile of this name (Matern-5/2 without one), or an `InputError`."""
    try:
        return Profile.MATERN52 if profile is None else Profile(profile)
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


def draw(target: KernelPosterior, known: Tensor, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
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
    return _mixture(data, target.kernel(theta), [(target, theta)])


def _mixture(
    data: Observations,
    kernel: Kernel,
    fitted: Sequence[tuple[LogPosterior, Tensor]],
    outcomes: Tensor | None = None,
) -> Gaussian:
    """The mixture of the rows (H x p) of one family after the other, equally weighted; `outcomes` may differ: H x n."""
    noise = torch.cat([target.believed_variance(theta) for target, theta in fitted])
    mean = ConstantMean(torch.cat([theta[:, target.groups + 1] for target, theta in fitted]))
    weights = noise.new_full((len(noise),), 1.0 / len(noise))
    future = torch.cat([target.future_noise(theta) for target, theta in fitted])
    values = data.outcomes if outcomes is None else outcomes
    belief = Gaussian.from_data(data.X, values, noise, future, kernel, mean, data.frame, weights)
    if fitted[0][0].tails is None:
        return belief
    each = [target.tails.expand(len(theta), -1) for target, theta in fitted if target.tails is not None]
    return replace(belief, tails=torch.cat(each))


LEAST, MOST = 10, 500
"""With fewer observations nobody can say which is wrong; with more, another fit takes seconds."""

WORSE = 1.5
"""By so much errors of the predictions of outcomes over decades may be greater than without a transform."""

LOOKS = 2
"""So often gross errors are looked for: once the first are doubted, others may stand out, or no longer."""


@dataclass(frozen=True)
class Explanation:
    """The data and the families given them, where all observations are trusted, or some are held for gross errors.

    Then these have `odds` against none, and `beside` are the families that trust all.
    """

    data: Observations
    fitted: list[Fitted]
    odds: float = 0.0
    beside: tuple[Fitted, ...] = ()

    def plain(self) -> list[Fitted]:
        """Two draws of each family: where some observations are doubted, one of them trusts all."""
        return [one.some(1 if self.beside else 2) for one in self.fitted] + [one.some(1) for one in self.beside]


def _warped(
    accounts: list[Explanation], draws: int, generator: torch.Generator
) -> tuple[Observations, list[Fitted]] | None:
    """The data, coordinates stretched, and the families that trust them, where that is clearly more probable.

    A stretch must not be made for gross errors: where some are doubted, it has to be better than that account.
    """
    data, plain = accounts[0].data, accounts[0].fitted
    best, chosen = accounts[-1].odds, None
    if not ENOUGH <= len(data.X) <= MOST:
        return None
    for account in accounts:
        stretches = best_stretches(account.fitted)
        if stretches is None:
            continue
        warped = data.warped(stretches)
        fitted = fit_families(replace(account.fitted[0].target, inputs=warped.inputs), draws, generator)
        earned = max(one.summit for one in fitted) - max(one.summit for one in account.fitted)
        odds = account.odds + earned - MARGIN * sum(one is not None for one in stretches)
        if odds > best:
            best, chosen = odds, (warped, None if account.beside else fitted)
    if chosen is None:
        return None
    warped, trusting = chosen
    return warped, trusting or fit_families(replace(plain[0].target, inputs=warped.inputs), draws, generator)


def _stretched(
    data: Observations, trusting: list[Fitted], draws: int, generator: torch.Generator
) -> tuple[Gaussian, list[Explanation]]:
    """As `_families`, with coordinates stretched where the data ask for it."""
    belief, accounts = _families(data, trusting, draws, generator)
    warped = _warped(accounts, draws, generator)
    return (belief, accounts) if warped is None else _families(*warped, draws, generator)


def _families(
    data: Observations, trusting: list[Fitted], draws: int, generator: torch.Generator
) -> tuple[Gaussian, list[Explanation]]:
    """The mixture of several families, weighted by stacking; most of it doubts what looks like gross errors.

    And the account that trusts all observations, with the one that doubts some behind it if it is the more probable.
    """
    target = trusting[0].target
    belief = seen = _stacked(data, trusting)
    accounts = [Explanation(data, trusting)]
    if target.noise is not None or target.tails is not None or not LEAST <= len(data.X) <= MOST:
        return belief, accounts
    before = torch.zeros_like(data.outcomes, dtype=torch.bool)
    for _ in range(LOOKS):
        wrong = suspects(seen)
        if bool((wrong == before).all()) or not bool(wrong.any()):
            break
        shift, scale = _shift_and_scale(data.outcomes[~wrong])
        again = data.standardised(shift, scale)
        doubtful = fit_families(doubting(replace(target, outcomes=again.outcomes), wrong), max(1, draws - 1), generator)
        believing = tuple(one.retold(again.outcomes, shift, scale) for one in trusting)
        odds, before = log_odds(doubtful, believing, wrong), wrong
        seen = _stacked(again, doubtful)
        if odds > accounts[-1].odds:
            belief = _stacked(again, [*doubtful, *(one.some(1) for one in believing)])
            accounts = [accounts[0], Explanation(again, doubtful, odds, believing)]
    return belief, accounts


def _bent_family(
    data: Observations, target: LogPosterior, found: Bent, draws: int, generator: torch.Generator
) -> Fitted:
    """The first family given transformed outcomes; its log posterior is that of the outcomes as they are."""
    [bent] = fit_families(data.bent(found).seen_by(target), draws, generator, FAMILIES[:1])
    return bent.raised(float(found.log_slope.sum()))


def _over_decades(
    data: Observations,
    fitted: list[Fitted],
    plain: Gaussian,
    draws: int,
    generator: torch.Generator,
    best: Best | None,
) -> Transformed | None:
    """A belief all of which is about transformed outcomes, where they lie over decades; None where they do not.

    It sees differences between those close to an extreme one, and others less well. Where nobody says that the extreme
    one is the `best`, it must not predict what is left out much worse than the `plain` belief.
    """
    target = fitted[0].target
    found = bend_of_decades(fitted, lambda one: _bent_family(data, target, one, 2, generator), best)
    if found is None:
        return None
    bent = data.bent(found)
    latent, _ = _stretched(bent, fit_families(bent.seen_by(target), draws, generator), draws, generator)
    bend = found.bend.within(data.frame.shift, data.frame.scale)
    belief = Transformed(latent, bend, torch.ones_like(latent.weights, dtype=torch.bool))
    if best is not None:
        return belief
    left_out = leave_one_out(belief), leave_one_out(plain)
    error, usual = (float((each.mean - each.observed).square().mean()) for each in left_out)
    return belief if error <= WORSE**2 * usual else None


def _transformed(accounts: list[Explanation], draws: int, generator: torch.Generator) -> Transformed | None:
    """Two draws of each family about the outcomes, one of the first about transformed ones, weighted by stacking.

    With `draws` of 1 each has its most probable hyperparameters instead. None where a transform is not better than none
    by a margin. Where gross errors are the alternative, a transform also pays for having been chosen among many, and it
    may be that of the observations that are not doubted.
    """
    best, chosen = accounts[-1].odds, None
    errors = len(accounts) > 1 or accounts[0].fitted[0].target.tails is not None
    price = math.log(CANDIDATES) if errors else 0.0
    for account in accounts:
        found = best_bend(account.fitted)
        if found is None:
            continue
        bent = _bent_family(account.data, account.fitted[0].target, found, draws, generator)
        odds = account.odds + bent.summit - account.fitted[0].summit - price
        if odds > best:
            best, chosen = odds, (account, found, bent)
    if chosen is None:
        return None
    account, found, bent = chosen
    rows = [(bent.some(1), found.values, True), *((one, account.data.outcomes, False) for one in account.plain())]
    # plain ones and those with terms are neighbours: views of arrays, and no copies
    rows.sort(key=lambda row: row[0].target.basis is not None)
    kernel = joined([one.target.kernel(one.theta) for one, _, _ in rows])
    outcomes = torch.cat([values.expand(len(one.theta), -1) for one, values, _ in rows])
    latent = _mixture(account.data, kernel, [(one.target, one.theta) for one, _, _ in rows], outcomes)
    which = torch.tensor([is_bent for one, _, is_bent in rows for _ in one.theta], device=outcomes.device)
    frame = account.data.frame
    belief = Transformed(replace(latent, stacked=True), found.bend.within(frame.shift, frame.scale), which)
    weights = stacked(leave_one_out(belief).log_density)
    return belief.weighted(weigh_noise(weights, [one for one, _, _ in rows]))


def _stacked(data: Observations, fitted: Sequence[Fitted]) -> Gaussian:
    """The mixture of all rows of all families, weighted by stacking."""
    # neighbours with one kernel are evaluated at once
    fitted = sorted(fitted, key=lambda one: one.target.basis is not None)
    kernel = joined([one.target.kernel(one.theta) for one in fitted])
    belief = _mixture(data, kernel, [(one.target, one.theta) for one in fitted])
    weights = stacked(leave_one_out(belief).log_density)
    return replace(belief, weights=weigh_noise(weights, fitted), stacked=True)
