"""Figure 1: one posterior, four decisions, four different next queries. Information first (pure), then drawing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Page
from matplotlib.figure import SubFigure
from torch import Tensor

from experiments.figures.page import drawn
from experiments.figures.paper import Figure
from experiments.plan import Results
from hentropy.core.beliefs import Frame, Gaussian, Needs
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.decisions import BestObserved, Decision, Identify, KGuesses, Maximize
from hentropy.core.entropy import entropy
from hentropy.core.gain import Effort, gain
from hentropy.core.models.gp import ConstantMean
from hentropy.core.spaces import Real, Space

SPACE = Space(x=Real(0.0, 10.0))
DATA = ((0.4, -0.5), (3.8, -1.1), (4.6, 0.8), (6.2, -0.3), (8.0, 0.3), (8.8, -1.2))
"""Designs and values: two hills that are known, and a wide gap on the left where a third may be."""

NOISE = 0.3
LENGTH = 1.0
BINS = 40
EFFORT = Effort(replicates=8)
"""Twice the usual: the information about the argmax is noisy."""

DECISIONS: tuple[tuple[str, Decision], ...] = (
    ("entropy search: where is f greatest?", Identify("argmax", candidates=200)),
    ("knowledge gradient: choose any design", Maximize()),
    ("expected improvement: a measured design", BestObserved()),
    ("two guesses: the better one counts", KGuesses(2)),
)


@dataclass(frozen=True)
class DecisionCurve:
    """A decision on the posterior: the Bayes action, the gain of each design of the grid (g), and the next query.

    `actions` are the chosen designs (k), `means` and `spreads` what is known of their values; none of them where the
    action is a distribution: then `chances` are its probabilities over equal bins of the space.
    """

    title: str
    actions: np.ndarray
    means: np.ndarray
    spreads: np.ndarray
    chances: np.ndarray
    gain: np.ndarray
    error: np.ndarray
    unit: str
    query: float


@dataclass(frozen=True)
class OneDimension:
    """The posterior on a grid x (g): mean, standard deviation (g each), data (n each), and what is decided on it."""

    x: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    designs: np.ndarray
    values: np.ndarray
    choices: tuple[DecisionCurve, ...]


def posterior() -> Gaussian:
    """A Gaussian process with known hyperparameters, given the data."""

    def tensor(values: object) -> Tensor:
        return torch.tensor(values, dtype=torch.float64)

    data = tensor(DATA)
    one, zero = tensor(1.0), tensor(0.0)
    width = float(SPACE.bounds[1, 0] - SPACE.bounds[0, 0])
    return Gaussian.from_data(
        data[:, :1],
        data[:, 1],
        torch.full((1, len(DATA)), NOISE**2, dtype=torch.float64),
        tensor([NOISE**2]),
        Stationary(Profile.SQUARED_EXPONENTIAL, tensor([[LENGTH / width]]), tensor([1.0])),
        ConstantMean(tensor([0.0])),
        Frame(SPACE.to_unit, zero, one),
        tensor([1.0]),
    )


def one_dimension(grid: int = 151, effort: Effort | None = None) -> OneDimension:
    """The information of the figure on so many points; `effort` is that of the audits of the gains."""
    belief = posterior()
    x = SPACE.from_cube(torch.linspace(0.0, 1.0, grid, dtype=torch.float64).unsqueeze(-1))
    mean, spread = _known(belief, x)
    choices = tuple(_choice(title, decision, belief, x, effort) for title, decision in DECISIONS)
    designs, values = np.array(DATA).T
    return OneDimension(x[:, 0].numpy(), mean, spread, designs, values, choices)


def _known(belief: Gaussian, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
    mean, var = belief.moments(x, Needs.VARIANCE).total()
    return mean.numpy(), var.clamp_min(0.0).sqrt().numpy()


def _choice(title: str, decision: Decision, belief: Gaussian, x: Tensor, effort: Effort | None) -> DecisionCurve:
    now = entropy(decision, belief, SPACE)
    value = gain(decision, belief, x, SPACE, effort=effort)
    actions = means = spreads = chances = np.zeros(0)
    if isinstance(now.decision, Identify):
        places = SPACE.to_unit(now.decision.settled_points)[:, 0].numpy()
        chances, _ = np.histogram(places, BINS, range=(0.0, 1.0), weights=now.action.numpy())
    else:
        actions = now.action.reshape(-1).sort().values.numpy()
        means, spreads = _known(belief, torch.from_numpy(actions).unsqueeze(-1))
    return DecisionCurve(
        title=title,
        actions=actions,
        means=means,
        spreads=spreads,
        chances=chances,
        gain=value.value.numpy(),
        error=value.std_error.numpy(),
        unit="nats" if chances.size else "units of f",
        query=float(x[int(value.value.argmax()), 0]),
    )


BAND = {"color": "#56b4e9", "alpha": 0.3, "linewidth": 0}
ACTION = "#d55e00"
QUERY = {"color": "#009e73", "linestyle": (0, (4, 2)), "linewidth": 1.3}


def draw_one_dimension(info: OneDimension, folder: Path, name: str) -> list[Path]:
    """A block for each decision: the posterior with the Bayes action, and the gain with the next query below it."""

    def draw(page: Page) -> None:
        blocks = np.ravel(np.asarray(page.subfigures(2, 2, wspace=0.02, hspace=0.03)))
        for letter, block, choice in zip("abcd", blocks, info.choices, strict=True):
            _draw_block(block, info, choice, letter)
        handles, labels = blocks[1].axes[0].get_legend_handles_labels()
        page.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)

    return drawn(folder, name, 6.2, draw)


def _draw_block(block: SubFigure, info: OneDimension, choice: DecisionCurve, letter: str) -> None:
    above, below = block.subplots(2, 1, sharex=True, height_ratios=(2.0, 1.0))
    above.set_title(f"({letter}) {choice.title}", loc="left", fontsize=8.5)
    above.fill_between(
        info.x, info.mean - 2 * info.spread, info.mean + 2 * info.spread, label="± 2 standard deviations", **BAND
    )
    above.plot(info.x, info.mean, color="#0072b2", label="posterior mean")
    above.plot(info.designs, info.values, "o", color="black", markersize=4.5, zorder=6, label="data")
    above.set(ylabel="f(x)", ylim=(-4.3, 2.5), xlim=(info.x[0], info.x[-1]))
    _draw_action(above, info, choice)
    above.axvline(choice.query, label="next query", zorder=1, **QUERY)
    low, high = choice.gain - choice.error, choice.gain + choice.error
    below.fill_between(info.x, low, high, color="0.75", linewidth=0)
    below.plot(info.x, choice.gain, color="black", linewidth=1.1)
    below.axvline(choice.query, zorder=1, **QUERY)
    below.plot(choice.query, choice.gain.max(), marker="v", markersize=7, color=QUERY["color"], markeredgecolor="black")
    below.set(xlabel="x", ylabel=f"gain\n({choice.unit})", ylim=(min(0.0, low.min()), 1.25 * choice.gain.max()))
    below.xaxis.labelpad = 1.0
    below.locator_params(axis="y", nbins=3)


def _draw_action(axes: Axes, info: OneDimension, choice: DecisionCurve) -> None:
    """Chosen designs with the densities of their values to the right; a distribution as bars on the ground."""
    floor = axes.get_ylim()[0]
    if choice.chances.size:
        width = (info.x[-1] - info.x[0]) / len(choice.chances)
        middle = info.x[0] + width * (np.arange(len(choice.chances)) + 0.5)
        tall = 1.6 * choice.chances / choice.chances.max()
        axes.bar(middle, tall, width, floor, color=ACTION, edgecolor="white", linewidth=0.3, zorder=2)
        axes.annotate("distribution\nof the argmax", (0.02, 0.04), xycoords="axes fraction", color=ACTION, va="bottom")
        return
    labels = ["belief about its value", *[None] * len(choice.actions)]
    for action, mean, spread, label in zip(choice.actions, choice.means, choice.spreads, labels, strict=False):
        y = np.linspace(mean - 3 * spread, mean + 3 * spread, 81)
        density = np.exp(-0.5 * ((y - mean) / spread) ** 2)
        side = action + 0.8 * density
        axes.fill_betweenx(y, action, side, color=ACTION, alpha=0.45, linewidth=0, zorder=4, label=label)
        axes.plot([action, action], [floor, y[-1]], color=ACTION, linewidth=1.0, zorder=4)
    axes.plot(
        choice.actions,
        choice.means,
        "*",
        color=ACTION,
        markeredgecolor="black",
        markersize=11,
        zorder=5,
        label="Bayes action",
    )


def draw(results: Results, folder: Path) -> list[Path]:
    """The figure; it needs no runs."""
    return draw_one_dimension(one_dimension(effort=EFFORT), folder, "figure-1")


FIGURE = Figure(
    name="figure-1",
    title="One posterior, four decisions, four next queries",
    caption=(
        "Bayes actions and gains for four decisions on the same posterior (a Gaussian process given six noisy data)."
        " Above: the posterior with the Bayes action: a distribution of the argmax (a), or stars with the density of"
        " the value there (b, c, d). Below: the gain (EHIG) of observing at x with its standard error; its maximum"
        " is the next query."
    ),
    tasks=(),
    draw=draw,
)
