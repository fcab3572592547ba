"""The tables of a comparison: for each task one row per method. Information first, then Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from experiments.methods import BELIEFS, METHODS
from experiments.plan import Results
from experiments.run import Step
from experiments.scores import CONSERVATIVE, best_score, score_name
from experiments.summary import Curve, Difference, curve, difference, final, paired, seconds
from hentropy.bench.problems import problem

PAPER = "one-shot-paper"
FEWEST_FOR_INTERVAL = 5
"""A bootstrap of fewer seeds would feign certainty."""


@dataclass(frozen=True)
class MethodRow:
    """One method on one task; differences are its score less that of the best baseline after the last query.

    `conservative` is the score of conservative labels then, where these are scored.
    """

    method: str
    label: str
    curve: Curve
    regret: float | None
    against: Difference | None
    acquisition_seconds: float
    fit_seconds: float
    conservative: Curve | None = None


@dataclass(frozen=True)
class TaskTable:
    """The methods on a task, the best first. `halfway` compares this project's search with half of the queries with the
    one-shot search of the paper with all of them; `missing` are methods of the task without a whole run.
    """

    task: str
    score: str
    queries: int
    best: float | None
    baseline: str | None
    rows: tuple[MethodRow, ...]
    missing: tuple[str, ...]
    halfway: Difference | None


def task_table(results: Results, name: str) -> TaskTable:
    """What the runs of a task found."""
    task, on = results.plan.task(name), problem(name)
    runs = {method: results.runs(name, method) for method in task.methods}
    curves = {method: found for method, each in runs.items() if (found := curve(each, task.queries)) is not None}
    order = sorted(curves, key=lambda method: -curves[method].mean[-1])
    others = [method for method in order if not METHODS[method].own]
    # the mean of a seed or two is luck, as long as others have more
    steady = [method for method in others if curves[method].seeds >= FEWEST_FOR_INTERVAL]
    baseline = next(iter(steady or others), None)
    rows = tuple(
        MethodRow(
            method=method,
            label=METHODS[method].label,
            curve=curves[method],
            regret=_regret(runs[method], task.queries),
            against=None if baseline in (None, method) else difference(runs[method], runs[baseline], task.queries),
            acquisition_seconds=seconds(runs[method])[0],
            fit_seconds=seconds(runs[method])[1],
            conservative=_conservative(runs[method], task.queries),
        )
        for method in order
    )
    return TaskTable(
        task=name,
        score=score_name(on),
        queries=task.queries,
        best=best_score(on),
        baseline=baseline,
        rows=rows,
        missing=tuple(method for method in task.methods if method not in curves),
        halfway=_halfway(runs, task.queries),
    )


def _regret(runs: dict[int, list[Step]], queries: int) -> float | None:
    """The mean regret after the last query."""
    last = [steps[queries].regret for steps in runs.values() if len(steps) > queries]
    known = [regret for regret in last if regret is not None]
    return sum(known) / len(known) if known else None


def _conservative(runs: dict[int, list[Step]], queries: int) -> Curve | None:
    """The scores of conservative labels, of the seeds that got through all queries."""
    scored = {
        seed: [replace(step, score=step.conservative) for step in steps if step.conservative is not None]
        for seed, steps in runs.items()
    }
    return curve(scored, queries)


def _halfway(runs: dict[str, dict[int, list[Step]]], queries: int) -> Difference | None:
    if "hentropy" not in runs or PAPER not in runs:
        return None
    return paired(final(runs["hentropy"], queries // 2), final(runs[PAPER], queries))


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells under their heads, as Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def _number(value: float, sign: str = "") -> str:
    """Three digits after the point, or a power of ten where nothing would be left."""
    small = 0.0 < abs(value) < 0.001
    return f"{value:{sign}.1e}" if small else f"{value:{sign}.3f}"


def _with_error(curve: Curve, query: int) -> str:
    error = f" ± {_number(curve.error[query])}" if curve.seeds > 1 else ""
    return _number(curve.mean[query]) + error


def _interval(gap: Difference) -> str:
    if gap.seeds < FEWEST_FOR_INTERVAL:
        return _number(gap.mean, "+")
    return f"{_number(gap.mean, '+')} [{_number(gap.low, '+')}, {_number(gap.high, '+')}]"


def _against(table: TaskTable, row: MethodRow) -> str:
    if row.against is None:
        return "the best baseline" if row.method == table.baseline else ""
    common = f" ({_seeds(row.against.seeds)})" if row.against.seeds < row.curve.seeds else ""
    return _interval(row.against) + common


def _seeds(count: int) -> str:
    return f"{count} seed" + "s" * (count != 1)


def notes(table: TaskTable) -> list[str]:
    """What must be said beside a table."""
    said = []
    if table.best is not None:
        said.append(f"The best achievable {table.score} is {_number(table.best)}.")
    if table.halfway is not None:
        gap = table.halfway
        said.append(
            f"hentropy after {table.queries // 2} queries - the one-shot search of the paper after {table.queries}:"
            f" {_interval(gap)} ({_seeds(gap.seeds)})."
        )
    own = [row.label for row in table.rows if METHODS[row.method].hyperparameters != "map"]
    if own:
        said.append(f"{' and '.join(own)} {'uses' if len(own) == 1 else 'use'} a different model from the others.")
    if any(row.conservative for row in table.rows):
        said.append(f"Conservative labels say above where that has a probability of at least {CONSERVATIVE:g}.")
    if table.missing:
        said.append(f"Without a complete run: {', '.join(METHODS[method].label for method in table.missing)}.")
    return said


def task_markdown(table: TaskTable) -> str:
    """A section of Markdown."""
    half, last = table.queries // 2, table.queries
    conservative = any(row.conservative for row in table.rows)
    heads = ["method", "seeds", f"after {half}", f"after {last}"]
    heads += [f"conservative after {last}"] if conservative else []
    heads += ["regret", "against the best baseline", "s per query", "s per fit"]
    rows = []
    for row in table.rows:
        cells = [row.label, str(row.curve.seeds), _with_error(row.curve, half), _with_error(row.curve, last)]
        if conservative:
            cells.append("" if row.conservative is None else _with_error(row.conservative, last))
        cells += ["" if row.regret is None else f"{row.regret:.3g}", _against(table, row)]
        rows.append([*cells, f"{row.acquisition_seconds:.3g}", f"{row.fit_seconds:.2g}"])
    return f"### {table.task} ({table.score})\n\n{markdown_table(heads, rows)}\n{' '.join(notes(table))}\n"


@dataclass(frozen=True)
class BeliefRow:
    """Two beliefs on one task after the last query, and the difference of their scores; `rule` is the best baseline."""

    task: str
    score: str
    queries: int
    before: Curve
    now: Curve
    gap: Difference
    rule: str | None = None
    against: Difference | None = None


def belief_rows(results: Results) -> list[BeliefRow]:
    """The tasks for which both beliefs have whole runs."""
    rows = []
    for task in results.plan.tasks:
        runs = {method: results.runs(task.problem, method) for method in task.methods}
        curves = {method: found for method, each in runs.items() if (found := curve(each, task.queries)) is not None}
        before, now = BELIEFS
        if before not in curves or now not in curves:
            continue
        gap = difference(runs[now], runs[before], task.queries)
        if gap is None:
            continue
        rules = [method for method in curves if method not in BELIEFS]
        best = max(rules, key=lambda method: curves[method].mean[-1], default=None)
        rows.append(
            BeliefRow(
                task=task.problem,
                score=score_name(problem(task.problem)),
                queries=task.queries,
                before=curves[before],
                now=curves[now],
                gap=gap,
                rule=None if best is None else METHODS[best].label,
                against=None if best is None else difference(runs[now], runs[best], task.queries),
            )
        )
    return rows


def belief_markdown(rows: Sequence[BeliefRow]) -> str:
    """A table of Markdown: a row for each task, and the best rule where there are some."""
    both = [
        (
            row.task,
            f"{row.score} after {row.queries}",
            _with_error(row.before, row.queries),
            _with_error(row.now, row.queries),
            _interval(row.gap),
            str(row.gap.seeds),
        )
        for row in rows
    ]
    rules = [
        (row.task, str(row.rule), _interval(row.against), str(row.against.seeds))
        for row in rows
        if row.against is not None
    ]
    return "\n".join(
        [
            markdown_table(("task", "score", "one kernel", "default belief", "difference", "runs"), both),
            markdown_table(("task", "best rule", "default belief - best rule", "runs"), rules),
        ]
    )
