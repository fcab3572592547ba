"""What a worker of a Dask cluster does: one run, given the steps that are recorded."""

import json
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from hentropy._version import __version__
from hentropy.bench.experiments.run import Job, Step, steps
from hentropy.bench.experiments.threads import one_thread
from hentropy.errors import ExecutionError, MissingExtra
from hentropy.studies.execution.cluster import unwanted

try:
    from distributed import get_worker
except ImportError:
    raise MissingExtra("distributed", "dask") from None

TOPIC = "hentropy-steps"
"""Where the steps of all runs are told on a cluster; one for all, as its scheduler never forgets a topic."""

_ALONE = threading.Lock()
"""A worker with several threads does one run at a time: some settings of GPyTorch are of the whole process."""


@dataclass(frozen=True)
class Found:
    """What a task found: its steps, and the error and its traceback if that ended it.

    `go` names this go at the task: Dask may begin a task anew on another worker, and two goes must not be mixed.
    """

    go: str
    steps: tuple[Step, ...]
    failed: str | None = None
    traceback: str | None = None


def told(go: str, step: Step) -> str:
    """A step as it is sent."""
    return json.dumps({"go": go, "step": step.to_json()})


def heard(text: str) -> tuple[str, Step]:
    """The go and the step, as they were sent."""
    found = json.loads(text)
    return found["go"], Step.from_json(found["step"])


def labour(job: Job, done: Sequence[Step], version: str) -> Found:
    """The rest of a run, each step told when it is done; it stops after a step when nobody wants it any more."""
    worker, go, found = get_worker(), uuid4().hex, list[Step]()
    key = worker.get_current_task()
    try:
        _check(version, worker.address)
        with _ALONE, one_thread():
            if unwanted(worker, key):
                return Found(go, ())
            for step in steps(job, done):
                found.append(step)
                worker.log_event(TOPIC, {"key": key, "told": told(go, step)})
                if unwanted(worker, key):
                    break
    except Exception as error:  # as text: not every error can be sent
        return Found(go, tuple(found), f"{type(error).__name__}: {error}", traceback.format_exc())
    return Found(go, tuple(found))


def _check(version: str, where: str) -> None:
    if version != __version__:
        raise ExecutionError(
            f"the Dask worker {where} has hentropy {__version__}, and the run is of {version}; install the same there"
        )
