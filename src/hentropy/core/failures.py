r"""Experiments that may fail: what an action that may fail costs, and what an experiment teaches about that.

The share of an action's designs that succeed counts by its loss, the share that fail by the fallback, the largest
expected loss of a design that was observed or of actions that are spread over the space:

    loss(f, s, a) = share(s, a) loss(f, a) + (1 - share(s, a)) fallback
    V(a) = c(a) E[loss(f, a)] + (1 - c(a)) fallback              c(a) = the mean chance of success of its designs

Where the loss is a sum over designs that count alike (`Sums`), each counts by itself: one that fails by the largest
loss of any single design. Then V is a sum again, and lists are searched as quickly as without failures.

V is exact: the expectation of a share is the mean of the chances, however successes depend on each other, and whether
an experiment succeeds tells nothing of f. `MayFail` is the decision with this loss, so that entropy and gain are what
they are for any other. Of all actions, A are those whose designs each succeed with a chance of `Success.at_least`.

With s the success of the next experiment at x, P(s) its chance, and a* the best action today:

    EHIG(x) = P(s) gain(x)  +  sum over s of P(s) ( V_s(a*) - min over a in A_s and a* of V_s(a) )

gain(x)   what the outcome of an experiment that succeeds is expected to save, with today's chances.
second    what the news whether it succeeds is expected to save. After it, the chances c_s(a) of all actions move, and
          with them A_s: a failure can make a* a poor action, a success can allow a better one.

This takes the two apart: after a success, the outcome and the better chances together may save a little more than each
alone. The first term holds for one design. That of several asked together counts only if all of them succeed, which is
less than it is worth; the second adds what each of them teaches on top of those before it. So it is with designs that
are waited for: none is asked twice for its news. Its minimum is over the actions that the searches on A and without
failures have met, over some that fill the space, and over a* with each of its members moved to x. It is therefore low
rather than high: in a plane, beside a* it was four fifths of what a grid of actions found, and further along the edge
of what succeeds next to nothing; the highest seen was 2 % above the grid's.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hentropy.core.action_search import ActionSearch, ContinuousSearch, prepare_search, values_per_action
from hentropy.core.action_search.base import loss_now
from hentropy.core.action_search.incumbent import SEED
from hentropy.core.action_search.rivals import replacements
from hentropy.core.beliefs import Belief, Moments
from hentropy.core.beliefs.success import Success, Watched
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Listed, Points, Sums, base_samples
from hentropy.core.spaces import DesignSpace, Pool, Space
from hentropy.core.spaces.constraints import DesignTest
from hentropy.lazy import Tensor, torch

SPREAD_DESIGNS = 2**11
"""Designs of a continuous space that are looked at for those that probably succeed."""

NEWS_RIVALS, NEWS_SAMPLED = 24, 64
"""Actions of each search that the news could make best, and others that are spread over the space."""

SAME_DESIGN = 1e-9
"""Designs of the unit cube that are so close are the same."""

MOST_SCENARIOS = 4
"""Results of two pending experiments are all looked at; of more, the likelier ones."""

NEWS_AT_ONCE = 64
"""Designs whose news is looked at together: their covariances with all actions are held at once."""


class MayFail(Decision):
    """A decision about designs that succeed with some chance; what the others are worth is the `fallback`, a loss."""

    def __init__(self, decision: Decision, success: Success, fallback: Tensor) -> None:
        self.decision, self.success, self.fallback = decision, success, fallback
        self.actions, self.needs, self.outcomes = decision.actions, decision.needs, decision.outcomes
        self._by_member = coefficient_of_all(decision)

    def points(self, a: Any) -> Tensor:
        """Where the loss looks at f."""
        return self.decision.points(a)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """The loss of values f, before it is known which designs succeed."""
        return self._priced(self.decision.loss(f, a), f, a)

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """V in each component."""
        return self._priced(self.decision.expected_loss(moments, a, draws), moments.mean, a)

    def sums(self) -> Sums | None:
        """That of the decision, with values by what they are worth."""
        own = self.decision.sums()
        return None if self._by_member is None or own is None else replace(own, worth=self._worth)

    @torch.no_grad()
    def _worth(self, points: Tensor) -> tuple[Tensor, Tensor]:
        chance = torch.cat([self.success.chance(part) for part in points.split(SPREAD_DESIGNS)])
        assert self._by_member is not None
        return chance, (1.0 - chance) * self.fallback / self._by_member

    def __repr__(self) -> str:
        return repr(self.decision)

    def counted(self, loss: Tensor, f: Tensor, chance: Tensor) -> Tensor:
        """Losses (...) of values f (... x k) at designs that succeed with some chance (... x k)."""
        if self._by_member is None:
            return self.fallback + chance.mean(-1) * (loss - self.fallback)
        return loss + ((1.0 - chance) * (self.fallback - self._by_member * f)).sum(-1)

    def _priced(self, loss: Tensor, f: Tensor, a: Tensor) -> Tensor:
        """Losses H x ... of actions ... x k x d; searches combine few designs to many actions."""
        once = a[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in a.stride()[:-2])]
        if once.requires_grad:
            chance = self.success.chance(once)
        else:
            rows, place = once.flatten(0, -2).unique(dim=0, return_inverse=True)
            chance = self.success.chance(rows)[place].view(once.shape[:-1])
        return self.counted(loss, f, chance)


def coefficient_of_all(decision: Decision) -> float | None:
    """What the value of a member counts in a loss that is a sum over members, if it is the same for all of them."""
    sums = decision.sums()
    return sums.coefficients[0] if sums is not None and len(set(sums.coefficients)) == 1 else None


@torch.no_grad()
def restricted(
    decision: Decision, belief: Belief, space: DesignSpace, success: Success
) -> tuple[Decision, DesignSpace]:
    """The decision with what failures cost, and a space whose designs probably succeed, in the same coordinates.

    Where too few designs do for an action, those with the largest chances are left. A decision for one of the designs
    observed stays as it is, since these have succeeded, and so does one that is about no designs.
    """
    actions = decision.actions
    if not isinstance(actions, Points | Listed) or decision.follows_data:
        return decision, space
    found, asked = success.latent.found, ("may fail", id(decision), id(belief), id(space), success.at_least)
    if asked not in found:
        priced = MayFail(decision, success, _fallback(decision, belief, space))
        if isinstance(actions, Listed):
            priced.actions, actions_on = _passing(actions, success), space
        else:
            actions_on = _decidable(space, success, actions.k)
        # what was asked is kept, so that its ids stay its own
        found[asked] = (priced, actions_on, decision, belief, space)
    return found[asked][0], found[asked][1]


def _fallback(decision: Decision, belief: Belief, space: DesignSpace) -> Tensor:
    """The largest expected loss of actions that are spread over the space, and of designs observed; of one member
    where members count alike.
    """
    actions = decision.actions
    tried = torch.as_tensor(actions.sample(space, NEWS_SAMPLED, SEED)).to(belief.X)
    coefficient = coefficient_of_all(decision)
    if coefficient is not None:
        return (coefficient * belief.means(torch.cat([tried.flatten(0, 1), belief.X])).mean[0]).max()
    if isinstance(actions, Points):
        tried = torch.cat([tried, belief.X.unsqueeze(1).expand(-1, actions.k, -1)])
    return _losses(decision, belief, space, tried).max()


def _losses(decision: Decision, belief: Belief, space: DesignSpace, actions: Tensor) -> Tensor:
    """The expected losses of actions (P x k x d), as if they succeeded: P."""
    draws = base_samples(decision, 64, values_per_action(decision, space, belief.X), SEED).to(belief.X)
    return loss_now(decision, belief, actions, draws)


def _passing(actions: Listed, success: Success) -> Listed:
    """Those of the listed actions that probably succeed, or else the likeliest one."""
    chance = success.chance(actions.rows).amin(-1)
    passes = chance >= success.at_least
    passes[chance.argmax()] |= ~passes.any()
    return actions if bool(passes.all()) else Listed(actions.rows[passes])


def _decidable(space: DesignSpace, success: Success, k: int) -> DesignSpace:
    if space.points is None:
        rows = torch.cat([space.sample(SPREAD_DESIGNS, SEED), space.project(success.latent.X).cpu()])
    else:
        rows = space.points
    chance = torch.cat([success.chance(part) for part in rows.split(SPREAD_DESIGNS)])
    passes = chance >= success.at_least
    if int(passes.sum()) < k:
        return Pool.among(space, rows[chance.topk(min(k, len(rows))).indices])
    if bool(passes.all()) and space.points is not None:
        return space
    if isinstance(space, Space) and space.points is None:
        return space.limited(DesignTest(success.passes, rows[passes]))
    return Pool.among(space, rows[passes])


@dataclass(frozen=True)
class SuccessNews:
    """What the news whether an experiment succeeds is expected to save.

    `scenarios` are what may be known of success by then, with their probabilities: the results of pending experiments.
    `known` are actions that could be best after it (P x k x d), a* first, `loss` their expected losses as if they
    succeeded (P), and `mean` the means of f there (P x k; zeros where only whole losses count).
    """

    decision: MayFail
    scenarios: tuple[tuple[float, Success], ...]
    belief: Belief
    everywhere: DesignSpace
    known: Tensor
    loss: Tensor
    mean: Tensor

    @classmethod
    @torch.no_grad()
    def prepare(
        cls, decision: Decision, belief: Belief, everywhere: DesignSpace, search: ActionSearch, pending: Tensor
    ) -> "SuccessNews | None":
        """From the search for actions that can be decided; `everywhere` has those that cannot as well.

        The news of `pending` designs (p x d) is taken as expected: only what comes on top of it counts.
        """
        if not isinstance(decision, MayFail) or not isinstance(decision.actions, Points):
            return None
        free = prepare_search(decision.decision, belief, everywhere, Clock())
        spread = decision.actions.sample(everywhere, NEWS_SAMPLED, SEED).to(belief.X)
        known = torch.cat([_met(search), _met(free), spread])
        losses = _losses(decision.decision, belief, everywhere, known)
        today = ((1.0, decision.success),)
        found = cls(decision, today, belief, everywhere, known, losses, _means(decision, belief, known))
        return found.once_ended(pending)

    def saves(self, x: Tensor) -> Tensor:
        """By designs b x q x d, each on top of what those before it bring: b."""
        saved = torch.cat([self._saved(part, self._moved(part)) for part in x[:, 0].split(NEWS_AT_ONCE)])
        if x.shape[1] == 1:
            return saved
        rest, rows = self._moved(x[:, 1:].flatten(0, 1)), []
        for i, row in enumerate(x):
            news, total = self, saved[i : i + 1]
            for j in range(1, len(row)):
                news = news.once_ended(row[j - 1 : j])
                total = total + news._saved(row[j : j + 1], rest.one(i * (len(row) - 1) + j - 1))
            rows.append(total)
        return torch.cat(rows)

    def once_ended(self, x: Tensor) -> "SuccessNews":
        """What is news once experiments at x (p x d) have ended: on average over what became of the first few of them,
        with the likelier result of each further one.
        """
        scenarios = self.scenarios
        for row in x.detach():
            found = [(w * p, then) for w, old in scenarios for p, then in (old.given(row, True), old.given(row, False))]
            if len(found) > MOST_SCENARIOS:
                pairs = zip(found[::2], found[1::2], scenarios, strict=True)
                found = [(w, max(both, key=lambda one: one[0])[1]) for *both, (w, _) in pairs]
            scenarios = tuple(found)
        return replace(self, scenarios=scenarios)

    def _saved(self, x: Tensor, moved: "_Moved") -> Tensor:
        """By single designs b x d: b."""
        return torch.stack([weight * self._saved_in(watched, x, moved) for weight, watched in self._watched]).sum(0)

    @cached_property
    def _watched(self) -> list[tuple[float, Watched]]:
        points = self.known.flatten(0, 1)
        return [(weight, success.watching(points)) for weight, success in self.scenarios]

    def _moved(self, x: Tensor) -> "_Moved":
        """a* with members moved to designs b x d."""
        # a member can be moved to x only where that may be decided
        apart = (self.everywhere.to_unit(x) - self.everywhere.to_unit(self.everywhere.project(x))).abs().amax(-1)
        barred = torch.where(apart <= SAME_DESIGN, 0.0, torch.inf).unsqueeze(-1).to(x)
        which = replacements(self.known.shape[1], x.device)  # V x k
        actions = torch.where(which.unsqueeze(-1), x[:, None, None], self.known[0])  # b x V x k x d
        mean = torch.where(which, _means(self.decision, self.belief, x).view(-1, 1, 1), self.mean[0])
        return _Moved(_losses(self.decision.decision, self.belief, self.everywhere, actions), mean, barred)

    def _saved_in(self, watched: Watched, x: Tensor, moved: "_Moved") -> Tensor:
        P, k, _ = self.known.shape
        succeeds, there, here = watched.after(x)  # b, 2 x b at x itself, 2 x b x Pk
        then = torch.cat([there.unsqueeze(-1), here], -1)  # 2 x b x (1 + Pk)
        today = succeeds.unsqueeze(-1) * then[0] + (1.0 - succeeds).unsqueeze(-1) * then[1]
        then = torch.cat([then, today.unsqueeze(0)])  # 3 x b x (1 + Pk): after a success, after a failure, today
        own, known = then[..., :1].unsqueeze(-1), then[..., 1:].unflatten(-1, (P, k))  # 3 x b x 1 x 1, 3 x b x P x k
        chance = torch.cat([known, torch.where(replacements(k, x.device), own, known[..., :1, :])], -2)
        means = torch.cat([self.mean.expand(len(x), P, k), moved.mean], -2)  # b x (P + V) x k
        value = self.decision.counted(torch.cat([self.loss.expand(len(x), P), moved.loss], -1), means, chance)
        stay = value[..., 0].clone()
        value[..., P:] += moved.barred
        best = torch.where((chance >= self.decision.success.at_least).all(-1), value, torch.inf).amin(-1).minimum(stay)
        # on the draws of these losses another action may be better already, which is no news
        return (best[2] - succeeds * best[0] - (1.0 - succeeds) * best[1]).clamp_min(0.0)


@dataclass(frozen=True)
class _Moved:
    """Today's best action with one member, or all, moved to a design, V ways: as if they succeeded.

    Losses b x V, means of f at the members b x V x k (or zeros), and what bars them, infinite or zero: b x 1.
    """

    loss: Tensor
    mean: Tensor
    barred: Tensor

    def one(self, i: int) -> "_Moved":
        """Of one of the designs."""
        return _Moved(self.loss[i : i + 1], self.mean[i : i + 1], self.barred[i : i + 1])


def _means(decision: MayFail, belief: Belief, points: Tensor) -> Tensor:
    """The means of f at points ... x d, where values of members count: ... ."""
    if coefficient_of_all(decision.decision) is None:
        return points.new_zeros(points.shape[:-1])
    return belief.means(points.reshape(-1, points.shape[-1])).mean[0].view(points.shape[:-1])


def _met(search: ActionSearch) -> Tensor:
    """The actions of a search that could be best: P x k x d, the best one first."""
    best = torch.as_tensor(search.best).unsqueeze(0)
    return torch.cat([best, search.contenders[:NEWS_RIVALS]]) if isinstance(search, ContinuousSearch) else best
