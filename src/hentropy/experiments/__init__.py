"""Comparisons: methods on tasks over many seeds, recorded step by step; and the paper's figures made of them."""

from hentropy.experiments.ledger import Ledger
from hentropy.experiments.methods import METHODS, Method
from hentropy.experiments.plan import Plan, Results
from hentropy.experiments.run import Job, Step, replayed, steps
from hentropy.experiments.sweep import News, run, sweep
from hentropy.experiments.tasks import TASKS, Task

__all__ = [
    "METHODS",
    "TASKS",
    "Job",
    "Ledger",
    "Method",
    "News",
    "Plan",
    "Results",
    "Step",
    "Task",
    "replayed",
    "run",
    "steps",
    "sweep",
]
