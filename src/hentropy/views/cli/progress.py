"""Progress bars over many runs: one for each task, and one for all."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from hentropy.bench.experiments.run import Job
from hentropy.bench.experiments.sweep import News, Report


@contextmanager
def watched(done: Mapping[Job, int], console: Console) -> Iterator[Report]:
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

        def report(news: News) -> None:
            more = news.steps - known[news.job]
            if more > 0:
                known[news.job] = news.steps
                bars.advance(lines[news.job.task.problem], more)
                bars.advance(everything, more)
            if news.failed is not None:
                bars.console.print(f"failed: {news.job.name}: {news.failed}", markup=False, style="red")

        yield report
