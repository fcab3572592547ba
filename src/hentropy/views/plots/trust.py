"""Model diagnostics: each observation predicted from the others, and how far the model takes data to reach."""

from dataclasses import dataclass

import numpy as np

from hentropy.core.beliefs import Gaussian, Graded, Transformed
from hentropy.core.models.families import carried, doubted, leave_one_out
from hentropy.core.models.warping import Warped
from hentropy.errors import InputError
from hentropy.studies.study.rules import doubt_sentence
from hentropy.views.plots.marks import Axis, Dots, Line, OutcomeTitle, Panel, Picture, Role, Rule
from hentropy.views.plots.relevance import length_scales, relevance
from hentropy.views.plots.reliability import ReliabilityInfo, reliability_info, reliability_picture
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import owner, varying
from hentropy.views.plots.terrain import SHARES, bars_to

FEW = 4
"""Below this many observations leaving one out says next to nothing about a model."""

IDLE = 0.02
"""A parameter along which the expected value changes less than this share of all its variation hardly matters."""

RARE = 0.05
"""Counts that a model that is right would show more rarely than this speak against it."""


@dataclass(frozen=True)
class Coverage:
    """How many of n observations lie inside the intervals of a stated level.

    With a model that is right the number is about binomial (about: the predictions share their data): `low` to `high`
    then hold it with a probability of at least 95 %.
    """

    level: float
    inside: int
    count: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.inside} of {self.count} inside the {100 * self.level:.0f} % interval"


@dataclass(frozen=True)
class ReachInfo:
    """Length scales as shares of each field's range (F): median, smallest and largest over the mixture."""

    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    components: int


@dataclass(frozen=True)
class TrustInfo:
    """n observations, each as predicted from all others (n each), in the user's units.

    `quantiles` (4 x n) by `SHARES` bound the 95 % and the 50 % interval of the observation, its noise included;
    `inside50` and `inside95` say whether it lies in them. `chance` is how probable counts of both as rare
    as these, or rarer, are with a model that is right. `reach` is None for a model without length scales; `relevance`
    (F) is how much the expected value changes along each field, as a share of all its variation. `varies` says which
    fields do, `choices` names those that are choices. `families` has the weight that each family of models carries, and
    is empty where there is one only; `doubted` (n) is how probably each observation is a gross error, `doubts` names
    the trials that probably are, in a sentence. `stretched` says of fields that the model sees on a stretched scale
    which part of their range is stretched.
    """

    names: tuple[str, ...]
    varies: tuple[bool, ...]
    choices: tuple[str, ...]
    observed: np.ndarray
    predicted: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray
    inside50: np.ndarray
    inside95: np.ndarray
    coverage: tuple[Coverage, ...]
    chance: float
    relevance: np.ndarray
    reach: ReachInfo | None
    families: dict[str, float]
    doubted: np.ndarray
    doubts: str
    stretched: dict[str, str]


def trust_info(scene: Scene) -> TrustInfo | ReliabilityInfo:
    """Each observation left out in turn, with the hyperparameters of all of them."""
    if isinstance(scene.belief, Graded):
        return reliability_info(scene)
    return predictions_info(scene)


def predictions_info(scene: Scene) -> TrustInfo:
    """Numbers that are predicted."""
    belief, study = scene.belief, scene.study
    if not isinstance(belief, Gaussian | Transformed):
        raise InputError(
            f"a {type(belief).__name__} belief cannot leave an observation out; a Gaussian process can: see he.fit"
        )
    left_out = leave_one_out(belief)
    observed, quantiles = left_out.observed.cpu().numpy(), scene.within_bounds(left_out.quantiles(SHARES).cpu().numpy())
    inside95 = (quantiles[0] <= observed) & (observed <= quantiles[3])
    inside50 = (quantiles[1] <= observed) & (observed <= quantiles[2])
    return TrustInfo(
        names=tuple(field.name for field in scene.space.fields),
        varies=tuple(index in varying(scene.space) for index in range(len(scene.space.fields))),
        choices=tuple(field.name for field in scene.space.fields if len(field.options) > 1 and not field.ordered),
        observed=observed,
        predicted=scene.within_bounds(left_out.mean.cpu().numpy()),
        sd=left_out.sd.cpu().numpy(),
        quantiles=quantiles,
        inside50=inside50,
        inside95=inside95,
        coverage=(coverage(inside50, 0.5), coverage(inside95, 0.95)),
        chance=joint_chance(int(inside50.sum()), int(inside95.sum()), len(observed)),
        relevance=relevance(belief, scene.space),
        reach=_reach(scene),
        families=carried(belief),
        doubted=doubted(belief).cpu().numpy(),
        doubts=doubt_sentence([one for one in study.doubts if one.outcome == scene.outcome], study.outcomes),
        stretched=_stretched(belief, scene),
    )


def _stretched(belief: Gaussian | Transformed, scene: Scene) -> dict[str, str]:
    """Which part of a field's range is stretched, by its name."""
    transform = (belief.latent if isinstance(belief, Transformed) else belief).frame.transform
    if not isinstance(transform, Warped):
        return {}
    found = {}
    for index, field in enumerate(scene.space.fields):
        name, _, k = owner(scene.space, index)
        stretch = transform.stretches[scene.space.places[name].start + k]
        if stretch is not None:
            found[field.name] = str(stretch)
    return found


def coverage(inside: np.ndarray, level: float) -> Coverage:
    """How many are inside (n), and how many would be by chance if the level were right."""
    n = len(inside)
    chances = _binomial(n, level)
    below = np.cumsum(chances)
    low = int(np.argmax(below > 0.025))  # fewer have a chance of at most 2.5 %
    high = int(np.argmax(below >= 0.975))  # more, too
    return Coverage(level, int(inside.sum()), n, low, high)


def joint_chance(half: int, most: int, n: int) -> float:
    """The chance of counts as rare as these, or rarer: this many of n inside the 50 %, and inside the 95 % interval.

    Half of the values are expected inside the first, 45 % between the two and 5 % outside: the exact test of these
    three counts together, so that two looks at the same predictions are one judgement.
    """
    logs = _log_factorials(n)
    inside, between = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    outside = n - inside - between
    kept = outside >= 0
    inside, between, outside = inside[kept], between[kept], outside[kept]
    ways = logs[n] - logs[inside] - logs[between] - logs[outside]
    chances = ways + inside * np.log(0.5) + between * np.log(0.45) + outside * np.log(0.05)
    [own] = chances[(inside == half) & (between == most - half)]
    return float(np.exp(chances[chances <= own + 1e-9]).sum())


def _log_factorials(n: int) -> np.ndarray:
    """The logarithms of 0! to n!: n + 1."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def _binomial(n: int, share: float) -> np.ndarray:
    """The chances of 0 to n successes: n + 1."""
    logs, k = _log_factorials(n), np.arange(n + 1)
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] + k * np.log(share) + (n - k) * np.log1p(-share)))


def _reach(scene: Scene) -> ReachInfo | None:
    scales = length_scales(scene.belief, scene.space)
    if scales is None:
        return None
    low, high = scales.shares.min(0), scales.shares.max(0)
    return ReachInfo(scales.median, low, high, len(scales.weights))


def trust_picture(info: TrustInfo | ReliabilityInfo) -> Picture:
    """Predicted against observed with 95 % intervals; length scales with their range."""
    if isinstance(info, ReliabilityInfo):
        return reliability_picture(info)
    panels = [_predictions(info)] + ([_scales(info, info.reach)] if info.reach is not None else [])
    return Picture("trust", "Model diagnostics", _caption(info), (tuple(panels),))


def _predictions(info: TrustInfo) -> Panel:
    low = float(min(info.observed.min(), info.quantiles.min()))
    high = float(max(info.observed.max(), info.quantiles.max()))
    margin = 0.05 * (high - low) or 0.5
    ends = np.array([low - margin, high + margin])
    bars = bars_to(info.predicted, info.quantiles[0], info.quantiles[3])
    dots = [
        Dots(info.observed[chosen], info.predicted[chosen], role, label, error=bars[:, chosen])
        for chosen, role, label in (
            (info.inside95, Role.DATA, "inside its 95 % interval"),
            (~info.inside95, Role.FAILED, "outside"),
        )
        if chosen.any()
    ]
    return Panel(
        OutcomeTitle("each value predicted from the others", "each {} predicted from the others"),
        Axis(OutcomeTitle("observed", "observed {}"), *ends.tolist()),
        Axis(OutcomeTitle("predicted", "predicted {}"), *ends.tolist()),
        (
            Line(ends, ends, Role.LIMIT, "predicted = observed", dashed=True),
            *dots,
        ),
    )


def _scales(info: TrustInfo, reach: ReachInfo) -> Panel:
    shown = [index for index in range(len(info.names)) if np.isfinite(reach.median[index])]
    places = np.arange(len(shown), dtype=np.float64)
    mixed = reach.components > 1
    bars = bars_to(reach.median[shown], reach.low[shown], reach.high[shown]) if mixed else None
    label = "median, and range over the mixture" if mixed else "length scale"
    least = min([1.0, *reach.low[shown]])
    most = max([1.0, *reach.high[shown]])
    return Panel(
        "length scales",
        Axis("parameter", -0.5, len(shown) - 0.5, names=tuple(info.names[index] for index in shown)),
        Axis("share of the range", float(least) / 1.5, float(most) * 1.5, log=True),
        (
            Rule(1.0, "y", Role.LIMIT, "the whole range"),
            Dots(places, reach.median[shown], Role.MEAN, label, error=bars),
        ),
    )


def _caption(info: TrustInfo) -> str:
    n = len(info.observed)
    said = [
        "Each measured value is predicted from all others (with hyperparameters fitted to all of them): on the"
        " diagonal the prediction is right; bars are 95 % prediction intervals."
    ]
    said.append(_judgement(info, n))
    if info.doubts:
        said.append(info.doubts)
    if info.families:
        said.append(_families(info.families))
    if info.reach is not None:
        whose = " Those shown are of the family of rough functions." if info.families else ""
        said.append(
            "A length scale is the distance over which values are correlated, as a share of the parameter's range:"
            " small means that the value varies quickly along the parameter, large that it varies slowly." + whose
        )
    if info.stretched:
        parts = ", ".join(f"{name} (its {part})" for name, part in info.stretched.items())
        said.append(f"The value varies faster in a part of the range, which the model stretches: {parts}.")
    if info.choices:
        said.append(
            f"For {' and '.join(info.choices)}, the range is the distance between two options: small means that the"
            " options are unrelated, large that they behave alike."
        )
    idle = [
        name for name, share, one in zip(info.names, info.relevance, info.varies, strict=True) if one and share < IDLE
    ]
    if idle and len(idle) < sum(info.varies):
        said.append(f"According to the model, the value hardly depends on {', '.join(idle)}.")
    return " ".join(said)


FAMILIES = {
    "rough": "rough functions",
    "smooth": "smooth functions, sums of one-dimensional ones and parabolas among them",
}

TRANSFORMED = {"": "", ", transformed": " (of transformed values)"}


def _families(weights: dict[str, float]) -> str:
    """Which family carries the weight, in words."""
    ordered = sorted(weights.items(), key=lambda item: -item[1])
    names = {name + end: said + words for name, said in FAMILIES.items() for end, words in TRANSFORMED.items()}
    shares = ", ".join(f"{names[name]}: {100 * weight:.0f} %" for name, weight in ordered)
    return f"Models of several families are averaged, weighted by how well they predict held-out values ({shares})."


def _judgement(info: TrustInfo, n: int) -> str:
    """What the coverage says, in words."""
    half, most = info.coverage
    if n < FEW:
        return f"With {n} value{'' if n == 1 else 's'} the model cannot be judged yet."
    counts = (
        f"{most}, {half.inside} inside the 50 % one. A calibrated model would have about {_between(most)} and"
        f" {_between(half)} (95 % of the time; approximately, as the predictions share their data)."
    )
    if info.chance >= RARE:
        return f"{counts} The model looks calibrated."
    # by how much there are fewer than expected inside both intervals, in standard deviations
    missing = sum((each.level * n - each.inside) / (each.level * (1.0 - each.level)) ** 0.5 for each in info.coverage)
    if missing > 0:
        return f"{counts} Too few: the model is overconfident; treat its predictions with care."
    return f"{counts} Too many: the model is underconfident."


def _between(coverage: Coverage) -> str:
    low, high = coverage.low, coverage.high
    return str(low) if low == high else f"{low} to {high}"
