"""Statistics over seeds: means with standard errors, and differences of methods seed by seed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.run import Step

RESAMPLES = 10_000
COVERAGE = 0.95


@dataclass(frozen=True)
class Curve:
    """A score against the number of queries (0, 1, ...): mean and standard error over seeds."""

    mean: np.ndarray
    error: np.ndarray
    seeds: int

    @classmethod
    def of(cls, rows: Iterable[np.ndarray]) -> "Curve":
        """That of a row for each seed; the error of one seed is zero."""
        table = np.array(list(rows))
        count = len(table)
        error = table.std(0, ddof=1) / count**0.5 if count > 1 else np.zeros(table.shape[1])
        return cls(table.mean(0), error, count)


@dataclass(frozen=True)
class Difference:
    """Mean difference of two methods over the seeds that both have, with a bootstrap interval of 95 %."""

    mean: float
    low: float
    high: float
    seeds: int


def scores(runs: Mapping[int, list[Step]], queries: int) -> dict[int, np.ndarray]:
    """The score after 0 ... queries steps of each seed whose run got that far."""
    return {
        seed: np.array([step.score for step in steps[: queries + 1]])
        for seed, steps in runs.items()
        if len(steps) > queries
    }


def curve(runs: Mapping[int, list[Step]], queries: int) -> Curve | None:
    """Mean and standard error over the seeds that got through all queries; None without any."""
    found = scores(runs, queries)
    return Curve.of(found.values()) if found else None


def difference(
    first: Mapping[int, list[Step]], second: Mapping[int, list[Step]], queries: int, seed: int = 0
) -> Difference | None:
    """Score of the first less that of the second after so many queries, paired by seed; None without common seeds."""
    return paired(final(first, queries), final(second, queries), seed)


def final(runs: Mapping[int, list[Step]], queries: int) -> dict[int, float]:
    """The score after so many queries, by seed."""
    return {seed: float(values[-1]) for seed, values in scores(runs, queries).items()}


def paired(first: Mapping[int, float], second: Mapping[int, float], seed: int = 0) -> Difference | None:
    """Mean difference over the common keys, with a percentile bootstrap over them."""
    common = sorted(first.keys() & second.keys())
    if not common:
        return None
    gaps = np.array([first[key] - second[key] for key in common])
    draws = np.random.default_rng(seed).integers(0, len(gaps), (RESAMPLES, len(gaps)))
    tail = 50.0 * (1.0 - COVERAGE)
    low, high = np.percentile(gaps[draws].mean(1), [tail, 100.0 - tail])
    return Difference(float(gaps.mean()), float(low), float(high), len(gaps))


def seconds(runs: Mapping[int, list[Step]]) -> tuple[float, float]:
    """Median seconds of an acquisition and of a fit."""
    steps = [step for each in runs.values() for step in each]
    acquisition = [step.acquisition_seconds for step in steps if step.acquisition_seconds is not None]
    fits = [step.fit_seconds for step in steps]
    return (float(np.median(acquisition)) if acquisition else float("nan")), float(np.median(fits))
