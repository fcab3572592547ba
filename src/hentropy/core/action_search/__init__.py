"""The inner search, for actions: the smallest expected loss now and after each outcome, a file per kind of action."""

from hentropy.core.action_search.base import ActionSearch, BestAfterOutcome, expected_loss, wide
from hentropy.core.action_search.continuous import ContinuousSearch
from hentropy.core.action_search.descent import descend
from hentropy.core.action_search.finite import FiniteSearch
from hentropy.core.action_search.incumbent import SEED
from hentropy.core.action_search.listed import ListedSearch, OptionsSearch, all_tuples, enumerable
from hentropy.core.action_search.observed import ObservedSearch
from hentropy.core.action_search.solved import SolvedSearch
from hentropy.core.action_search.tuples import TupleSearch
from hentropy.core.beliefs import Belief
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Points, Solved, base_samples
from hentropy.core.decisions.actions import Searches
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

VALUE_DRAWS, MIXTURE_DRAWS = 64, 128
"""Base samples of the values at an action's points while searching, for losses without a closed form."""

THOROUGH = 4
"""By so many more in a thorough search: actions chosen on few draws are not the best, and small gains of averaged
losses under a mixture were too low by half and more."""


def values_per_action(decision: Decision, space: DesignSpace, observed: Tensor) -> int:
    """How many values the loss of one action looks at, at most, once designs n x d have been observed."""
    actions = decision.actions_given(observed) if decision.follows_data else decision.actions
    counts = [torch.as_tensor(decision.points(action)).shape[-2] for action in actions.shapes(space)]
    return max(counts, default=1) * max(1, len(decision.outcomes))


@torch.no_grad()
def prepare_search(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    clock: Clock | None = None,
    thorough: bool = False,
) -> ActionSearch:
    """The search that fits the decision's actions, with today's best action. The decision is `within` the space.

    It does not depend on a seed. With `thorough`, as for all that is stated about a belief, it is searched for as long
    as that finds a better one (`restarts`).
    """
    search = _prepared(decision, belief, space, Clock() if clock is None else clock, thorough)
    if not bool(torch.isfinite(search.value)):
        raise DecisionError(
            f"the smallest expected loss of {decision!r} is {float(search.value)}, of action {search.best!r}; guard the"
            " logarithms, roots and divisions of its loss, and bound it from below"
        )
    return search


def _prepared(decision: Decision, belief: Belief, space: DesignSpace, clock: Clock, thorough: bool) -> ActionSearch:
    if isinstance(decision, Solved):
        return SolvedSearch.prepare(decision, belief)
    count = VALUE_DRAWS if belief.components == 1 else MIXTURE_DRAWS
    values = values_per_action(decision, space, belief.X)
    draws = base_samples(decision, count, values, SEED).to(belief.X)
    more = None
    if thorough:
        many = decision.drawn(belief) and not wide(decision, values)
        more = base_samples(decision, THOROUGH * count, values, SEED).to(belief.X) if many else draws
    if decision.follows_data:
        return ObservedSearch.prepare(decision, belief, draws, clock)

    def rows(found: Tensor) -> ActionSearch:
        return ListedSearch.prepare(decision, belief, found.to(belief.X), draws)

    def tuples(points: Tensor, actions: Points) -> ActionSearch:
        points = points.to(belief.X)
        if enumerable(points.shape[0], actions):
            return rows(all_tuples(points, actions))
        sums = decision.sums()
        if sums is not None:
            return FiniteSearch.prepare(decision, belief, points, sums, clock)
        return TupleSearch.prepare(decision, belief, points, actions, draws, clock)

    ways: Searches[ActionSearch] = Searches(
        descent=lambda domain: ContinuousSearch.prepare(decision, belief, space, domain, draws, clock, more),
        rows=rows,
        items=lambda actions: OptionsSearch.prepare(decision, belief, actions, draws),
        tuples=tuples,
    )
    search = decision.actions.search(space, ways)
    if search is None:
        raise DecisionError(
            f"the actions of {type(decision).__name__} are {decision.actions!r}; they must be Points(k), Box(low,"
            " high), Listed or Options(items), or the decision a Solved one"
        )
    return search


__all__ = [
    "ActionSearch",
    "BestAfterOutcome",
    "ContinuousSearch",
    "ListedSearch",
    "ObservedSearch",
    "SolvedSearch",
    "descend",
    "expected_loss",
    "prepare_search",
    "values_per_action",
]
