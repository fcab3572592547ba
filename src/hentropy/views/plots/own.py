"""An action of any kind: its table, and for a choice between options what each is expected to cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from hentropy.core.action_search import expected_loss
from hentropy.core.decisions import base_samples
from hentropy.studies.records.numbers import short
from hentropy.views.plots.marks import Axis, Bars, Panel, Picture, Role, Rule, Table
from hentropy.views.plots.scene import Scene

VALUE_DRAWS = 256
MOST_ROWS = 50
MOST_OPTIONS = 40


@dataclass(frozen=True)
class OwnInfo:
    """The rows of the action under their columns; `options` with their expected losses where they are listed.

    `left_out` says how many rows of a long action are not in `rows`.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    left_out: int
    options: tuple[str, ...]
    losses: np.ndarray
    value: float


def own_info(scene: Scene) -> OwnInfo:
    """The action as the decision describes it."""
    rows = scene.decision.describe(scene.action, scene.space)
    columns = tuple(dict.fromkeys(name for row in rows for name in row))
    options, losses = _options(scene)
    return OwnInfo(
        columns=columns,
        rows=tuple(tuple(row.get(name) for name in columns) for row in rows[:MOST_ROWS]),
        left_out=max(0, len(rows) - MOST_ROWS),
        options=options,
        losses=losses,
        value=scene.found.value,
    )


@torch.no_grad()
def _options(scene: Scene) -> tuple[tuple[str, ...], np.ndarray]:
    """The options with their expected losses, on draws that did not choose between them."""
    decision, belief = scene.decision, scene.whole
    items, losses = decision.actions.items[:MOST_OPTIONS], []
    for item in items:
        points = torch.as_tensor(decision.points(item)).to(belief.X)
        values = points.shape[-2] * len(belief.outcomes)
        draws = base_samples(decision, VALUE_DRAWS, values, scene.seed + 1).to(belief.X)
        losses.append(float(expected_loss(decision, belief.moments(points, decision.needs), item, draws)))
    return tuple(str(item) for item in items), np.array(losses)


def own_panels(info: OwnInfo) -> tuple[Panel | Table, ...]:
    """The table, after the options where there are some."""
    more = f" (and {info.left_out} more rows)" if info.left_out else ""
    table = Table(
        f"the decision{more}", info.columns, tuple(tuple(_short(value) for value in row) for row in info.rows)
    )
    if not info.options:
        return (table,)
    bars = Bars(np.arange(len(info.options) + 1) - 0.5, info.losses, Role.LOSS, "expected loss")
    rule = Rule(float(info.losses.min()), "y", Role.DECIDED, "the smallest")
    axis = Axis("option", names=info.options)
    return (Panel("what each option is expected to cost", axis, Axis("expected loss"), (bars, rule)), table)


def own_picture(info: OwnInfo) -> Picture:
    """The table of the action, with the options beside it."""
    said = f"The current recommendation, at an expected loss of {short(info.value)}."
    options = " The bars are what each option is expected to cost: the lowest is chosen." if info.options else ""
    return Picture("decided", "Current recommendation", said + options, (own_panels(info),))


def _short(value: Any) -> str:
    return short(value) if isinstance(value, float) else str(value)
