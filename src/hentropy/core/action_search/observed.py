"""Actions that follow the data, such as the best of the designs observed so far: each new design opens further ones."""

from dataclasses import dataclass
from functools import cached_property

from hentropy.core.action_search.base import (
    ActionSearch,
    BestAfterOutcome,
    chosen_losses,
    expected_loss,
    losses_after,
    numbers_of_rows,
)
from hentropy.core.action_search.exchange import gains_of
from hentropy.core.action_search.survey import SURVEY_SHARE, mean_moves, means_after, survey
from hentropy.core.beliefs import Belief, Fantasy
from hentropy.core.clock import Clock
from hentropy.core.decisions import Decision, Listed
from hentropy.core.decisions.normal import excess
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class ObservedSearch(ActionSearch):
    """Point sets m x k x d that the data open now; after an outcome, those that the data and the new designs open."""

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
        cls, decision: Decision, belief: Belief, draws: Tensor, clock: Clock, among: DesignSpace | None = None
    ) -> "ObservedSearch":
        """Find the best row now, of those in a space if one is given."""
        rows = rows_given(decision, belief.X)
        losses = expected_loss(decision, belief.moments(decision.points(rows), decision.needs), rows, draws)
        if among is not None:
            losses = losses.masked_fill(~among.contains(rows).all(-1), torch.inf)
            if not bool(torch.isfinite(losses).any()):
                raise DecisionError("no design that may be decided on has been observed yet; observe one first")
        return cls(decision, belief, rows, draws, rows[losses.argmin()], losses.min(), clock, among)

    def of_other_designs(self, space: DesignSpace) -> "ObservedSearch":
        """Only observed designs in the space count, where actions are one of these each."""
        if not self._of_observed:
            return self
        return ObservedSearch.prepare(self.decision, self.belief, self.draws, self.clock, space)

    @cached_property
    def _of_observed(self) -> bool:
        """Whether the actions are the observed designs, one at a time."""
        return torch.equal(self.rows.squeeze(-2), self.belief.X)

    @cached_property
    def _factor(self) -> Tensor | None:
        """What means at observed designs count (1), where the actions are these designs and nothing else counts."""
        sums = self.decision.sums() if self._of_observed else None
        return None if sums is None or len(sums.coefficients) > 1 else gains_of(sums, self.value)

    @torch.no_grad()
    def promise(self, x: Tensor, pending: Tensor) -> Tensor | None:
        """Expected improvement of designs b x d on the best of those observed: b; -inf where time ran out."""
        u = self._factor
        if u is None:
            return None
        belief = self.belief.expecting(pending) if len(pending) else self.belief
        mean, sd, noise, looked = survey(belief, x, self.clock.share(SURVEY_SHARE))
        value = torch.full((len(x),), -torch.inf).to(mean)
        value[looked] = excess(-self.value - u * mean, mean_moves(sd, noise))
        return value if self.among is None else torch.where(self.among.contains(x), value, value.clamp_max(0.0))

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best row after each outcome: exact, so `steps` are not needed."""
        if self._factor is None:
            return self._best_of_all(fantasy, x, draws)
        means = torch.cat([means_after(fantasy, self.belief.X), fantasy.own_means(x)], -1)  # b x N x (n + q)
        losses = -self._factor * means
        stay = losses[..., (self.rows == self.best).flatten(1).all(-1).nonzero()[0, 0]]
        rows = torch.cat([self.rows.expand(len(x), *self.rows.shape), x.unsqueeze(-2)], 1)  # b x (n + q) x 1 x d
        return self._chosen(rows, losses, losses, stay)

    def _best_of_all(self, fantasy: Fantasy, x: Tensor, draws: Tensor | None) -> BestAfterOutcome:
        """For any loss, of the actions that the data and each design together open."""
        rows = torch.stack([rows_given(self.decision, torch.cat([self.belief.X, own])) for own in x])  # b x m x k x d
        moments = fantasy.moments(self.decision.points(rows).unsqueeze(1), self.decision.needs)
        losses = expected_loss(self.decision, moments, rows.unsqueeze(1), self.draws)
        judge = self.draws if draws is None else draws
        judged = losses if draws is None else expected_loss(self.decision, moments, rows.unsqueeze(1), judge)
        best = self.best.expand(x.shape[0], 1, *self.best.shape)
        return self._chosen(rows, losses, judged, losses_after(self.decision, fantasy, best, judge))

    def _chosen(self, rows: Tensor, losses: Tensor, judged: Tensor, stay: Tensor) -> BestAfterOutcome:
        """The rows (b x m x k x d) with the smallest losses (b x N x m), as they are judged."""
        if self.among is not None:
            losses = losses.masked_fill(~self.among.contains(rows).all(-1).unsqueeze(1), torch.inf)
        choice = losses.argmin(-1)
        loss = chosen_losses(judged, choice)
        actions = rows[torch.arange(len(rows), device=rows.device)[:, None], choice]
        return BestAfterOutcome(loss, stay.expand(loss.shape), actions)

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments of all rows after all outcomes."""
        return numbers_of_rows(self.decision, self.belief, self.rows, self.draws, outcomes)


def rows_given(decision: Decision, observed: Tensor) -> Tensor:
    """The actions that observed designs (n x d) open: m x k x d."""
    space = decision.actions_given(observed)
    if not isinstance(space, Listed):
        raise DecisionError(
            f"{type(decision).__name__} has follows_data = True, so actions_given must return Listed(rows), not"
            f" {type(space).__name__}"
        )
    return space.rows.to(observed)
