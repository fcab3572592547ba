"""`hentropy reproduce`: the paper's figures, made anew."""

from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated

from rich.console import Console

from hentropy.cli.progress import watched
from hentropy.errors import MissingExtra
from hentropy.experiments.crew import Crew
from hentropy.experiments.figures import FIGURES
from hentropy.experiments.ledger import Ledger
from hentropy.experiments.plan import MOST_SEEDS, Plan, Results
from hentropy.experiments.run import Job
from hentropy.experiments.sweep import crew_of
from hentropy.experiments.tables import markdown, printed, task_table
from hentropy.experiments.timing import markdown as timing_markdown
from hentropy.experiments.timing import printed as timing_printed
from hentropy.experiments.timing import timings

try:
    import typer
except ImportError:
    raise MissingExtra("typer", "cli") from None


WIDTH_OF_FILES = 140
EVERYTHING, TIMING = "all", "timing"
What = Enum("What", {name: name for name in (*FIGURES, TIMING, EVERYTHING)}, type=str)  # type: ignore[misc]


class Executors(StrEnum):
    """Who does the runs."""

    PROCESSES = "processes"
    DASK = "dask"


def reproduce(
    what: Annotated[list[What], typer.Argument(help="What to make.", show_default=False)],
    seeds: Annotated[
        int | None, typer.Option(min=1, max=MOST_SEEDS, help="Runs per method. Default: 20; 2 with --quick.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few queries and small settings: minutes, the same code.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Runs side by side. Default: one per core, or per worker of --scheduler.")
    ] = None,
    executor: Annotated[
        Executors | None,
        typer.Option(help="Who does the runs. Default: processes; dask with --scheduler.", show_default=False),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler that runs already; for the executor dask.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Results folder. Default: out/reproduce or out/quick.")] = None,
) -> None:
    """Make figures of the paper "Generalizing Bayesian Optimization with Decision-theoretic Entropies".

    Every step is recorded in the results folder as it happens: stopped at any time, the same command goes on.

    Example: hentropy reproduce figure-2 --quick
    """
    crew = crew_of("dask" if _on_dask(executor, scheduler) else "processes", workers, scheduler)
    console = Console() if Console().is_terminal else Console(width=WIDTH_OF_FILES)
    wanted = {each.value for each in what}
    chosen = [name for name in FIGURES if name in wanted or EVERYTHING in wanted]
    folder = out or Path("out") / ("quick" if quick else "reproduce")
    plan = Plan.of([task for name in chosen for task in FIGURES[name].tasks], seeds, quick)
    ledger = Ledger.open(folder)
    results = Results(ledger, plan)
    with ledger.writing():
        _run(plan, ledger, crew, console)
        for task in plan.tasks:
            table = task_table(results, task.problem)
            _write(folder / "tables" / f"{task.problem}.md", markdown(table))
            console.print(printed(table, console.width), "")
        for name in chosen:
            console.print(f"{name}: {FIGURES[name].title}", style="bold")
            for path in FIGURES[name].draw(results, folder / "figures"):
                console.print(f"  {path}", soft_wrap=True, highlight=False)
        if wanted & {EVERYTHING, TIMING}:
            _time(folder, quick, console)
    _tell_failures(results.failures(), ledger, console)


def _on_dask(executor: Executors | None, scheduler: str | None) -> bool:
    return executor is Executors.DASK or (executor is None and scheduler is not None)


def _run(plan: Plan, ledger: Ledger, crew: Crew, console: Console) -> None:
    """The runs that are not on the disk yet, with their progress."""
    jobs = plan.jobs()
    done = {job: len(ledger.steps(job)) for job in jobs}
    todo = [job for job in jobs if done[job] <= job.task.queries]
    if todo:
        try:
            with watched(done, console) as report:
                crew.work(todo, ledger, report)
        except KeyboardInterrupt:
            console.print("stopped; all steps so far are recorded, and the same command goes on from there")
            raise typer.Exit(130) from None


def _time(folder: Path, quick: bool, console: Console) -> None:
    with console.status("timing") as status:
        rows = timings(
            beliefs=1 if quick else 3, repeats=1 if quick else 2, quick=quick, say=lambda text: status.update(text)
        )
    _write(folder / "tables" / "timing.md", timing_markdown(rows))
    console.print(timing_printed(rows), "")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _tell_failures(failures: dict[Job, str], ledger: Ledger, console: Console) -> None:
    """Runs that failed are named at the end, and the command says so by its exit code."""
    if not failures:
        return
    console.print(f"{len(failures)} runs failed; the others are complete:", style="bold red")
    for job, why in failures.items():
        last = why.strip().splitlines()[-1]
        console.print(
            f"  {job.name}: {last}\n    {ledger.path(job).with_suffix('.failed')}", markup=False, soft_wrap=True
        )
    console.print("The same command tries them again.")
    raise typer.Exit(1)
