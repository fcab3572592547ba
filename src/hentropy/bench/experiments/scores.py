"""What a decision is worth under the true function: the scores of the paper."""

from typing import Any

import torch

from hentropy.bench.problems import Problem
from hentropy.core.decisions import LevelSets
from hentropy.errors import InputError


def score(problem: Problem, action: Any) -> float:
    """The share of right labels over points and thresholds for level sets; otherwise the negative true loss.

    The labels that are best for the loss f - c are those of the posterior mean, so that the share is the accuracy of
    the level of each point from the posterior mean, averaged over the thresholds.
    """
    if not isinstance(problem.decision, LevelSets):
        return -problem.loss(action)
    return float(((action > 0.5) == (best_labels(problem) > 0.5)).to(torch.float64).mean())


def best_score(problem: Problem) -> float | None:
    """The greatest score that the true function allows."""
    if isinstance(problem.decision, LevelSets):
        return 1.0
    return None if problem.best is None else 0.0 - problem.best.loss


def score_name(problem: Problem) -> str:
    """What the score is called on an axis."""
    return "accuracy" if isinstance(problem.decision, LevelSets) else "negative true loss"


def best_labels(problem: Problem) -> torch.Tensor:
    """The true labels of a level-set problem: T x m."""
    if problem.best is None or problem.best.action is None:
        raise InputError(f"the problem {problem.name} does not say the true labels of its points; give it a `best`")
    return problem.best.action
