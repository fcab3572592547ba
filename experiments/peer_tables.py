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
from experiments.summary import paired
from experiments.tables import FEWEST_FOR_INTERVAL
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
    def mean(self) -> np.ndarray:
        """Over seeds."""
        return np.mean(list(self.seeds.values()), 0)

    @property
    def error(self) -> np.ndarray:
        """The standard error of the mean; zero of one seed."""
        table = np.array(list(self.seeds.values()))
        return table.std(0, ddof=1) / len(table) ** 0.5 if len(table) > 1 else np.zeros(table.shape[1])


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

Reached = Callable[[Sequence[Step]], np.ndarray]


def peer_panels(results: Results, name: str) -> list[PeerPanel]:
    """The panels of a task: one, for tables a second one about several rows, for failures one about these."""
    task = results.plan.task(name)
    runs = {method: results.runs(name, method) for method in task.methods}
    if name in FIDELITIES:
        x = np.arange(0.0, BUDGET + 1.0)
        shown = tuple(round(share * BUDGET) for share in (0.25, 0.5, 0.75, 1.0))
        lines = [_line(method, LABELS[method], runs[method], _by_cost(x), task.queries) for method in task.methods]
        return [_panel(name, "cost", "regret of the decision", x, shown, lines, regret=True)]
    x = np.arange(task.queries + 1.0)
    shown = tuple(sorted({task.queries // 3, 2 * task.queries // 3, task.queries}))

    def line(method: str, label: str, reached: Reached) -> PeerLine:
        return _line(method, label, runs[method], reached, task.queries)

    if name in FAILING:
        wrong = [line(method, LABELS[method], _regret) for method in task.methods]
        failed = [line(method, LABELS[method], _failed) for method in task.methods]
        return [
            _panel(name, "queries", "regret of the decision", x, shown, wrong, regret=True),
            _panel(name, "queries", "queries that failed, in per cent", x, shown, failed),
        ]
    if name in (*LIMITED, *FRONTS):
        shown = tuple(range(10, task.queries + 1, 10)) or shown
        if name in LIMITED:
            wrong = [line(method, LABELS[method], _regret) for method in task.methods]
            return [_panel(name, "queries", "regret of the decision", x, shown, wrong, regret=True)]
        chosen = [line(method, LABELS[method], _score) for method in task.methods]
        return [_panel(name, "queries", f"hypervolume of {FRONT} designs", x, shown, chosen)]
    single = [method for method in task.methods if method != "hentropy-top-3"]
    best = [line(method, LABELS[method] + _seen(method), _observed(1)) for method in single]
    best.insert(1, line("hentropy", "hentropy, decided", _score))
    panels = [_panel(name, "queries", "yield in per cent", x, shown, best)]
    if name in TABLES:
        several = [line("hentropy-top-3", f"{LABELS['hentropy-top-3']}, decided", _score)]
        several += [
            line(each, f"{LABELS[each]}, best {TOP} seen", _observed(TOP)) for each in ("hentropy-top-3", *single)
        ]
        panels.append(_panel(f"{name}, {TOP} rows", "queries", f"sum of {TOP} yields", x, shown, several))
    return panels


def _seen(method: str) -> str:
    return ", best seen" if method == "hentropy" else ""


def _panel(
    title: str,
    axis: str,
    score: str,
    x: np.ndarray,
    shown: tuple[int, ...],
    lines: Sequence[PeerLine],
    regret: bool = False,
) -> PeerPanel:
    missing = dict.fromkeys(LABELS[line.method] for line in lines if not line.seeds)
    return PeerPanel(title, axis, score, x, shown, tuple(line for line in lines if line.seeds), tuple(missing), regret)


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
        said += [*_rows([*heads, "s per query"], reached), ""]
    if against:
        said += [*_rows(["difference", *heads[1:]], against), ""]
    if panel.missing:
        said += [f"Without a complete run: {', '.join(panel.missing)}.", ""]
    return "\n".join(said)


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def _with_error(line: PeerLine, at: int, panel: PeerPanel) -> str:
    digits = ".3g" if panel.regret or np.abs(line.mean).max() < SMALL else ".1f"
    error = f" ± {line.error[at]:{digits}}" if len(line.seeds) > 1 else ""
    return f"{line.mean[at]:{digits}}{error}"


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
