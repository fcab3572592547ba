"""What a decision is worth under the true function: the scores of the paper, and F1 where others published that."""

from typing import Any

import torch

from hentropy.bench.problems import Problem
from hentropy.core.beliefs import Belief
from hentropy.core.decisions import LevelSets
from hentropy.core.entropy import entropy
from hentropy.errors import InputError

CONSERVATIVE = 0.975
"""P(f > threshold) of conservative labels: mean - 1.96 sd > threshold, where f is normal."""


def score(problem: Problem, action: Any) -> float:
    """The share of right labels over points and thresholds for level sets; otherwise the negative true loss.

    The labels that are best for the loss f - c are those of the posterior mean, so that the share is the accuracy of
    the level of each point from the posterior mean, averaged over the thresholds. Where the problem says at which
    points labels are scored, the action are labels there, and the score is their F1.
    """
    if not isinstance(problem.decision, LevelSets):
        return -problem.loss(action)
    if problem.scored is not None:
        return f1(action > 0.5, best_labels(problem) > 0.5)
    return float(((action > 0.5) == (best_labels(problem) > 0.5)).to(torch.float64).mean())


def best_score(problem: Problem) -> float | None:
    """The greatest score that the true function allows."""
    if isinstance(problem.decision, LevelSets):
        return 1.0
    return None if problem.best is None else 0.0 - problem.best.loss


def score_name(problem: Problem) -> str:
    """What the score is called on an axis."""
    if problem.scored is not None:
        return "F1"
    return "accuracy" if isinstance(problem.decision, LevelSets) else "negative true loss"


def f1(said: torch.Tensor, true: torch.Tensor) -> float:
    """2 TP / (2 TP + FP + FN) of yes and no; 0 where nothing is said and nothing is there to be found."""
    right, wrong = int((said & true).sum()), int((said != true).sum())
    return 2.0 * right / (2.0 * right + wrong) if right else 0.0


def scored_labels(problem: Problem, belief: Belief) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The most probable and the conservative labels at the points by which a problem is scored, if it says them."""
    if problem.scored is None:
        return None
    by = problem.scored
    conservative = LevelSets(by.thresholds, by.at, confidence=CONSERVATIVE)
    probable, sure = (entropy(each, belief, problem.space).action for each in (by, conservative))
    return probable, sure


def best_labels(problem: Problem) -> torch.Tensor:
    """The true labels of a level-set problem: T x m."""
    if problem.best is None or problem.best.action is None:
        raise InputError(f"the problem {problem.name} does not say the true labels of its points; give it a `best`")
    return problem.best.action
