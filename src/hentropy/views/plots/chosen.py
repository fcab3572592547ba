"""The chosen designs: where they are, what is known of their values, how open the choice still is; fronts of designs.

k  chosen designs    S  drawn functions    F  fields    n  trials in which both outcomes of a front are known
"""

from dataclasses import dataclass

import numpy as np
import torch

from hentropy.core.decisions import Pareto, Sequence
from hentropy.core.decisions.headlines import Quantity, known_digits, rounded
from hentropy.studies.records import State
from hentropy.studies.records.numbers import short
from hentropy.views.plots.fields import (
    bin_edges,
    by_relevance,
    design_id,
    design_table,
    field_axes,
    in_words,
    option_places,
    relevant_fields,
    seen,
    shares,
    shown_bins,
)
from hentropy.views.plots.marks import Axis, Bars, Dots, Line, Mark, Panel, Picture, Role, Rule, Table, in_rows
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.slice_marks import (
    VALUE_AXIS,
    bars_to,
    beside,
    ground_marks,
    line_places,
    panel_over,
    side_by_side,
    within,
)
from hentropy.views.plots.slices import (
    LINE_POINTS,
    PLANE_POINTS,
    Terrain,
    intervals,
    leading,
    mean_and_sd,
    terrains,
)
from hentropy.views.plots.spread import CANDIDATES, action_spread

VALUE_BINS = 24
MAX_MARGINALS = 8


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
    chosen = scene.recommended.to(scene.belief.X)
    mean, sd = mean_and_sd(scene.belief, chosen)
    spread = action_spread(scene, draws, candidates)
    designs = seen(scene.space, spread.designs)
    values = spread.values.cpu().numpy()
    # a loss that looks elsewhere than at the design itself leaves no value there: the mean stands in for it
    there = mean_and_sd(scene.belief, torch.nan_to_num(spread.designs))[0]
    values = np.where(np.isnan(values) & ~np.isnan(designs[..., 0]), there, values)
    edges = bin_edges(scene.space, VALUE_BINS)
    flat = _that_matter(designs)
    return ChosenInfo(
        grounds=terrains(scene, points, plane, order),
        parameters=field_axes(scene.space),
        relevant=relevant_fields(scene.space, order),
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
    open_, of_line = _that_matter(info.spread), line_places(ground, _that_matter(info.spread))
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
    return panel_over(ground, "the decision, over what is known", VALUE_AXIS, *marks)


def _that_matter(spread: np.ndarray) -> np.ndarray:
    """All members of the best actions (S x k x F) that matter: n x F."""
    flat = spread.reshape(-1, spread.shape[-1])
    return np.asarray(flat[~np.isnan(flat[:, 0])])


def _marginals(info: ChosenInfo) -> tuple[Panel, ...]:
    """For each field, where drawn functions would have the decision."""
    # of several designs the bars count these, not functions
    what = "functions" if len(info.chosen) == 1 else "best designs"
    panels = []
    for index in info.relevant[:MAX_MARGINALS]:
        whole, values = info.parameters[index], info.chosen[:, index]
        axis, kept, edges = shown_bins(whole, info.edges[index], info.shares[index])
        if len(kept) < len(whole.names):  # of many options some are shown
            values = option_places(values, kept.tolist())
        bars = Bars(edges, info.shares[index][kept], Role.SPREAD, "best for a posterior sample")
        own = dict.fromkeys(values[np.isfinite(values)].tolist())
        rules = [Rule(value, "x", Role.DECIDED, "decision") for value in own]
        panels.append(Panel(f"how open {whole.title} is", axis, Axis(f"share of {what}", low=0.0), (bars, *rules)))
    return tuple(panels)


def _table(info: ChosenInfo) -> Table:
    digits = [known_digits(sd, mean) for mean, sd in zip(info.mean.tolist(), info.sd.tolist(), strict=True)]
    more = {name: list(map(rounded, each.tolist(), digits)) for name, each in (("mean", info.mean), ("sd", info.sd))}
    more |= {"target": list(map(short, info.targets))} if info.targets else {}
    return design_table("the chosen designs", info.parameters, info.chosen, more, info.labels)


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


INTERVAL_WIDTH = 2.0 * 1.96
"""A 95 % interval has this many standard deviations."""


@dataclass(frozen=True)
class FrontInfo:
    """The designs of the front by both outcomes, in units (k x 2), between `low` and `high` (k x 2) with 95 %.

    `measured` (n x 2) are trials with their `numbers`, `reference` (2) is where the volume is counted from. `ways` says
    which way each outcome counts. `designs` is where the front lies in the space.
    """

    titles: tuple[str, str]
    ways: tuple[str, str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    labels: tuple[str, ...]
    measured: np.ndarray
    numbers: tuple[int, ...]
    reference: np.ndarray
    designs: ChosenInfo


def is_front(scene: Scene) -> bool:
    """Whether the decision is a front that can be drawn on paper."""
    return isinstance(scene.decision, Pareto) and len(scene.decision.outcomes) == 2


def front_info(scene: Scene, designs: ChosenInfo) -> FrontInfo:
    """The front of a decision about two outcomes; `designs` are the chosen ones."""
    decision, outcomes = scene.decision, scene.study.outcomes
    assert isinstance(decision, Pareto)
    names = decision.outcomes
    chosen, columns = scene.action.to(scene.belief.X), []
    for name in names:
        belief = scene.whole.of(name).alone()
        quantiles = intervals(belief, chosen)
        rows = scene.within_bounds(np.stack([mean_and_sd(belief, chosen)[0], quantiles[0], quantiles[-1]]), name)
        columns.append(np.exp(rows) if outcomes.is_log(name) else rows)
    values, low, high = np.stack(columns, -1)  # k x 2 each
    origin = decision.origin.tolist()
    shown = {trial.number: outcomes.shown(trial) for trial in scene.in_state(State.COMPLETE)}
    both = {n: [one.value for name in names if (one := told[name]) is not None] for n, told in shown.items()}
    numbers = tuple(n for n, told in both.items() if len(told) == 2)
    return FrontInfo(
        titles=(outcomes.titles[names[0]], outcomes.titles[names[1]]),
        ways=(decision.ways[names[0]], decision.ways[names[1]]),
        values=values,
        low=low,
        high=high,
        labels=designs.labels,
        measured=np.array([both[n] for n in numbers], dtype=float).reshape(-1, 2),
        numbers=numbers,
        reference=np.array([np.exp(x) if outcomes.is_log(n) else x for n, x in zip(names, origin, strict=True)]),
        designs=designs,
    )


def front_panels(info: FrontInfo) -> tuple[Panel | Table, ...]:
    """One panel: the front in the plane of both outcomes."""
    x, y = info.values.T
    across, up = _whiskers(info)
    step = _steps(info)
    marks = (
        Line(step[:, 0], step[:, 1], Role.DECIDED, "the front that is expected"),
        Line(across, up, Role.UNCERTAINTY, "95 % interval"),
        Dots(info.measured[:, 0], info.measured[:, 1], Role.DATA, "measured", texts=_texts(info)),
        Dots(x, y, Role.DECIDED, "decision", error=bars_to(y, info.low[:, 1], info.high[:, 1]), texts=info.labels),
        Rule(float(info.reference[0]), "x", Role.LIMIT, "reference"),
        Rule(float(info.reference[1]), "y", Role.LIMIT, "reference"),
    )
    return (Panel("the front", Axis(info.titles[0]), Axis(info.titles[1]), marks),)


def _texts(info: FrontInfo) -> tuple[str, ...]:
    rows = zip(info.numbers, info.measured.tolist(), strict=True)
    return tuple(f"trial {number}: {' and '.join(short(value) for value in values)}" for number, values in rows)


def _whiskers(info: FrontInfo) -> tuple[np.ndarray, np.ndarray]:
    """The intervals of the first outcome as one broken line: 3 k each."""
    ends = np.stack([info.low[:, 0], info.high[:, 0], np.full(len(info.low), np.nan)], -1)
    return ends.ravel(), np.repeat(info.values[:, 1], 3)


def _steps(info: FrontInfo) -> np.ndarray:
    """The border of what the front dominates, from the reference to the reference: m x 2."""
    signs = np.array([1.0 if way == "max" else -1.0 for way in info.ways])
    better = signs * (info.values - info.reference)
    better = better[(better > 0).all(-1)]
    better = better[np.lexsort((-better[:, 1], -better[:, 0]))]  # the first outcome falls, and the second has to rise
    border, height = [], 0.0
    for first, second in better:
        if second > height:
            border += [(first, height), (first, second)]
            height = second
    border += [(0.0, height)] if border else []
    return signs * np.array(border, dtype=float).reshape(-1, 2) + info.reference


def front_picture(info: FrontInfo) -> Picture:
    """The front, and below it where its designs lie in the space."""
    below = chosen_picture(info.designs)
    ways = " and ".join(
        f"{'high' if way == 'max' else 'low'} {title}" for way, title in zip(info.ways, info.titles, strict=True)
    )
    said = (
        f"Stars are the {len(info.values)} designs that would be chosen now to trade off {ways}: at what is expected of"
        " them, with bars that hold 95 % of what their outcomes may be. The line bounds what they dominate; the volume"
        " between it and the reference (dashed) is what counts. Below, where they lie."
    )
    rows = (front_panels(info), *below.rows[:-1], (_front_table(info),))
    return Picture("decided", below.title, f"{said} {below.caption}", rows)


def _front_table(info: FrontInfo) -> Table:
    """The designs with what is expected of both outcomes, and how sure that is."""
    sds = (info.high - info.low) / INTERVAL_WIDTH
    more = {
        title: list(map(Quantity().amount, info.values[:, k].tolist(), sds[:, k].tolist()))
        for k, title in enumerate(info.titles)
    }
    return design_table("the front", info.designs.parameters, info.designs.chosen, more, info.labels)
