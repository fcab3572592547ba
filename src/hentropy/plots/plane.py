"""A picture of a study with two parameters: information first (pure), then drawing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from hentropy.beliefs import Belief, Needs
from hentropy.errors import InputError, MissingExtra
from hentropy.spaces import DesignSpace

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError:
    raise MissingExtra("matplotlib", "plots") from None


@dataclass(frozen=True)
class PlaneInfo:
    """What is known and chosen on a plane: axes (g each), posterior mean (g x g), queries (n x 2), chosen (k x 2)."""

    names: tuple[str, str]
    axes: tuple[np.ndarray, np.ndarray]
    mean: np.ndarray
    queries: np.ndarray
    first: int
    chosen: np.ndarray


def plane_info(belief: Belief, space: DesignSpace, chosen: Tensor, first: int, grid: int = 101) -> PlaneInfo:
    """The information of the picture; `first` of the queries were made before the model was trusted."""
    if space.dim != 2:
        raise InputError(f"a plane needs a space of 2 parameters, this one has {space.dim}")
    t = torch.linspace(0.0, 1.0, grid, dtype=torch.float64)
    unit = torch.stack(torch.meshgrid(t, t, indexing="xy"), -1)
    with torch.no_grad():
        moments = belief.moments(space.from_unit(unit).reshape(-1, 2), Needs.MEAN)
        mean = moments.expect_vector(moments.mean).reshape(grid, grid)
    corners = space.from_unit(torch.stack([t, t], -1))
    return PlaneInfo(
        names=(space.names[0], space.names[1]),
        axes=(corners[:, 0].numpy(), corners[:, 1].numpy()),
        mean=mean.numpy(),
        queries=belief.X.numpy(),
        first=first,
        chosen=chosen.reshape(-1, 2).numpy(),
    )


def draw_plane(info: PlaneInfo, path: Path, title: str, truth: np.ndarray | None = None) -> Path:
    """Draw the picture to a file; with `truth` (g x g), the true function stands beside the belief."""
    panels = [(info.mean, "what is known: posterior mean")]
    if truth is not None:
        panels.append((truth, "the truth"))
    figure = Figure(figsize=(5.2 * len(panels), 5.0), layout="constrained")
    FigureCanvasAgg(figure)
    low = min(float(values.min()) for values, _ in panels)
    high = max(float(values.max()) for values, _ in panels)
    for position, (values, label) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), position + 1)
        filled = axes.contourf(*info.axes, values, levels=np.linspace(low, high, 25), cmap="cividis")
        if position == 0:
            axes.scatter(*info.queries[: info.first].T, s=26, marker="x", c="white", linewidths=1.2, label="first designs")
            axes.scatter(*info.queries[info.first :].T, s=22, c="white", edgecolors="black", label="chosen experiments")
        axes.scatter(*info.chosen.T, s=190, marker="*", c="#e8590c", edgecolors="white", linewidths=0.9, label="decision")
        axes.set(xlabel=info.names[0], ylabel=info.names[1], title=label)
        axes.set_aspect("equal")
    figure.colorbar(filled, ax=figure.axes, shrink=0.8, label="value")
    figure.axes[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, frameon=False, labelcolor="black",
                          facecolor="#cccccc")
    figure.suptitle(title)
    figure.savefig(path, dpi=130)
    return path
