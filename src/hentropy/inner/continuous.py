"""Actions that are searched by descent: k points of a box, or a vector of its own.

After an outcome the best of a pool of good actions, or today's best action with a member replaced by the new design, is
where descent starts (`present` finds today's best action and the pool).
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Fantasy, Moments, Needs
from hentropy.clock import Clock
from hentropy.decisions import Decision
from hentropy.inner.base import ActionSearch, Least, expected_loss
from hentropy.inner.descent import descend
from hentropy.inner.domains import Domain, PointsDomain
from hentropy.inner.present import loss_now, prepare_present, refine, replacements
from hentropy.inner.probing import probe
from hentropy.spaces import DesignSpace

POLISHING = 10
"""Steps of descent for a better action of today that was met on the way."""

AGAIN, AGAIN_JOINT = 3, 1
SWEEPS, SWEEPS_JOINT = 40, 12
PROBED = 3
"""A thorough search: so many further searches, and rounds of probing of so many actions; joint losses cost more."""

AGAIN_SEED = 7_919


@dataclass(frozen=True)
class ContinuousSearch(ActionSearch):
    """A decision over a continuous domain, with the best action (event) and a pool of good ones (P x event)."""

    decision: Decision
    belief: Belief
    space: DesignSpace
    domain: Domain
    draws: Tensor
    clock: Clock
    best: Tensor
    value: Tensor
    pool: Tensor

    @classmethod
    def prepare(
        cls,
        decision: Decision,
        belief: Belief,
        space: DesignSpace,
        domain: Domain,
        draws: Tensor,
        seed: int,
        clock: Clock,
    ) -> "ContinuousSearch":
        """Find the best action now and the pool around it."""
        present = prepare_present(decision, belief, space, domain, draws, seed, clock)
        return cls(decision, belief, space, domain, draws, clock, present.pool[0], present.value, present.pool)

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
        """The best action with one member, or all, moved to each new design: b x V x k x d."""
        if not isinstance(self.domain, PointsDomain):
            return None
        moved = replacements(self.domain.k, x.device).unsqueeze(-1)  # V/q x k x 1
        return torch.where(moved, x.detach()[:, :, None, None], self.best).flatten(1, 2)

    def _swapped_losses(self, fantasy: Fantasy, x: Tensor, pool: Moments, swapped: Tensor, draws: Tensor) -> Tensor:
        """Losses of the swapped actions, b x N x V. Marginal moments come from the pool's first row and x alone."""
        points = self.decision.points(swapped)
        if self.decision.needs is Needs.JOINT or points is not swapped:
            return expected_loss(
                self.decision, fantasy.moments(points.unsqueeze(1), self.decision.needs), swapped.unsqueeze(1), draws
            )
        own = fantasy.moments(x.unsqueeze(1), self.decision.needs)  # H x b x N x q

        moved = replacements(pool.mean.shape[-1], x.device)

        def swap(old: Tensor, new: Tensor) -> Tensor:
            return torch.where(moved, new[..., :, None, None], old[..., None, None, :]).flatten(-3, -2)

        today = pool.mean[..., 0, :]
        var = None
        if pool.var is not None:
            var = swap(pool.var[..., 0, :].expand(today.shape), own.variance.expand(own.mean.shape))
        moments = Moments(pool.weights, swap(today, own.mean), var)
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

    @torch.no_grad()
    def improved_by(self, actions: Tensor) -> "ContinuousSearch":
        """With the best of these actions as today's, if it is better than the one known."""
        flat = actions.flatten(0, 1)
        losses = loss_now(self.decision, self.belief, flat, self.draws)
        best = losses.argmin()
        if not bool(losses[best] < self.value):
            return self
        found, value = refine(
            self.decision, self.belief, self.domain, self.draws, flat[best].unsqueeze(0), self.clock, POLISHING
        )
        return replace(self, best=found[0], value=value[0], pool=torch.cat([found, self.pool]))

    @torch.no_grad()
    def thorough(self, seed: int) -> "ContinuousSearch":
        """With the best action of several searches, probed for what descent does not find."""
        joint = self.decision.needs is Needs.JOINT
        arguments = (self.decision, self.belief, self.space, self.domain, self.draws)
        others = [
            prepare_present(*arguments, seed + AGAIN_SEED * (i + 1), self.clock).pool[:2]
            for i in range(AGAIN_JOINT if joint else AGAIN)
        ]
        starts = torch.cat([self.pool[:2], *others])
        losses = loss_now(self.decision, self.belief, starts, self.draws)
        few = starts[losses.argsort()[:PROBED]]
        sweeps = SWEEPS_JOINT if joint else SWEEPS
        found, value = probe(self.decision, self.belief, self.domain, self.draws, few, sweeps, seed, self.clock)
        if not bool(value[0] < self.value):
            return self
        return replace(self, best=found[0], value=value[0], pool=torch.cat([found[:1], self.pool]))

    def stay(self, fantasy: Fantasy, draws: Tensor | None = None) -> Tensor:
        """The expected loss of today's action after each outcome: b x N."""
        b = fantasy.values.shape[0]
        return self.loss_after(fantasy, self.best.expand(b, 1, *self.domain.event), draws)

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
