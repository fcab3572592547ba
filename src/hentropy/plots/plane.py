"""A picture of a study with two parameters: information first (pure), then drawing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hentropy.beliefs import Belief, Needs
from hentropy.errors import InputError, MissingExtra
from hentropy.spaces import DesignSpace, Space

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ImportError:
    raise MissingExtra("matplotlib", "plots") from None

# designs on the border keep their markers whole, and orange (Okabe-Ito) stands out from cividis for all eyes
DESIGN: dict[str, Any] = {"c": "white", "edgecolors": "black", "linewidths": 0.8, "clip_on": False, "zorder": 3}
FIRST: dict[str, Any] = {**DESIGN, "s": 36, "marker": "X", "label": "first designs"}
CHOSEN: dict[str, Any] = {**DESIGN, "s": 26, "marker": "o", "label": "proposed designs"}
DECIDED: dict[str, Any] = {**DESIGN, "s": 240, "marker": "*", "c": "#d55e00", "zorder": 4, "label": "decision"}


@dataclass(frozen=True)
class PlaneInfo:
    """What is known and chosen on a plane: axes (g each), posterior mean (g x g), queries (n x 2), chosen (k x 2).

    Rows of `mean` run along the second axis. The `first` of the queries were made before the model was trusted.
    """

    names: tuple[str, str]
    logarithmic: tuple[bool, bool]
    axes: tuple[np.ndarray, np.ndarray]
    mean: np.ndarray
    queries: np.ndarray
    first: int
    chosen: np.ndarray


def plane_info(belief: Belief, space: DesignSpace, chosen: Tensor, first: int, grid: int = 101) -> PlaneInfo:
    """The information of the picture; `first` of the queries were made before the model was trusted."""
    if space.dim != 2:
        raise InputError(f"a plane needs a space of 2 parameters, this one has {space.dim} ({', '.join(space.names)})")
    if grid < 2:
        raise InputError(f"a plane needs a grid of at least 2 points along each axis, got {grid}")
    t = torch.linspace(0.0, 1.0, grid, dtype=torch.float64)
    unit = torch.stack(torch.meshgrid(t, t, indexing="xy"), -1)
    with torch.no_grad():
        moments = belief.moments(space.from_unit(unit).reshape(-1, 2).to(belief.X), Needs.MEAN)
        mean = moments.expect_vector(moments.mean).reshape(grid, grid)
    corners = space.from_unit(torch.stack([t, t], -1))
    parameters = list(space.parameters.values()) if isinstance(space, Space) else []
    logarithmic = tuple(parameter.log for parameter in parameters) or (False, False)
    return PlaneInfo(
        names=(space.names[0], space.names[1]),
        logarithmic=(logarithmic[0], logarithmic[1]),
        axes=(corners[:, 0].numpy(), corners[:, 1].numpy()),
        mean=mean.cpu().numpy(),
        queries=belief.X.cpu().numpy(),
        first=first,
        chosen=chosen.reshape(-1, 2).cpu().numpy(),
    )


def draw_plane(info: PlaneInfo, path: Path, title: str, truth: np.ndarray | None = None) -> Path:
    """Draw the picture to a file; with `truth` (g x g), the true function stands beside the belief."""
    panels = [(info.mean, "what is known (posterior mean)")]
    if truth is not None:
        panels.append((truth, "the truth"))
    figure = Figure(figsize=(4.35 * len(panels) + 0.7, 5.0), layout=ConstrainedLayoutEngine(h_pad=0.08))
    FigureCanvasAgg(figure)
    low = min(float(values.min()) for values, _ in panels)
    high = max(float(values.max()) for values, _ in panels)
    scale = Normalize(low, high if high > low else low + 1.0)
    for position, (values, label) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), position + 1)
        surface = axes.pcolormesh(*info.axes, values, norm=scale, cmap="cividis", shading="gouraud", rasterized=True)
        if position == 0:
            axes.scatter(*info.queries[: info.first].T, **FIRST)
            axes.scatter(*info.queries[info.first :].T, **CHOSEN)
        axes.scatter(*info.chosen.T, **DECIDED)
        _label(axes, info, label)
    figure.colorbar(surface, ax=figure.axes, shrink=0.8, aspect=28, pad=0.02, label="value")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize="medium")
    figure.suptitle(title, fontsize="x-large")
    figure.savefig(path, dpi=130)
    return path


def _label(axes: Axes, info: PlaneInfo, title: str) -> None:
    axes.set(xlabel=info.names[0], ylabel=info.names[1])
    axes.set_title(title, pad=14)  # clear of a star on the upper border
    axes.set_box_aspect(1)
    for axis, values, logarithmic in zip("xy", info.axes, info.logarithmic, strict=True):
        axes.set(**{f"{axis}scale": "log" if logarithmic else "linear", f"{axis}lim": (values[0], values[-1])})
