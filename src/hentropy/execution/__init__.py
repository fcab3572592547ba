"""Execution: how one experiment is evaluated, and who evaluates. `Dask` is in `hentropy.execution.cluster`."""

from hentropy.execution.evaluator import Evaluator
from hentropy.execution.executor import Executor
from hentropy.execution.local import Local
from hentropy.execution.objective import CommandObjective, Objective, PythonObjective
from hentropy.execution.outcome import Outcome
from hentropy.execution.processes import Processes

__all__ = [
    "CommandObjective",
    "Evaluator",
    "Executor",
    "Local",
    "Objective",
    "Outcome",
    "Processes",
    "PythonObjective",
]
