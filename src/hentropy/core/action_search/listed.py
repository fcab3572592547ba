"""Actions that are enumerated: a list of anything, a list of point sets, or all tuples of a small finite space."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

from hentropy.core.action_search.base import ActionSearch, BestAfterOutcome, expected_loss
from hentropy.core.action_search.exchange import gains_of
from hentropy.core.action_search.survey import SURVEY_SHARE, mean_moves, means_after, survey
from hentropy.core.beliefs import Belief, Fantasy, Needs
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Listed, Options, Points
from hentropy.core.decisions.normal import excess
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

ENUMERABLE = 4096
"""Tuples of a finite space up to this many are all tried."""


WORK = 2**19
"""Tuples times designs up to this many are all tried: a longer list has its own search even for single rows."""


def enumerable(rows: int, actions: Points) -> bool:
    """Whether every action on a list of this many designs is tried."""
    count = actions.count_on(rows)
    return count <= ENUMERABLE and count * rows <= WORK


def all_tuples(points: Tensor, actions: Points) -> Tensor:
    """Every action of a finite space: m x k x d."""
    rows = range(points.shape[0])
    tuples = combinations(rows, actions.k) if actions.as_set else product(rows, repeat=actions.k)
    return points[torch.tensor(list(tuples), device=points.device)]


NONE_OBSERVED = "no design that may be decided on has been observed yet; observe one first"


@dataclass(frozen=True)
class ListedSearch(ActionSearch):
    """Point sets m x k x d, all tried after every outcome; they may change with the data."""

    decision: Decision
    belief: Belief
    rows: Tensor
    draws: Tensor
    best: Tensor
    value: Tensor
    clock: Clock
    among: DesignSpace | None = None
    """Where observed designs must lie to be decided on; anywhere if None."""

    @classmethod
    def prepare(
        cls, decision: Decision, belief: Belief, rows: Tensor, draws: Tensor, clock: Clock | None = None
    ) -> "ListedSearch":
        """Find the best row now."""
        losses = expected_loss(decision, belief.moments(decision.points(rows), decision.needs), rows, draws)
        clock = Clock() if clock is None else clock
        return cls(decision, belief, rows, draws, rows[losses.argmin()], losses.min(), clock)

    def of_other_designs(self, space: DesignSpace) -> "ListedSearch":
        """Where actions are observed designs, one at a time, only those in the space count."""
        if not self._of_observed:
            return self
        moments = self.belief.moments(self.decision.points(self.rows), self.decision.needs)
        losses = expected_loss(self.decision, moments, self.rows, self.draws)
        losses = losses.masked_fill(~space.contains(self.belief.X), torch.inf)
        if not bool(torch.isfinite(losses).any()):
            raise DecisionError(NONE_OBSERVED)
        return replace(self, best=self.rows[losses.argmin()], value=losses.min(), among=space)

    def losses_after(self, fantasy: Fantasy, draws: Tensor) -> Tensor:
        """The expected loss of each row after each outcome: b x N x m."""
        moments = fantasy.shared_moments(self.decision.points(self.rows), self.decision.needs)
        return expected_loss(self.decision, moments, self.rows, draws)

    @cached_property
    def _of_observed(self) -> bool:
        """Whether the actions are the observed designs, one at a time."""
        return self.decision.follows_data and torch.equal(self.rows.squeeze(-2), self.belief.X)

    @cached_property
    def _observed(self) -> Tensor | None:
        """What f at an observed design counts (1), where the actions are these designs and nothing else counts."""
        sums = self.decision.sums() if self._of_observed else None
        return None if sums is None or len(sums.coefficients) > 1 else gains_of(sums, self.value)

    @torch.no_grad()
    def promise(self, x: Tensor, pending: Tensor) -> Tensor | None:
        """Expected improvement of designs b x d on the best of those observed: b; -inf where time ran out."""
        u = self._observed
        if u is None:
            return None
        belief = self.belief.expecting(pending) if len(pending) else self.belief
        mean, sd, noise, looked = survey(belief, x, self.clock.share(SURVEY_SHARE))
        value = torch.full((len(x),), -torch.inf).to(mean)
        value[looked] = excess(-self.value - u * mean, mean_moves(sd, noise))
        return value if self.among is None else torch.where(self.among.contains(x), value, value.clamp_max(0.0))

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best row after each outcome: exact, so `steps` are not needed."""
        if self._observed is not None:
            return self._least_of_observed(fantasy, x, self._observed)
        if self.decision.follows_data:
            return self._least_with_new_rows(fantasy, x, draws)
        losses = self.losses_after(fantasy, self.draws)
        choice = losses.argmin(-1)
        judged = losses if draws is None else self.losses_after(fantasy, draws)
        now = (self.rows == self.best).flatten(1).all(-1).nonzero()[0, 0]
        return BestAfterOutcome(_chosen(judged, choice), judged[..., now], self.rows[choice])

    def _least_of_observed(self, fantasy: Fantasy, x: Tensor, u: Tensor) -> BestAfterOutcome:
        """The best of the designs observed before, which all outcomes share, and of those observed now."""
        before = means_after(fantasy, self.belief.X)  # b x N x n
        moments = fantasy.moments(x.unsqueeze(1), Needs.MEAN)
        worth = u * torch.cat([before, moments.expect_vector(moments.mean).expand(*before.shape[:2], -1)], -1)
        now = (self.rows == self.best).flatten(1).all(-1).nonzero()[0, 0]
        rows = torch.cat([self.rows.expand(len(x), *self.rows.shape), x.unsqueeze(-2)], 1)  # b x (n + q) x 1 x d
        if self.among is not None:
            worth = worth.masked_fill(~self.among.contains(rows.squeeze(-2)).unsqueeze(1), -torch.inf)
        best, choice = worth.max(-1)
        return BestAfterOutcome(-best, -worth[..., now], rows[torch.arange(len(x), device=x.device)[:, None], choice])

    def _least_with_new_rows(self, fantasy: Fantasy, x: Tensor, draws: Tensor | None) -> BestAfterOutcome:
        """Each design opens actions of its own: those given the data and the design itself."""
        rows = torch.stack([_listed(self.decision, torch.cat([self.belief.X, own])) for own in x])  # b x m x k x d
        moments = fantasy.moments(self.decision.points(rows).unsqueeze(1), self.decision.needs)
        losses = expected_loss(self.decision, moments, rows.unsqueeze(1), self.draws)
        if self.among is not None:
            losses = losses.masked_fill(~self.among.contains(rows).all(-1).unsqueeze(1), torch.inf)
        choice = losses.argmin(-1)
        judge = self.draws if draws is None else draws
        judged = losses if draws is None else expected_loss(self.decision, moments, rows.unsqueeze(1), judge)
        loss = _chosen(judged, choice)
        best = self.best.expand(x.shape[0], 1, *self.best.shape)
        stay = expected_loss(
            self.decision, fantasy.moments(self.decision.points(best), self.decision.needs), best, judge
        )
        actions = rows[torch.arange(x.shape[0], device=x.device)[:, None], choice]
        return BestAfterOutcome(loss, stay.expand(loss.shape), actions)

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments of all rows after all outcomes."""
        K = self.draws.shape[-1]
        joint = K + self.draws.shape[0] if self.decision.needs is Needs.JOINT else 1
        return 4 * outcomes * self.rows.shape[0] * K * joint * self.belief.components


def _chosen(losses: Tensor, choice: Tensor) -> Tensor:
    """The entries (... x m) that were chosen (...)."""
    return losses.gather(-1, choice.unsqueeze(-1)).squeeze(-1)


def _listed(decision: Decision, observed: Tensor) -> Tensor:
    space = decision.actions_given(observed)
    if not isinstance(space, Listed):
        raise DecisionError(
            f"{type(decision).__name__} has follows_data = True, so actions_given must return Listed(rows), not"
            f" {type(space).__name__}"
        )
    return space.rows.to(observed)


def rows_given(decision: Decision, belief: Belief) -> Tensor:
    """The listed actions that are open now: m x k x d."""
    return _listed(decision, belief.X)


@dataclass(frozen=True)
class OptionsSearch(ActionSearch):
    """Items of any kind, each with the points that its loss looks at."""

    decision: Decision
    belief: Belief
    items: Sequence[Any]
    points: tuple[Tensor, ...]
    draws: tuple[Tensor, ...]
    best: Any
    value: Tensor
    now: int

    @classmethod
    def prepare(cls, decision: Decision, belief: Belief, options: Options, draws: Tensor) -> "OptionsSearch":
        """Find the best item now."""
        points = tuple(torch.as_tensor(decision.points(item)).to(belief.X) for item in options.items)
        for item, at in zip(options.items, points, strict=True):
            if at.dim() != 2 or at.shape[-1] != belief.X.shape[-1]:
                raise DecisionError(
                    f"the points of option {item!r} have shape {tuple(at.shape)}; they must be K x {belief.X.shape[-1]}"
                )
        own_draws = tuple(draws[:, : at.shape[0] * len(belief.outcomes)] for at in points)
        losses = torch.stack(
            [
                expected_loss(decision, belief.moments(at, decision.needs), item, own)
                for item, at, own in zip(options.items, points, own_draws, strict=True)
            ]
        )
        now = int(losses.argmin())
        return cls(decision, belief, options.items, points, own_draws, options.items[now], losses[now], now)

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best item after each outcome; `actions` are its indices."""
        table = self._table(fantasy, x.shape[0], self.draws)
        choice = table.argmin(-1)
        judged = table
        if draws is not None:
            judged = self._table(fantasy, x.shape[0], tuple(draws[:, : own.shape[1]] for own in self.draws))
        return BestAfterOutcome(_chosen(judged, choice), judged[..., self.now], choice)

    def _table(self, fantasy: Fantasy, b: int, draws: tuple[Tensor, ...]) -> Tensor:
        """The expected loss of each item after each outcome: b x N x items."""
        losses = []
        for item, at, own in zip(self.items, self.points, draws, strict=True):
            moments = fantasy.shared_moments(at.unsqueeze(0), self.decision.needs)
            losses.append(expected_loss(self.decision, moments, item, own).squeeze(-1))
        table = torch.stack(torch.broadcast_tensors(*losses), -1)
        return table.expand(b, fantasy.weights.shape[-1], len(self.items))

    def action(self, actions: Tensor, b: int, n: int) -> Any:
        """The item."""
        return self.items[int(actions[b, n])]

    def numbers_per_design(self, outcomes: int) -> int:
        """One item at a time: its joint moments and draws, and the table of all."""
        K = max(own.shape[1] for own in self.draws)
        return outcomes * (len(self.items) + 4 * K * (K + self.draws[0].shape[0])) * self.belief.components
