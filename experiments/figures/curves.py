"""Scores and regrets against the number of queries: information first (pure), then drawing.

A regret is what the true loss of the decision exceeds the best by; its logarithm shows what a score hides near the end.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from experiments.figures.page import drawn, plain, title_of
from experiments.methods import METHODS
from experiments.plan import Results
from experiments.run import Step
from experiments.scores import best_score, score_name
from experiments.summary import Curve, curve
from hentropy.bench.problems import problem

DASHES: dict[str, Any] = {
    "hentropy-mixture": "--",
    "hentropy-points": (0, (4, 1, 1, 1)),
    "one-shot-paper": "-.",
    "random": ":",
    "uncertainty": (0, (1, 1)),
    "botorch-logei": "--",
    "botorch-qkg": "-.",
    "efi": "--",
}
"""Line styles, so that methods can be told apart in grey; all others have a full line."""

MARKS = 6
"""About so many markers along a curve."""


@dataclass(frozen=True)
class MethodCurve:
    """A method on a task: its score and its regret (None where the best is not known) after 0, 1, ... queries."""

    method: str
    score: Curve
    regret: Curve | None


@dataclass(frozen=True)
class CurvesInfo:
    """All methods on a task, the best at the end first; `note` says how many seeds there are and what is missing."""

    task: str
    score: str
    best: float | None
    lines: tuple[MethodCurve, ...]
    note: str


def curves_info(results: Results, task: str, methods: Sequence[str]) -> CurvesInfo:
    """The information of one panel; methods that do not take part in the task are left out."""
    on, planned = problem(task), {each.problem: each for each in results.plan.tasks}.get(task)
    wanted = [name for name in methods if planned is not None and name in planned.methods]
    lines = []
    for name in wanted:
        line = _line(name, results.runs(task, name), results.plan.task(task).queries)
        lines += [line] if line is not None else []
    # methods that end alike keep the order in which they were named
    lines.sort(key=lambda line: -float(line.score.mean[-1]))
    counts = {line.method: line.score.seeds for line in lines}
    return CurvesInfo(task, score_name(on), best_score(on), tuple(lines), seeds_note(wanted, counts))


def _line(method: str, runs: Mapping[int, list[Step]], queries: int) -> MethodCurve | None:
    score = curve(runs, queries)
    if score is None:
        return None
    complete = {seed: steps for seed, steps in runs.items() if len(steps) > queries}
    regrets = {
        seed: [replace(step, score=step.regret) for step in steps if step.regret is not None]
        for seed, steps in complete.items()
    }
    known = all(len(regrets[seed]) == len(steps) for seed, steps in complete.items())
    return MethodCurve(method, score, curve(regrets, queries) if known else None)


def seeds_note(wanted: Sequence[str], counts: Mapping[str, int]) -> str:
    """How many seeds the curves stand on, which methods have fewer, and which have none."""
    if not counts:
        return "no complete run yet"
    most = max(counts.values())
    parts = [f"mean ± s.e. of {most} seeds" if most > 1 else "1 seed"]
    parts += [
        f"{METHODS[m].label}: {counts[m]} seed" + "s" * (counts[m] > 1) for m in wanted if 0 < counts.get(m, 0) < most
    ]
    missing = [METHODS[m].label for m in wanted if m not in counts]
    parts += [f"no complete run: {', '.join(missing)}"] if missing else []
    return "; ".join(parts)


def by_rank(infos: Sequence[CurvesInfo]) -> list[str]:
    """All methods of some panels in the order of their average place at the end: that of the common legend."""
    places: dict[str, list[float]] = {}
    for info in infos:
        for place, line in enumerate(info.lines):
            places.setdefault(line.method, []).append(place)
    return sorted(places, key=lambda method: float(np.mean(places[method])))


def draw_curves(infos: Sequence[CurvesInfo], folder: Path, name: str) -> list[Path]:
    """A column for each task: the scores above, the regrets below where any are known; of one task, side by side."""
    regrets = any(line.regret is not None for info in infos for line in info.lines)
    alone = len(infos) == 1 and regrets
    rows = 1 if alone else 1 + regrets
    wide = 96 // (2 if alone else len(infos))
    notes = [textwrap.fill(info.note, wide, break_on_hyphens=False) for info in infos]
    methods = by_rank(infos)
    columns = min(3, max(1, len(methods)))

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, 2 if alone else len(infos), squeeze=False, sharex="col")
        upper, lower = (grid[:, 0], grid[:, -1]) if alone else (grid[0], grid[-1])
        for info, score, regret in zip(infos, upper, lower, strict=True):
            draw_scores(score, info)
            if not alone:
                score.set_title(title_of(info.task))
            if regrets:
                draw_regrets(regret, info)
        for axes in grid[-1]:
            axes.set_xlabel("queries")
        for info, note, axes in zip(infos, notes, grid[-1], strict=False):
            if info.lines:
                _annotate(axes, note)
        for row in grid:
            _name_once(row)
        if alone:
            figure.suptitle(title_of(infos[0].task))
        handles = [_handle(method) for method in methods]
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2)

    below = max(note.count("\n") for note in notes) + 1 - (-len(methods) // columns)
    return drawn(folder, name, (2.6 if alone else 1.95 * rows) + 0.55 + 0.17 * below, draw)


def _name_once(row: Sequence[Axes]) -> None:
    """Axes that stand side by side and show the same say so once, on the left."""
    for axes in row[1:]:
        if axes.get_ylabel() == row[0].get_ylabel():
            axes.set_ylabel("")


def draw_scores(axes: Axes, info: CurvesInfo) -> None:
    """Means with a band of one standard error, and the best that the true function allows."""
    axes.set_ylabel(info.score)
    if not info.lines:
        _leave_empty(axes, info.note)
        return
    _draw_lines(axes, info, {line.method: line.score for line in info.lines})
    ends = [
        bound
        for line in info.lines
        for bound in (line.score.mean - line.score.error, line.score.mean + line.score.error)
    ]
    ends += [np.array([info.best])] if info.best is not None else []
    low, high = min(float(end.min()) for end in ends), max(float(end.max()) for end in ends)
    space = 0.05 * ((high - low) or 1.0)
    axes.set_ylim(low - space, high + (1 if info.best is None else 3) * space)  # what is best is said above its line
    if info.best is not None:
        axes.axhline(info.best, color="black", linestyle=(0, (6, 3)), linewidth=0.9, zorder=1)
        _say_best(axes, info.best)


def _say_best(axes: Axes, best: float) -> None:
    axes.annotate(
        f"best possible: {plain(round(best, 3))}",
        xy=(0.98, best),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
    )


def draw_regrets(axes: Axes, info: CurvesInfo) -> None:
    """Mean regrets on a logarithmic scale; a regret of zero is not drawn, the curve ends there."""
    axes.set_ylabel("mean regret")
    known = {line.method: line.regret for line in info.lines if line.regret is not None}
    positive = [value for each in known.values() for value in each.mean[each.mean > 0].tolist()]
    if not positive:
        _leave_empty(axes, "all regrets are zero" if known else "not known" if info.lines else info.note)
        return
    floor = 0.8 * min(positive)
    shown = {
        method: Curve(np.where(each.mean > 0, each.mean, np.nan), each.error, each.seeds)
        for method, each in known.items()
    }
    _draw_lines(axes, info, shown, floor)
    axes.set_yscale("log")
    if max(positive) < 500 * min(positive):  # few powers of ten: say numbers between them too
        axes.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(plain))
        axes.yaxis.set_minor_formatter(FuncFormatter(plain))
    axes.set_ylim(floor, 1.25 * max(float((each.mean + each.error).max()) for each in known.values()))


def _leave_empty(axes: Axes, why: str) -> None:
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color="0.4")


def _draw_lines(axes: Axes, info: CurvesInfo, curves: Mapping[str, Curve], floor: float = -np.inf) -> None:
    """Lines with bands, the best method on top; markers are staggered, so that they do not hide each other."""
    for place, line in enumerate(info.lines):
        if line.method not in curves:
            continue
        found = curves[line.method]
        queries = np.arange(len(found.mean))
        step = max(1, len(queries) // MARKS)
        above = 3 + len(info.lines) - place
        low, high = np.maximum(found.mean - found.error, floor), found.mean + found.error
        look = METHODS[line.method]
        axes.fill_between(queries, low, high, color=look.colour, alpha=0.11, linewidth=0, zorder=2)
        axes.add_line(_handle(line.method, queries, found.mean))
        axes.lines[-1].set(markevery=(place * step // max(1, len(info.lines)), step), zorder=above)
    longest = max((len(line.score.mean) for line in info.lines), default=2)
    axes.set_xlim(-0.02 * (longest - 1), 1.02 * (longest - 1))  # markers at the ends stay whole
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(alpha=0.25, linewidth=0.5)


def _handle(method: str, x: Sequence[float] | np.ndarray = (), y: Sequence[float] | np.ndarray = ()) -> Line2D:
    look = METHODS[method]
    return Line2D(
        x,
        y,
        color=look.colour,
        marker=look.marker,
        markersize=4.5,
        markeredgewidth=1.0,
        linestyle=DASHES.get(method, "-"),
        linewidth=1.8 if look.own else 1.2,
        label=look.label,
    )


def _annotate(axes: Axes, note: str) -> None:
    """A note under the name of the x-axis."""
    axes.annotate(
        note,
        xy=(0.5, 0.0),
        xycoords=axes.xaxis.label,
        xytext=(0, -2),
        textcoords="offset points",
        ha="center",
        va="top",
    )
