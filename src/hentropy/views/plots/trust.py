"""Model diagnostics: each observation predicted from the others, and how far the model takes data to reach.

Of a yes or no, or of a grade, whether its probabilities are to be trusted.

n  results    b  groups of results with similar predictions    F  fields of a design    H  components of a belief
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import bdtr, gammaln

from hentropy.core.beliefs import Belief, Gaussian, Graded
from hentropy.core.beliefs.kernels import of_designs, without_terms
from hentropy.core.decisions.headlines import probable
from hentropy.core.models.families import carried, doubted, leave_one_out
from hentropy.core.models.success import chances_left_out
from hentropy.core.models.warping import Warped
from hentropy.core.spaces import Choice, DesignSpace
from hentropy.errors import InputError
from hentropy.studies.records.numbers import counted
from hentropy.studies.study.rules import doubt_sentence
from hentropy.views.plots.fields import owner, relevance, varying
from hentropy.views.plots.marks import Axis, Dots, Line, OutcomeTitle, Panel, Picture, Role, Rule
from hentropy.views.plots.predictions import dots_by_interval, predicted_against_observed
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import bars_to, shown_trials
from hentropy.views.plots.slices import QUANTILES

MIN_RESULTS, MIN_PROBABLE = 4, 8
"""Below so many results, leaving one out says next to nothing about a model of numbers, or of probabilities."""

IDLE = 0.02
"""A parameter along which the expected value changes less than this share of all its variation hardly matters."""

RARE = 0.05
"""Counts that a model that is right would show more rarely than this speak against it."""

GROUPS = 5
"""Results with a probability are gathered in this many groups."""

Z = 1.96
"""Standard deviations about the mean within which 95 % of normal values lie."""


@dataclass(frozen=True)
class ReachInfo:
    """Length scales as shares of each field's range (F): median, smallest and largest over the mixture."""

    median: np.ndarray
    low: np.ndarray
    high: np.ndarray
    components: int


def weighted_median(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The median of each column of values (H x F) by the weights of the rows (H): F."""
    order = np.argsort(values, axis=0)
    middle = np.argmax(np.cumsum(weights[order], axis=0) >= 0.5 - 1e-12, axis=0)
    return np.asarray(np.take_along_axis(values, np.take_along_axis(order, middle[None], 0), 0)[0])


def length_scales(belief: Belief, space: DesignSpace) -> ReachInfo | None:
    """Each field's length scale as a share of its range (on a log scale where it is logarithmic).

    The range of a choice is how far two of its options are apart (root mean square over all pairs), by their
    descriptors too. Of several families, those without waves count: the others vary along their waves as well. None
    where the belief is no Gaussian process whose kernel has length scales along the coordinates; infinite for a field
    that never varies.
    """
    process: Gaussian | None = belief.process if belief.ordinal is None else belief.ordinal.latent
    kernel = None if process is None else of_designs(process.kernel)
    found = None if kernel is None else without_terms(kernel)
    if process is None or found is None:
        return None
    weights = process.weights[found[1]] / process.weights[found[1]].sum()
    own = found[0].lengthscale
    # of correlated outcomes, which one it is follows the coordinates
    correlated = kernel is not process.kernel
    ends = process.frame.transform(space.bounds.to(belief.X))[:, : process.inputs.shape[-1] - correlated]
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
            scaled = process.frame.transform(rows.to(belief.X))[:, place] / own[:, None, place]  # H x m x width
            # twice the variance of the options is the mean square of all differences, those to themselves included
            m = len(parameter.options)
            reach[:, index] = (2.0 * scaled.var(1, correction=0).sum(-1) * m / (m - 1)).sqrt().cpu()
        elif block is not None:
            width = (ends[1] - ends[0]).abs()[place.start + k]
            reach[:, index] = (width / own[:, place.start + k]).cpu()
    shares = (1.0 / reach).detach().numpy()
    median = weighted_median(shares, weights.detach().cpu().numpy())
    return ReachInfo(median, shares.min(0), shares.max(0), len(weights))


@dataclass(frozen=True)
class ReliabilityInfo:
    """Results (n, 1 where it was so and else 0), and how probable each was by all others (n).

    Groups have a mean prediction (b), the share in which it was so (b), and between which shares that may lie (2 x b).
    `off` is by how many standard deviations more came true than were expected.
    """

    event: str
    numbers: tuple[int, ...]
    predicted: np.ndarray
    happened: np.ndarray
    group_predicted: np.ndarray
    group_share: np.ndarray
    group_bounds: np.ndarray
    off: float


def reliability_info(scene: Scene) -> ReliabilityInfo:
    """Each result left out in turn, with the hyperparameters of all of them."""
    belief: Graded = scene.belief.ordinal
    trials = shown_trials(scene)
    told = np.isfinite(trials.values)
    happened = trials.values[told]
    predicted = chances_left_out(belief, torch.from_numpy(happened)).cpu().numpy()
    groups = np.array_split(np.argsort(predicted, kind="stable"), min(GROUPS, max(1, len(predicted) // 3)))
    shares = np.array([happened[own].mean() for own in groups])
    sizes = np.array([len(own) for own in groups])
    spread = math.sqrt(float((predicted * (1.0 - predicted)).sum())) or 1.0
    return ReliabilityInfo(
        event=scene.study.outcomes.quantities[scene.outcome].event,
        numbers=tuple(number for number, there in zip(trials.numbers, told, strict=True) if there),
        predicted=predicted,
        happened=happened,
        group_predicted=np.array([predicted[own].mean() for own in groups]),
        group_share=shares,
        group_bounds=wilson(shares, sizes),
        off=float((happened - predicted).sum()) / spread,
    )


def wilson(shares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Between which probabilities shares (b) of this many results (b) leave the true one, with 95 %: 2 x b."""
    total = sizes + Z**2
    middle = (shares * sizes + Z**2 / 2) / total
    half = Z * np.sqrt(shares * (1.0 - shares) * sizes + Z**2 / 4) / total
    return np.stack([middle - half, middle + half])


def reliability_picture(info: ReliabilityInfo) -> Picture:
    """How often it was so against how probable it was; on the diagonal a model is calibrated."""
    ends = np.array([0.0, 1.0])
    bars = bars_to(info.group_share, *info.group_bounds)
    texts = tuple(f"trial {n}: {probable(float(p))}" for n, p in zip(info.numbers, info.predicted, strict=True))
    marks = (
        Line(ends, ends, Role.LIMIT, "calibrated", dashed=True),
        Dots(info.predicted, info.happened, Role.DATA, "each result", texts=texts),
        Dots(info.group_predicted, info.group_share, Role.MEAN, "share among similar ones, 95 % interval", error=bars),
    )
    axes = Axis(f"probability of {info.event} by the others", 0.0, 1.0), Axis(f"share with {info.event}", -0.05, 1.05)
    panel = Panel("each result predicted from the others", *axes, marks)
    return Picture("trust", "Model diagnostics", _reliability_caption(info), ((panel,),))


def _reliability_caption(info: ReliabilityInfo) -> str:
    n, expected, came = len(info.happened), float(info.predicted.sum()), int(info.happened.sum())
    said = (
        f"Each result is predicted from all the others (with the length scales found from all of them). Of"
        f" {counted(n, 'result')} about {expected:.1f} were expected to be {info.event}, and {came} were."
    )
    if n < MIN_PROBABLE:
        return f"{said} With so few this says next to nothing yet."
    if abs(info.off) <= Z:
        return f"{said} Nothing speaks against the model; a model that is right lies along the diagonal."
    way = "more" if info.off > 0 else "fewer"
    return f"{said} That is {way} than chance explains: take the probabilities with care."


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
class TrustInfo:
    """n observations, each as predicted from all others (n each), in the user's units.

    `quantiles` (4 x n) by `QUANTILES` bound the 95 % and the 50 % interval of the observation, its noise included;
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
    if scene.belief.ordinal is not None:
        return reliability_info(scene)
    return predictions_info(scene)


def predictions_info(scene: Scene) -> TrustInfo:
    """Numbers that are predicted."""
    belief: Any = scene.belief
    study = scene.study
    if belief.process is None:
        raise InputError(
            f"a {type(belief).__name__} belief cannot leave an observation out; a Gaussian process can: see he.fit"
        )
    left_out = leave_one_out(belief)
    observed, quantiles = (
        left_out.observed.cpu().numpy(),
        scene.within_bounds(left_out.quantiles(QUANTILES).cpu().numpy()),
    )
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
        reach=length_scales(belief, scene.space),
        families=carried(belief),
        doubted=doubted(belief).cpu().numpy(),
        doubts=doubt_sentence([one for one in study.doubts if one.outcome == scene.outcome], study.outcomes),
        stretched=_stretched(belief.process, scene),
    )


def _stretched(belief: Gaussian, scene: Scene) -> dict[str, str]:
    """Which part of a field's range is stretched, by its name."""
    transform = belief.frame.transform
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
    below = bdtr(np.arange(n + 1), n, level)
    low = int(np.argmax(below > 0.025))  # fewer have a chance of at most 2.5 %
    high = int(np.argmax(below >= 0.975))  # more, too
    return Coverage(level, int(inside.sum()), n, low, high)


def joint_chance(half: int, most: int, n: int) -> float:
    """The chance of counts as rare as these, or rarer: this many of n inside the 50 %, and inside the 95 % interval.

    Half of the values are expected inside the first, 45 % between the two and 5 % outside: the exact test of these
    three counts together, so that two looks at the same predictions are one judgement.
    """
    inside, between = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    inside, between = inside[inside + between <= n], between[inside + between <= n]
    outside = n - inside - between
    ways = gammaln(n + 1) - gammaln(inside + 1) - gammaln(between + 1) - gammaln(outside + 1)
    chances = ways + inside * np.log(0.5) + between * np.log(0.45) + outside * np.log(0.05)
    [own] = chances[(inside == half) & (between == most - half)]
    return float(np.exp(chances[chances <= own + 1e-9]).sum())


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
    labels = "inside its 95 % interval", "outside"
    dots = dots_by_interval(info.observed, info.predicted, info.inside95, labels, bars)
    title = OutcomeTitle("each value predicted from the others", "each {} predicted from the others")
    return predicted_against_observed(title, ends, dots, (float(ends[0]), float(ends[1])))


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
    if n < MIN_RESULTS:
        return f"With {counted(n, 'value')} the model cannot be judged yet."
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
