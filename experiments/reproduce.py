"""What `python -m experiments` does: runs, tables, figures, timing."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.executors import Crew, Kind, Report, RunNews, crew_of
from experiments.figures import FIGURES
from experiments.figures.peers import draw_peers
from experiments.greed import recorded_rows, summary
from experiments.ledger import Ledger
from experiments.methods import BELIEF_TASKS, LEVEL_TASKS
from experiments.peer_tables import ABOUT, peer_markdown, peer_panels
from experiments.peers import COMPARISONS, PEER_TASKS, peer_plan
from experiments.plan import Plan, Results
from experiments.run import RunJob
from experiments.tables import belief_markdown, belief_rows, markdown, printed, task_table
from experiments.timing import markdown as timing_markdown
from experiments.timing import printed as timing_printed
from experiments.timing import timings


@contextmanager
def watched(done: Mapping[RunJob, int], console: Console) -> Iterator[Report]:
    """Bars that follow the news of runs, of which so many steps are done already."""
    bars = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
    )
    total, reached = Counter[str](), Counter[str]()
    for job, steps in done.items():
        total[job.task.problem] += job.task.queries + 1
        reached[job.task.problem] += min(steps, job.task.queries + 1)
    known = dict(done)
    with bars:
        lines = {name: bars.add_task(name, total=total[name], completed=reached[name]) for name in total}
        everything = bars.add_task("all", total=total.total(), completed=reached.total())

        def report(news: RunNews) -> None:
            more = news.steps - known[news.job]
            if more > 0:
                known[news.job] = news.steps
                bars.advance(lines[news.job.task.problem], more)
                bars.advance(everything, more)
            if news.failed is not None:
                bars.console.print(f"failed: {news.job.name}: {news.failed}", markup=False, style="red")

        yield report


WIDTH_OF_FILES = 140
EVERYTHING, TIMING, BELIEFS, LEVELS, GREED = "all", "timing", "beliefs", "levels", "greed"
NAMES = (*FIGURES, TIMING, EVERYTHING, BELIEFS, *COMPARISONS, LEVELS)
"""What can be made."""


def reproduce(
    wanted: Collection[str],
    *,
    seeds: int | None,
    quick: bool,
    kind: Kind,
    workers: int | None,
    scheduler: str | None,
    data: Path | None,
    evaluations: int,
    baybe: str | None,
    folder: Path,
) -> int:
    """Make some of the figures and tables in a folder; the exit code: 1 if runs failed, 130 if it was stopped."""
    crew = crew_of(kind, workers, scheduler)
    console = Console() if Console().is_terminal else Console(width=WIDTH_OF_FILES)
    chosen = [name for name in FIGURES if name in wanted or EVERYTHING in wanted]
    plan = Plan.of([task for name in chosen for task in FIGURES[name].tasks], seeds, quick)
    beliefs = Plan.of(BELIEF_TASKS if BELIEFS in wanted else (), seeds, quick, BELIEF_TASKS)
    levels = Plan.of(LEVEL_TASKS if LEVELS in wanted else (), seeds, quick, LEVEL_TASKS)
    compared = {name: peer_plan(name, seeds, quick, data, baybe, evaluations) for name in COMPARISONS if name in wanted}
    ledger = Ledger.open(folder)
    results = Results(ledger, plan)
    with ledger.writing():
        for each in (plan, levels):
            _run(each, ledger, crew, console)
            _tabulate(Results(ledger, each), console)
        for name in chosen:
            console.print(f"{name}: {FIGURES[name].title}", style="bold")
            for path in FIGURES[name].draw(results, folder / "figures"):
                console.print(f"  {path}", soft_wrap=True, highlight=False)
        if {EVERYTHING, TIMING} & set(wanted):
            _time(folder, quick, console)
        if beliefs.tasks:
            _run(beliefs, ledger, crew, console)
            _show(folder / "tables" / "beliefs.md", belief_markdown(belief_rows(Results(ledger, beliefs))), console)
        for name, against in compared.items():
            _run(against, ledger, crew, console)
            if name == GREED:
                text = "\n".join([ABOUT[name], "", summary(recorded_rows(Results(ledger, against)), data or "")])
                _show(folder / "tables" / f"{name}.md", text, console)
            else:
                _compare(name, Results(ledger, against), console)
    failures = [Results(ledger, each).failures() for each in (plan, beliefs, levels, *compared.values())]
    return _tell_failures({job: why for each in failures for job, why in each.items()}, ledger, console)


def _run(plan: Plan, ledger: Ledger, crew: Crew, console: Console) -> None:
    """The runs that are not on the disk yet, with their progress."""
    jobs = plan.jobs()
    done = {job: len(ledger.steps(job)) for job in jobs}
    todo = [job for job in jobs if done[job] <= job.task.queries]
    if todo:
        with watched(done, console) as report:
            crew.work(todo, ledger, report)


def _tabulate(results: Results, console: Console) -> None:
    """A table for each task."""
    for task in results.plan.tasks:
        table = task_table(results, task.problem)
        _write(results.ledger.folder / "tables" / f"{task.problem}.md", markdown(table))
        console.print(printed(table, console.width), "")


def _compare(name: str, results: Results, console: Console) -> None:
    """The table and the figure of a comparison with other programs."""
    folder = results.ledger.folder
    panels = [panel for task in results.plan.tasks for panel in peer_panels(results, task.problem)]
    text = "\n".join([ABOUT[name], "", *(peer_markdown(panel) for panel in panels)])
    if any("baybe" in PEER_TASKS[task.problem].methods and "baybe" not in task.methods for task in results.plan.tasks):
        text += "\nBayBE was left out: say with --baybe which Python has it.\n"
    table = _show(folder / "tables" / f"{name}.md", text, console)
    for path in (table, *draw_peers(panels, folder / "figures", name)):
        console.print(f"  {path}", soft_wrap=True, highlight=False)


def _time(folder: Path, quick: bool, console: Console) -> None:
    with console.status("timing") as status:
        rows = timings(
            beliefs=1 if quick else 3, repeats=1 if quick else 2, quick=quick, say=lambda text: status.update(text)
        )
    _write(folder / "tables" / "timing.md", timing_markdown(rows))
    console.print(timing_printed(rows), "")


def _show(path: Path, text: str, console: Console) -> Path:
    """A text of Markdown, as a file and in the terminal."""
    _write(path, text)
    console.print(Markdown(text), "")
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _tell_failures(failures: dict[RunJob, str], ledger: Ledger, console: Console) -> int:
    """Runs that failed are named at the end, with the exit code."""
    if not failures:
        return 0
    console.print(f"{len(failures)} runs failed; the others are complete:", style="bold red")
    for job, why in failures.items():
        last = why.strip().splitlines()[-1]
        console.print(
            f"  {job.name}: {last}\n    {ledger.path(job).with_suffix('.failed')}", markup=False, soft_wrap=True
        )
    console.print("The same command tries them again.")
    return 1
