"""Execution: how one experiment is evaluated, and who evaluates. `Dask` is in `hentropy.studies.execution.cluster`."""

from hentropy.studies.execution.executor import Evaluation, Evaluator, Executor
from hentropy.studies.execution.local import Local, Processes
from hentropy.studies.execution.objective import CommandObjective, Objective, PythonObjective

__all__ = [
    "CommandObjective",
    "Evaluation",
    "Evaluator",
    "Executor",
    "Local",
    "Objective",
    "Processes",
    "PythonObjective",
]
