"""Decisions whose best action follows from the belief at fixed points: nothing is searched."""

from dataclasses import dataclass

from torch import Tensor

from hentropy.beliefs import Belief, Fantasy, Needs
from hentropy.decisions import Solved
from hentropy.inner.base import ActionSearch, Least, expected_loss


@dataclass(frozen=True)
class SolvedSearch(ActionSearch):
    """A solved decision at its points (m x d)."""

    decision: Solved
    belief: Belief
    points: Tensor
    best: Tensor
    value: Tensor

    @classmethod
    def prepare(cls, decision: Solved, belief: Belief) -> "SolvedSearch":
        """The best action now."""
        points = decision.settled_points.to(belief.X)
        moments = belief.moments(points, decision.needs)
        return cls(decision, belief, points, decision.bayes_action(moments), decision.solve(moments))

    def least(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> Least:
        """The least expected loss after each outcome, against that of today's action (or the entropy now)."""
        moments = fantasy.pool_moments(self.points.unsqueeze(0), self.decision.needs)
        loss = self.decision.solve(moments).squeeze(-1).expand(x.shape[0], fantasy.weights.shape[0])
        if not self.decision.scores_actions:
            return Least(loss, self.value.expand(loss.shape), loss)
        stay = expected_loss(self.decision, moments, self.best, moments.mean[..., 0, :0]).squeeze(-1)
        # while screening nobody asks what would be reported
        actions = self.decision.bayes_action(moments).squeeze(2) if steps > 0 else loss
        return Least(loss, stay.expand(loss.shape), actions)

    def numbers_per_design(self, outcomes: int) -> int:
        """Moments at all points after all outcomes."""
        m = self.points.shape[0]
        return 4 * outcomes * m * (m if self.decision.needs is Needs.JOINT else 1) * self.belief.components
