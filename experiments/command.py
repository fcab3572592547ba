"""`python -m experiments`, from the repository's root: runs, and the tables and figures that are made of them."""

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.executors import Executor, Report, RunNews, executor_of
from experiments.figures import FIGURES
from experiments.figures.peers import draw_peers
from experiments.greed import greed_markdown
from experiments.ledger import Ledger
from experiments.methods import BELIEF_TASKS, LEVEL_TASKS, METHODS, TASKS
from experiments.peer_tables import ABOUT, peer_markdown, peer_panels
from experiments.peers import CHOOSERS, COMPARISONS, PEER_TASKS, peer_plan
from experiments.plan import Plan, Results
from experiments.run import RunJob
from experiments.tables import belief_markdown, belief_rows, task_markdown, task_table
from experiments.timing import timing_markdown, timings
from hentropy.errors import HentropyError

EVERYTHING, TIMING, BELIEFS, LEVELS, GREED = "all", "timing", "beliefs", "levels", "greed"
NAMES = (*FIGURES, TIMING, EVERYTHING, BELIEFS, *COMPARISONS, LEVELS)
"""What can be made."""

ABOUT_COMMAND = """\
Figures of the paper "Generalizing Bayesian Optimization with Decision-theoretic Entropies" (figure-1 to figure-7, all),
and how long a query takes (timing). Or comparisons with BayBE and BoTorch: measured reactions (tables), designs with
options and numbers (mixed), a cheap fidelity (fidelity), a simulator that crashes (failures), limits and fronts
(outcomes). Or the default belief and a mixture over one kernel (beliefs). Or what others published results on: least
values of twelve functions (greed) and level sets (levels).

Every step is recorded in the results folder as it happens: if stopped, the same command resumes."""


def seeds_in(text: str) -> range:
    """20 is seeds 0 to 19, 5-19 those from 5 to 19."""
    first, dash, last = text.partition("-")
    try:
        return range(int(first), int(last) + 1) if dash else range(int(first))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor a range such as 5-19") from None


def parser() -> argparse.ArgumentParser:
    """All options."""
    options = argparse.ArgumentParser(
        "python -m experiments",
        description=ABOUT_COMMAND,
        epilog="Example: python -m experiments figure-2 --quick",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    tasks, methods = [*TASKS, *BELIEF_TASKS, *LEVEL_TASKS, *PEER_TASKS], [*METHODS, *CHOOSERS]
    add("what", nargs="+", choices=NAMES, metavar="WHAT", help=f"one or several of {', '.join(NAMES)}")
    add("--seeds", type=seeds_in, metavar="N", help="runs per method, or a range: 5-19; default: 20, or 51 for greed")
    add("--tasks", nargs="+", choices=tasks, metavar="NAME", help="only these of its tasks, by name of the problem")
    add("--methods", nargs="+", choices=methods, metavar="NAME", help="only these of its methods")
    add("--quick", action="store_true", help="two queries, two seeds and small settings, for a run of minutes")
    add("--max-seconds", type=float, metavar="S", help="runs are stopped then; tables and figures are of what there is")
    add("--recorded", action="store_true", help="run nothing: tables and figures of the records, of whatever version")
    add("--workers", type=int, metavar="N", help="runs side by side; default: one per core, or worker of --scheduler")
    add("--executor", choices=("processes", "dask"), help="default: processes; dask with --scheduler")
    add("--scheduler", metavar="ADDRESS", help="a running Dask scheduler; for the executor dask")
    add("--data", type=Path, metavar="DIR", help="the measured reactions, for tables, or the published runs, for greed")
    add("--evaluations", type=int, default=50, metavar="N", help="of each run of greed: 50, 100 or 250; default: 50")
    add("--baybe", metavar="PYTHON", help="a Python that has BayBE, for tables and mixed")
    add("--out", type=Path, metavar="DIR", help="results folder; default: out/reproduce, or out/quick")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what a command line asks for; 1 if a run failed or something was wrong, 130 if it was stopped."""
    given = parser().parse_args(arguments)
    try:
        return make(given)
    except HentropyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; all steps so far are recorded, and the same command resumes from there")
        return 130


WIDTH_OF_FILES = 140
Show = Callable[[Results, Console], None]
"""Makes tables and figures of results, in their folder and in the terminal."""


def make(given: argparse.Namespace) -> int:
    """Runs, then tables and figures; 1 if runs failed."""
    executor = executor_of(
        given.executor or ("processes" if given.scheduler is None else "dask"), given.workers, given.scheduler
    )
    console = Console() if Console().is_terminal else Console(width=WIDTH_OF_FILES)
    parts = parts_of(given)
    folder = given.out or Path("out") / ("quick" if given.quick else "reproduce")
    ledger = Ledger.existing(folder, read_only=True) if given.recorded else Ledger.open(folder)
    until = None if given.max_seconds is None else time.monotonic() + given.max_seconds
    with ledger.writing():
        for plan, show in parts:
            if not given.recorded:
                _run(plan, ledger, executor, until, console)
            show(Results(ledger, plan), console)
        if not given.recorded and {EVERYTHING, TIMING} & set(given.what):
            _time(folder, given.quick, console)
    return _tell_failures([Results(ledger, plan) for plan, _ in parts], console)


def parts_of(given: argparse.Namespace) -> list[tuple[Plan, Show]]:
    """The runs that a command line asks for, and what is made of them."""
    wanted, seeds, quick = set(given.what), given.seeds, given.quick
    parts: list[tuple[Plan, Show]] = []
    figures = [name for name in FIGURES if name in wanted or EVERYTHING in wanted]
    if figures:
        tasks = [task for name in figures for task in FIGURES[name].tasks]
        parts.append((Plan.of(tasks, seeds, quick), partial(_draw, figures)))
    if LEVELS in wanted:
        parts.append((Plan.of(LEVEL_TASKS, seeds, quick, LEVEL_TASKS), _tabulate))
    if BELIEFS in wanted:
        parts.append((Plan.of(BELIEF_TASKS, seeds, quick, BELIEF_TASKS), _show_beliefs))
    for name in COMPARISONS:
        if name in wanted:
            plan = peer_plan(
                name, seeds, quick, given.data, given.baybe, given.evaluations, given.tasks, given.recorded
            )
            parts.append((plan, partial(_show_greed, given.data) if name == GREED else partial(_compare, name)))
    return [(plan.only(given.tasks, given.methods), show) for plan, show in parts]


class TimeIsUp(KeyboardInterrupt):
    """So many seconds have passed: what runs ends as if it were interrupted."""


@contextmanager
def _until(end: float | None) -> Iterator[None]:
    """Within, `TimeIsUp` is raised at a time of the monotonic clock."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0 if end is None else max(1e-6, end - time.monotonic()))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _run(plan: Plan, ledger: Ledger, executor: Executor, until: float | None, console: Console) -> None:
    """The runs that are not on the disk yet, with their progress."""
    jobs = plan.jobs()
    done = {job: len(ledger.steps(job)) for job in jobs}
    todo = [job for job in jobs if done[job] <= job.task.queries]
    if todo:
        try:
            with watched(done, console) as report, _until(until):
                executor.work(todo, ledger, report)
        except TimeIsUp:
            console.print("time is up; all steps so far are recorded, and the same command resumes from there")


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


def _draw(figures: Sequence[str], results: Results, console: Console) -> None:
    """A table for each task, and the figures."""
    _tabulate(results, console)
    for name in figures:
        console.print(f"{name}: {FIGURES[name].title}", style="bold")
        _name_files(FIGURES[name].draw(results, results.ledger.folder / "figures"), console)


def _tabulate(results: Results, console: Console) -> None:
    """A table for each task."""
    for task in results.plan.tasks:
        _show(results, task.problem, task_markdown(task_table(results, task.problem)), console)


def _show_beliefs(results: Results, console: Console) -> None:
    _show(results, BELIEFS, belief_markdown(belief_rows(results)), console)


def _show_greed(data: Path, results: Results, console: Console) -> None:
    _show(results, GREED, "\n".join([ABOUT[GREED], "", greed_markdown(results, data)]), console)


def _compare(name: str, results: Results, console: Console) -> None:
    """The table and the figure of a comparison with other programs."""
    panels = [panel for task in results.plan.tasks for panel in peer_panels(results, task.problem)]
    text = "\n".join([ABOUT[name], "", *(peer_markdown(panel) for panel in panels)])
    if any("baybe" in PEER_TASKS[task.problem].methods and "baybe" not in task.methods for task in results.plan.tasks):
        text += "\nBayBE was left out: say with --baybe which Python has it.\n"
    _show(results, name, text, console)
    _name_files(draw_peers(panels, results.ledger.folder / "figures", name), console)


def _time(folder: Path, quick: bool, console: Console) -> None:
    with console.status("timing") as status:
        rows = timings(
            beliefs=1 if quick else 3, repeats=1 if quick else 2, quick=quick, say=lambda text: status.update(text)
        )
    _write(folder / "tables" / "timing.md", timing_markdown(rows), console)


def _show(results: Results, name: str, text: str, console: Console) -> None:
    """A table, as a file and in the terminal, with the version that made its runs."""
    by = f"\nRuns by hentropy {results.versions}.\n" if results.versions else ""
    _write(results.ledger.folder / "tables" / f"{name}.md", text + by, console)


def _write(path: Path, text: str, console: Console) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    console.print(Markdown(text))
    _name_files([path], console)


def _name_files(paths: Sequence[Path], console: Console) -> None:
    for path in paths:
        console.print(f"  {path}", soft_wrap=True, highlight=False)


def _tell_failures(all_results: Sequence[Results], console: Console) -> int:
    """Runs that failed are named at the end, and the exit code says so."""
    failures = {job: (why, results) for results in all_results for job, why in results.failures().items()}
    if not failures:
        return 0
    console.print(f"{len(failures)} runs failed; the others are complete:", style="bold red")
    for job, (why, results) in failures.items():
        last, file = why.strip().splitlines()[-1], results.ledger.path(job).with_suffix(".failed")
        console.print(f"  {job.name}: {last}\n    {file}", markup=False, soft_wrap=True)
    console.print("The same command tries them again.")
    return 1
