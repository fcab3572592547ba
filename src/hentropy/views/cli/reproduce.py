"""`hentropy reproduce`: the paper's figures, and the comparisons with other programs."""

from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.core.given import MOST_WORKERS
from hentropy.views.cli.arguments import whole

MOST_SEEDS = 10_000
FEWEST_EVALUATIONS, MOST_EVALUATIONS = 30, 250
WHAT = (
    *(f"figure-{number}" for number in range(1, 8)),
    "timing",
    "all",
    "beliefs",
    "tables",
    "mixed",
    "fidelity",
    "failures",
    "outcomes",
    "greed",
    "levels",
)
What = Enum("What", {name: name for name in WHAT}, type=str)  # type: ignore[misc]


class Crews(StrEnum):
    """Who does the runs."""

    PROCESSES = "processes"
    DASK = "dask"


def reproduce(
    what: Annotated[
        list[What], typer.Argument(help="What to reproduce; all is everything in the paper.", show_default=False)
    ],
    seeds: Annotated[
        int | None,
        typer.Option(
            parser=whole(1, MOST_SEEDS), metavar="N", help="Runs per method. Default: 20, 51 for greed; 2 with --quick."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few queries and small settings, for a run of minutes.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=whole(1, MOST_WORKERS),
            metavar="N",
            help="Runs side by side. Default: one per core, or per worker of --scheduler.",
        ),
    ] = None,
    executor: Annotated[
        Crews | None,
        typer.Option(help="Who does the runs. Default: processes; dask with --scheduler.", show_default=False),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running Dask scheduler; for the executor dask.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder with the measured reactions, for tables, or the published runs, for greed."),
    ] = None,
    evaluations: Annotated[
        int,
        typer.Option(
            parser=whole(FEWEST_EVALUATIONS, MOST_EVALUATIONS),
            metavar="N",
            help="Evaluations of each run of greed, the first designs included: 50, 100 or 250.",
        ),
    ] = 50,
    baybe: Annotated[
        str | None, typer.Option(metavar="PYTHON", help="A Python that has BayBE, for tables and mixed.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Results folder. Default: out/reproduce or out/quick.")] = None,
) -> None:
    """Make figures of the paper "Generalizing Bayesian Optimization with Decision-theoretic Entropies".

    Or compare with BayBE and BoTorch: on measured reactions (tables), on designs with options and numbers (mixed), with
    a cheap fidelity (fidelity), with a simulator that crashes (failures), and with limits and fronts (outcomes). Or
    compare the default belief with a mixture over one kernel (beliefs), or run what others published results on: least
    values of twelve functions (greed) and level sets (levels).

    Every step is recorded in the results folder as it happens: if stopped, the same command resumes.

    Example: hentropy reproduce figure-2 --quick
    """
    # the experiments and matplotlib take as long to import as all the rest: other commands do without them
    from hentropy.views.cli.paper_results import make  # noqa: PLC0415

    on_dask = executor is Crews.DASK or (executor is None and scheduler is not None)
    make(
        {each.value for each in what},
        seeds=seeds,
        quick=quick,
        kind="dask" if on_dask else "processes",
        workers=workers,
        scheduler=scheduler,
        data=data,
        evaluations=evaluations,
        baybe=baybe,
        folder=out or Path("out") / ("quick" if quick else "reproduce"),
    )
