"""The chosen designs: where they are, what is known of their values, and how open the choice still is."""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.decisions import Sequence
from hentropy.studies.records.numbers import short, span
from hentropy.views.plots.density import bin_edges, over_bins, shares
from hentropy.views.plots.marks import Axis, Bars, Dots, Line, Mark, Panel, Picture, Role, Rule, Table, in_rows
from hentropy.views.plots.relevance import by_relevance
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.spread import CANDIDATES, action_spread
from hentropy.views.plots.terrain import Terrain, bars_to, ground_marks, intervals, leading, mean_and_sd, terrains
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS, in_words, parameter_axis

BINS = 24
MOST_MARGINALS = 8


@dataclass(frozen=True)
class ChosenInfo:
    """k chosen designs (k x d) with mean and sd (k each), the ground they are shown on, and the spread of the choice.

    `quantiles` (4 x k) bound the 95 % and the 50 % interval of the values there.
    `labels` name the chosen designs. `spread` are the best actions of S drawn functions (S x k x d), `spread_values`
    these functions' values there (S x k); NaN where a member does not matter. `targets` are those of a sequence, whose
    designs are joined in order. `parameters` are all axes, `relevant` their indices, the most relevant first; `edges`
    are each one's bins, evenly spaced on its scale, `shares` which part of the designs of the spread lies in each.
    `reference` is the design that slices pass through, in words.
    """

    grounds: tuple[Terrain, ...]
    parameters: tuple[Axis, ...]
    relevant: tuple[int, ...]
    edges: tuple[np.ndarray, ...]
    shares: tuple[np.ndarray, ...]
    chosen: np.ndarray
    labels: tuple[str, ...]
    mean: np.ndarray
    sd: np.ndarray
    quantiles: np.ndarray
    spread: np.ndarray
    spread_values: np.ndarray
    targets: tuple[float, ...]
    reference: str

    @property
    def dim(self) -> int:
        """How many parameters a design has."""
        return len(self.parameters)


def chosen_info(
    scene: Scene,
    draws: int = 64,
    candidates: int = CANDIDATES,
    points: int = LINE_POINTS,
    plane: int = PLANE_POINTS,
    order: tuple[int, ...] | None = None,
) -> ChosenInfo:
    """The chosen designs of a decision whose actions are designs, and the best actions of so many drawn functions.

    `order` are the parameters from the most to the least relevant, by the belief unless it is given.
    """
    order = by_relevance(scene.belief, scene.space) if order is None else order
    chosen = scene.action.to(scene.belief.X)
    mean, sd = mean_and_sd(scene.belief, chosen)
    spread = action_spread(scene, draws, candidates)
    designs = spread.designs.cpu().numpy()
    values = spread.values.cpu().numpy()
    # a loss that looks elsewhere than at the design itself leaves no value there: the mean stands in for it
    there = mean_and_sd(scene.belief, torch.nan_to_num(spread.designs))[0]
    values = np.where(np.isnan(values) & ~np.isnan(designs[..., 0]), there, values)
    edges = bin_edges(scene.space, BINS)
    flat = _that_matter(designs)
    return ChosenInfo(
        grounds=terrains(scene, points, plane, order),
        parameters=tuple(parameter_axis(scene.space, index) for index in range(scene.space.dim)),
        relevant=order,
        edges=edges,
        shares=tuple(shares(flat[:, index], edges[index]) for index in range(scene.space.dim)),
        chosen=chosen.cpu().numpy(),
        labels=_labels(scene),
        mean=mean,
        sd=sd,
        quantiles=intervals(scene.belief, chosen),
        spread=designs,
        spread_values=values,
        targets=scene.decision.targets if isinstance(scene.decision, Sequence) else (),
        reference=in_words(scene.space, chosen[0].cpu()),
    )


def _labels(scene: Scene) -> tuple[str, ...]:
    """What each chosen design is called: by the words of the decision's own table, else by its place."""
    rows = scene.decision.describe(scene.action, scene.space)
    count = len(scene.action)
    if len(rows) != count:
        return tuple(str(place + 1) for place in range(count))
    words = [" ".join(value for value in row.values() if isinstance(value, str)) for row in rows]
    plain = ("",) if count == 1 else tuple(str(place + 1) for place in range(count))
    return tuple(word or name for word, name in zip(words, plain, strict=True))


def chosen_panels(info: ChosenInfo) -> tuple[Panel | Table, ...]:
    """One panel: the line, the plane, or the plane of the two most relevant parameters."""
    return (_on_ground(info, leading(info.grounds)),)


def chosen_picture(info: ChosenInfo) -> Picture:
    """The choice on its ground, how open each parameter still is, and the table."""
    if info.dim <= 2:
        first = (*chosen_panels(info), *(_marginals(info) if info.dim == 1 else ()))
        rows: tuple[tuple[Panel | Table, ...], ...] = (first, (_table(info),))
    else:
        planes = tuple(_on_ground(info, ground) for ground in info.grounds if ground.is_plane)
        rows = (planes, *in_rows(_marginals(info), 4), (_table(info),))
    return Picture("decided", "What would be decided now", _caption(info), rows)


def _on_ground(info: ChosenInfo, ground: Terrain) -> Panel:
    marks: list[Mark] = list(ground_marks(ground))
    open_ = _that_matter(info.spread)
    if ground.is_plane:
        across, up = ground.indices
        marks.append(Dots(open_[:, across], open_[:, up], Role.SPREAD, "best if a drawn function were true"))
        x, y = info.chosen[:, across], info.chosen[:, up]
    else:
        [across] = ground.indices
        values = info.spread_values[~np.isnan(info.spread[..., 0])]
        marks.append(Dots(open_[:, across], values, Role.SPREAD, "best if a drawn function were true"))
        marks += [Rule(target, "y", Role.LIMIT, "target") for target in info.targets]
        x, y = info.chosen[:, across], info.mean
    if info.targets:
        marks.append(Line(x, y, Role.DECIDED, "the path, in order"))
    texts = info.labels if any(info.labels) else ()
    error = None if ground.is_plane else bars_to(info.mean, info.quantiles[0], info.quantiles[3])
    marks.append(Dots(x, y, Role.DECIDED, "decision", error=error, texts=texts))
    return Panel("the decision, over what is known", ground.across, ground.up, tuple(marks))


def _that_matter(spread: np.ndarray) -> np.ndarray:
    """All members of the best actions (S x k x d) that matter: n x d."""
    flat = spread.reshape(-1, spread.shape[-1])
    return np.asarray(flat[~np.isnan(flat[:, 0])])


def _marginals(info: ChosenInfo) -> tuple[Panel, ...]:
    """For each parameter, where drawn functions would have the decision."""
    # of several designs the bars count these, not functions
    what = "functions" if len(info.chosen) == 1 else "best designs"
    made = []
    for index in info.relevant[:MOST_MARGINALS]:
        axis = over_bins(info.parameters[index], info.edges[index])
        bars = Bars(info.edges[index], info.shares[index], Role.SPREAD, "best if a drawn function were true")
        rules = [Rule(float(value), "x", Role.DECIDED, "decision") for value in info.chosen[:, index]]
        title = f"how open {axis.title} is"
        made.append(Panel(title, axis, Axis(f"share of {what}", low=0.0), (bars, *rules)))
    return tuple(made)


def _table(info: ChosenInfo) -> Table:
    columns = ("", *(axis.title for axis in info.parameters), "mean", "sd", *(("target",) if info.targets else ()))
    rows = []
    for place, design in enumerate(info.chosen):
        numbers = [*design, info.mean[place], info.sd[place], *([info.targets[place]] if info.targets else [])]
        rows.append((info.labels[place], *(short(*each) for each in zip(numbers, _spreads(info, place), strict=True))))
    return Table("the chosen designs", columns, tuple(rows))


def _spreads(info: ChosenInfo, place: int) -> list[float | None]:
    """How exact the numbers of a row are: a parameter by its range, a mean by its sd."""
    ranges = [span([axis.low or 0.0, axis.high or 0.0]) for axis in info.parameters]
    return [*ranges, float(info.sd[place]), None, *([None] if info.targets else [])]


def _caption(info: ChosenInfo) -> str:
    count = info.chosen.shape[0]
    what = "The star is the design that would be chosen now." if count == 1 else f"{count} designs would be chosen now."
    path = " The line joins them in the order of their targets." if info.targets else ""
    drawn = len(info.spread)
    seen = (
        f" Each map varies two parameters and holds the others at {info.reference}; designs are projected onto it."
        if info.dim > 2
        else ""
    )
    bars = " Its bar holds 95 % of what its value may be." if info.dim == 1 and count == 1 else ""
    return (
        f"{what}{path} The small dots are the best choice for each of {drawn} functions that could be the truth:"
        f" close together, the decision is settled; scattered, it is open.{bars}{seen}"
    )
