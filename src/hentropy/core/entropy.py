"""H: the smallest expected loss that any action has under a belief, and the action that has it (the Bayes action)."""

import math
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.action_search import ActionSearch, expected_loss, prepare_search
from hentropy.core.beliefs import Belief, value_draws
from hentropy.core.beliefs.success import Success
from hentropy.core.decisions import Decision, Solved
from hentropy.core.failures import restricted
from hentropy.core.given import check_seed
from hentropy.core.spaces import DesignSpace
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

AUDIT_DRAWS = 256
AUDIT_REPLICATES = 8

ROUNDING = 1e-12
"""An error that is a smaller share of the entropy is that of rounding: draws may cancel, as those of an affine loss."""


@dataclass(frozen=True)
class Entropy:
    """The entropy of a belief for a decision: its value, its error, the Bayes action.

    The error covers draws of values and what the search for the action may have missed; it is 0 where both are exact.
    """

    value: float
    std_error: float
    action: Any
    decision: Decision


def check_fit(decision: Decision, belief: Belief, space: DesignSpace) -> tuple[Decision, Belief]:
    """The decision within the space, and the belief about the outcomes that it looks at; both checked."""
    if not isinstance(belief, Belief):
        raise InputError(
            f"{type(belief).__name__} is not a belief; make one with he.fit(X, Y) or he.from_botorch(model)"
        )
    if not isinstance(space, DesignSpace):
        raise InputError(f"{space!r} is not a space; make one with he.Space(x=he.Real(0, 1)) or he.Pool(rows)")
    if belief.X.shape[-1] != space.dim:
        raise InputError(f"the belief is about designs of {belief.X.shape[-1]} values, the space has {space.dim}")
    if not isinstance(decision, Decision):
        raise InputError(
            f"{decision!r} is not a decision; use one such as he.Maximize(), or he.decision(loss, actions=...)"
        )
    if not decision.outcomes and len(belief.outcomes) > 1:
        raise InputError(
            f"{decision!r} does not say which outcome it is about, and there are {', '.join(belief.outcomes)}; name it"
        )
    own = decision.looked_at(belief)
    return decision.within(space).informed(own), own


def entropy(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    *,
    seed: int = 0,
    decide_on: DesignSpace | None = None,
    success: Success | None = None,
) -> Entropy:
    """The smallest expected loss of any action, and that action.

    `decide_on` is the space of the decision, if not that of the designs: of these, only those in it can be decided on.

    The action does not depend on the seed: `propose` and `gain` start from the same one. A loss without a closed form
    is averaged over base samples, drawn with the seed, that did not choose the action. With `success`, the
    probability of failure adds to the loss of an action (`failures`), and actions that would probably fail are
    excluded; if all would, the one that most probably succeeds is the best.
    """
    actions_on = space if decide_on is None else decide_on
    settled, belief = check_fit(decision, belief, actions_on)
    check_seed(seed)
    priced = settled
    if success is not None:
        priced, actions_on = restricted(settled, belief, actions_on, success)
    search = prepare_search(priced, belief, actions_on, thorough=True)
    if not actions_on.same_designs(space):
        search = search.of_other_designs(actions_on)
    found = replace(entropy_of(search, belief, seed), decision=settled)
    return replace(found, action=found.decision.in_order(found.action, belief))


def entropy_of(search: ActionSearch, belief: Belief, seed: int) -> Entropy:
    """The entropy from a search that was prepared before."""
    decision = search.decision
    estimates = _estimates(decision, belief, search.best, seed)
    left = 0.0 if search.left is None else float(search.left)
    if estimates is None:
        return Entropy(float(search.value), left, search.best, decision)
    mean, error = float(estimates.mean()), math.hypot(float(estimates.std()) / len(estimates) ** 0.5, left)
    return Entropy(mean, error if error > ROUNDING * abs(mean) else 0.0, search.best, decision)


@torch.no_grad()
def _estimates(decision: Decision, belief: Belief, action: Any, seed: int) -> Tensor | None:
    """Independent estimates of the entropy on draws that did not choose the action; None where it is exact."""
    if isinstance(decision, Solved):
        return decision.replicates(belief.moments(decision.settled_points.to(belief.X), decision.needs), seed + 1)
    if not decision.drawn(belief):
        return None
    points = torch.as_tensor(decision.points(action)).to(belief.X)
    moments = belief.moments(points, decision.needs)
    values = moments.mean.shape[-1]
    draws = (value_draws(AUDIT_DRAWS, values, seed + 1 + r).to(belief.X) for r in range(AUDIT_REPLICATES))
    return torch.stack([expected_loss(decision, moments, action, each) for each in draws])
