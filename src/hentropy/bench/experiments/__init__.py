"""Comparisons: methods on tasks over many seeds, recorded step by step; and the paper's figures made of them."""

from hentropy.errors import require

require("filelock", "cli")

from hentropy.bench.experiments.crew import Crew, Report, RunNews, crew_of, run, sweep
from hentropy.bench.experiments.ledger import Ledger
from hentropy.bench.experiments.methods import METHODS, TASKS, Method, Task
from hentropy.bench.experiments.plan import Plan, Results
from hentropy.bench.experiments.run import RunJob, RunKey, Step, replayed

__all__ = [
    "METHODS",
    "TASKS",
    "Crew",
    "Ledger",
    "Method",
    "Plan",
    "Report",
    "Results",
    "RunJob",
    "RunKey",
    "RunNews",
    "Step",
    "Task",
    "crew_of",
    "replayed",
    "run",
    "sweep",
]
