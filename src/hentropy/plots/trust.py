"""Is the model to be trusted: each observation predicted from the others, and how far the model takes data to reach."""

from dataclasses import dataclass

import numpy as np

from hentropy.beliefs import Gaussian
from hentropy.beliefs.leave_one_out import leave_one_out
from hentropy.errors import InputError
from hentropy.plots.marks import Axis, Dots, Line, Panel, Picture, Role, Rule
from hentropy.plots.scene import Scene
from hentropy.plots.views import length_scales

SHARES = (0.025, 0.25, 0.75, 0.975)
FEW = 4
"""Below so many observations leaving one out says next to nothing about a model."""

LONG = 3.0
"""A parameter whose length scale is more than so many times its range hardly matters by the model."""


@dataclass(frozen=True)
class Coverage:
    """How many of n observations lie inside the intervals of a stated level.

    With a model that is right the number is about binomial: `low` to `high` then hold it with a probability of at least
    95 %.
    """

    level: float
    inside: int
    count: int
    low: int
    high: int

    @property
    def as_expected(self) -> bool:
        """Whether a model that is right would show such a number."""
        return self.low <= self.inside <= self.high

    def __str__(self) -> str:
        return f"{self.inside} of {self.count} inside the {100 * self.level:.0f} % interval"


@dataclass(frozen=True)
class ReachInfo:
    """Length scales as shares of each parameter's range (d): median, least and greatest over the mixture."""

    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    components: int


@dataclass(frozen=True)
class TrustInfo:
    """n observations, each as predicted from all others (n each), in the user's units.

    `quantiles` (4 x n) by `SHARES` bound the 95 % and the 50 % interval of the observation, its noise included;
    `inside50` and `inside95` say whether it lies in them. `reach` is None for a model without length scales.
    """

    names: tuple[str, ...]
    observed: np.ndarray
    predicted: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray
    inside50: np.ndarray
    inside95: np.ndarray
    coverage: tuple[Coverage, ...]
    reach: ReachInfo | None


def trust_info(scene: Scene) -> TrustInfo:
    """Each observation left out in turn, with the hyperparameters of all of them."""
    belief = scene.belief
    if not isinstance(belief, Gaussian):
        raise InputError(
            f"a {type(belief).__name__} belief cannot leave an observation out; a Gaussian process can: see he.fit"
        )
    left_out = leave_one_out(belief)
    observed, quantiles = left_out.observed.cpu().numpy(), left_out.quantiles(SHARES).cpu().numpy()
    inside95 = (quantiles[0] <= observed) & (observed <= quantiles[3])
    inside50 = (quantiles[1] <= observed) & (observed <= quantiles[2])
    return TrustInfo(
        names=tuple(scene.space.names),
        observed=observed,
        predicted=left_out.mean.cpu().numpy(),
        sd=left_out.sd.cpu().numpy(),
        quantiles=quantiles,
        inside50=inside50,
        inside95=inside95,
        coverage=(coverage(inside50, 0.5), coverage(inside95, 0.95)),
        reach=_reach(scene),
    )


def coverage(inside: np.ndarray, level: float) -> Coverage:
    """How many are inside (n), and how many would be by chance if the level were right."""
    n = len(inside)
    chances = _binomial(n, level)
    below = np.cumsum(chances)
    low = int(np.argmax(below > 0.025))  # fewer have a chance of at most 2.5 %
    high = int(np.argmax(below >= 0.975))  # more, too
    return Coverage(level, int(inside.sum()), n, low, high)


def _binomial(n: int, share: float) -> np.ndarray:
    """The chances of 0 to n successes: n + 1."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # of factorials
    k = np.arange(n + 1)
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] + k * np.log(share) + (n - k) * np.log1p(-share)))


def _reach(scene: Scene) -> ReachInfo | None:
    scales = length_scales(scene.belief, scene.space)
    if scales is None:
        return None
    low, high = scales.shares.min(0), scales.shares.max(0)
    return ReachInfo(scales.median, low, high, len(scales.weights))


def trust_picture(info: TrustInfo) -> Picture:
    """Predicted against observed with 95 % intervals; length scales with their range."""
    panels = [_predictions(info)] + ([_scales(info, info.reach)] if info.reach is not None else [])
    return Picture("trust", "Is the model to be trusted", _caption(info), (tuple(panels),))


def _predictions(info: TrustInfo) -> Panel:
    low = float(min(info.observed.min(), info.quantiles.min()))
    high = float(max(info.observed.max(), info.quantiles.max()))
    margin = 0.05 * (high - low) or 0.5
    ends = np.array([low - margin, high + margin])
    # the intervals of a mixture need not be even about the mean: they are lines of their own, broken by NaN
    apart = np.full(len(info.observed), np.nan)
    bars_x = np.stack([info.observed, info.observed, apart], 1).reshape(-1)
    bars_y = np.stack([info.quantiles[0], info.quantiles[3], apart], 1).reshape(-1)
    dots = [
        Dots(info.observed[chosen], info.predicted[chosen], role, label)
        for chosen, role, label in (
            (info.inside95, Role.DATA, "inside its 95 % interval"),
            (~info.inside95, Role.FAILED, "outside"),
        )
        if chosen.any()
    ]
    return Panel(
        "each value predicted from the others",
        Axis("observed", *ends.tolist()),
        Axis("predicted", *ends.tolist()),
        (
            Line(ends, ends, Role.LIMIT, "predicted = observed", dashed=True),
            Line(bars_x, bars_y, Role.UNCERTAINTY, "95 % interval"),
            *dots,
        ),
    )


def _scales(info: TrustInfo, reach: ReachInfo) -> Panel:
    shown = [index for index in range(len(info.names)) if np.isfinite(reach.median[index])]
    places = np.arange(len(shown), dtype=np.float64)
    apart = np.full(len(shown), np.nan)
    bars_x = np.stack([places, places, apart], 1).reshape(-1)
    bars_y = np.stack([reach.low[shown], reach.high[shown], apart], 1).reshape(-1)
    spread = (Line(bars_x, bars_y, Role.UNCERTAINTY, "range over the mixture"),) if reach.components > 1 else ()
    label = "median" if reach.components > 1 else "length scale"
    least = min([1.0, *reach.low[shown]])
    most = max([1.0, *reach.high[shown]])
    return Panel(
        "length scales",
        Axis("parameter", -0.5, len(shown) - 0.5, names=tuple(info.names[index] for index in shown)),
        Axis("share of the range", float(least) / 1.5, float(most) * 1.5, log=True),
        (
            Rule(1.0, "y", Role.LIMIT, "the whole range"),
            *spread,
            Dots(places, reach.median[shown], Role.MEAN, label),
        ),
    )


def _caption(info: TrustInfo) -> str:
    n = len(info.observed)
    said = [
        "Each measured value is predicted from all the others (with the length scales and noise found from all of"
        " them): on the diagonal the prediction was right; bars hold 95 % of what the model would have expected to"
        " measure."
    ]
    said.append(_judgement(info, n))
    if info.reach is not None:
        said.append(
            "A length scale says how far a change of the parameter reaches before values have little to do with each"
            " other, as a share of the parameter's range: small means that the value changes quickly along it."
        )
        idle = [name for name, scale in zip(info.names, info.reach.median, strict=True) if scale > LONG]
        if idle:
            said.append(f"By the model the value hardly depends on {', '.join(idle)}.")
    return " ".join(said)


def _judgement(info: TrustInfo, n: int) -> str:
    """What the coverage says, in words."""
    half, most = info.coverage
    if n < FEW:
        return f"With {n} value{'' if n == 1 else 's'} this says next to nothing yet."
    counts = f"{most}, {half.inside} inside the 50 % one."
    expected = f" A model that is right would show {_between(most)} and {_between(half)} (each about 19 times in 20)."
    if most.inside < most.low or half.inside < half.low:
        return (
            counts + expected + " Too few: the model is surer of itself than it should be; take its promises with care."
        )
    if half.inside > half.high:
        return counts + expected + " More than that: the model is more careful than it needs to be."
    return counts + expected + " So nothing speaks against it."


def _between(coverage: Coverage) -> str:
    low, high = coverage.low, coverage.high
    return str(low) if low == high else f"{low} to {high}"
