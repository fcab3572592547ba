"""From the words of a study to who evaluates it: objective, terms of retries, executor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from hentropy.errors import InputError
from hentropy.studies.definition.parts import Command, PythonFunction
from hentropy.studies.execution.executor import Executor
from hentropy.studies.execution.leases import Terms
from hentropy.studies.execution.local import Local, Processes
from hentropy.studies.execution.objective import CommandObjective, Objective, PythonObjective
from hentropy.studies.study.words import LocatedDescription

Kind = Literal["local", "processes", "dask", "slurm"]


def objective_of(words: LocatedDescription) -> Objective:
    """What evaluates an experiment; modules and programs are looked for in the words' folder."""
    said = words.description.objective
    if isinstance(said, PythonFunction):
        return PythonObjective(said.function, words.folder, said.timeout)
    if isinstance(said, Command):
        return CommandObjective(said.command, words.folder, said.timeout)
    raise InputError(
        f"the objective of {words.description.name!r} is manual: a person measures; use ask and tell, or give it a"
        " function or a command"
    )


def terms_of(words: LocatedDescription) -> Terms:
    """Leases and retries."""
    said = words.description.objective
    return Terms(said.lease, said.retries, said.lost_retries)


def executor_of(
    kind: Kind,
    objective: Objective,
    workers: int,
    address: str | None = None,
    job: Sequence[str] = (),
    folder: Path | None = None,
) -> Executor:
    """Who evaluates: this process, child processes, a Dask cluster (its scheduler's address, or one of our own), SLURM.

    `job` are parameters of SLURM jobs, such as timeout_min=60, whose files are kept in `folder`.
    """
    if address is not None and kind != "dask":
        raise InputError(f"the address {address!r} is that of a Dask scheduler, but the executor is {kind}")
    if kind == "dask":
        # distributed is an optional dependency, and takes its time to load
        from hentropy.studies.execution.cluster import Dask  # noqa: PLC0415

        return Dask(objective, workers, address)
    if kind == "slurm":
        # submitit is an optional dependency
        from hentropy.studies.execution.batch_jobs import FOLDER, BatchJobs, job_parameters  # noqa: PLC0415

        return BatchJobs(objective, workers, (folder or Path.cwd()) / FOLDER, job_parameters(list(job)))
    if kind == "processes":
        return Processes(objective, workers)
    if workers != 1:
        raise InputError(f"the local executor evaluates one experiment at a time, not {workers}; use processes")
    return Local(objective)
