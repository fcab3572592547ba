"""Runs on a plane, as seen after so many queries: what was asked, what is decided, and the truth. Pure information.

All runs of a picture have the same seed, hence the same first designs, and the same number of queries. Nothing is
searched for: the next query is the one that the run went on to ask.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from experiments.plan import Results
from experiments.run import RunKey, Step, replayed
from experiments.scores import best_labels, score, score_name
from hentropy.bench.problems import Problem, problem
from hentropy.core.beliefs import Belief
from hentropy.core.decisions import LevelSets
from hentropy.core.decisions import Sequence as SequenceSearch
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError


@dataclass(frozen=True)
class Ground:
    """The plane and the truth on it: axes (g each), true values (g x g, rows along the second axis).

    `heights` are the thresholds of level sets or the targets of a sequence, `best` the best designs (k x 2; none where
    the decision is not about designs, or where others are as good). `stretch` is how much longer a unit of the second
    axis is than one of the first, as on a map; None where the axes have nothing to do with each other.
    """

    task: str
    names: tuple[str, str]
    axes: tuple[np.ndarray, np.ndarray]
    truth: np.ndarray
    heights: tuple[float, ...]
    best: np.ndarray
    stretch: float | None
    score: str


@dataclass(frozen=True)
class RunPicture:
    """One run: designs asked (n x 2; the `first` ones before the method began), and the next one (1 x 2 or 0 x 2).

    `chosen` are the designs of the decision in their order (k x 2). Of level sets, `mean` is the posterior mean
    (g x g), whose heights bound the predicted sets, and `wrong` the points whose labels are not all right (w x 2).
    """

    method: str
    queries: np.ndarray
    first: int
    following: np.ndarray
    chosen: np.ndarray
    mean: np.ndarray | None
    wrong: np.ndarray
    score: float


@dataclass(frozen=True)
class Pictures:
    """Runs of one seed after the same number of queries, side by side."""

    ground: Ground
    seed: int
    after: int
    pictures: tuple[RunPicture, ...]


def pictures(results: Results, task: str, methods: Sequence[str], after: int, grid: int = 121) -> Pictures | None:
    """The complete runs of these methods after so many queries (one before the last at most); None without any.

    The seed is the smallest of those that the most methods have.
    """
    planned = {each.problem: each for each in results.plan.tasks}.get(task)
    if planned is None:
        return None
    runs = {
        name: {seed: steps for seed, steps in results.runs(task, name).items() if len(steps) > planned.queries}
        for name in methods
        if name in planned.methods
    }
    seeds = [seed for each in runs.values() for seed in each]
    if not seeds:
        return None
    seed = min(set(seeds), key=lambda each: (-seeds.count(each), each))
    shown = {name: each[seed] for name, each in runs.items() if seed in each}
    on = problem(task)
    land = ground(on, grid)
    count = max(0, min(after, planned.queries - 1))  # the last query is kept back, to be shown as the next one
    jobs = {name: RunKey(planned, name, seed, results.plan.quick) for name in shown}
    made = [_picture(jobs[name], on, land, steps, count) for name, steps in shown.items()]
    return Pictures(land, seed, count, tuple(made))


def ground(on: Problem, grid: int) -> Ground:
    """The truth of a problem with two parameters."""
    if on.space.dim != 2:
        raise InputError(f"a picture needs a problem of 2 parameters, {on.name} has {on.space.dim}")
    points = _mesh(on.space, grid)
    with torch.no_grad():
        truth = on(points).reshape(grid, grid)
    decision = on.decision
    heights: tuple[float, ...] = ()
    if isinstance(decision, LevelSets):
        heights = decision.thresholds
    if isinstance(decision, SequenceSearch):
        heights = decision.targets
    best = on.best.action if on.best is not None and not heights else None
    mesh = points.reshape(grid, grid, 2)
    return Ground(
        task=on.name,
        names=(on.space.names[0], on.space.names[1]),
        axes=(mesh[0, :, 0].numpy(), mesh[:, 0, 1].numpy()),
        truth=truth.numpy(),
        heights=heights,
        best=np.zeros((0, 2)) if best is None else best.reshape(-1, 2).numpy(),
        stretch=_stretch(on.space),
        score=score_name(on),
    )


def _mesh(space: DesignSpace, grid: int) -> Tensor:
    """Points of a grid, rows along the second axis: g g x 2."""
    t = torch.linspace(0.0, 1.0, grid, dtype=torch.float64)
    return space.from_cube(torch.stack(torch.meshgrid(t, t, indexing="xy"), -1)).reshape(-1, 2)


def _stretch(space: DesignSpace) -> float | None:
    """On a map a degree of latitude is longer than one of longitude, by 1 / cos of the latitude."""
    if space.names != ("lon", "lat"):
        return None
    return 1.0 / math.cos(math.radians(float(space.bounds[:, 1].mean())))


def _picture(job: RunKey, on: Problem, land: Ground, steps: Sequence[Step], count: int) -> RunPicture:
    study = replayed(job, on, steps[: count + 1])
    action = study.decide().raw
    following = [on.space.encode(step.query) for step in steps[count + 1 : count + 2] if step.query is not None]
    levels = isinstance(on.decision, LevelSets)
    return RunPicture(
        method=job.method,
        queries=study.belief.X.numpy(),
        first=job.task.first,
        following=torch.stack(following).numpy() if following else np.zeros((0, 2)),
        chosen=np.zeros((0, 2)) if levels else action.reshape(-1, 2).numpy(),
        mean=_mean(study.belief, _mesh(on.space, len(land.axes[0]))) if levels else None,
        wrong=_wrong(on, action) if levels else np.zeros((0, 2)),
        score=score(on, action),
    )


@torch.no_grad()
def _mean(belief: Belief, points: Tensor) -> np.ndarray:
    side = math.isqrt(len(points))
    return belief.means(points).mean[0].reshape(side, side).numpy()


def _wrong(on: Problem, labels: Tensor) -> np.ndarray:
    """The points of a level-set problem where a label is not the true one."""
    decision = on.decision.within(on.space)
    assert isinstance(decision, LevelSets)
    differs = ((labels > 0.5) != (best_labels(on) > 0.5)).any(0)
    return decision.settled_points[differs].numpy()
