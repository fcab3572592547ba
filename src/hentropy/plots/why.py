"""Why this experiment: what each would be expected to gain, and what would be decided after a low or a high outcome."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.beliefs import Belief, Gaussian, Needs
from hentropy.beliefs.quantiles import mixture_quantiles
from hentropy.clock import Limits
from hentropy.entropy import entropy
from hentropy.errors import StudyError
from hentropy.gain import Appraisal
from hentropy.plots.decided import DecidedInfo, decided_info, decided_panels
from hentropy.plots.gain_map import GainSlice, gain_map
from hentropy.plots.marks import Axis, Band, Dots, Heat, Line, Mark, Panel, Picture, Role, Table
from hentropy.plots.rows import in_rows
from hentropy.plots.scene import Scene
from hentropy.plots.shown_trials import ShownTrials, foot_dots, plane_dots, shown_trials
from hentropy.plots.views import reference_design
from hentropy.records import State
from hentropy.solvers.propose import AUDIT_SEED

SECONDS = 3.0
"""How long the map of the gain may take."""

SHARES = {"low": 0.1, "middle": 0.5, "high": 0.9}
"""The outcomes shown: with these probabilities an outcome is below them."""

PANELS_IN_A_ROW = 3


@dataclass(frozen=True)
class Target:
    """The experiment that is explained: its design (d), its number if it was asked, its audited gain with its error.

    `weighed` says that it was chosen by more than its gain: by its cost too, or by where experiments failed.
    """

    design: np.ndarray
    words: str
    number: int | None
    gain: float
    error: float
    exact: bool
    weighed: bool


@dataclass(frozen=True)
class OutcomeInfo:
    """One outcome of the experiment: its name, its value, and what would be decided then, at which expected loss."""

    name: str
    value: float
    expected_loss: float
    decided: DecidedInfo


@dataclass(frozen=True)
class WhyInfo:
    """The gain over the space, the experiment it speaks for, and what would be decided after three of its outcomes.

    `quick` says that the gains of the slices are quick estimates, not as careful as that of the target. `target` is
    None, and `outcomes` are none, where nothing is left to ask. `expected_loss` is that of today.
    """

    slices: tuple[GainSlice, ...]
    quick: bool
    trials: ShownTrials
    expected_loss: float
    target: Target | None
    outcomes: tuple[OutcomeInfo, ...]


def why_info(scene: Scene, seconds: float = SECONDS) -> WhyInfo:
    """Why the newest proposed experiment that is waited for, or the next one; the map takes about so many seconds.

    Gains count what an experiment adds to the others that are waited for.
    """
    running = scene.in_state(State.RUNNING)
    asked = next((trial for trial in reversed(running) if trial.origin == "proposed"), None)
    others = scene.rows([trial for trial in running if trial is not asked])
    appraisal = Appraisal.prepare(
        scene.decision,
        scene.belief,
        scene.space,
        pending=others if len(others) else None,
        seed=scene.seed,
        limits=Limits(),
    )
    target = _next(scene) if asked is None else _asked(scene, appraisal, asked.number)
    trials = shown_trials(scene)
    reference = reference_design(scene) if target is None else torch.from_numpy(target.design)
    gains = gain_map(scene, appraisal, reference, trials.designs, seconds)
    return WhyInfo(
        slices=gains.slices,
        quick=gains.quick,
        trials=trials,
        expected_loss=scene.found.value,
        target=target,
        outcomes=() if target is None else _outcomes(scene, torch.from_numpy(target.design)),
    )


def _target(scene: Scene, row: Tensor, number: int | None, gain: float, error: float, exact: bool) -> Target:
    words = ", ".join(f"{name} = {value:.4g}" for name, value in scene.space.decode(row).items())
    weighed = scene.study.options.cost is not None or bool(scene.in_state(State.FAILED))
    return Target(row.cpu().numpy(), words, number, gain, error, exact, weighed)


def _asked(scene: Scene, appraisal: Appraisal, number: int) -> Target:
    """A trial that is waited for, valued by what is known now."""
    [row] = scene.rows([trial for trial in scene.trials if trial.number == number])
    gain = appraisal.audit(row.to(scene.belief.X).view(1, 1, -1), scene.seed + AUDIT_SEED).gain
    return _target(scene, row, number, float(gain.value), float(gain.std_error), gain.exact)


def _next(scene: Scene) -> Target | None:
    """What would be asked next; None where nothing is left."""
    try:
        found = scene.study.propose()
    except StudyError:  # every row of a pool failed, or was measured without noise
        return None
    return _target(scene, found.x[0], None, found.gain, found.std_error, found.exact)


@torch.no_grad()
def outcome_quantiles(belief: Belief, row: Tensor, shares: tuple[float, ...]) -> Tensor:
    """Quantiles of what an experiment at a design (d) would measure, noise included: one for each share."""
    at = belief.moments(row.to(belief.X).unsqueeze(0), Needs.VARIANCE)
    if isinstance(belief, Gaussian):
        noise = belief.frame.scale.square() * belief.future_noise.unsqueeze(-1)  # H x 1
    else:
        noise = at.mean.new_tensor(belief.noise_std**2)
    weights = at.weights.unsqueeze(-1).expand_as(at.mean)
    return mixture_quantiles(shares, weights, at.mean, (at.variance + noise).sqrt()).squeeze(-1)


def _outcomes(scene: Scene, row: Tensor) -> tuple[OutcomeInfo, ...]:
    values = outcome_quantiles(scene.belief, row, tuple(SHARES.values()))
    return tuple(_after(scene, row, name, value) for name, value in zip(SHARES, values, strict=True))


def _after(scene: Scene, row: Tensor, name: str, value: Tensor) -> OutcomeInfo:
    """What would be decided after one outcome."""
    with torch.no_grad():
        belief = scene.belief.condition(row.to(scene.belief.X).unsqueeze(0), value.unsqueeze(0))
    found = entropy(scene.decision, belief, scene.space, seed=scene.seed)
    decided = decided_info(replace(scene, belief=belief, found=found))
    return OutcomeInfo(name, float(value), found.value, decided)


def why_picture(info: WhyInfo) -> Picture:
    """The gain with the experiment marked; below, what would be decided after its outcomes, side by side."""
    lines = [_line_panel(info, view) for view in info.slices if len(view.axes) == 1]
    planes = [view for view in info.slices if len(view.axes) == 2]
    _, top = _ends([view.gains for view in planes])
    maps = [_map_panel(info, view, top) for view in planes]
    after = [_titled(outcome, decided_panels(outcome.decided)) for outcome in info.outcomes]
    sides = tuple(_on_one_scale(panels) for panels in zip(*after, strict=False))
    table = (_outcome_table(info),) if info.outcomes else ()
    gains = [*in_rows(lines, PANELS_IN_A_ROW), *in_rows(maps, PANELS_IN_A_ROW)]
    # one panel leaves room for the table beside it
    rows = ((*gains[0], *table), *sides) if len(info.slices) == 1 else (*gains, table, *sides)
    return Picture("why", "Why this experiment", _caption(info), rows)


def _titled(outcome: OutcomeInfo, panels: tuple[Panel | Table, ...]) -> list[Panel | Table]:
    """Panels with the outcome they stand for in their titles."""
    heading = f"{outcome.name}: {outcome.value:.4g}"
    return [replace(panel, title=heading if place == 0 else panel.title) for place, panel in enumerate(panels)]


def _on_one_scale(panels: tuple[Panel | Table, ...]) -> tuple[Panel | Table, ...]:
    """Panels side by side, to be compared: one scale for their maps of numbers, or for the height of their bands."""
    marks = [mark for panel in panels if isinstance(panel, Panel) for mark in panel.marks]
    maps = [mark.z for mark in marks if isinstance(mark, Heat) and not mark.names]
    heights = [end for mark in marks if isinstance(mark, Band) for end in (mark.low, mark.high)]
    dots = [mark.y for mark in marks if isinstance(mark, Dots)] if heights else []
    low, high = _ends(maps)
    bottom, top = _ends(heights + dots)
    margin = 0.05 * (top - bottom)

    def scaled(mark: Mark) -> Mark:
        return replace(mark, low=low, high=high) if isinstance(mark, Heat) and not mark.names else mark

    def aligned(panel: Panel | Table) -> Panel | Table:
        if isinstance(panel, Table):
            return panel
        y = replace(panel.y, low=bottom - margin, high=top + margin) if heights else panel.y
        return replace(panel, y=y, marks=tuple(map(scaled, panel.marks)))

    return tuple(map(aligned, panels))


def _ends(values: list[np.ndarray]) -> tuple[float, float]:
    """The least and the greatest number of all; 0 and 1 where there is none."""
    finite = [each[np.isfinite(each)] for each in values]
    low = min((float(each.min()) for each in finite if each.size), default=0.0)
    high = max((float(each.max()) for each in finite if each.size), default=1.0)
    return low, high if high > low else low + 1.0


def _marked(info: WhyInfo) -> tuple[str, str]:
    """The label and the text of the experiment that is explained."""
    assert info.target is not None
    number = info.target.number
    label = "next experiment" if number is None else f"trial {number}"
    return label, f"{label}: {info.target.words}"


def _line_panel(info: WhyInfo, view: GainSlice) -> Panel:
    [x] = view.grids
    [axis] = view.axes
    marks: list[Line | Dots] = [Line(x, view.gains, Role.GAIN, "gain", dots=axis.whole)]
    marks += foot_dots(info.trials, view.indices[0], view.near & ~_explained(info), 0.0)
    if info.target is not None:
        label, text = _marked(info)
        height = np.array([info.target.gain])
        error = None if info.target.exact else np.array([info.target.error])
        marks.append(Dots(info.target.design[[view.indices[0]]], height, Role.PROPOSED, label, error, (text,)))
    return Panel(
        f"gain along {axis.title}" if view.held else "gain", axis, Axis("expected fall of the loss"), (*marks,)
    )


def _map_panel(info: WhyInfo, view: GainSlice, top: float) -> Panel:
    x, y = view.grids
    first, second = view.indices
    heat = Heat(x, y, view.gains, "expected fall of the loss", low=min(0.0, top), high=max(0.0, top))
    marks: list[Heat | Dots] = [heat, *plane_dots(info.trials, (first, second), view.near & ~_explained(info))]
    if info.target is not None:
        label, text = _marked(info)
        marks.append(
            Dots(info.target.design[[first]], info.target.design[[second]], Role.PROPOSED, label, texts=(text,))
        )
    return Panel("gain", view.axes[0], view.axes[1], (*marks,))


def _explained(info: WhyInfo) -> np.ndarray:
    """Which of the trials is the one that is explained: n."""
    number = None if info.target is None else info.target.number
    return np.array([each == number for each in info.trials.numbers], dtype=bool)


def _outcome_table(info: WhyInfo) -> Table:
    rows = tuple((each.name, f"{each.value:.5g}", f"{each.expected_loss + 0.0:.5g}") for each in info.outcomes)
    return Table("what it could give", ("outcome", "value", "expected loss then"), rows)


def _caption(info: WhyInfo) -> str:
    said = [
        "The gain of an experiment is by how much it is expected to lower the expected loss of the decision, which is"
        f" {info.expected_loss + 0.0:.4g} now."
    ]
    target = info.target
    if target is None:
        said.append("No experiment is left to ask.")
    else:
        name = "The next experiment" if target.number is None else f"Trial {target.number}"
        error = "" if target.exact else f" ± {target.error:.2g}"
        said.append(f"{name} ({target.words}) has a gain of {target.gain:.4g}{error}.")
        if target.weighed:
            said.append("It was weighed against costs and failures too, so it need not have the greatest gain.")
    if "pending" in [kind for kind, out in zip(info.trials.kinds, _explained(info), strict=True) if not out]:
        said.append("Gains count what an experiment adds to the others that are waited for.")
    if info.quick and target is not None:
        said.append(
            "Elsewhere there was time for a quick estimate of the gain only: it shows where the gain is high and where"
            " it is low, and may differ from this number at the same place."
        )
    if any(view.held for view in info.slices):
        said.append("Each panel varies one or two parameters and holds the others at their values of this experiment.")
    if not all(np.isfinite(view.gains).all() for view in info.slices):
        said.append("Where the map is blank, there was no time to compute it.")
    if info.outcomes:
        said.append(
            "Below: what would be decided if it gave a low, a middle or a high value (one outcome in ten is lower than"
            " the low one, one in ten higher than the high one). Where the decisions differ, the experiment matters."
        )
    return " ".join(said)
