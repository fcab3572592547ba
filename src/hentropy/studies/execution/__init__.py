"""Execution: how one experiment is evaluated, and who evaluates. `Dask` is in `hentropy.studies.execution.cluster`."""

from hentropy.studies.execution.executor import Evaluator, Executor, Outcome
from hentropy.studies.execution.local import Local
from hentropy.studies.execution.objective import CommandObjective, Objective, PythonObjective
from hentropy.studies.execution.processes import Processes

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
