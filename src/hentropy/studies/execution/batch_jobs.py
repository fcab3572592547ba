"""Experiments as jobs of a SLURM cluster, by submitit; its local and debug executors stand in where there is none."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from hentropy.errors import ExecutionError, InputError, MissingExtra
from hentropy.studies.execution.executor import Evaluation, Executor, checked_workers, failure
from hentropy.studies.execution.objective import Objective

try:
    import submitit
    from submitit.core.utils import UncompletedJobError
except ImportError:
    raise MissingExtra("submitit", "slurm") from None

LOOK = 0.2
"""Seconds after which one who waits looks for results again; submitit asks SLURM itself less often."""

FOLDER = "hentropy-jobs"
"""Where scripts, results and logs of jobs are kept, beside the objective."""


class BatchJobs(Executor):
    """Submits each experiment as one job, at most `workers` of which are to be in the queue at a time.

    `folder` keeps scripts, results and logs, and stays; this machine and the nodes must both see it, hentropy and the
    objective. `parameters` are those of submitit's `AutoExecutor`, such as slurm_partition, timeout_min, mem_gb,
    cpus_per_task and gpus_per_node. A job that ends without a result, because its node failed, it ran out of time or
    memory, or it was preempted or cancelled, makes its experiment lost: it may be run again.
    """

    def __init__(
        self,
        objective: Objective,
        workers: int,
        folder: Path,
        parameters: Mapping[str, Any] | None = None,
        cluster: Literal["slurm", "local", "debug"] = "slurm",
    ) -> None:
        self.workers = checked_workers(workers)
        self._objective = objective
        self._jobs: dict[int, submitit.Job[Evaluation]] = {}
        try:
            self._executor = submitit.AutoExecutor(folder, cluster)
            self._executor.update_parameters(name="hentropy", **(parameters or {}))
        except RuntimeError as error:
            raise ExecutionError(f"no SLURM here: {error}; submit from a machine that has srun and sbatch") from error
        except (AssertionError, NameError, TypeError, ValueError) as error:  # what submitit says to wrong parameters
            raise InputError(f"submitit does not take these parameters: {error}") from error

    def submit(self, number: int, params: Mapping[str, Any]) -> None:
        """Put an experiment into the queue of the cluster."""
        self._check(number)
        try:
            self._jobs[number] = self._executor.submit(self._objective.evaluate, dict(params))
        except submitit.core.utils.FailedJobError as error:
            raise ExecutionError(f"the job of experiment {number} was not accepted: {error}") from error

    def wait(self, timeout: float | None = None) -> list[tuple[int, Evaluation]]:
        """What has ended, in the order in which it was submitted."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._jobs:
            ended = [number for number, job in self._jobs.items() if job.done()]
            if ended or (deadline is not None and time.monotonic() >= deadline):
                return [(number, _fetched(self._jobs.pop(number))) for number in ended]
            time.sleep(LOOK)
        return []

    @property
    def pending(self) -> frozenset[int]:
        """What is in the queue, runs, or was not handed out yet."""
        return frozenset(self._jobs)

    def close(self) -> None:
        """Cancel all jobs."""
        self.closed = True
        for job in self._jobs.values():
            job.cancel(check=False)
        self._jobs.clear()


def _fetched(job: "submitit.Job[Evaluation]") -> Evaluation:
    """The outcome of a job that has ended."""
    try:
        return job.result()
    except UncompletedJobError:
        return failure(f"job {job.job_id} ended without a result ({job.state}); its log: {job.paths.stderr}", lost=True)
    except Exception as error:  # a node without hentropy, or of another version
        return failure(f"job {job.job_id} could not evaluate it: {type(error).__name__}: {error}")


def job_parameters(given: list[str]) -> dict[str, Any]:
    """Parameters from texts such as timeout_min=60; those that submitit does not know by itself are SLURM's."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (sign and name.isidentifier() and value):
            raise InputError(f"{text!r} is not NAME=VALUE, such as partition=gpu or timeout_min=60")
        own = name in submitit.AutoExecutor._valid_parameters()
        found[name if own else f"slurm_{name}"] = int(value) if value.isdecimal() else value
    return found
