"""Possible loss of the decision: the distribution of the loss of today's action, given what is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.core.decisions import checked_loss
from hentropy.core.decisions.headlines import known
from hentropy.core.failures import MayFail
from hentropy.views.plots.marks import Axis, Bars, Panel, Picture, Role, Rule
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.spread import function_values

LOSS_DRAWS = 1000
LOSS_BINS = 40
SHARES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class LossInfo:
    """Losses of today's action under drawn functions (S); `expected` is the entropy, `std_error` its own error.

    `quantiles` are those at 5, 50 and 95 %. A loss may be infinite (a distribution that gave no chance to what is
    true): `infinite` is the share of such draws, which are in the quantiles and not in the histogram (`edges` b + 1,
    `heights` b, shares of all draws).
    """

    losses: np.ndarray
    expected: float
    std_error: float
    quantiles: np.ndarray
    infinite: float
    edges: np.ndarray
    heights: np.ndarray
    failing: bool = False
    """Whether what the action costs if its designs fail is among the losses."""


def loss_info(scene: Scene, draws: int = LOSS_DRAWS, bins: int = LOSS_BINS) -> LossInfo:
    """The losses of today's action under this many functions drawn from the belief."""
    losses = loss_draws(scene, draws)
    finite = losses[np.isfinite(losses)]
    edges, heights = _histogram(finite, bins, len(losses))
    return LossInfo(
        losses=losses,
        expected=scene.found.value,
        std_error=scene.found.std_error,
        quantiles=np.sort(losses)[[int(share * (len(losses) - 1)) for share in SHARES]],
        infinite=1.0 - len(finite) / len(losses),
        edges=edges,
        heights=heights,
        failing=isinstance(scene.priced, MayFail),
    )


@torch.no_grad()
def loss_draws(scene: Scene, draws: int = LOSS_DRAWS) -> np.ndarray:
    """What today's action costs under each of this many functions drawn from the belief: S.

    Where experiments may fail, whether the designs of the action succeed is drawn with them.
    """
    decision = scene.decision
    points = torch.as_tensor(decision.points(scene.action)).to(scene.belief.X)
    # functions of their own: those with the seed itself may have chosen the action
    f = function_values(scene.judged, points, draws, scene.seed + 2)
    losses = checked_loss(decision, f, _for_each(scene, draws))
    if isinstance(scene.priced, MayFail):
        succeed = scene.priced.success.sample(scene.action.to(scene.belief.X), draws, scene.seed + 3)
        losses = scene.priced.counted(losses, f, succeed)
    return losses.cpu().numpy()


def _for_each(scene: Scene, count: int) -> Any:
    """The action with a leading dimension, where losses are promised one."""
    action = scene.action
    if isinstance(action, Tensor) and scene.decision.actions.event:
        return action.expand(count, *action.shape)
    return action


def _histogram(finite: np.ndarray, bins: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges and shares; one bar where all losses are the same."""
    if not len(finite):
        return np.array([-0.5, 0.5]), np.zeros(1)
    low, high = float(finite.min()), float(finite.max())
    if high - low <= 1e-12 * max(1.0, abs(low), abs(high)):
        margin = 0.5 * max(1.0, abs(low)) * 1e-2
        return np.array([low - margin, low + margin]), np.array([len(finite) / count])
    heights, edges = np.histogram(finite, bins)
    return edges, heights / count


def loss_picture(info: LossInfo) -> Picture:
    """The histogram, with what is expected and what is exceeded in one of twenty cases."""
    low, middle, high = info.quantiles.tolist()
    rules = [
        Rule(value, "x", role, label, dashed=role is Role.UNCERTAINTY)
        for value, role, label in (
            (info.expected, Role.DECIDED, "expected loss"),
            (low, Role.UNCERTAINTY, "5 and 95 %"),
            (middle, Role.MEAN, "median"),
            (high, Role.UNCERTAINTY, "5 and 95 %"),
        )
        if np.isfinite(value)
    ]
    bars = Bars(info.edges, info.heights, Role.LOSS, "posterior samples")
    axes = Axis("loss of the current recommendation"), Axis("share of posterior samples", low=0.0)
    panel = Panel("", *axes, (bars, *rules))
    return Picture("loss", "Possible loss of the decision", _caption(info), ((panel,),))


def _caption(info: LossInfo) -> str:
    finite = info.losses[np.isfinite(info.losses)]
    spread = float(finite.std()) if len(finite) else 0.0
    low, middle, high = (_said(value, spread) for value in info.quantiles)
    error = f" (± {info.std_error:.2g}, the Monte Carlo error of the computation)" if info.std_error else ""
    expected = _said(info.expected, info.std_error or spread)
    said = (
        f"The expected loss is {expected}{error}. The loss is between {low} and {high} with 90 % probability;"
        f" its median is {middle}."
    )
    if info.failing:
        said += " A design that fails costs as much as the worst one: the losses far to the right."
    if not info.infinite:
        return said
    return (
        f"{said} These are functions drawn anew: the statement gives no chance to what {100 * info.infinite:.2g} % of"
        " them say, so that its loss is infinite there, and these are not in the picture. The expected loss is that"
        " over the functions from which the statement was made."
    )


def _said(value: float, spread: float) -> str:
    return known(float(value), spread) if np.isfinite(value) else "infinity"
