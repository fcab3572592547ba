"""The smallest expected loss of any action, now and after each outcome of an experiment.

An `ActionSearch` is prepared once for a decision, a belief and a space, and then used for many designs. `best` is the
action that is best now and `value` its expected loss, the entropy. `least` finds, for b designs with N outcomes each,
the best action after every outcome. Every search includes the action that is best now: a gain cannot be negative.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from hentropy.core.beliefs import Belief, Fantasy, Moments, Needs, value_draws
from hentropy.core.decisions import Decision
from hentropy.core.decisions.base import drawn_values
from hentropy.core.spaces import DesignSpace
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class BestAfterOutcome:
    """After each outcome (b x N): the smallest expected loss found, and the expected loss of the incumbent.

    `actions` are the actions that have it: b x N x k x d, b x N x p, or indices b x N into a list; `loss` itself where
    nobody asks for them.
    """

    loss: Tensor
    stay: Tensor
    actions: Tensor
    late: Tensor | None = None
    """By how much the last round of a search still lowered the loss (b x N): about what is left to find."""

    @property
    def saved(self) -> Tensor:
        """By how much the best action after each outcome is better than staying with today's: b x N."""
        return self.stay - self.loss


class ActionSearch(ABC):
    """How the actions of one decision are searched."""

    decision: Decision
    best: Any
    value: Tensor
    left: Tensor | None = None
    """About how much lower than `value` the loss of a better action may be, where that was looked for."""

    helps_other_designs = False
    """Whether what `best_after` finds for one design may serve another, so that an audit of both is another one."""

    @abstractmethod
    def best_after(self, fantasy: Fantasy, x: Tensor, steps: int, draws: Tensor | None = None) -> BestAfterOutcome:
        """The best action after each outcome at designs x (b x q x d).

        `steps` of descent refine each action, none at 0. `draws` replace the base samples of the values in the final
        evaluation, so that actions are not judged by the samples that chose them.
        """

    def improved_by(self, actions: Tensor) -> "ActionSearch":
        """The same search, with the best of these actions (b x N x ...) as today's if it is better than the one known.

        What is found for one outcome may be better today as well; a gain must not count it as news.
        """
        return self

    def of_other_designs(self, space: DesignSpace) -> "ActionSearch":
        """The same search, for designs that need not be among those that may be decided on (`space`)."""
        return self

    def promise(self, x: Tensor, pending: Tensor) -> Tensor | None:
        """A quick guess at the gains of designs b x d, to value the best first: b; None where there is none."""
        return None

    def stay(self, fantasy: Fantasy, draws: Tensor | None = None) -> Tensor | None:
        """The expected loss of today's action after each outcome (b x N), where `improved_by` may have changed it."""
        return None

    def action(self, actions: Tensor, b: int, n: int) -> Any:
        """The action behind entry (b, n) of `BestAfterOutcome.actions`."""
        return actions[b, n]

    def numbers_per_design(self, outcomes: int) -> int:
        """How many float64 numbers `least` holds at once for one design, for the memory bound."""
        return 64 * outcomes


def moments_now(decision: Decision, belief: Belief, points: Tensor) -> Moments:
    """What the loss needs of the belief at points ... x m x d; averaged over the components where means suffice."""
    return belief.means(points) if decision.needs is Needs.MEAN else belief.moments(points, decision.needs)


def expected_loss(decision: Decision, moments: Moments, a: Any, draws: Tensor) -> Tensor:
    """The expected loss over all components: moments H x ... x K: ... ."""
    return moments.expect(decision.expected_loss(moments, a, draws))


def loss_now(decision: Decision, belief: Belief, actions: Tensor, draws: Tensor) -> Tensor:
    """The expected loss of actions ... x event under the belief: ... ."""
    return expected_loss(decision, moments_now(decision, belief, decision.points(actions)), actions, draws)


def numbers_of_rows(decision: Decision, belief: Belief, rows: Tensor, draws: Tensor, outcomes: int) -> int:
    """How many numbers the moments of listed actions (m x k x d) after all outcomes of a design are."""
    K = draws.shape[-1]
    joint = K + draws.shape[0] if decision.needs is Needs.JOINT else 1
    return 4 * outcomes * rows.shape[0] * K * joint * belief.components


def losses_after(decision: Decision, fantasy: Fantasy, actions: Tensor, draws: Tensor) -> Tensor:
    """The expected loss of an action per outcome, b x (N or 1) x event: b x N; differentiable in x and the actions."""
    return expected_loss(decision, fantasy.moments(decision.points(actions), decision.needs), actions, draws)


def chosen_losses(losses: Tensor, choice: Tensor) -> Tensor:
    """The entries (... x m) that were chosen (...)."""
    return losses.gather(-1, choice.unsqueeze(-1)).squeeze(-1)


def take(moments: Moments, index: Tensor) -> Moments:
    """Moments of tuples of points, from moments at all of them: H x ... x M and index ... x K to H x ... x K.

    The index has the batch dimensions of the moments, and may have more behind them. It counts points, whose outcomes
    stay together.
    """
    points = index
    if moments.outcomes > 1:
        every = torch.arange(moments.outcomes, device=index.device)
        index = (index.unsqueeze(-1) * moments.outcomes + every).flatten(-2)
    H, batch = moments.mean.shape[0], moments.mean.shape[1:-1]
    extra = index.dim() - 1 - len(batch)
    flat = index.reshape(*index.shape[: len(batch)], -1).expand(*batch, -1)
    tuples = (H, *batch, *index.shape[len(batch) :])

    def pick(values: Tensor) -> Tensor:
        return values.expand(H, *batch, values.shape[-1]).gather(-1, flat.expand(H, *flat.shape)).reshape(tuples)

    def pick_pairs(values: Tensor) -> Tensor:
        K, M = index.shape[-1], moments.mean.shape[-1]
        pairs = (
            (index.unsqueeze(-1) * M + index.unsqueeze(-2)).reshape(*index.shape[: len(batch)], -1).expand(*batch, -1)
        )
        square = values.expand(H, *batch, M, M).reshape(H, *batch, M * M)
        return square.gather(-1, pairs.expand(H, *pairs.shape)).reshape(*tuples, K)

    cov = None
    if moments.cov is not None and not moments.point_mass:
        cov = pick_pairs(moments.cov)
    elif moments.cov is not None:
        cov = moments.mean.new_zeros(()).expand(*tuples, index.shape[-1])
    weights = moments.weights.reshape(*moments.weights.shape, *[1] * extra)
    var = None if moments.var is None else pick(moments.var)
    between = None
    if moments.between is not None:
        o = moments.outcomes
        each = moments.between.expand(H, *batch, -1, o, o).flatten(-2)  # H x ... x M x o^2
        chosen = points.reshape(*points.shape[: len(batch)], -1).expand(*batch, -1)
        between = each.gather(
            -2, chosen.expand(H, *chosen.shape).unsqueeze(-1).expand(*[-1] * (chosen.dim() + 1), o * o)
        )
        between = between.reshape(H, *batch, *points.shape[len(batch) :], o, o)
    shape = moments.point_mass, moments.outcomes
    latent = moments.latent
    if latent is not None:
        latent = replace(latent.changed(pick), cov=None if latent.cov is None else pick_pairs(latent.cov))
    return Moments(weights, pick(moments.mean), var, cov, *shape, between, moments.apart, latent)


def after(moments: Moments, some: slice) -> Moments:
    """Moments after some of the outcomes: H x b x N x ... to H x b x N' x ... ."""

    def part(values: Tensor) -> Tensor:
        return values if values.shape[2] == 1 else values[:, :, some]

    var, cov, between = (None if x is None else part(x) for x in (moments.var, moments.cov, moments.between))
    weights, mean, latent = part(moments.weights), part(moments.mean), moments.latent
    if latent is not None:
        latent = replace(latent.changed(part), cov=None if latent.cov is None else part(latent.cov))
    return replace(moments, weights=weights, mean=mean, var=var, cov=cov, between=between, latent=latent)


WIDE_VALUES, WIDE_SEVERAL = 8, 2
"""An action with more values, of one outcome or of several, is wide: its members are exchanged by values drawn
beforehand."""

WIDE_DRAWS = 32
LISTED_NOISE = 1e-6


def wide(decision: Decision, values: int) -> bool:
    """Whether losses of actions with this many values would cost too much by a root of each one's covariance."""
    return decision.needs is Needs.JOINT and values > (WIDE_VALUES if len(decision.outcomes) < 2 else WIDE_SEVERAL)


def listed_moments(decision: Decision, moments: Moments, k: int) -> Moments:
    """Moments at listed points (H x ... x M) from which tuples of k are taken; of wide tuples, functions drawn there.

    Each function is a point mass, so that a tuple costs no root: H' x ... x M.
    """
    if not wide(decision, k * moments.outcomes) or moments.point_mass:
        return moments
    draws = value_draws(WIDE_DRAWS * moments.mean.shape[0], moments.mean.shape[-1], seed=0).to(moments.mean)
    # points that lie close together need no eigenvalues for a choice that others judge
    if moments.latent is None:
        moments = replace(moments, cov=moments.covariance + LISTED_NOISE * torch.diag_embed(moments.variance))
    elif moments.latent.cov is not None:
        cov = moments.latent.cov + LISTED_NOISE * torch.diag_embed(moments.latent.var.expand_as(moments.mean))
        moments = replace(moments, latent=replace(moments.latent, cov=cov))
    values = drawn_values(decision, moments, draws)  # M' x H x ... x M
    weights = (moments.weights / len(values)).expand(len(values), *moments.weights.shape).flatten(0, 1)
    values, zero = values.flatten(0, 1), values.new_zeros(())
    cov = zero.expand(*values.shape, values.shape[-1])
    return Moments(weights, values, zero.expand(values.shape), cov, point_mass=True, outcomes=moments.outcomes)


MOST_SIGNS = 4
"""Of this many outcomes all directions in which they may surprise us together are tried."""


def surprises(outcomes: int, points: int, like: Tensor) -> Tensor:
    """Directions (-1, 1) in which the outcomes of each of this many points may surprise us: S x (points outcomes).

    Of many outcomes, all together and each one alone.
    """
    if outcomes <= MOST_SIGNS:
        signs = [list(each) for each in product((-1.0, 1.0), repeat=outcomes)]
    else:
        alone = [[side * (i == j) for j in range(outcomes)] for i in range(outcomes) for side in (-1.0, 1.0)]
        signs = [[-1.0] * outcomes, [1.0] * outcomes, *alone]
    return torch.tensor(signs).to(like).repeat(1, points)
