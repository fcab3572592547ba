"""Are the probabilities of a yes or no, or of a grade, to be trusted: each predicted from all other results.

n  results        b  groups of results with similar predictions
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.beliefs import Graded
from hentropy.core.decisions.headlines import probable
from hentropy.core.models.success import chances_left_out
from hentropy.studies.records.numbers import counted
from hentropy.views.plots.marks import Axis, Dots, Line, Panel, Picture, Role
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_trials import shown_trials

GROUPS, FEW = 5, 8
"""Results are gathered in this many groups; below this many results they say next to nothing."""

Z = 1.96
"""Standard deviations within which nine of ten and a half of normal values lie: 95 %."""


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
    belief = scene.belief
    assert isinstance(belief, Graded)
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
    bars = np.stack([info.group_share - info.group_bounds[0], info.group_bounds[1] - info.group_share]).clip(0.0)
    texts = tuple(f"trial {n}: {probable(float(p))}" for n, p in zip(info.numbers, info.predicted, strict=True))
    marks = (
        Line(ends, ends, Role.LIMIT, "calibrated", dashed=True),
        Dots(info.predicted, info.happened, Role.DATA, "each result", texts=texts),
        Dots(info.group_predicted, info.group_share, Role.MEAN, "share among similar ones, 95 % interval", error=bars),
    )
    axes = Axis(f"probability of {info.event} by the others", 0.0, 1.0), Axis(f"share with {info.event}", -0.05, 1.05)
    panel = Panel("each result predicted from the others", *axes, marks)
    return Picture("trust", "Model diagnostics", _caption(info), ((panel,),))


def _caption(info: ReliabilityInfo) -> str:
    n, expected, came = len(info.happened), float(info.predicted.sum()), int(info.happened.sum())
    said = (
        f"Each result is predicted from all the others (with the length scales found from all of them). Of"
        f" {counted(n, 'result')} about {expected:.1f} were expected to be {info.event}, and {came} were."
    )
    if n < FEW:
        return f"{said} With so few this says next to nothing yet."
    if abs(info.off) <= Z:
        return f"{said} Nothing speaks against the model; a model that is right lies along the diagonal."
    way = "more" if info.off > 0 else "fewer"
    return f"{said} That is {way} than chance explains: take the probabilities with care."
