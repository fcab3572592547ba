"""What runs beside peers found: curves by method, in Markdown as tables. Pure information; `figures.peers` draws it.

A curve is of the seeds whose runs are complete, so that methods may stand on different numbers of them; differences are
paired by the seeds that both have.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.peers import BUDGET, FAILING, FIDELITIES, FRONTS, LIMITED, MFKG, TABLES, TOP
from experiments.plan import Results
from experiments.run import Step
from experiments.summary import Curve, paired
from experiments.tables import FEWEST_FOR_INTERVAL, markdown_table
from hentropy.bench.problems.outcomes import FRONT

LABELS = {
    "hentropy": "hentropy",
    "hentropy-top-3": f"hentropy (top {TOP})",
    "hentropy-ignore": "hentropy, failures ignored",
    "baybe": "BayBE",
    "botorch-mixed": "BoTorch, mixed",
    "botorch-mfkg": "BoTorch, MF-KG",
    "botorch-qlognei": "BoTorch, qLogNEI",
    "botorch-qlognehvi": "BoTorch, qLogNEHVI",
    "random": "random",
}


@dataclass(frozen=True)
class PeerLine:
    """What one method reached by seed, along the axis of its panel; `seconds` is the median of a proposal."""

    method: str
    label: str
    seeds: Mapping[int, np.ndarray]
    seconds: float | None

    @property
    def curve(self) -> Curve:
        """Mean and standard error over seeds."""
        return Curve.of(self.seeds.values())


@dataclass(frozen=True)
class PeerPanel:
    """Methods against queries or cost (`axis`, at `x`), with what is said in tables (at `shown`).

    `missing` are methods without a complete run. Small values are good where they are a `regret`.
    """

    title: str
    axis: str
    score: str
    x: np.ndarray
    shown: tuple[int, ...]
    lines: tuple[PeerLine, ...]
    missing: tuple[str, ...]
    regret: bool = False


SMALL = 10.0
"""Values below it are shown with three digits."""

REGRET = "regret of the decision"

Reached = Callable[[Sequence[Step]], np.ndarray]
"""What the steps of a run reached, at each place of the axis."""


def peer_panels(results: Results, name: str) -> list[PeerPanel]:
    """The panels of a task: one, for tables a second one about several rows, for failures one about these."""
    task = results.plan.task(name)
    runs = {method: results.runs(name, method) for method in task.methods}
    x, axis = np.arange(task.queries + 1.0), "queries"
    shown = tuple(sorted({task.queries // 3, 2 * task.queries // 3, task.queries}))
    if name in FIDELITIES:
        x, axis = np.arange(0.0, BUDGET + 1.0), "cost"
        shown = tuple(round(share * BUDGET) for share in (0.25, 0.5, 0.75, 1.0))
    elif name in (*LIMITED, *FRONTS):
        shown = tuple(range(10, task.queries + 1, 10)) or shown

    def panel(score: str, lines: Mapping[tuple[str, str], Reached], title: str = name) -> PeerPanel:
        drawn = [
            _line(method, label, runs[method], reached, task.queries)
            for (method, label), reached in lines.items()
            if method in runs
        ]
        missing = dict.fromkeys(LABELS[line.method] for line in drawn if not line.seeds)
        known = tuple(line for line in drawn if line.seeds)
        return PeerPanel(title, axis, score, x, shown, known, tuple(missing), regret=score == REGRET)

    def all_by(reached: Reached) -> dict[tuple[str, str], Reached]:
        return {(method, LABELS[method]): reached for method in task.methods}

    if name in FIDELITIES:
        return [panel(REGRET, all_by(_by_cost(x)))]
    if name in FAILING:
        return [panel(REGRET, all_by(_regret)), panel("queries that failed, in per cent", all_by(_failed))]
    if name in LIMITED:
        return [panel(REGRET, all_by(_regret))]
    if name in FRONTS:
        return [panel(f"hypervolume of {FRONT} designs", all_by(_score))]
    ours, several = "hentropy", "hentropy-top-3"
    others = [method for method in task.methods if method not in (ours, several)]
    best: dict[tuple[str, str], Reached] = {
        (ours, f"{LABELS[ours]}, best seen"): _observed(1),
        (ours, f"{LABELS[ours]}, decided"): _score,
    }
    best |= {(method, LABELS[method]): _observed(1) for method in others}
    panels = [panel("yield in per cent", best)]
    if name in TABLES:
        rows: dict[tuple[str, str], Reached] = {(several, f"{LABELS[several]}, decided"): _score}
        rows |= {(method, f"{LABELS[method]}, best {TOP} seen"): _observed(TOP) for method in (several, ours, *others)}
        panels.append(panel(f"sum of {TOP} yields", rows, f"{name}, {TOP} rows"))
    return panels


def _line(method: str, label: str, runs: Mapping[int, list[Step]], reached: Reached, queries: int) -> PeerLine:
    whole = {seed: steps for seed, steps in runs.items() if len(steps) > queries or _spent(steps) >= BUDGET}
    took = [s.acquisition_seconds for steps in whole.values() for s in steps if s.acquisition_seconds is not None]
    seconds = float(np.median(took)) if took else None
    return PeerLine(method, label, {seed: reached(steps) for seed, steps in whole.items()}, seconds)


def _observed(count: int) -> Reached:
    return lambda steps: np.array([sum((step.observed or [])[:count]) for step in steps])


def _score(steps: Sequence[Step]) -> np.ndarray:
    return np.array([step.score for step in steps])


def _regret(steps: Sequence[Step]) -> np.ndarray:
    return np.array([np.nan if step.regret is None else step.regret for step in steps])


def _failed(steps: Sequence[Step]) -> np.ndarray:
    """How many per cent of all queries so far gave no value."""
    failed = np.cumsum([step.query is not None and step.value is None for step in steps])
    return np.asarray(100.0 * failed / np.maximum(1, np.arange(len(steps))))


def _by_cost(x: np.ndarray) -> Reached:
    """The regret that had been reached when so much was spent."""

    def curve(steps: Sequence[Step]) -> np.ndarray:
        spent = np.cumsum([step.cost or 0.0 for step in steps])
        return np.asarray(_regret(steps)[np.searchsorted(spent, x, side="right") - 1])

    return curve


def _spent(steps: Sequence[Step]) -> float:
    return sum(step.cost or 0.0 for step in steps)


def peer_markdown(panel: PeerPanel) -> str:
    """A section: what was reached, and this project's methods against the others."""
    heads = ["method", "runs", *(f"{'after' if panel.axis == 'queries' else 'cost'} {at}" for at in panel.shown)]
    reached = [
        [line.label, str(len(line.seeds)), *(_with_error(line, at, panel) for at in panel.shown), _seconds(line)]
        for line in panel.lines
    ]
    ours = [line for line in panel.lines if line.method.startswith("hentropy")]
    others = [line for line in panel.lines if line not in ours or line.method == "hentropy-ignore"]
    pairs = [
        (own, other) for own in ours for other in others if own is not other and own.seeds.keys() & other.seeds.keys()
    ]
    against = [
        [f"{own.label} - {other.label}", str(len(own.seeds.keys() & other.seeds.keys()))]
        + [_interval(own, other, at) for at in panel.shown]
        for own, other in pairs
    ]
    said = [f"### {panel.title} ({panel.score})", ""]
    if reached:
        said.append(markdown_table([*heads, "s per query"], reached))
    if against:
        said.append(markdown_table(["difference", *heads[1:]], against))
    if panel.missing:
        said += [f"Without a complete run: {', '.join(panel.missing)}.", ""]
    return "\n".join(said)


def _with_error(line: PeerLine, at: int, panel: PeerPanel) -> str:
    curve = line.curve
    digits = ".3g" if panel.regret or np.abs(curve.mean).max() < SMALL else ".1f"
    error = f" ± {curve.error[at]:{digits}}" if curve.seeds > 1 else ""
    return f"{curve.mean[at]:{digits}}{error}"


def _seconds(line: PeerLine) -> str:
    return "" if not line.seconds else f"{line.seconds:.2g}"


def _interval(own: PeerLine, other: PeerLine, at: int) -> str:
    first, second = ({seed: float(curve[at]) for seed, curve in line.seeds.items()} for line in (own, other))
    gap = paired(first, second)
    if gap is None:
        return ""
    return f"{gap.mean:+.3g}" + (f" [{gap.low:+.3g}, {gap.high:+.3g}]" if gap.seeds >= FEWEST_FOR_INTERVAL else "")


ABOUT = {
    "tables": "Rows of measured reactions: 10 random rows, then one at a time. A difference above zero favours"
    " hentropy.",
    "mixed": "Reactions as fitted functions: 10 first designs, then one at a time. A difference above zero favours"
    " hentropy. BoTorch: `MixedSingleTaskGP`, LogEI, 10 restarts and 512 raw samples for each combination of options.",
    "fidelity": "Regret of the decision at fidelity 1 against what was spent after 10 first designs, 1 for a cheap"
    f" value and 20 for a full one, until {BUDGET:g}. A difference below zero"
    f" favours hentropy. BoTorch's multi-fidelity KG has {MFKG[0].fantasies} fantasies, {MFKG[0].restarts} restarts and"
    f" {MFKG[0].raw_samples} raw samples.",
    "failures": "A simulator with 12 settings that crashes in 8 % of the space: 300 earlier runs at random, then one at"
    " a time. A decision for a design that crashes costs the worst value there is. A difference below zero favours the"
    " first of the two.",
    "outcomes": "10 first designs, then one at a time; each method decides by its own model. With limits, the regret of"
    " the decision: a design that violates one costs what the worst design that holds all of them costs (gardner 6.03,"
    " gramacy 1.73, welded-beam 19.0). A difference below zero favours hentropy. Of fronts, the hypervolume of the true"
    f" values of {FRONT} chosen designs; a difference above zero favours hentropy. BoTorch has 10 restarts and 512 raw"
    " samples, for each combination of options; its decision is the least expected loss, or the greatest hypervolume of"
    " means, under its model.",
    "greed": "Least values of twelve noiseless functions from the first designs of De Ath et al. 2021, paired by run."
    " Medians over runs. Recommended: the true value of the design that hentropy decides for. Best seen: the least"
    " value among all evaluations, which is what was published.",
}
"""What must be said beside the tables of a comparison."""
