"""What a baseline asks of the problem it is used on; otherwise an error that says what to change."""

from hentropy.core.beliefs import Belief, Gaussian
from hentropy.core.decisions import Decision, LevelSets
from hentropy.core.solvers import Cost
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError, ModelError


def require_level_sets(decision: Decision, who: str) -> LevelSets:
    """The decision, if it is about level sets."""
    if not isinstance(decision, LevelSets):
        raise InputError(f"{who} chooses queries for LevelSets, and the decision is {decision!r}; use it with those")
    return decision


def require_one_gp(belief: Belief, who: str) -> Gaussian:
    """The belief, if it is one Gaussian process."""
    if not isinstance(belief, Gaussian) or belief.components > 1:
        what = f"{belief.components} of them" if isinstance(belief, Gaussian) else f"a {type(belief).__name__}"
        raise ModelError(
            f"{who} works with one Gaussian process and the belief is {what}; fit it with hyperparameters='map'"
            " (an option of he.fit and he.Study)"
        )
    return belief


def require_continuous(space: DesignSpace, who: str) -> None:
    """That designs are not from a list."""
    if space.points is not None:
        raise InputError(f"{who} moves designs continuously and {space!r} is a list; take a Space, or another baseline")


def require_no_cost(cost: Cost | None, who: str) -> None:
    """That designs cost the same."""
    if cost is not None:
        raise InputError(
            f"{who} knows no costs, nor the one that a study adds once a trial has failed; leave the cost out, or use a"
            " baseline that counts it, such as KnowledgeGradient()"
        )
