"""Rivals of today's best action: actions that an outcome could make the best one.

Where a loss looks at the members of its action, they are today's best with members replaced by points that would lead
if f there surprised us (`replaced`). Where it looks elsewhere (a robust design, a vector of its own), or is not affine,
that does not say which action a surprise favours. There are then the best actions after outcomes at points where
actions look, refined for these outcomes (`led_by_outcomes`): of all that were met, those that together save the most.

An outcome tells of components as well as of f near its design: far away from it, the mean of a mixture moves to that of
the components which foresaw the outcome, and another action may be the best, of which nothing is seen today. For losses
that add over their members (`Sums`, affine in f), `found_afresh` has actions that exchange finds after an outcome, from
random tuples of points and today's contenders:

    F  outcomes    M  points    S  tuples to start from    k  members of an action
"""

from dataclasses import replace

from hentropy.core.action_search.base import (
    expected_loss,
    listed_moments,
    losses_after,
    moments_now,
    surprises,
    take,
    wide,
)
from hentropy.core.action_search.descent import polish
from hentropy.core.action_search.exchange import exchange_sums, gains_of, replacement_losses
from hentropy.core.beliefs import Belief, Fantasy, Moments, Needs
from hentropy.core.clock import Clock, Limits
from hentropy.core.decisions import Decision, Sums
from hentropy.core.decisions.actions import Domain, PointsDomain
from hentropy.core.spaces import DesignSpace
from hentropy.lazy import Tensor, torch

LED_DESIGNS, LED_OUTCOMES, LED_STEPS = 32, 6, 8
"""Rivals are looked for after this many outcomes of each of so many designs, and refined by this many steps."""

WIDE_SHARE = 4
"""By so much fewer designs where actions have many values."""

ENOUGH_LED = 1e-3
"""Rivals are added while the next one saves this share of what all of them do."""

RANDOM_TUPLES, KNOWN_TUPLES = 48, 8
"""Tuples to start from: random ones, and the first of the contenders."""

AFRESH_SWEEPS = 4
AFRESH_KEPT, TUPLES_APART = 6, 0.05
"""After each outcome so many tuples are kept, each with a member that is this far from all members of a better one in
the unit cube."""

AFRESH_NUMBERS = 2**22


def replacements(k: int, device: torch.device) -> Tensor:
    """Which members of an action move to a new point: each one alone, and all together where they must agree."""
    one = torch.eye(k, dtype=torch.bool, device=device)
    return one if k == 1 else torch.cat([one, torch.ones_like(one[:1])])


def replaced(
    decision: Decision,
    belief: Belief,
    space: DesignSpace,
    best: Tensor,
    candidates: Tensor,
    draws: Tensor,
    count: int,
    surprise: float,
) -> Tensor:
    """The best action (k x d) with one member, or all, replaced by `count` good candidates that lie apart: ... x k x d.

    With a surprise, a candidate's value is taken to be this many standard deviations above or below its mean.
    """
    k, M = best.shape[0], candidates.shape[0]
    points = torch.cat([best, candidates])
    moved = replacements(k, best.device).unsqueeze(1)
    kept, others = torch.arange(k, device=best.device), torch.arange(k, k + M, device=best.device)[:, None]
    actions = points[torch.where(moved, others, kept)]  # replacement x candidate x k x d
    moments = listed_moments(decision, moments_now(decision, belief, points), k)

    def losses_of(moments: Moments) -> Tensor:
        """Replacement x candidate."""
        one = [replacement_losses(decision, moments, points, kept.unsqueeze(0), j, draws)[:, k:] for j in range(k)]
        if k > 1:
            alike = others.expand(M, k)
            one.append(expected_loss(decision, take(moments, alike), points[alike], draws).unsqueeze(0))
        return torch.cat(one)

    if surprise == 0.0:
        losses = losses_of(moments)
    else:
        spread = belief.moments(points, Needs.VARIANCE)
        each = decision.needs is not Needs.MEAN and not wide(decision, k * moments.outcomes)
        sd = (spread.variance if each else spread.total()[1].unsqueeze(0)).sqrt()
        sd[:, : k * moments.outcomes] = 0.0
        sides = surprise * surprises(moments.outcomes, len(points), sd)
        surprised = (replace(moments, mean=moments.mean + side * sd) for side in sides)
        losses = torch.stack([losses_of(each) for each in surprised]).amin(0)
    unit, apart = space.to_unit(candidates), 0.1 * space.dim**0.5
    rows, every = [], torch.arange(len(actions), device=best.device)
    for _ in range(count):
        choice = losses.argmin(-1)
        rows.append(actions[every, choice])
        losses = losses.masked_fill(torch.cdist(unit[choice], unit) < apart, torch.inf)
    return torch.cat(rows)


@torch.no_grad()
def led_by_outcomes(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, known: Tensor, spread: Tensor, clock: Clock,
    most: int,
) -> Tensor:  # fmt: skip
    """At most so many actions that outcomes could make better than all `known` ones (P x event), the best first.

    `spread` are actions that fill the domain (S x event): outcomes at the points where they look are tried, and the
    search after each of them starts at the best of all.
    """
    few_designs = LED_DESIGNS // (WIDE_SHARE if wide(decision, draws.shape[-1]) else 1)
    points = decision.points(spread[:few_designs])  # D x K x d
    D, K = points.shape[:2]
    x = torch.unique(points[torch.arange(D), torch.arange(D) % K], dim=0).unsqueeze(1)
    belief = belief.awaiting()  # no design is pending here
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(LED_OUTCOMES, 1))
    pool = torch.cat([known, spread])
    losses = _losses_of_all(decision, fantasy, pool, draws)  # b x N x P
    start = domain.to_cube(pool[losses.argmin(-1)])  # b x N x A
    b, N, A = start.shape

    def loss(u: Tensor) -> Tensor:
        return losses_after(decision, fantasy, domain.to_action(u.reshape(b, N, A)), draws).flatten()

    u, _, _ = polish(loss, start.reshape(b * N, A), LED_STEPS, clock)
    met = torch.unique(domain.project(domain.to_action(u)), dim=0)
    losses = _losses_of_all(decision, fantasy, torch.cat([known, met]), draws)
    return met[_saving_most(losses[..., : len(known)].amin(-1), losses[..., len(known) :], fantasy.weights, most)]


def _losses_of_all(decision: Decision, fantasy: Fantasy, actions: Tensor, draws: Tensor) -> Tensor:
    """The expected loss of each of P actions (P x event) after each outcome of b designs: b x N x P."""
    points = decision.points(actions)
    K = points.shape[-2]
    values = fantasy.values
    each = max(K, len(draws)) if decision.needs is Needs.JOINT else 1
    rows = Limits().rows(values.shape[0] * values.shape[1] * K * each)
    parts = []
    for some in torch.arange(len(actions), device=actions.device).split(rows):
        moments = fantasy.shared_moments(points[some], decision.needs)
        parts.append(expected_loss(decision, moments, actions[some], draws))
    return torch.cat(parts, -1)


def _saving_most(known: Tensor, losses: Tensor, weights: Tensor, most: int) -> Tensor:
    """Which actions to add to known ones, one after the other, each saving most on average over all outcomes.

    The smallest losses of the known ones (b x N), those of the others (b x N x P), and the weights of the outcomes.
    """
    chosen: list[int] = []
    saved, best = 0.0, known
    for _ in range(min(most, losses.shape[-1])):
        more = ((best.unsqueeze(-1) - losses).clamp_min(0.0) * weights.unsqueeze(-1)).sum((0, 1))
        choice = int(more.argmax())
        saved += float(more[choice])
        if not float(more[choice]) > ENOUGH_LED * saved:
            break
        chosen.append(choice)
        best = torch.minimum(best, losses[..., choice])
    return torch.tensor(chosen, dtype=torch.long, device=losses.device)


def sums_of_means(decision: Decision) -> Sums | None:
    """The sums of a loss that is affine in f, if it has that form."""
    return decision.sums() if decision.needs is Needs.MEAN else None


def found_afresh(sums: Sums, fantasy: Fantasy, domain: PointsDomain, points: Tensor, contenders: Tensor) -> Tensor:
    """Good actions after each of few outcomes of b designs, of members among points M x d: b x F x T x k x d.

    The best one, if members do not depend on each other.
    """
    k, d = domain.k, points.shape[-1]
    known = contenders[:KNOWN_TUPLES]
    points = torch.cat([known.flatten(0, 1), points])
    moments = fantasy.shared_moments(points.unsqueeze(0), Needs.MEAN)  # H x b x F x 1 x M
    means = moments.averaged().mean[0].squeeze(-2)
    factor, summand = sums.weighed(points)
    values = (summand + factor * means).flatten(0, 1)  # b F x M
    M, u, R = len(points), gains_of(sums, points), sums.rewards(points)
    if R is None:
        index, _ = exchange_sums(
            values, u, None, values.new_zeros(len(values), k, dtype=torch.long), False, AFRESH_SWEEPS
        )
        return points[index].reshape(*means.shape[:2], 1, k, d)
    generator = torch.Generator().manual_seed(0)
    own = torch.arange(len(known) * k).reshape(-1, k)
    starts = torch.cat([own, torch.randint(M, (RANDOM_TUPLES, k), generator=generator)]).to(points.device)
    S = len(starts)
    chosen = []
    for some in values.split(max(1, AFRESH_NUMBERS // (S * M))):
        index, worth = exchange_sums(
            some.repeat_interleave(S, 0),
            u,
            R.__getitem__,
            starts.repeat(len(some), 1),
            distinct=False,
            sweeps=AFRESH_SWEEPS,
        )
        index, worth = index.reshape(-1, S, k), worth.reshape(-1, S)
        chosen.append(_best_apart(domain.space.to_unit(points), index, worth))
    return points[torch.cat(chosen)].reshape(*means.shape[:2], AFRESH_KEPT, k, d)


def _best_apart(unit: Tensor, index: Tensor, worth: Tensor) -> Tensor:
    """Of tuples of points (index P x S x k, points in the unit cube M x d) those that differ: P x AFRESH_KEPT x k."""
    P, S, k = index.shape
    every = torch.arange(P, device=index.device)
    members = unit[index]  # P x S x k x d
    chosen = []
    for _ in range(AFRESH_KEPT):
        best = worth.argmax(-1)
        chosen.append(index[every, best])
        # in whatever order: how far the farthest member lies from the nearest of the chosen tuple
        far = torch.cdist(members.flatten(1, 2), members[every, best]).reshape(P, S, k, k).amin(-1).amax(-1)
        worth = worth.masked_fill(far < TUPLES_APART, -torch.inf)
    return torch.stack(chosen, 1)
