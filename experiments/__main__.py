"""`python -m experiments`, from the repository's root: the paper's figures, and comparisons with other programs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.reproduce import NAMES, reproduce
from hentropy.errors import HentropyError

ABOUT = """\
Figures of the paper "Generalizing Bayesian Optimization with Decision-theoretic Entropies" (figure-1 to figure-7, all),
and how long a query takes (timing). Or comparisons with BayBE and BoTorch: measured reactions (tables), designs with
options and numbers (mixed), a cheap fidelity (fidelity), a simulator that crashes (failures), limits and fronts
(outcomes). Or the default belief and a mixture over one kernel (beliefs). Or what others published results on: least
values of twelve functions (greed) and level sets (levels).

Every step is recorded in the results folder as it happens: if stopped, the same command resumes."""


def parser() -> argparse.ArgumentParser:
    """All options."""
    options = argparse.ArgumentParser(
        "python -m experiments",
        description=ABOUT,
        epilog="Example: python -m experiments figure-2 --quick",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = options.add_argument
    add("what", nargs="+", choices=NAMES, metavar="WHAT", help=f"one or several of {', '.join(NAMES)}")
    add("--seeds", type=int, metavar="N", help="runs per method; default: 20, 51 for greed, 2 with --quick")
    add("--quick", action="store_true", help="few queries and small settings, for a run of minutes")
    add("--workers", type=int, metavar="N", help="runs side by side; default: one per core, or worker of --scheduler")
    add("--executor", choices=("processes", "dask"), help="default: processes; dask with --scheduler")
    add("--scheduler", metavar="ADDRESS", help="a running Dask scheduler; for the executor dask")
    add("--data", type=Path, metavar="DIR", help="the measured reactions, for tables, or the published runs, for greed")
    add(
        "--evaluations",
        type=int,
        default=50,
        metavar="N",
        help="evaluations of each run of greed, the first designs included: 50, 100 or 250",
    )
    add("--baybe", metavar="PYTHON", help="a Python that has BayBE, for tables and mixed")
    add("--out", type=Path, metavar="DIR", help="results folder; default: out/reproduce, or out/quick")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what a command line asks for; 1 if a run failed or something was wrong, 130 if it was stopped."""
    given = parser().parse_args(arguments)
    try:
        return reproduce(
            given.what,
            seeds=given.seeds,
            quick=given.quick,
            kind=given.executor or ("processes" if given.scheduler is None else "dask"),
            workers=given.workers,
            scheduler=given.scheduler,
            data=given.data,
            evaluations=given.evaluations,
            baybe=given.baybe,
            folder=given.out or Path("out") / ("quick" if given.quick else "reproduce"),
        )
    except HentropyError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; all steps so far are recorded, and the same command resumes from there")
        return 130


if __name__ == "__main__":
    sys.exit(main())
