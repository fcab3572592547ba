"""The tables of a comparison: for each task one row per method. Information first, then Markdown or a rich table."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rich.table import Table

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


Column = Callable[[TaskTable, MethodRow], str]


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


def columns(table: TaskTable) -> dict[str, Column]:
    """The columns of a table: a heading, and what stands under it."""
    half = table.queries // 2
    conservative: dict[str, Column] = {
        f"conservative after {table.queries}": lambda _, row: (
            "" if row.conservative is None else _with_error(row.conservative, table.queries)
        )
    }
    return {
        "method": lambda _, row: row.label,
        "seeds": lambda _, row: str(row.curve.seeds),
        f"after {half}": lambda _, row: _with_error(row.curve, half),
        f"after {table.queries}": lambda _, row: _with_error(row.curve, table.queries),
        **(conservative if any(row.conservative for row in table.rows) else {}),
        "regret": lambda _, row: "" if row.regret is None else f"{row.regret:.3g}",
        "against the best baseline": _against,
        "s per query": lambda _, row: f"{row.acquisition_seconds:.3g}",
        "s per fit": lambda _, row: f"{row.fit_seconds:.2g}",
    }


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


def markdown(table: TaskTable) -> str:
    """A section of Markdown."""
    heads = columns(table)
    lines = [
        f"### {table.task} ({table.score})",
        "",
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(cell(table, row) for cell in heads.values()) + " |" for row in table.rows),
    ]
    return "\n".join([*lines, "", " ".join(notes(table)), ""])


DROPPED = {120: ("s per fit",), 110: ("regret",), 100: ("against the best baseline",), 72: ("s per query", "seeds")}
"""Columns that are left out in terminals narrower than so many characters."""


def printed(table: TaskTable, width: int) -> Table:
    """A table for a terminal of so many characters."""
    shown = Table(title=f"{table.task} ({table.score})", caption="\n".join(notes(table)), title_justify="left")
    dropped = {name for limit, names in DROPPED.items() if width < limit for name in names}
    heads = {head: cell for head, cell in columns(table).items() if head not in dropped}
    for head in heads:
        left = head in ("method", "against the best baseline")
        shown.add_column(head, justify="left" if left else "right", no_wrap=head != "method")
    for row in table.rows:
        shown.add_row(*(cell(table, row) for cell in heads.values()))
    return shown


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


def belief_markdown(rows: list[BeliefRow]) -> str:
    """A table of Markdown: a row for each task, and the best rule where there are some."""
    lines = [
        "| task | score | one kernel | default belief | difference | runs |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        scores = (_with_error(each, row.queries) for each in (row.before, row.now))
        cells = (row.task, f"{row.score} after {row.queries}", *scores, _interval(row.gap), str(row.gap.seeds))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| task | best rule | default belief - best rule | runs |", "|---|---|---|---|"]
    lines += [
        f"| {row.task} | {row.rule} | {_interval(row.against)} | {row.against.seeds} |"
        for row in rows
        if row.against is not None
    ]
    return "\n".join([*lines, ""])
