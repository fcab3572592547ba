"""Many runs: by processes of this machine, or on a Dask cluster of many machines."""

import os
from collections.abc import Sequence
from typing import Literal

from hentropy.bench.experiments.crew import Crew, Report, RunNews
from hentropy.bench.experiments.ledger import Ledger
from hentropy.bench.experiments.local_crew import LocalCrew, run
from hentropy.bench.experiments.run import RunJob
from hentropy.errors import InputError

__all__ = ["Kind", "Report", "RunNews", "crew_of", "run", "sweep"]

Kind = Literal["processes", "dask"]


def sweep(
    jobs: Sequence[RunJob],
    ledger: Ledger,
    workers: int | None,
    report: Report,
    kind: Kind = "processes",
    address: str | None = None,
) -> None:
    """All runs, so many at a time; what is recorded already is not run again. `crew_of` says who does them."""
    crew_of(kind, workers, address).work(jobs, ledger, report)


def crew_of(kind: Kind, workers: int | None = None, address: str | None = None) -> Crew:
    """Who does the runs: processes of this machine, or a Dask cluster (its scheduler's address, or one of our own).

    If `workers` is None, one per core of this machine; with an address, as many as the cluster has.
    """
    if workers is not None and workers < 1:
        raise InputError(f"at least 1 worker is needed, got {workers}")
    if address is not None and kind != "dask":
        raise InputError(f"the address {address!r} is that of a Dask scheduler, but the executor is {kind}")
    here = workers or os.cpu_count() or 1
    if kind == "processes":
        return LocalCrew(here)
    # distributed is an optional dependency, and takes its time to load
    from hentropy.bench.experiments.dask_crew import DaskCrew  # noqa: PLC0415

    return DaskCrew(here if address is None else workers, address)
