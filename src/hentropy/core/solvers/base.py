"""What a solver is: it turns an appraisal into a few designs worth auditing."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from hentropy.core.action_search import ContinuousSearch
from hentropy.core.gain import RANKING, RANKING_DRAWN, RANKING_ONE, RANKING_TWO, Appraisal
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


class CostModel(ABC):
    """What designs cost, and how that counts against what they gain."""

    @abstractmethod
    def score(self, gains: Tensor, x: Tensor) -> Tensor:
        """What gains (b) of designs b x q x d are worth: b, the greater the better."""


CostFunction = Callable[[Tensor], Tensor]
"""What a set of designs costs: b x q x d to b, above zero."""

Cost = CostFunction | CostModel
"""Costs by which gains are divided, or that say themselves how they count."""


@dataclass(frozen=True)
class Finalists:
    """Designs that a search found best, F x q x d, first the one it would choose; `complete` unless time ran out.

    `actions` (R x N x event) were met on the way: one of them may be better today than the best action known. `note`
    says what a search that time cut short has looked at.
    """

    x: Tensor
    complete: bool
    actions: Tensor | None = None
    note: str = ""


class Solver(ABC):
    """From a gain to the next designs."""

    @abstractmethod
    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """The most promising sets of q designs."""


RANKING_SEED = 15_485_863
"""Keeps the base samples that choose among finalists apart from those of the search and of the audit."""


def informed(appraisal: Appraisal, actions: Tensor | None) -> Appraisal:
    """With actions that a search met after outcomes (R x N x event): they may be best after others, or even today."""
    if actions is None:
        return appraisal
    search = appraisal.search.improved_by(actions)
    if isinstance(search, ContinuousSearch):
        search = search.with_actions(actions.flatten(0, 1))
    return replace(appraisal, search=search)


def with_few_draws(appraisal: Appraisal) -> Appraisal:
    """For a first look at many designs: losses that are averaged over draws of the values have few of these."""
    search = appraisal.search
    return replace(appraisal, search=search.with_few_draws()) if isinstance(search, ContinuousSearch) else appraisal


def leader(appraisal: Appraisal, x: Tensor, cost: Cost | None) -> tuple[int, Appraisal]:
    """Which of the designs F x q x d has the largest gain per cost, and what was learned on the way."""
    if len(x) == 1:
        return 0, appraisal
    # the outcomes of one design are integrated almost exactly while they are no more than two
    formula = appraisal.applicable(x.shape[-2])
    several = len(appraisal.belief.measured)
    few = x.shape[-2] + len(appraisal.pending) == 1 and several <= 2
    effort = RANKING if not few else RANKING_ONE if several == 1 else RANKING_TWO
    drawn = formula is not None and not formula.differentiable
    audit = appraisal.audit(x, appraisal.seed + RANKING_SEED, RANKING_DRAWN if drawn else effort)
    best = int(per_cost(audit.gain.value, x, cost).argmax())
    if audit.least is None or not isinstance(audit.search, ContinuousSearch):
        return best, replace(appraisal, search=audit.search)
    return best, replace(appraisal, search=audit.search.with_actions(audit.least.actions[best]))


@dataclass(frozen=True)
class PerCost(CostModel):
    """Gain per cost."""

    cost: CostFunction

    def score(self, gains: Tensor, x: Tensor) -> Tensor:
        """The ratio."""
        return gains / checked_cost(self.cost, x)


@dataclass(frozen=True)
class NetOfCost(CostModel):
    """Gain minus cost, which has a `price` in units of the loss."""

    cost: CostFunction
    price: float

    def score(self, gains: Tensor, x: Tensor) -> Tensor:
        """The difference."""
        return gains - self.price * checked_cost(self.cost, x)


@dataclass(frozen=True)
class IfSuccessful(CostModel):
    """What designs that may fail are expected to gain, against their cost."""

    appraisal: Appraisal
    cost: Cost | None

    def score(self, gains: Tensor, x: Tensor) -> Tensor:
        """By the chance that all of them succeed, and what the news of it saves."""
        return per_cost(self.appraisal.if_failing(gains, x), x, self.cost)


def knowing(cost: Cost | None, appraisal: Appraisal) -> Cost | None:
    """How costs and failures count for an appraisal that knows of further pending designs."""
    return replace(cost, appraisal=appraisal) if isinstance(cost, IfSuccessful) else cost


def per_cost(gains: Tensor, x: Tensor, cost: Cost | None) -> Tensor:
    """What gains (b) of designs (b x q x d) are worth: per cost, unless the cost says how it counts."""
    if cost is None:
        return gains
    return (cost if isinstance(cost, CostModel) else PerCost(cost)).score(gains, x)


def checked_cost(cost: CostFunction, x: Tensor) -> Tensor:
    """The costs of designs b x q x d, or an error that says what is wrong with them: b."""
    if not callable(cost):
        raise InputError(f"cost must be a function from designs b x q x d to their b costs, got {cost!r}")
    try:
        costs = cost(x)
    except Exception as error:
        raise InputError(
            f"the cost raised {type(error).__name__}: {error} (for designs of shape {tuple(x.shape)}, b x q x d)"
        ) from error
    if not isinstance(costs, Tensor) or costs.shape != x.shape[:1]:
        got = f"shape {tuple(costs.shape)}" if isinstance(costs, Tensor) else repr(costs)
        raise InputError(
            f"the cost of designs {tuple(x.shape)} (b x q x d) must have shape {tuple(x.shape[:1])}, got {got};"
            " reduce over the last two dimensions"
        )
    if not bool((costs > 0).all() & torch.isfinite(costs).all()):
        raise InputError(f"a cost is {float(costs.detach().min()):g}; all costs must be finite and above 0")
    return costs


FURTHER = 4.0
"""Every other place is for a design that is further from all better ones by this factor: neither a broad peak nor a
narrow one among crowded data takes all places."""


def leading(x: Tensor, scores: Tensor, count: int, appraisal: Appraisal, apart: float) -> Tensor:
    """The designs with the largest scores that lie apart from each other, the best first: at most count x q x d.

    `apart` is the root mean square over the coordinates of the unit cube.
    """
    unit = appraisal.space.to_unit(x).flatten(1)
    apart *= unit.shape[-1] ** 0.5
    near, far = scores.clone(), scores.clone()
    chosen: list[int] = []
    for place in range(min(count, x.shape[0])):
        left = far if place % 2 == 0 and bool(far.max() > -torch.inf) else near
        best = int(left.argmax())
        if not bool(left[best] > -torch.inf):
            break
        chosen.append(best)
        distance = (unit - unit[best]).norm(dim=-1)
        near[distance <= apart] = -torch.inf
        far[distance <= FURTHER * apart] = -torch.inf
    return x[chosen] if chosen else x[:1]
