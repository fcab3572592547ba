"""Actions that are searched by descent: k points of a box, or a vector of its own.

Preparation finds the best action now (exchange over points that fill the space, then descent) and a pool of good actions
around it: the best one, its rivals, and the best one with each member replaced by promising points. After an outcome the
best of the pool, or the best action with a member replaced by the new design, is where descent starts.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Fantasy, Moments, Needs
from hentropy.clock import Clock
from hentropy.decisions import Decision, Points
from hentropy.search.base import ActionSearch, Least, expected_loss, take
from hentropy.search.descent import descend
from hentropy.search.domains import Domain, PointsDomain
from hentropy.search.exchange import exchange, gather_points, replacement_losses
from hentropy.spaces import DesignSpace

STARTS = 6
ALTERNATIVES = 4
FIRST_STEPS = 10
POLISH = (12, 12)
EXTREMES = 12
EXTREME_STEPS = 10
AROUND = 12


@dataclass(frozen=True)
class ContinuousSearch(ActionSearch):
    """A decision over a continuous domain, with the best action (event) and a pool of good ones (P x event)."""

    decision: Decision
    belief: Belief
    domain: Domain
    draws: Tensor
    clock: Clock
    best: Tensor
    value: Tensor
    pool: Tensor

    @classmethod
    def prepare(
        cls, decision: Decision, belief: Belief, space: DesignSpace, domain: Domain, draws: Tensor, seed: int, clock: Clock
    ) -> "ContinuousSearch":
        """Find the best action now and the pool around it."""
        plain = isinstance(domain, PointsDomain) and isinstance(decision.actions, Points)
        candidates = _candidates(belief, space, seed, clock) if plain else None
        if candidates is None or not _looks_at_itself(decision, candidates[: domain.event[0]]):
            rivals, _ = _sampled_starts(decision, belief, domain, draws, seed)
            refined, losses = _refine(decision, belief, domain, draws, rivals, clock)
            order = losses.argsort()
            return cls(decision, belief, domain, draws, clock, refined[order[0]], losses[order[0]], refined[order])
        moments = belief.moments(candidates, decision.needs)
        actions = _exchanged_starts(decision, moments, candidates, domain.event[0], draws, seed)
        actions, losses = _refine(decision, belief, domain, draws, actions, clock, FIRST_STEPS)
        for steps in POLISH:
            order = losses.argsort()
            alternatives = _alternatives(decision, belief, space, actions[order[0]], candidates, draws)
            actions = torch.cat([actions[order[:STARTS]], alternatives])
            actions, losses = _refine(decision, belief, domain, draws, actions, clock, steps)
        order = losses.argsort()
        return cls(decision, belief, domain, draws, clock, actions[order[0]], losses[order[0]], actions[order])

    def loss_after(self, fantasy: Fantasy, actions: Tensor, draws: Tensor | None = None) -> Tensor:
        """The expected loss of an action per outcome, b x N x event: b x N. Differentiable in x and the actions."""
        moments = fantasy.moments(self.decision.points(actions), self.decision.needs)
        return expected_loss(self.decision, moments, actions, self.draws if draws is None else draws)

    def pick(self, fantasy: Fantasy, x: Tensor, draws: Tensor | None = None) -> Least:
        """The best action of the pool after each outcome, the new design in place of a member included."""
        draws = self.draws if draws is None else draws
        moments = fantasy.pool_moments(self.decision.points(self.pool), self.decision.needs)
        losses = expected_loss(self.decision, moments, self.pool, draws)  # b x N x P
        swapped = self._swapped(x)
        stay = losses[..., 0]
        if swapped is not None:
            losses = torch.cat([losses, self._swapped_losses(fantasy, x, moments, swapped, draws)], -1)
        loss, choice = losses.min(-1)
        b, N = loss.shape
        options = self.pool.expand(b, *self.pool.shape)
        if swapped is not None:
            options = torch.cat([options, swapped], 1)
        actions = options[torch.arange(b, device=x.device)[:, None].expand(b, N), choice]
        return Least(loss, stay, actions)

    def _swapped(self, x: Tensor) -> Tensor | None:
        """The best action with each member replaced by each new design: b x (k q) x k x d."""
        if not isinstance(self.domain, PointsDomain):
            return None
        b, q, d = x.shape
        k = self.domain.k
        swapped = self.best.expand(b, q, k, k, d).clone()
        member = torch.arange(k, device=x.device)
        swapped[:, :, member, member] = x.detach().unsqueeze(2)
        return swapped.reshape(b, q * k, k, d)

    def _swapped_losses(self, fantasy: Fantasy, x: Tensor, pool: Moments, swapped: Tensor, draws: Tensor) -> Tensor:
        """Losses of the swapped actions, b x N x kq. Marginal moments come from the pool's first row and x alone."""
        points = self.decision.points(swapped)
        if self.decision.needs is Needs.JOINT or points is not swapped:
            return expected_loss(self.decision, fantasy.moments(points.unsqueeze(1), self.decision.needs), swapped.unsqueeze(1), draws)
        own = fantasy.moments(x.unsqueeze(1), self.decision.needs)  # H x b x N x q

        def swap(old: Tensor, new: Tensor) -> Tensor:
            k, q = old.shape[-1], new.shape[-1]
            eye = torch.eye(k, dtype=torch.bool, device=old.device)
            both = torch.where(eye, new[..., :, None, None], old[..., None, None, :])  # ... x q x k x k
            return both.reshape(*both.shape[:-3], q * k, k)

        var = None if pool.var is None else swap(pool.var[..., 0, :].expand(pool.mean[..., 0, :].shape), own.variance.expand(own.mean.shape))
        moments = Moments(pool.weights, swap(pool.mean[..., 0, :], own.mean), var)
        return expected_loss(self.decision, moments, swapped.unsqueeze(1), draws)

    def least(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> Least:
        """The pool's choice after each outcome, refined by descent, then judged on the given draws."""
        with torch.no_grad():
            found = self.pick(fantasy, x)
        actions = found.actions
        if steps > 0:
            actions = self._descended(fantasy, found, steps)
        if steps > 0 or draws is not None:
            with torch.no_grad():
                loss = self.loss_after(fantasy, actions, draws)
                stay = found.stay
                if draws is not None:
                    stay = self.loss_after(fantasy, self.best.expand(loss.shape[0], 1, *self.domain.event), draws)
                found = Least(loss, stay.expand(loss.shape), actions)
        if draws is not None:
            return found
        worse = found.loss > found.stay
        keep = worse.view(*worse.shape, *[1] * len(self.domain.event))
        return Least(torch.minimum(found.loss, found.stay), found.stay, torch.where(keep, self.best, found.actions))

    def _descended(self, fantasy: Fantasy, found: Least, steps: int) -> Tensor:
        b, N = found.loss.shape
        domain = self.domain

        def loss(u: Tensor) -> Tensor:
            return self.loss_after(fantasy, domain.to_action(u.reshape(b, N, -1))).flatten()

        u, _ = descend(loss, domain.to_unit(found.actions).reshape(b * N, -1), steps, self.clock)
        actions = domain.project(domain.to_action(u.reshape(b, N, -1)))
        with torch.no_grad():
            worse = self.loss_after(fantasy, actions) > found.loss  # rounding can cost more than descent gained
        return torch.where(worse.view(b, N, *[1] * len(domain.event)), found.actions, actions)

    def numbers_per_design(self, outcomes: int) -> int:
        """The pool's moments dominate: N x P x K, K times that for joint ones, a few copies."""
        K = self.decision.points(self.pool[:1]).shape[-2]
        square = K if self.decision.needs is Needs.JOINT else 1
        draws = self.draws.shape[0] if self.decision.needs is Needs.JOINT else 1
        return 6 * outcomes * (self.pool.shape[0] + K) * K * max(square, draws) * self.belief.components


def _looks_at_itself(decision: Decision, a: Tensor) -> bool:
    """Whether the loss of an action looks at f at the points of the action itself."""
    return decision.points(a) is a


def _candidates(belief: Belief, space: DesignSpace, seed: int, clock: Clock) -> Tensor:
    """Points that fill the space, the designs observed last, and the peaks and valleys of the mean with points around.

    M x d. A sparse filling misses the peaks of a rough mean; a few steps of ascent from its best points do not.
    """
    filling = space.sample(min(1024, 128 * (1 + space.dim)), seed).to(belief.X)
    spread = torch.cat([filling, belief.X[-256:]])

    def mean(points: Tensor) -> Tensor:
        moments = belief.moments(points, Needs.MEAN)
        return moments.expect_vector(moments.mean)

    values = mean(spread)
    count = min(EXTREMES, spread.shape[0])
    ends = torch.cat([spread[values.topk(count).indices], spread[(-values).topk(count).indices]])
    sign = torch.ones(2 * count, dtype=spread.dtype, device=spread.device)
    sign[:count] = -1.0
    u, _ = descend(lambda u: sign * mean(space.from_unit(u)), space.to_unit(ends), EXTREME_STEPS, clock)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(AROUND, *u.shape, generator=generator, dtype=torch.float64).to(u)
    scale = 0.2 * torch.rand(AROUND, 1, 1, generator=generator, dtype=torch.float64).to(u) ** 2
    around = (u + scale * noise).clamp(0.0, 1.0).flatten(0, 1)
    return torch.cat([spread, space.project(space.from_unit(torch.cat([u, around])))])


def _exchanged_starts(
    decision: Decision, moments: Moments, candidates: Tensor, k: int, draws: Tensor, seed: int
) -> Tensor:
    """Good tuples of candidates, from several first tuples: S x k x d."""
    M = candidates.shape[0]
    generator = torch.Generator().manual_seed(seed)
    first = torch.randint(M, (STARTS, k), generator=generator).to(candidates.device)
    single = torch.arange(M, device=candidates.device)[:, None].expand(M, k)
    alone = expected_loss(decision, take(moments, single), gather_points(candidates, single), draws)
    first[0] = alone.argmin()
    index, losses = exchange(decision, moments, candidates, first, draws, sweeps=3, distinct=False)
    order = losses.argsort()[: max(2, STARTS // 2)]
    return candidates[index[order]]


def _sampled_starts(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, seed: int
) -> tuple[Tensor, Tensor]:
    """The best of actions that fill the domain: S x event, and their losses."""
    actions = domain.sample(256, seed).to(belief.X)
    losses = _loss_now(decision, belief, actions, draws)
    best = losses.argsort()[:STARTS]
    return actions[best], losses[best]


def _loss_now(decision: Decision, belief: Belief, actions: Tensor, draws: Tensor) -> Tensor:
    return expected_loss(decision, belief.moments(decision.points(actions), decision.needs), actions, draws)


def _refine(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, starts: Tensor, clock: Clock, steps: int = 30
) -> tuple[Tensor, Tensor]:
    """Descent from each start: actions S x event and their losses, never above the starts'."""

    def loss(u: Tensor) -> Tensor:
        return _loss_now(decision, belief, domain.to_action(u), draws)

    u, _ = descend(loss, domain.to_unit(starts), steps, clock)
    with torch.no_grad():
        both = torch.stack([domain.project(starts), domain.project(domain.to_action(u))])
        losses = _loss_now(decision, belief, both, draws)
        best = losses.argmin(0)
    rows = torch.arange(starts.shape[0], device=starts.device)
    return both[best, rows], losses[best, rows]


def _alternatives(
    decision: Decision, belief: Belief, space: DesignSpace, best: Tensor, candidates: Tensor, draws: Tensor
) -> Tensor:
    """The best action with each member replaced by each of a few good candidates that lie apart: (k L) x k x d."""
    k = best.shape[0]
    points = torch.cat([best, candidates])
    moments = belief.moments(points, decision.needs)
    unit = space.to_unit(candidates)
    apart = 0.1 * space.dim**0.5
    index = torch.arange(k, device=best.device).unsqueeze(0)
    rows = []
    for member in range(k):
        losses = replacement_losses(decision, moments, points, index, member, draws)[0, k:].clone()
        for _ in range(ALTERNATIVES):
            choice = losses.argmin()
            losses[(unit - unit[choice]).norm(dim=-1) < apart] = torch.inf
            row = best.clone()
            row[member] = candidates[choice]
            rows.append(row)
    return torch.stack(rows)
