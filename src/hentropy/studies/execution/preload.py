"""What the workers of our own Dask cluster do before anything else."""

import signal

from distributed import Worker


def dask_setup(worker: Worker) -> None:
    """Leave interrupts to the program that started the cluster: it ends the workers, in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
