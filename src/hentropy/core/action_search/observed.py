"""The best of the designs observed so far: a list that grows by the designs themselves."""

from dataclasses import dataclass

from hentropy.core.action_search.base import ActionSearch, BestAfterOutcome
from hentropy.core.action_search.listed import NONE_OBSERVED
from hentropy.core.beliefs import Fantasy, Gaussian, Needs, Transformed
from hentropy.core.beliefs.fixed import FixedPoints, TransformedPoints
from hentropy.core.beliefs.gaussian import GaussianFantasy
from hentropy.core.beliefs.transformed import TransformedFantasy
from hentropy.core.decisions.one_design import OneDesign
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class ObservedSearch(ActionSearch):
    """The best of the designs observed, exactly: the data are fixed points, and each design adds itself.

    `now` is the best one.
    """

    decision: OneDesign
    belief: Gaussian | Transformed
    data: FixedPoints | TransformedPoints
    best: Tensor
    value: Tensor
    now: int
    among: DesignSpace | None = None
    """Where observed designs must lie to be decided on; anywhere if None."""

    @classmethod
    def prepare(
        cls, decision: OneDesign, belief: Gaussian | Transformed, among: DesignSpace | None = None
    ) -> "ObservedSearch":
        """The observed design with the best mean."""
        data: FixedPoints | TransformedPoints
        if isinstance(belief, Transformed):
            data = TransformedPoints.prepare(belief, belief.X)
        else:
            data = FixedPoints.prepare(belief, belief.X, Needs.MEAN)
        losses = decision.sign * data.now.expect_vector(data.now.mean)
        if among is not None:
            losses = losses.masked_fill(~among.contains(belief.X), torch.inf)
            if not bool(torch.isfinite(losses).any()):
                raise DecisionError(NONE_OBSERVED)
        now = int(losses.argmin())
        return cls(decision, belief, data, belief.X[now].unsqueeze(0), losses[now], now, among)

    def of_other_designs(self, space: DesignSpace) -> "ObservedSearch":
        """Only those in the space count."""
        return ObservedSearch.prepare(self.decision, self.belief, space)

    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best of the data and the new designs after each outcome."""
        b = x.shape[0]
        losses = self.decision.sign * torch.cat(self._means(fantasy), -1)  # b x N x (n + q)
        if self.among is not None:
            both = torch.cat([self.belief.X.expand(b, -1, -1), x], 1)
            losses = losses.masked_fill(~self.among.contains(both).unsqueeze(1), torch.inf)
        loss, choice = losses.min(-1)
        if steps == 0:
            return BestAfterOutcome(loss, losses[..., self.now], loss)
        rows = torch.cat([self.belief.X.expand(b, -1, -1), x], 1)
        actions = rows[torch.arange(b, device=x.device)[:, None], choice].unsqueeze(-2)
        return BestAfterOutcome(loss, losses[..., self.now], actions)

    def _means(self, fantasy: Fantasy) -> tuple[Tensor, Tensor]:
        """After each outcome, at the data and at the new designs: b x N x n and b x N x q."""
        if isinstance(fantasy, TransformedFantasy) and isinstance(self.data, TransformedPoints):
            data = torch.cat([part.mean[0] for part in self.data.after(fantasy, Needs.MEAN)])
            return data, fantasy.own_means()
        if isinstance(fantasy, GaussianFantasy) and isinstance(self.data, FixedPoints):
            data = torch.cat([self.data.means(part) for part in fantasy.chunks(self.data.count)])
            return data, fantasy.own_means()
        raise DecisionError(f"a {type(self.belief).__name__} belief looked ahead as {type(fantasy).__name__}")

    def numbers_per_design(self, outcomes: int) -> int:
        """Means at the data after all outcomes."""
        return 6 * outcomes * (len(self.belief.X) + self.belief.components)
