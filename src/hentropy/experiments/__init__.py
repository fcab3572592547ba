"""Comparisons: methods on tasks over many seeds, recorded step by step; and the paper's figures made of them."""

from hentropy.experiments.crew import Crew, News, Report
from hentropy.experiments.ledger import Ledger
from hentropy.experiments.local_crew import run
from hentropy.experiments.methods import METHODS, Method
from hentropy.experiments.plan import Plan, Results
from hentropy.experiments.run import Job, Step, replayed, steps
from hentropy.experiments.sweep import crew_of, sweep
from hentropy.experiments.tasks import TASKS, Task

__all__ = [
    "METHODS",
    "TASKS",
    "Crew",
    "Job",
    "Ledger",
    "Method",
    "News",
    "Plan",
    "Report",
    "Results",
    "Step",
    "Task",
    "crew_of",
    "replayed",
    "run",
    "steps",
    "sweep",
]
