"""The tasks of the comparisons: a problem, how it begins, how long it runs, and who takes part."""

from dataclasses import dataclass

from hentropy.bench.problems.names import named

OWN = ("hentropy", "hentropy-mixture")
PAPER = ("one-shot-paper",)
PLAIN = ("random", "uncertainty")
CLASSIC = ("kg", "ei", "pi", "mes", "botorch-logei")
LEVELS = ("hentropy-points", "pom", "straddle", "efi")
SLOW = ("botorch-qkg",)
"""Minutes for each query beyond two parameters, for what `kg` does in a fifth of a second."""


@dataclass(frozen=True)
class Task:
    """A problem by its name in the catalogue, the number of first designs and of queries after them, the methods."""

    problem: str
    first: int
    queries: int
    methods: tuple[str, ...]


TASKS = {
    task.problem: task
    for task in (
        Task("alpine-2-top-5", 10, 40, (*OWN, *PAPER, *CLASSIC, *SLOW, *PLAIN)),
        Task("alpine-3-top-3", 10, 40, (*OWN, *PAPER, *CLASSIC, *PLAIN)),
        Task("alpine-5-top-5", 10, 50, (*OWN, *PAPER, *CLASSIC, *PLAIN)),
        Task("vaccination-pennsylvania-top-5", 5, 40, (*OWN, *PAPER, *CLASSIC, *PLAIN)),
        Task("multihills-two-levels", 5, 30, (*OWN, *PAPER, *LEVELS, *PLAIN)),
        Task("multihills-one-level", 5, 30, (*OWN, *PAPER, *LEVELS, *PLAIN)),
        Task("alpine-2-one-level", 10, 40, (*OWN, *LEVELS, *PLAIN)),
        Task("alpine-2-two-levels", 10, 40, (*OWN, *LEVELS, *PLAIN)),
        Task("night-light-one-level", 10, 40, (*OWN, *PAPER, *LEVELS, *PLAIN)),
        Task("vaccination-pennsylvania-sequence", 5, 40, (*OWN, *PAPER, "kg", "ei", *PLAIN)),
        Task("multihills-sequence", 5, 40, (*OWN, *PAPER, "kg", "ei", *PLAIN)),
    )
}


def task(name: str) -> Task:
    """The task of a problem; an unknown name is answered with the known ones."""
    return named(name, TASKS, "task")
