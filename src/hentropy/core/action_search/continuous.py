"""Actions that are searched by descent: k points of a box, or a vector of its own.

After an outcome the best of the contenders, or today's best action with a member replaced by the new design, is
where descent starts (`incumbent` finds both).
"""

from dataclasses import dataclass, replace
from functools import cached_property

from hentropy.core.action_search.base import (
    ActionSearch,
    BestAfterOutcome,
    after,
    expected_loss,
    listed_moments,
    loss_now,
    losses_after,
    take,
    wide,
)
from hentropy.core.action_search.descent import polish
from hentropy.core.action_search.exchange import exchange, gather_points
from hentropy.core.action_search.incumbent import FIRST_DRAWS, Incumbent, find_incumbent, refine
from hentropy.core.action_search.restarts import restarted
from hentropy.core.action_search.rivals import found_afresh, replacements, sums_of_means
from hentropy.core.beliefs import Belief, Fantasy, Needs
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision
from hentropy.core.decisions.actions import Domain, PointsDomain
from hentropy.core.spaces import DesignSpace
from hentropy.lazy import Tensor, torch

EXCHANGED_EVERY, EXCHANGED_EVERY_WIDE = 2, 8
AROUND_DESIGN = 24
AROUND_WIDTH = 0.25
"""Exchange after an outcome: for how many outcomes, with how many points around the new design, how far from it."""

DRAWS_PER_VALUE = 4
BESIDE_KINK = 0.005
MOST_POINTS = 96
MOST_OPTIONS = 64
"""After an outcome, this many exchanges of a member's options are tried at once."""

BETTER_REFINED, LITTLE_BETTER = 3, 1e-4
"""Of actions that are better today than the incumbent, this many are refined, unless the best of them is better by only
this share of the spread of the actions: it is then taken without refining."""

WIDE_ROUNDS = 2
"""From this many rounds on, a search after an outcome looks beyond the contenders and descends from two starts."""


AFRESH_LONGER = 6
"""By so much longer is the descent of actions that are found afresh, where pairs of members count: along the kinks of
capped distances it takes many steps."""

MOST_FOUND = 16
"""For this many decisions and spaces, today's actions are kept with a belief."""


@dataclass(frozen=True)
class ContinuousSearch(ActionSearch):
    """A decision over a continuous domain, with the best action (event) and contenders, it among them (P x event)."""

    decision: Decision
    belief: Belief
    space: DesignSpace
    domain: Domain
    draws: Tensor
    clock: Clock
    best: Tensor
    value: Tensor
    contenders: Tensor
    metric: Tensor
    """The inverse Hessian of the loss at the best action, in unit coordinates (A x A): after an outcome, descent from
    near it need not learn where the kinks run."""

    others: bool = False
    """Whether designs may lie elsewhere than actions."""

    left: Tensor | None = None

    points: Tensor | None = None
    """Of which actions after an outcome are found afresh (see `Incumbent`)."""

    helps_other_designs = True

    @classmethod
    def prepare(
        cls,
        decision: Decision,
        belief: Belief,
        space: DesignSpace,
        domain: Domain,
        draws: Tensor,
        clock: Clock,
        thorough: Tensor | None,
    ) -> "ContinuousSearch":
        """Find the best action now and its contenders; with draws for a `thorough` search, search on for it with these.

        Each is found once for a belief, and does not depend on who asked before. Should the decision have been changed
        since, its losses tell.
        """
        for further in (False,) if thorough is None else (False, True):
            draws = thorough if further and thorough is not None else draws
            asked = (id(decision), id(space), further)
            kept, losses, *_ = belief.found.get(asked, (None, None))
            if kept is not None and _same(decision, belief, domain, draws, kept, losses):
                found = kept
                continue
            if further:
                found = restarted(decision, belief, domain, draws, found, clock)
            else:
                found = find_incumbent(decision, belief, space, domain, draws, clock)
            if not clock.expired:
                if len(belief.found) >= MOST_FOUND:
                    belief.found.clear()
                losses = loss_now(decision, belief, found.contenders, draws)
                # decision and space are kept, so that their ids stay theirs
                belief.found[asked] = (replace(found, contenders=found.contenders.clone()), losses, decision, space)
        best = found.contenders[0].clone()
        parts = (best, found.value, found.contenders, found.metric)
        return cls(decision, belief, space, domain, draws, clock, *parts, left=found.left, points=found.points)

    def of_other_designs(self, space: DesignSpace) -> "ContinuousSearch":
        """Designs are brought to where actions lie before they become members of one."""
        return replace(self, others=True)

    @torch.no_grad()
    def with_few_draws(self) -> "ContinuousSearch":
        """The same search with few draws of values, for a first look: a few for each value of an action.

        By these, another of the contenders may be the best today: to stay with the one known would look like a gain of
        every design, larger than all true ones late in a run.
        """
        draws = self.draws[: max(FIRST_DRAWS, DRAWS_PER_VALUE * self.draws.shape[-1])]
        if len(draws) == len(self.draws):
            return self
        losses = loss_now(self.decision, self.belief, self.contenders, draws)
        contenders = self.contenders[losses.argsort()]
        return replace(self, draws=draws, best=contenders[0], value=losses.min(), contenders=contenders)

    def loss_after(self, fantasy: Fantasy, actions: Tensor, draws: Tensor | None = None) -> Tensor:
        """The expected loss of an action per outcome, b x N x event: b x N. Differentiable in x and the actions."""
        return losses_after(self.decision, fantasy, actions, self.draws if draws is None else draws)

    def losses_on_draws(self, fantasy: Fantasy, actions: Tensor, each: list[Tensor]) -> Tensor:
        """The same where equal parts of the N outcomes have draws of their own; actions b x (N or 1) x event: b x N."""
        moments = fantasy.moments(self.decision.points(actions), self.decision.needs)
        b, N = actions.shape[0], fantasy.weights.shape[-1]
        count, own = N // len(each), actions.expand(-1, N, *actions.shape[2:])
        losses = []
        for place, draws in enumerate(each):
            part = slice(place * count, (place + 1) * count)
            losses.append(expected_loss(self.decision, after(moments, part), own[:, part], draws).expand(b, count))
        return torch.cat(losses, 1)

    @cached_property
    def _at_itself(self) -> bool:
        return self.decision.looks_at_itself(self.space)

    @cached_property
    def _wide(self) -> bool:
        return wide(self.decision, self.draws.shape[-1])

    def pick(self, fantasy: Fantasy, x: Tensor, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best of the contenders after each outcome, the new design in place of a member included."""
        draws = self.draws if draws is None else draws
        x = self.space.project(x) if self.others else x
        moments = fantasy.shared_moments(self.decision.points(self.contenders), self.decision.needs)
        losses = expected_loss(self.decision, moments, self.contenders, draws)  # b x N x P
        stay, options = losses[..., 0], self.contenders.expand(len(x), *self.contenders.shape)
        if isinstance(self.domain, PointsDomain):
            moved = replacements(self.domain.k, x.device).unsqueeze(-1)  # V/q x k x 1
            swapped = torch.where(moved, x.detach()[:, :, None, None], self.best).flatten(1, 2)  # b x V x k x d
            losses = torch.cat([losses, self.loss_of_each(fantasy, swapped, draws)], -1)
            options = torch.cat([options, swapped], 1)
        loss, choice = losses.min(-1)
        b, N = loss.shape
        actions = options[torch.arange(b, device=x.device)[:, None].expand(b, N), choice]
        return BestAfterOutcome(loss, stay, actions)

    def best_after(
        self,
        fantasy: Fantasy,
        x: Tensor,
        steps: int,
        draws: Tensor | None = None,
        rounds: int = 0,
        enough: float = 0.0,
        afresh: int = 0,
    ) -> BestAfterOutcome:
        """The contenders' best after each outcome, polished by this many steps, then judged on the draws.

        In each further round, an outcome takes over the action of another where that is better, and goes on; where it
        saves less than this share of the gain (`enough`), it does not. A round that saves less is the last. After this
        many outcomes (`afresh`) actions are searched for in the whole space, where an outcome can change it.
        """
        with torch.no_grad():
            found = self.pick(fantasy, x)
        if afresh:
            found = self._found_afresh(fantasy, found, afresh, steps)
        late = None
        if steps > 0:
            there = self.space.project(x) if self.others else x
            found, late = self._searched(fantasy, there, found, steps, rounds, enough)
        if draws is not None:
            with torch.no_grad():
                loss, stay = self.loss_after(fantasy, found.actions, draws), self.stay(fantasy, draws)
            return BestAfterOutcome(loss, stay.expand(loss.shape), found.actions, late)
        worse = found.loss > found.stay
        keep = worse.view(*worse.shape, *[1] * len(self.domain.event))
        actions = torch.where(keep, self.best, found.actions)
        return BestAfterOutcome(torch.minimum(found.loss, found.stay), found.stay, actions, late)

    def _searched(
        self, fantasy: Fantasy, x: Tensor, found: BestAfterOutcome, steps: int, rounds: int, enough: float
    ) -> tuple[BestAfterOutcome, Tensor | None]:
        """Better actions than those found, and by how much the last round lowered their losses (b x N)."""
        b, N = found.loss.shape
        late, some = None, torch.arange(0, N, EXCHANGED_EVERY_WIDE if self._wide else EXCHANGED_EVERY, device=x.device)
        if rounds >= WIDE_ROUNDS and self._at_itself:
            with torch.no_grad():
                found = self._exchanged(fantasy.some(some), fantasy, x, found, found.actions[:, some])
        start = self.domain.to_cube(found.actions)
        now = self.polished(fantasy, start, self.metric.expand(b, N, *self.metric.shape), steps)
        if rounds >= WIDE_ROUNDS:
            # a start on a kink is held by it, one beside it is not
            generator = torch.Generator().manual_seed(0)
            noise = torch.randn(start[:, some].shape, generator=generator, dtype=torch.float64).to(start)
            beside = self.polished(fantasy.some(some), start[:, some] + BESIDE_KINK * noise, None, 2 * steps)
            now = (
                torch.cat([now[0], beside[0]], 1),
                torch.cat([now[1], beside[1]], 1),
                torch.cat([now[2], beside[2]], 1),
            )
        for _ in range(rounds):
            before = now[1][:, :N]
            u, loss, metric = self._shared(fantasy, now[0], now[2])
            u, loss = self.with_other_options(fantasy, u, loss)
            little = enough * ((found.stay - loss) * fantasy.weights).sum(-1, keepdim=True)  # b x 1
            taken = (
                N * fantasy.weights * (before - loss) > little if enough else torch.ones_like(loss, dtype=torch.bool)
            )
            now = self._polished_some(fantasy, (u, loss, metric), taken.any(0).nonzero()[:, 0], steps)
            late = torch.minimum(before, loss) - now[1]
            if enough and bool((((before - now[1]) * fantasy.weights).sum(-1, keepdim=True) <= little).all()):
                break
        with torch.no_grad():
            actions = self.domain.project(self.domain.to_action(now[0]))
            value = self.loss_after(fantasy, actions)
            worse = value > found.loss  # rounding can cost more than descent gained
            actions = torch.where(worse.view(b, N, *[1] * len(self.domain.event)), found.actions, actions)
        return BestAfterOutcome(torch.minimum(value, found.loss), found.stay, actions), late

    @torch.no_grad()
    def _found_afresh(self, fantasy: Fantasy, found: BestAfterOutcome, count: int, steps: int) -> BestAfterOutcome:
        """The actions found, or better ones from the whole space after a few outcomes, which serve all of them."""
        sums, N = sums_of_means(self.decision), found.loss.shape[1]
        if sums is None or self.points is None or not isinstance(self.domain, PointsDomain):
            return found
        # from the lowest outcome to the highest, which are in the same order at all designs
        order = fantasy.values[0].sum(-1).argsort()
        some = order[torch.linspace(0, N - 1, min(N, count)).round().long().to(order.device)]
        tried = found_afresh(sums, fantasy.some(some), self.domain, self.points, self.contenders)
        each, actions = fantasy.some(some.repeat_interleave(tried.shape[2])), tried.flatten(1, 2)
        if sums.reward is not None:
            u, _, _ = self.polished(each, self.domain.to_cube(actions), None, AFRESH_LONGER * steps)
            actions = self.domain.project(self.domain.to_action(u))
        return self._taken(fantasy, found, actions)

    def _taken(self, fantasy: Fantasy, found: BestAfterOutcome, actions: Tensor) -> BestAfterOutcome:
        """The actions found, or the best of further ones of their design (b x A x event) after each outcome."""
        loss, choice = torch.cat([found.loss.unsqueeze(-1), self.loss_of_each(fantasy, actions)], -1).min(-1)
        rows = torch.arange(len(loss), device=loss.device).unsqueeze(-1)
        better = actions[rows, (choice - 1).clamp_min(0)]
        return BestAfterOutcome(loss, found.stay, torch.where((choice > 0)[..., None, None], better, found.actions))

    def polished(self, fantasy: Fantasy, u: Tensor, metric: Tensor | None, steps: int) -> "_Polished":
        """Actions in unit coordinates, b x N x A, polished for their outcomes; none gets worse."""
        b, N, A = u.shape

        def loss(flat: Tensor) -> Tensor:
            return self.loss_after(fantasy, self.domain.to_action(flat.reshape(b, N, A))).flatten()

        known = None if metric is None else metric.reshape(b * N, A, A)
        flat, value, learned = polish(loss, u.reshape(b * N, A), steps, self.clock, known)
        return flat.reshape(b, N, A), value.reshape(b, N), learned.reshape(b, N, A, A)

    def _polished_some(self, fantasy: Fantasy, start: "_Polished", index: Tensor, steps: int) -> "_Polished":
        """The same for some of the outcomes, by their index; the others stay as they are."""
        if len(index) == start[0].shape[1]:
            return self.polished(fantasy, start[0], start[2], steps)
        if not len(index):
            return start
        some = self.polished(fantasy.some(index), start[0][:, index], start[2][:, index], steps)
        u, loss, metric = (old.index_copy(1, index, new) for old, new in zip(start, some, strict=True))
        return u, loss, metric

    @torch.no_grad()
    def _shared(self, fantasy: Fantasy, u: Tensor, metric: Tensor) -> "_Polished":
        """For each outcome the best of all actions of its design (b x S x A), with its loss and metric."""
        loss, choice = self.loss_of_each(fantasy, self.domain.to_action(u)).min(-1)
        rows = torch.arange(u.shape[0], device=u.device).unsqueeze(-1)
        return u[rows, choice], loss, metric[rows, choice]

    @torch.no_grad()
    def with_other_options(self, fantasy: Fantasy, u: Tensor, loss: Tensor) -> tuple[Tensor, Tensor]:
        """Actions of the outcomes (b x N x A) with the best exchange of one option each, and their losses b x N."""
        if not isinstance(self.domain, PointsDomain) or not self.domain.exchanges or not self._at_itself:
            return u, loss
        actions = self.domain.to_action(u)  # b x N x k x d
        moved = self.space.neighbours(actions)  # b x N x k x M x d
        k, M = moved.shape[-3:-1]
        if M > MOST_OPTIONS:
            generator = torch.Generator().manual_seed(0)
            moved = moved[..., torch.randperm(M, generator=generator)[:MOST_OPTIONS].to(u.device), :]
            M = MOST_OPTIONS
        points = torch.cat([actions, moved.flatten(-3, -2)], -2)  # b x N x (k + k M) x d
        index = torch.arange(k).repeat(k * M, 1)  # T x k
        index[torch.arange(k * M), torch.arange(k).repeat_interleave(M)] = k + torch.arange(k * M)
        index = index.to(u.device)
        moments = fantasy.moments(points, self.decision.needs)
        own = index.expand(*u.shape[:2], *index.shape)
        tried = gather_points(points, own)  # b x N x T x k x d
        least, choice = expected_loss(self.decision, take(moments, own), tried, self.draws).min(-1)
        chosen = tried.gather(2, choice[..., None, None, None].expand(*choice.shape, 1, *tried.shape[-2:])).squeeze(2)
        better = least < loss
        return torch.where(better.unsqueeze(-1), self.domain.to_cube(chosen), u), torch.minimum(least, loss)

    def loss_of_each(self, fantasy: Fantasy, actions: Tensor, draws: Tensor | None = None) -> Tensor:
        """The expected loss of each of a design's actions (b x A x event) after each of its outcomes: b x N x A."""
        moments = fantasy.moments(self.decision.points(actions).unsqueeze(1), self.decision.needs)
        return expected_loss(self.decision, moments, actions.unsqueeze(1), self.draws if draws is None else draws)

    def _exchanged(
        self, few: Fantasy, fantasy: Fantasy, x: Tensor, found: BestAfterOutcome, start: Tensor
    ) -> BestAfterOutcome:
        """Actions of a few outcomes (b x F x k x d) with members replaced by contenders' points or around the design.

        All outcomes of the design may then take what was found for the few.
        """
        b, F, k, d = start.shape
        points_met = torch.unique(self.contenders.reshape(-1, d), dim=0)[:MOST_POINTS]
        others = torch.cat([points_met.expand(b, *points_met.shape), x, self._around(x)], 1)  # b x M' x d
        points = torch.cat([start.flatten(1, 2), others], 1)
        moments = listed_moments(self.decision, few.moments(points.unsqueeze(1), self.decision.needs), k)
        index = torch.arange(F * k, device=x.device).reshape(F, 1, k).expand(b, F, 1, k)
        own = points.unsqueeze(1).expand(b, F, *points.shape[1:])
        index, _ = exchange(self.decision, moments, own, index, self.draws, 1, distinct=False)
        tried = gather_points(own, index).squeeze(2)  # b x F x k x d
        return self._taken(fantasy, found, tried)

    def _around(self, x: Tensor) -> Tensor:
        """Points around each of the designs b x q x d: b x AROUND_DESIGN x d."""
        q = x.shape[1]
        generator = torch.Generator().manual_seed(0)
        noise = torch.randn(AROUND_DESIGN, self.space.cube, generator=generator, dtype=torch.float64)
        noise = (AROUND_WIDTH * torch.rand(AROUND_DESIGN, 1, generator=generator, dtype=torch.float64) * noise).to(x)
        centre = self.space.to_cube(x)[:, torch.arange(AROUND_DESIGN, device=x.device) % q]
        return self.space.project(self.space.from_cube((centre + noise).clamp(0.0, 1.0)))

    def with_actions(self, actions: Tensor) -> "ContinuousSearch":
        """With further actions (A x event) among the contenders."""
        return replace(self, contenders=torch.cat([self.contenders, actions]))

    @torch.no_grad()
    def improved_by(self, actions: Tensor) -> "ContinuousSearch":
        """With the best of these actions as today's, if it is better than the one known."""
        flat = self.domain.project(actions.flatten(0, 1))
        losses = loss_now(self.decision, self.belief, flat, self.draws)
        better = losses.argsort()[:BETTER_REFINED]
        best, value = flat[better[0]], losses[better[0]]
        if not bool(value < self.value):
            return self
        if bool(self.value - value < LITTLE_BETTER * (losses.max() - value)):
            return replace(self, best=best, value=value, contenders=torch.cat([best.unsqueeze(0), self.contenders]))
        starts = torch.cat([flat[better], self.best.unsqueeze(0)])
        found = refine(self.decision, self.belief, self.domain, self.draws, starts, self.clock, first_steps=0)
        contenders = torch.cat([found.contenders[:1], self.contenders])
        return replace(self, best=contenders[0], value=found.value, contenders=contenders, metric=found.metric)

    def stay(self, fantasy: Fantasy, draws: Tensor | None = None) -> Tensor:
        """The expected loss of today's action after each outcome: b x N."""
        b = fantasy.values.shape[0]
        return self.loss_after(fantasy, self.best.expand(b, 1, *self.domain.event), draws)

    def numbers_per_design(self, outcomes: int) -> int:
        """The contenders' moments dominate, N x P x K, for each component or, where values are drawn, for each draw."""
        K = self.decision.points(self.contenders[:1]).shape[-2] * len(self.belief.outcomes)
        H, needs = self.belief.components, self.decision.needs
        each = {Needs.MEAN: 1, Needs.VARIANCE: 2 * H, Needs.JOINT: max(H * K, self.draws.shape[0])}[needs]
        return 2 * outcomes * (self.contenders.shape[0] + K + 1) * K * each


def _same(
    decision: Decision, belief: Belief, domain: Domain, draws: Tensor, found: Incumbent, losses: Tensor | None
) -> bool:
    """Whether actions found before have the same losses as then."""
    if losses is None or found.contenders.shape[1:] != domain.event:
        return False
    return torch.equal(loss_now(decision, belief, found.contenders, draws), losses)


_Polished = tuple[Tensor, Tensor, Tensor]
"""Unit coordinates b x N x A, losses b x N, inverse Hessians b x N x A x A."""
