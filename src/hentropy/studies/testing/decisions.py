"""What every decision must do."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from hentropy.core.action_search import expected_loss, prepare_search
from hentropy.core.beliefs import Belief, Needs, value_draws
from hentropy.core.decisions import Decision, Solved, by_outcome, checked_loss
from hentropy.core.entropy import Entropy, check_fit, entropy, entropy_of
from hentropy.core.gain import Effort, Gain, gain
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError
from hentropy.studies.testing.relations import SIGMAS, replicated, require, require_close

REPLICATES = 8
DRAWS = 1024
OUTCOMES = 12
"""After this many outcomes of a design the belief is conditioned and the best action searched again."""


def check_decision(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    *,
    moved: Callable[[float], Decision] | None = None,
    scales: bool = False,
    actions: int = 24,
    designs: int = 4,
    q: int = 1,
    effort: Effort | None = None,
    seed: int = 0,
) -> None:
    """Raise an `AssertionError` if the decision is inconsistent under this belief.

    The loss has one value per action; the expected loss is its average; the Bayes action attains the entropy, and no
    random action has a lower loss; gains are not negative, and the gain of a design is what conditioning the belief on
    its outcomes and deciding again saves on average; the order of a set of points does not matter; with `q` above 1,
    the joint gain of q designs is the gain of all but the last plus what the last adds while these are pending.
    Optional relations, for Gaussian processes: `moved(c)` is the same decision about f + c (thresholds moved as well),
    whose gains must be the same; `scales` says that the loss is linear in f, so that gains double with f. `effort` is
    that of all gains; by default, the usual one.
    """
    settled, belief = check_fit(decision, belief, space)
    tried = _actions(settled, belief, space, actions, seed)
    for action in tried[:4]:
        _check_loss(settled, belief, action, seed)
    scored = not isinstance(settled, Solved) or settled.scores_actions
    if scored:
        _check_expected_loss(settled, belief, tried, seed)
    now = entropy(decision, belief, space, seed=seed)
    if scored:
        _check_bayes_action(settled, belief, now, tried, seed)
    if settled.actions.as_set:
        _check_order(settled, belief, tried)
    x = space.sample(designs, seed + 11).to(belief.X)
    found = gain(decision, belief, x, space, effort=effort, seed=seed)
    _check_gain(found, now)
    if not belief.graded:
        _check_conditioned(settled, belief, space, now, x[:1], float(found.value.max()), seed)
    if q > 1:
        _check_together(decision, belief, space, space.sample(q, seed + 13).to(belief.X), effort, seed)
    shifted, twice = belief.rescaled(3.0, 1.0), belief.rescaled(0.0, 2.0)
    if moved is not None and shifted is not None:
        same = gain(moved(3.0), shifted, x, space, effort=effort, seed=seed)
        _check_same_gain("f + 3", same, found, 1.0, decision.needs)
    if scales and twice is not None:
        doubled = gain(decision, twice, x, space, effort=effort, seed=seed)
        _check_same_gain("2 f", doubled, found, 2.0, decision.needs)


def _actions(decision: Decision, belief: Belief, space: DesignSpace, count: int, seed: int) -> list[Any]:
    """Actions of many kinds: random ones, all listed ones, or for a solved decision the best under other beliefs."""
    if isinstance(decision, Solved):
        return _reports(decision, belief, space, count, seed)
    kind = decision.actions_given(belief.X) if decision.follows_data else decision.actions
    actions = kind.sample(space, count, seed)
    return [action.to(belief.X) if isinstance(action, Tensor) and kind.event else action for action in actions]


def _reports(decision: Solved, belief: Belief, space: DesignSpace, count: int, seed: int) -> list[Any]:
    at = decision.settled_points.to(belief.X)
    x = space.sample(count, seed).to(belief.X)
    mean, var = belief.expected(x), belief.moments(x, Needs.VARIANCE).total()[1]
    noise = torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(x)
    y = mean + (var.sqrt() * noise).view(-1, *[1] * (mean.dim() - 1))
    others = [belief.condition(x[i : i + 1], y[i : i + 1]) for i in range(min(count, 6))]
    return [decision.bayes_action(other.moments(at, decision.needs)) for other in [belief, *others]]


def _average_loss(decision: Decision, belief: Belief, action: Any, seed: int) -> tuple[Tensor, Tensor]:
    """The average of the plain loss over joint draws of the values, in each component (H), and its standard error."""
    moments = belief.moments(_points(decision, belief, action), Needs.JOINT)
    H, K, o = moments.mean.shape[0], moments.mean.shape[-1], moments.outcomes
    if moments.point_mass:
        losses = torch.stack([checked_loss(decision, f, action) for f in by_outcome(moments.mean, o)])
        return losses, torch.zeros_like(losses)
    (mean, root), rows = moments.normal, []
    for replicate in range(REPLICATES):
        z = value_draws(DRAWS, K, seed + 101 * (replicate + 1)).to(belief.X)
        f = mean.unsqueeze(1) + z @ root.mT  # H x M x K
        f = by_outcome(f if moments.latent is None else moments.latent.outcomes(f), o)  # H x M x K (x o)
        rows.append(
            torch.stack([checked_loss(decision, f[h], _repeated(decision, action, DRAWS)).mean() for h in range(H)])
        )
    return replicated(torch.stack(rows))


def _points(decision: Decision, belief: Belief, action: Any) -> Tensor:
    points = torch.as_tensor(decision.points(action)).to(belief.X)
    require(
        points.dim() == 2 and points.shape[-1] == belief.X.shape[-1],
        f"points(a) of one action has shape {tuple(points.shape)}; it must be K x {belief.X.shape[-1]}",
    )
    return points


def _repeated(decision: Decision, action: Any, count: int) -> Any:
    many = decision.actions.event and isinstance(action, Tensor)
    return action.expand(count, *action.shape) if many else action


def _check_loss(decision: Decision, belief: Belief, action: Any, seed: int) -> None:
    K = _points(decision, belief, action).shape[0]
    o = len(belief.outcomes)
    f = 3.0 * torch.randn(5, K * o, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(belief.X)
    f = by_outcome(f, o)
    try:
        together = checked_loss(decision, f, _repeated(decision, action, 5))
        alone = torch.stack([checked_loss(decision, row, action) for row in f])
    except DecisionError as error:
        raise AssertionError(str(error)) from error
    require_close("the loss of several rows of values is not that of each row alone", together, alone, 0.0)


def _check_expected_loss(decision: Decision, belief: Belief, tried: list[Any], seed: int) -> None:
    averages = [_average_loss(decision, belief, action, seed) for action in tried[:8]]
    size = max(float(average.abs().max()) for average, _ in averages)
    # draws miss what is rare, and a loss without a closed form is an average over draws itself
    missed = (5e-3 if decision.needs is Needs.JOINT else 5e-4) * size + 1e-9
    for action, (average, error) in zip(tried, averages, strict=False):
        points = _points(decision, belief, action)
        # components share the draws among themselves
        moments = belief.moments(points, decision.needs)
        draws = value_draws(4 * DRAWS * belief.components, moments.mean.shape[-1], seed).to(belief.X)
        closed = decision.expected_loss(moments, action, draws)
        require(
            tuple(closed.shape) == (belief.components,),
            f"expected_loss of one action has shape {tuple(closed.shape)}; one value per component was expected,"
            f" {(belief.components,)}",
        )
        require_close("expected_loss is not the average of loss", closed, average, SIGMAS * error + missed)


def _check_bayes_action(decision: Decision, belief: Belief, now: Entropy, tried: list[Any], seed: int) -> None:
    weights = belief.moments(belief.X[:1], Needs.MEAN).weights
    average, error = _average_loss(now.decision, belief, now.action, seed)
    slack = SIGMAS * float((weights * error).sum() + now.std_error) + 5e-4 * abs(now.value) + 1e-9
    value = torch.tensor(now.value).to(average)
    require_close("the entropy is not the expected loss of the Bayes action", value, (weights * average).sum(), slack)
    for action in tried:
        points = _points(decision, belief, action)
        moments = belief.moments(points, decision.needs)
        draws = value_draws(DRAWS, moments.mean.shape[-1], seed).to(belief.X)
        loss = float(expected_loss(decision, moments, action, draws))
        sampled = 0.02 * abs(now.value) if decision.needs is Needs.JOINT else 1e-9 * (1.0 + abs(now.value))
        require(
            loss >= now.value - slack - sampled,
            f"an action has the expected loss {loss:.8g}, below the entropy {now.value:.8g}: {action!r}",
        )


def _check_order(decision: Decision, belief: Belief, tried: list[Any]) -> None:
    for action in tried[:4]:
        f = by_outcome(belief.moments(_points(decision, belief, action), Needs.MEAN).mean[0], len(belief.outcomes))
        require_close(
            "the order of the points changes the loss, though the actions are sets",
            decision.loss(f.flip(0), action.flip(0)),
            decision.loss(f, action),
            0.0,
        )


def _check_gain(found: Gain, now: Entropy) -> None:
    scale = abs(now.value) + float(found.value.abs().max())
    least = float((found.value + SIGMAS * found.std_error).min())
    require(least >= -1e-9 * (1.0 + scale), f"a gain is negative beyond its error: {found.value.tolist()}")


def _check_conditioned(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    now: Entropy,
    x: Tensor,
    largest: float,
    seed: int,
) -> None:
    """The gain of a design (1 x d) is the average of what a new decision saves after the same few outcomes.

    Not where a formula integrates over all outcomes, or functions are drawn.
    """
    drawn = isinstance(decision, Solved) and not decision.scores_actions
    if drawn or decision.gain_formula(belief, space, seed) is not None:
        return
    # with the usual effort: a smaller one may miss actions and say so by its error, which one replicate has not
    found = gain(decision, belief, x, space, effort=Effort(replicates=1, outcomes=OUTCOMES, random=False), seed=seed)
    if found.exact:
        return
    fantasy = belief.look_ahead(x.unsqueeze(1)).fantasy(belief.nodes(OUTCOMES, 1))
    weights = fantasy.weights.expand(1, -1)[0]
    saved, error = torch.zeros_like(found.value), 0.0
    for weight, y in zip(weights, fantasy.values[0], strict=True):
        after = belief.condition(x, y.reshape(belief.expected(x).shape))
        # the settled decision: a fallback that follows the data would be another one after the outcome
        then = entropy_of(prepare_search(decision, after, space), after, seed)
        stay = _loss_of(decision, after, now.action, seed)
        saved += weight * (stay - then.value)
        error += float(weight) * then.std_error
    # a search ends near the best action, and the best of a few random losses is lower than it seems
    share = 0.1 if decision.needs is Needs.MEAN else 0.3
    slack = SIGMAS * error + share * max(largest, float(saved)) + 1e-9
    require_close("a gain is not what conditioning on the outcomes saves", found.value, saved, slack)


def _loss_of(decision: Decision, belief: Belief, action: Any, seed: int) -> Tensor:
    """The expected loss of one action, over all components."""
    moments = belief.moments(_points(decision, belief, action), decision.needs)
    draws = value_draws(4 * DRAWS, moments.mean.shape[-1], seed + 1).to(belief.X)
    return expected_loss(decision, moments, action, draws)


def _check_together(
    decision: Decision, belief: Belief, space: DesignSpace, x: Tensor, effort: Effort | None, seed: int
) -> None:
    both = gain(decision, belief, x.unsqueeze(0), space, effort=effort, seed=seed)
    first = gain(decision, belief, x[:-1].unsqueeze(0), space, effort=effort, seed=seed)
    added = gain(decision, belief, x[-1:].unsqueeze(0), space, pending=x[:-1], effort=effort, seed=seed)
    # a search ends near the best action, and not always at the same distance from it
    near = (0.25 if decision.needs is Needs.JOINT else 0.05) * float(both.value.abs())
    slack = SIGMAS * (both.std_error + first.std_error + added.std_error) + near + 1e-9
    require_close(
        "what a design adds to pending ones is not the difference", added.value, both.value - first.value, slack
    )
    require(
        float(both.value - first.value + slack) >= 0.0,
        f"{len(x)} designs gain {float(both.value):.6g}, all but the last of them {float(first.value):.6g}",
    )


def _check_same_gain(what: str, found: Gain, before: Gain, factor: float, needs: Needs) -> None:
    # a search ends near the best action, and not always at the same distance from it
    share = 0.25 if needs is Needs.JOINT else 0.03
    near = 0.0 if before.exact else share * factor * float(before.value.abs().max())
    slack = SIGMAS * (factor * before.std_error + found.std_error) + near + 1e-9
    require_close(
        f"gains under a belief about {what} are not {factor:g} times as great",
        found.value,
        factor * before.value,
        slack,
    )
