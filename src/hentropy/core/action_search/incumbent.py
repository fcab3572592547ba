"""The incumbent, which is the best action now on a continuous domain, and rivals that an outcome could make best.

For k points: exchange over points that fill the space finds good tuples, descent refines them together with the best
one's alternatives, and exchange among the refined ones finds combinations of them. Its rivals are the incumbent with
members replaced by points that would lead if f there surprised us. For any other action: the best of actions that fill
the domain, refined. Random steps that are kept where they help (probing) find what descent misses.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hentropy.core.action_search.base import (
    expected_loss,
    listed_moments,
    loss_now,
    moments_now,
    take,
    wide,
)
from hentropy.core.action_search.descent import descend, polish
from hentropy.core.action_search.exchange import exchange, exchange_sums, gains_of
from hentropy.core.action_search.rivals import led_by_outcomes, replaced, sums_of_means
from hentropy.core.beliefs import Belief, Moments, Needs
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision
from hentropy.core.decisions.actions import Domain, PointsDomain
from hentropy.core.spaces import DesignSpace
from hentropy.lazy import Tensor, torch

PROBE_TRIES = 32
PROBE_FIRST_STEP = 0.15
PROBE_LONGER, PROBE_SHORTER = 1.1, 0.75


@torch.no_grad()
def probe(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, actions: Tensor, sweeps: int, seed: int,
    clock: Clock,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Actions S x event after a number of rounds of tries, and their losses, best first; none is worse than before."""
    S, k = actions.shape[0], domain.event[0]
    generator = torch.Generator().manual_seed(seed)
    losses = loss_now(decision, belief, actions, draws)
    step = torch.full((S, 1, 1), PROBE_FIRST_STEP, dtype=actions.dtype, device=actions.device)
    every = torch.arange(S, device=actions.device)
    for _ in range(sweeps):
        if clock.expired:
            break
        moved = _direction(S, k, domain.size, generator).to(actions)
        trial = (domain.to_cube(actions).unsqueeze(1) + step * moved).clamp(0.0, 1.0)
        tried = domain.project(domain.to_action(trial))  # S x T x event
        value, choice = loss_now(decision, belief, tried, draws).min(1)
        better = value < losses
        actions = torch.where(better.view(S, *[1] * len(domain.event)), tried[every, choice], actions)
        losses = torch.minimum(value, losses)
        step = step * torch.where(better, PROBE_LONGER, PROBE_SHORTER).view(S, 1, 1)
    order = losses.argsort()
    return actions[order], losses[order]


def _direction(S: int, k: int, size: int, generator: torch.Generator) -> Tensor:
    """Random directions S x T x size of random length; every other one moves each of the k members by chance only."""
    noise = torch.randn(S, PROBE_TRIES, k, size // k, generator=generator, dtype=torch.float64)
    length = torch.rand(S, PROBE_TRIES, 1, 1, generator=generator, dtype=torch.float64)
    some = torch.rand(S, PROBE_TRIES, k, 1, generator=generator) < 1.0 / k
    some[:, ::2] = True
    return (noise * length * some).flatten(-2)


OPTION_EXCHANGES = 6
"""Exchanges of options alternate with descent of the numbers so often, while that lowers the loss."""


@torch.no_grad()
def exchange_options(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, actions: Tensor, clock: Clock
) -> tuple[Tensor, Tensor]:
    """Actions S x event with options exchanged and numbers polished in turn: as reached, and their losses S.

    None gets worse.
    """

    def loss(u: Tensor) -> Tensor:
        return loss_now(decision, belief, domain.to_action(u), draws)

    losses, every = loss_now(decision, belief, actions, draws), torch.arange(len(actions), device=actions.device)
    for _ in range(OPTION_EXCHANGES):
        if clock.expired:
            break
        tried = domain.neighbours(actions)  # S x T x event
        value, choice = loss_now(decision, belief, tried, draws).min(1)
        better = value < losses
        if not bool(better.any()):
            break
        actions = torch.where(better.view(-1, *[1] * len(domain.event)), tried[every, choice], actions)
        losses = torch.minimum(value, losses)
        u, _, _ = polish(loss, domain.to_cube(actions), REFINE_STEPS, clock)
        moved = domain.project(domain.to_action(u))
        value = loss_now(decision, belief, moved, draws)
        actions = torch.where((value < losses).view(-1, *[1] * len(domain.event)), moved, actions)
        losses = torch.minimum(value, losses)
    return actions, losses


TUPLE_STARTS = 64
FIRST_SWEEPS = 2
COSTLY_SHARE = 2
"""Losses that look at more than means cost more: by so much fewer starts and candidates."""

WIDE_TUPLE_STARTS = 4
"""The best candidate taken again and again, which exchange turns into a greedy choice, and few others."""

BEST_STARTS = 40
ALTERNATIVES = 4
BEST_RIVALS = 6
MEMBER_SURPRISES = 2
ALL_SURPRISES = 12
"""Points that an outcome could make best: so many in all, at least MEMBER_SURPRISES for each member of the action."""

RIVAL_SURPRISE = 2.0
"""Standard deviations by which a point is taken to be better or worse than its mean."""

LED_BESIDE = 8
"""Where a loss is not affine, what a surprise at one point favours is not all: as many rivals, at most, that outcomes
could make best."""

OBSERVED_MEMBERS, OBSERVED_STARTS, OBSERVED_REFINED = 64, 6, 3
"""Members are exchanged with this many observed designs, from today's action and tuples of these; of actions that
are better, so many are refined."""

EXTREMES = 10
AROUND_PEAK = 6
SAMPLED_ACTIONS = 256
LED_KEPT = 24
"""Of actions that fill a domain, those from which searches start; and how many that outcomes could make best are kept,
where nothing else says which they are."""

FIRST_DRAWS = 32
FIRST_STEPS = 20
"""Starts are found with a few typical components of a mixture and this many draws of values. They descend for this many
steps with those components; the best go on with all."""

POLISHED_STARTS = 10
FIRST_REFINE_ROUNDS, REFINE_ROUNDS, REFINE_STEPS = 1, 12, 8
LEAST_GO_ON = 6
ENOUGH_EXACT, ENOUGH_DRAWN = 1e-7, 1e-4
"""Rounds of a few steps, after each of which a half goes on, until one lowers the loss by less than this share of the
spread of the losses; by less than the other where losses are averaged over draws, whose error is far greater."""

CROSSINGS = 2
CROSSED, CROSSED_STARTS = 48, 8
"""Where means suffice, exchange costs little: members of the best actions are exchanged with each other's and with
candidates, and the best few combinations refined; so often, while that finds a better action."""

ENOUGH_CROSSED = 5e-5
"""Such combinations lie close together: what is enough is a share of the spread of all actions that were found."""

KINK_NUDGE = 0.01
"""The best actions go on from where they are and from a place nearby: a kink holds the one, not both."""

PROBED_ACTIONS, PROBES = 8, 100

SEED = 0
"""The search for today's best action is the same for every caller, so that statements about one belief agree."""


@dataclass(frozen=True)
class Incumbent:
    """Actions P x event, the best one first, its expected loss now, and the inverse Hessian there (A x A).

    `left` is about how much lower the loss of a better action may be, where the search went on until it found little.
    `points` (M x d) fill the space and are the peaks and valleys of the means of all components: where a mixture is
    believed and the loss adds over its members, actions after an outcome are tuples of them.
    """

    contenders: Tensor
    value: Tensor
    metric: Tensor
    left: Tensor | None = None
    points: Tensor | None = None


def find_incumbent(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    domain: Domain,
    draws: Tensor,
    clock: Clock,
) -> Incumbent:
    """Find the best action now and its contenders."""
    if not isinstance(domain, PointsDomain) or not decision.looks_at_itself(space):
        return _elsewhere(decision, belief, space, domain, draws, clock)
    affine = decision.needs is Needs.MEAN
    fewer = 1 if affine else COSTLY_SHARE
    few, few_draws = belief.typical(), draws[:FIRST_DRAWS]
    filling = _filling(few, space, fewer)
    candidates = torch.cat([filling, *(_extremes(few.of(name), space, filling, clock, fewer) for name in few.outcomes)])
    moments = listed_moments(decision, moments_now(decision, few, candidates), domain.k)
    is_wide = wide(decision, domain.k * moments.outcomes)
    first = _first_tuples(
        decision, moments, candidates, domain.k, few_draws, WIDE_TUPLE_STARTS if is_wide else TUPLE_STARTS // fewer
    )
    starts = _exchanged(decision, moments, candidates, first, few_draws)
    count = max(ALTERNATIVES, ALL_SURPRISES // domain.k)
    others = replaced(decision, few, space, starts[0], candidates, few_draws, count, surprise=0.0)
    starts = torch.cat([starts, others])
    apart = _apart(domain.to_unit(starts), loss_now(decision, belief, starts, draws))
    few_starts, rounds = starts[apart[: BEST_STARTS // fewer]], FIRST_REFINE_ROUNDS if affine else REFINE_ROUNDS
    found = refine(decision, belief, domain, draws, few_starts, clock, rounds=rounds)
    if affine:
        found = _crossed(decision, belief, domain, found, candidates, draws, clock)
    found = _with_observed(decision, belief, space, domain, found, draws, clock)
    count = max(1 if is_wide else MEMBER_SURPRISES, ALL_SURPRISES // domain.k)
    surprises = replaced(decision, few, space, found.contenders[0], candidates, few_draws, count, RIVAL_SURPRISE)
    rivals = torch.cat([found.contenders[:BEST_RIVALS], surprises])
    if not affine and not is_wide:
        led = led_by_outcomes(decision, few, domain, few_draws, rivals, starts, clock, most=LED_BESIDE)
        rivals = torch.cat([rivals, led])
    points = None
    if belief.components > 1 and sums_of_means(decision) is not None:
        points = torch.cat([candidates, _extremes_of_each(belief, space, filling, clock)])
    return replace(found, contenders=rivals, points=points)


def _with_observed(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    domain: PointsDomain,
    found: Incumbent,
    draws: Tensor,
    clock: Clock,
) -> Incumbent:
    """The actions found, or a better one with members that were observed, refined.

    Where data crowd, the best design is often one of them, on a peak too narrow for points that fill the space.
    """
    observed = belief.X[space.contains(belief.X)]
    if not len(observed):
        return found
    k, best = domain.k, found.contenders[0]
    if k == 1:
        tried = observed.unsqueeze(1)
    else:
        observed = _best_alone(decision, belief, observed, k, draws)
        points = torch.cat([best, observed])
        moments = listed_moments(decision, moments_now(decision, belief, points), k)
        generator = torch.Generator().manual_seed(SEED)
        first = k + torch.rand(OBSERVED_STARTS, max(k, len(observed)), generator=generator).argsort(-1)[
            :, :k
        ].remainder(len(observed)).to(points.device)
        first[0] = torch.arange(k, device=points.device)
        tried = _exchanged(decision, moments, points, first, draws)
    losses = loss_now(decision, belief, tried, draws)
    better = losses.argsort()[:OBSERVED_REFINED]
    better = better[losses[better] < found.value]
    if not len(better):
        return found
    more = refine(decision, belief, domain, draws, tried[better], clock, first_steps=0)
    return replace(more, contenders=torch.cat([more.contenders, found.contenders]))


def _best_alone(decision: Decision, belief: Belief, points: Tensor, k: int, draws: Tensor) -> Tensor:
    """Of many points (n x d) those that are best as all members of an action: n' x d."""
    if len(points) <= OBSERVED_MEMBERS:
        return points
    losses = loss_now(decision, belief.typical(), points.unsqueeze(1).expand(-1, k, -1), draws[:FIRST_DRAWS])
    return points[losses.argsort()[:OBSERVED_MEMBERS]]


def _crossed(
    decision: Decision,
    belief: Belief,
    domain: PointsDomain,
    found: Incumbent,
    candidates: Tensor,
    draws: Tensor,
    clock: Clock,
) -> Incumbent:
    """The actions found, and better ones of their members and candidates, for a loss that is affine in f."""
    everywhere = moments_now(decision, belief, candidates)
    losses = loss_now(decision, belief, found.contenders, draws)
    enough = ENOUGH_CROSSED * (losses.max() - losses.min())
    for _ in range(CROSSINGS):
        met = found.contenders[:CROSSED]
        own, points = torch.arange(met[..., 0].numel(), device=met.device).view(met.shape[:2]), met.flatten(0, 1)
        there = torch.cat([moments_now(decision, belief, points).mean, everywhere.mean], -1)
        both = torch.cat([points, candidates])
        starts = _exchanged(decision, replace(everywhere, mean=there), both, own, draws)
        apart = _apart(domain.to_unit(starts), loss_now(decision, belief, starts, draws))[:CROSSED_STARTS]
        crossed = refine(decision, belief, domain, draws, starts[apart], clock, first_steps=0, enough=enough)
        if not bool(crossed.value < found.value):
            break
        found = replace(crossed, contenders=torch.cat([crossed.contenders, found.contenders]))
    return found


def refine(
    decision: Decision,
    belief: Belief,
    domain: Domain,
    draws: Tensor,
    starts: Tensor,
    clock: Clock,
    first_steps: int = FIRST_STEPS,
    rounds: int = REFINE_ROUNDS,
    enough: Tensor | None = None,
) -> Incumbent:
    """Actions S x event polished, the best first, none worse than its start.

    Until a round gains less than `enough`, by default a share of the spread of their losses.
    """

    def loss(u: Tensor) -> Tensor:
        return loss_now(decision, belief, domain.to_action(u), draws)

    few = belief.typical()
    u, _, metric = polish(
        lambda u: loss_now(decision, few, domain.to_action(u), draws), domain.to_cube(starts), first_steps, clock
    )
    with torch.no_grad():
        value = loss(u)
    if enough is None:
        enough = (ENOUGH_DRAWN if decision.drawn(belief) else ENOUGH_EXACT) * (value.max() - value.min())
    best = value.argsort()[:POLISHED_STARTS]
    generator = torch.Generator().manual_seed(SEED)
    noise = torch.randn(len(best), domain.size, generator=generator, dtype=torch.float64).to(u)
    fresh: Tensor | None = torch.arange(2 * len(best), device=u.device) >= len(best)
    last, last_value = torch.cat([u[best], u[best] + KINK_NUDGE * noise]), torch.cat([value[best], value[best]])
    last_metric = metric[torch.cat([best, best])]
    for _ in range(rounds):
        before = last_value.min()
        last, last_value, last_metric = polish(loss, last, REFINE_STEPS, clock, last_metric, fresh)
        if not bool(before - last_value.min() > enough):
            break
        go_on = last_value.argsort()[: max(LEAST_GO_ON, len(last) // 2)]
        last, last_value, last_metric, fresh = last[go_on], last_value[go_on], last_metric[go_on], None
    ends, metrics = domain.to_action(torch.cat([last, u])), torch.cat([last_metric, metric])
    with torch.no_grad():
        actions = torch.cat([domain.project(ends), domain.project(starts)])
        losses = loss_now(decision, belief, actions, draws)
        order = _apart(domain.to_unit(actions), losses)
        first = int(order[0])
        found = Incumbent(actions[order], losses[first], metrics[first if first < len(metrics) else 0])
        if domain.exchanges:
            found = _with_options(decision, belief, domain, draws, found, clock)
        if torch.allclose(actions[: len(ends)], ends):
            return found
        # between whole numbers descent ends where rounding takes it: probe from there
        probed, losses = probe(decision, belief, domain, draws, found.contenders[:PROBED_ACTIONS], PROBES, SEED, clock)
    return replace(found, contenders=torch.cat([probed[:1], found.contenders]), value=losses[0])


def _with_options(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, found: Incumbent, clock: Clock
) -> Incumbent:
    """The actions found, and better ones with other options."""
    actions, losses = exchange_options(decision, belief, domain, draws, found.contenders[:PROBED_ACTIONS], clock)
    both = torch.cat([actions, found.contenders])
    losses = torch.cat([losses, loss_now(decision, belief, found.contenders, draws)])
    order = _apart(domain.to_unit(both), losses)
    return replace(found, contenders=both[order], value=losses[order[0]])


def _apart(unit: Tensor, losses: Tensor) -> Tensor:
    """Indices of actions (S x A) by their loss, without those that lie on a better one."""
    order = losses.argsort()
    at, kept, near = unit[order].cpu().numpy(), [], np.zeros(len(order), dtype=bool)
    for place, i in enumerate(order.tolist()):
        if not near[place]:
            kept.append(i)
            near |= np.abs(at - at[place]).max(-1) <= KINK_NUDGE
    return torch.tensor(kept, device=unit.device)


def _filling(belief: Belief, space: DesignSpace, fewer: int) -> Tensor:
    """Points that fill the space, and the designs observed last: M x d."""
    filling = space.sample(min(512, 96 * (1 + space.cube)) // fewer, SEED).to(belief.X)
    # data from outside, or of another fidelity, may lie where nothing can be decided
    return torch.cat([filling, space.project(belief.X[-128 // fewer :])])


def _extremes(belief: Belief, space: DesignSpace, spread: Tensor, clock: Clock, fewer: int) -> Tensor:
    """The peaks and valleys of the mean of one outcome that ascent from some points (M x d) finds, and points around.

    M' x d. A sparse filling misses the peaks of a rough mean; a few steps of ascent from its best points do not.
    """

    def mean(points: Tensor) -> Tensor:
        return belief.means(points).mean.squeeze(0)

    order = mean(spread).argsort()
    count = min(EXTREMES, spread.shape[0])
    sign = torch.ones(2 * count, dtype=spread.dtype, device=spread.device)
    sign[count:] = -1.0
    ends = space.to_cube(spread[torch.cat([order[:count], order[-count:]])])
    u, value = descend(lambda u: sign * mean(space.from_cube(u)), ends, min(12, 2 * space.cube), clock)
    if space.exchanges:
        u = _extremes_with_options(space, mean, sign, u, value)
    generator = torch.Generator().manual_seed(SEED)
    around = max(1, AROUND_PEAK // fewer)
    noise = torch.randn(around, *u.shape, generator=generator, dtype=torch.float64).to(u)
    scale = 0.2 * torch.rand(around, 1, 1, generator=generator, dtype=torch.float64).to(u) ** 2
    beside = torch.addcmul(u, scale, noise).clamp_(0.0, 1.0).flatten(0, 1)
    return space.project(space.from_cube(torch.cat([u, beside])))


def _extremes_of_each(belief: Belief, space: DesignSpace, spread: Tensor, clock: Clock) -> Tensor:
    """The peaks and valleys of each component's mean that ascent from some points (M x d) finds: M' x d."""

    def means(points: Tensor) -> Tensor:
        return belief.moments(points, Needs.MEAN).mean  # H x S

    with torch.no_grad():
        order = means(spread).argsort(-1)
    H, count = len(order), min(EXTREMES // 2, len(spread))
    ends = torch.cat([order[:, :count], order[:, -count:]], -1)  # H x 2 count
    sign = torch.ones_like(ends, dtype=spread.dtype)
    sign[:, count:] = -1.0

    def own(u: Tensor) -> Tensor:
        there = means(space.from_cube(u)).unflatten(-1, (H, -1))  # H x H x 2 count
        return (sign * there.diagonal(dim1=0, dim2=1).mT).flatten()

    u, _ = descend(own, space.to_cube(spread[ends.flatten()]), min(12, 2 * space.cube), clock)
    return space.project(space.from_cube(u))


def _extremes_with_options(
    space: DesignSpace, mean: Callable[[Tensor], Tensor], sign: Tensor, u: Tensor, value: Tensor
) -> Tensor:
    """Points of the cube (S x A) with options exchanged where that lowers sign times the mean (S)."""
    points, every = space.from_cube(u), torch.arange(len(u), device=u.device)
    for _ in range(OPTION_EXCHANGES):
        tried = space.neighbours(points)  # S x M x d
        there, choice = (sign.unsqueeze(-1) * mean(tried.flatten(0, 1)).reshape(tried.shape[:2])).min(1)
        better = there < value
        if not bool(better.any()):
            break
        points = torch.where(better.unsqueeze(-1), tried[every, choice], points)
        value = torch.minimum(value, there)
    return space.to_cube(points)


def _first_tuples(
    decision: Decision, moments: Moments, candidates: Tensor, k: int, draws: Tensor, count: int
) -> Tensor:
    """The best candidate taken k times, and random tuples: indices count x k."""
    M = candidates.shape[0]
    generator = torch.Generator().manual_seed(SEED)
    first = torch.randint(M, (count, k), generator=generator).to(candidates.device)
    alike = torch.arange(M, device=candidates.device)[:, None].expand(M, k)
    first[0] = expected_loss(decision, take(moments, alike), candidates[alike], draws).argmin()
    return first


def _exchanged(decision: Decision, moments: Moments, points: Tensor, index: Tensor, draws: Tensor) -> Tensor:
    """Tuples of points (indices S x k) with members exchanged for better points, the best first: S x k x d."""
    sums = decision.sums()
    if sums is not None and decision.needs is Needs.MEAN:
        R = sums.rewards(points)
        factor, summand = sums.weighed(points)
        values = (summand + factor * moments.mean).expand(index.shape[0], -1)
        rewards = None if R is None else R.__getitem__
        index, worth = exchange_sums(
            values, gains_of(sums, points), rewards, index, distinct=False, sweeps=FIRST_SWEEPS
        )
        return points[index[worth.argsort(descending=True)]]
    index, losses = exchange(decision, moments, points, index, draws, FIRST_SWEEPS, distinct=False)
    return points[index[losses.argsort()]]


def _elsewhere(
    decision: Decision, belief: Belief, space: DesignSpace, domain: Domain, draws: Tensor, clock: Clock
) -> Incumbent:
    """The best action of a loss that looks elsewhere than at its action, and those that outcomes could make best."""
    spread = domain.sample(SAMPLED_ACTIONS, SEED).to(belief.X)
    if isinstance(domain, PointsDomain):
        observed = belief.X[space.contains(belief.X)]
        spread = torch.cat([spread, observed.unsqueeze(1).expand(-1, domain.k, -1)])
    starts = spread[loss_now(decision, belief, spread, draws).argsort()[:BEST_RIVALS]]
    found = refine(decision, belief, domain, draws, starts, clock)
    if clock.expired:
        return found
    few, few_draws = belief.typical(), draws[:FIRST_DRAWS]
    led = led_by_outcomes(decision, few, domain, few_draws, found.contenders, spread, clock, most=LED_KEPT)
    return replace(found, contenders=torch.cat([found.contenders, led]))
