"""The chosen designs: where they are, what is known of their values, and how open the choice still is."""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.decisions import Sequence
from hentropy.core.decisions.headlines import known_digits, rounded
from hentropy.studies.records.numbers import short
from hentropy.views.plots.by_option import beside, option_places, panel_axes, side_by_side, titled, within
from hentropy.views.plots.density import bars_at, bin_edges, shares
from hentropy.views.plots.marks import Axis, Dots, Line, Mark, Panel, Picture, Role, Rule, Table, in_rows
from hentropy.views.plots.relevance import by_relevance
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.shown_fields import cell, design_id, in_words, parameter_axis, seen, varying
from hentropy.views.plots.spread import CANDIDATES, action_spread
from hentropy.views.plots.terrain import (
    Terrain,
    bars_to,
    ground_marks,
    intervals,
    leading,
    mean_and_sd,
    terrains,
    value_axis,
)
from hentropy.views.plots.views import LINE_POINTS, PLANE_POINTS

BINS = 24
MOST_MARGINALS = 8


@dataclass(frozen=True)
class ChosenInfo:
    """k chosen designs (k x F) with mean and sd (k each), the ground they are shown on, and the spread of the choice.

    Designs are given by field. `quantiles` (4 x k) bound the 95 % and the 50 % interval of the values there.
    `labels` name the chosen designs. `spread` are the best actions of S drawn functions (S x k x F), `spread_values`
    these functions' values there (S x k); NaN where a member does not matter. `targets` are those of a sequence, whose
    designs are joined in order. `parameters` are the axes of all fields, `relevant` the indices of those that vary, the
    most relevant first; `edges` are each one's bins, evenly spaced on its scale, `shares` which part of the designs of
    the spread lies in each. `reference` is the design that slices pass through, in words.
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
        """How many fields vary."""
        return len(self.relevant)


def chosen_info(
    scene: Scene,
    draws: int = 64,
    candidates: int = CANDIDATES,
    points: int = LINE_POINTS,
    plane: int = PLANE_POINTS,
    order: tuple[int, ...] | None = None,
) -> ChosenInfo:
    """The chosen designs of a decision whose actions are designs, and the best actions of this many drawn functions.

    `order` are the fields from the most to the least relevant, by the belief unless it is given.
    """
    order = by_relevance(scene.belief, scene.space) if order is None else order
    varies = varying(scene.space)
    chosen = scene.recommended.to(scene.belief.X)
    mean, sd = mean_and_sd(scene.belief, chosen)
    spread = action_spread(scene, draws, candidates)
    designs = seen(scene.space, spread.designs)
    values = spread.values.cpu().numpy()
    # a loss that looks elsewhere than at the design itself leaves no value there: the mean stands in for it
    there = mean_and_sd(scene.belief, torch.nan_to_num(spread.designs))[0]
    values = np.where(np.isnan(values) & ~np.isnan(designs[..., 0]), there, values)
    edges = bin_edges(scene.space, BINS)
    flat = _that_matter(designs)
    return ChosenInfo(
        grounds=terrains(scene, points, plane, order),
        parameters=tuple(parameter_axis(scene.space, index) for index in range(len(scene.space.fields))),
        relevant=tuple(index for index in order if index in varies) or order[:1],
        edges=edges,
        shares=tuple(shares(flat[:, index], own) for index, own in enumerate(edges)),
        chosen=seen(scene.space, chosen),
        labels=_labels(scene),
        mean=scene.within_bounds(mean),
        sd=sd,
        quantiles=scene.within_bounds(intervals(scene.belief, chosen)),
        spread=designs,
        spread_values=scene.within_bounds(values),
        targets=scene.decision.targets if isinstance(scene.decision, Sequence) else (),
        reference=in_words(scene.space, chosen[0].cpu()),
    )


def _labels(scene: Scene) -> tuple[str, ...]:
    """What each chosen design is called: its id and the words of the decision's own table, else by its place."""
    rows = scene.decision.describe(scene.recommended, scene.space)
    count = len(scene.recommended)
    if len(rows) != count:
        return tuple(str(place + 1) for place in range(count))
    own = scene.space.names
    words = [
        " ".join(
            [*[value for name, value in row.items() if isinstance(value, str) and name not in own], design]
        ).strip()
        for row, design in zip(rows, [design_id(scene.space, each) for each in scene.recommended.cpu()], strict=True)
    ]
    plain = ("",) if count == 1 else tuple(str(place + 1) for place in range(count))
    return tuple(word or name for word, name in zip(words, plain, strict=True))


def chosen_panels(info: ChosenInfo) -> tuple[Panel | Table, ...]:
    """One panel: the line, the pair, or the pair of the two most relevant fields."""
    return (_on_ground(info, leading(info.grounds)),)


def chosen_picture(info: ChosenInfo) -> Picture:
    """The choice on its ground, how open each parameter still is, and the table."""
    if info.dim <= 2:
        first = (*chosen_panels(info), *(_marginals(info) if info.dim == 1 else ()))
        rows: tuple[tuple[Panel | Table, ...], ...] = (first, (_table(info),))
    else:
        planes = tuple(_on_ground(info, ground) for ground in info.grounds if ground.is_pair)
        rows = (planes, *in_rows(_marginals(info), 4), (_table(info),))
    return Picture("decided", "Current recommendation", _caption(info), rows)


def _on_ground(info: ChosenInfo, ground: Terrain) -> Panel:
    marks: list[Mark] = list(ground_marks(ground))
    open_, of_line = _that_matter(info.spread), option_places(ground, _that_matter(info.spread))
    places = ground.places(open_)
    own = side_by_side(ground.axes[0], ground.places(info.chosen))
    if ground.is_plane:
        x, y = within(ground, places)
        error, height = None, own[1]
    else:
        x, y = beside(ground.axes[0], places[0]), info.spread_values[~np.isnan(info.spread[..., 0])]
        error, height = bars_to(info.mean, info.quantiles[0], info.quantiles[3]), info.mean
        marks += [Rule(target, "y", Role.LIMIT, "target") for target in info.targets]
    there = np.isfinite(np.stack(places)).all(0)  # not all options may have room
    group = None if of_line is None else of_line[there]
    marks.append(Dots(x[there], y[there], Role.SPREAD, "best for a posterior sample", options=group))
    if info.targets:
        marks.append(Line(own[0], height, Role.DECIDED, "the path, in order"))
    texts = info.labels if any(info.labels) else ()
    marks.append(Dots(own[0], height, Role.DECIDED, "decision", error=error, texts=texts))
    return Panel(titled(ground, "the decision, over what is known"), *panel_axes(ground, value_axis()), tuple(marks))


def _that_matter(spread: np.ndarray) -> np.ndarray:
    """All members of the best actions (S x k x F) that matter: n x F."""
    flat = spread.reshape(-1, spread.shape[-1])
    return np.asarray(flat[~np.isnan(flat[:, 0])])


def _marginals(info: ChosenInfo) -> tuple[Panel, ...]:
    """For each field, where drawn functions would have the decision."""
    # of several designs the bars count these, not functions
    what = "functions" if len(info.chosen) == 1 else "best designs"
    made = []
    for index in info.relevant[:MOST_MARGINALS]:
        whole, label = info.parameters[index], "best for a posterior sample"
        axis, bars = bars_at(whole, info.edges[index], info.shares[index], Role.SPREAD, label)
        values = [float(value) for value in info.chosen[:, index]]
        if whole.names:  # of many options some are shown
            values = [float(axis.names.index(name)) for v in values if (name := whole.names[round(v)]) in axis.names]
        rules = [Rule(value, "x", Role.DECIDED, "decision") for value in dict.fromkeys(values)]
        title = f"how open {whole.title} is"
        made.append(Panel(title, axis, Axis(f"share of {what}", low=0.0), (bars, *rules)))
    return tuple(made)


def _table(info: ChosenInfo) -> Table:
    columns = ("", *(axis.title for axis in info.parameters), "mean", "sd", *(("target",) if info.targets else ()))
    rows = []
    for place, design in enumerate(info.chosen.tolist()):
        values = [cell(axis, value) for axis, value in zip(info.parameters, design, strict=True)]
        mean, sd = float(info.mean[place]), float(info.sd[place])
        known = [rounded(each, known_digits(sd, mean)) for each in (mean, sd)]
        target = [short(info.targets[place])] if info.targets else []
        rows.append((info.labels[place], *values, *known, *target))
    return Table("the chosen designs", columns, tuple(rows))


def _caption(info: ChosenInfo) -> str:
    count = info.chosen.shape[0]
    what = "The star is the recommended design." if count == 1 else f"{count} designs are recommended."
    path = " The line joins them in the order of their targets." if info.targets else ""
    drawn = len(info.spread)
    several = (
        f" Each panel varies two parameters and fixes the others at {info.reference}; designs are projected onto it."
        if info.dim > 2
        else ""
    )
    bars = " Its bar is the 95 % interval of its value." if info.dim == 1 and count == 1 else ""
    return (
        f"{what}{path} The small dots are the best choice for each of {drawn} posterior samples: close together, the"
        f" decision is settled; scattered, it is open.{bars}{several}"
    )
