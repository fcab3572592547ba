"""What a decision is: an action space and a loss.

The loss of an action depends on f at finitely many points. A decision says which points (`points`) and what the loss is
given the values there (`loss`); nothing else is required. Where it knows more, it says so:

    `needs`           that the loss is affine in f (MEAN), separable (VARIANCE), or neither (JOINT)
    `expected_loss`   the expectation given moments, in closed form; otherwise quasi-Monte Carlo with fixed base samples
    `gain_formula`    the gain itself, in closed form
    `sums`            that the loss is a sum over the members of an action and over pairs of them
    `actions_given`   an action space that depends on the data (with `follows_data = True`)

A decision whose best action follows from the belief at fixed points is a `Solved` one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from hentropy.core.beliefs import Belief, Moments, Needs, value_draws
from hentropy.core.beliefs.base import robust_root
from hentropy.core.decisions.actions import ActionSpace
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, HentropyError


@dataclass(frozen=True)
class GainFormula:
    """EHIG of designs (b x q x d to b) without a search over actions, for at most `max_q` observations at once.

    `exact` means free of Monte Carlo error; without `differentiable`, solvers search with values alone; `cumulative`
    means that the gain of designs together includes that of some of them. `numbers` says how many numbers are held at
    once for each of the b designs.
    """

    function: Callable[[Tensor], Tensor]
    exact: bool = True
    differentiable: bool = True
    max_q: int | None = None
    cumulative: bool = True
    numbers: int = 512

    def __call__(self, x: Tensor) -> Tensor:
        """Designs b x q x d: b."""
        return self.function(x)

    def covers(self, q: int) -> bool:
        """Whether the formula holds for q observations at once."""
        return self.max_q is None or q <= self.max_q


@dataclass(frozen=True)
class Sums:
    """A loss that adds over the k points of an action: sum_j c_j f(a_j) - sum over pairs i < j of reward(a_i, a_j).

    `coefficients` are the c_j. `reward` maps points m x d and p x d to m x p; it is symmetric, and where there is one,
    all coefficients are equal. A search over lists then replaces members without evaluating whole actions.
    """

    coefficients: tuple[float, ...]
    reward: Callable[[Tensor, Tensor], Tensor] | None = None


class Decision(ABC):
    """What will be decided in the end."""

    actions: ActionSpace
    needs: Needs = Needs.JOINT
    follows_data: bool = False

    @abstractmethod
    def loss(self, f: Tensor, a: Any) -> Tensor:
        """What action a costs if f has these values at its points: f ... x K, a ... x k x d (or ... x p): ... ."""

    def points(self, a: Any) -> Tensor:
        """The designs that the loss of a looks at: ... x K x d. For `Points` and `Listed`, the action itself."""
        points = self.actions.points(a)
        if points is None:
            raise DecisionError(
                f"{type(self).__name__} does not say where its loss looks at f: define points(a), or give at=... to"
                f" {type(self.actions).__name__}"
            )
        return points

    def looks_at_itself(self, space: DesignSpace) -> bool:
        """Whether the loss of an action looks at f at the designs that the action is made of."""
        if not self.actions.of_designs:
            return False
        some = torch.as_tensor(self.actions.sample(space, 3, seed=0))
        points = self.points(some)
        return points.shape == some.shape and bool(torch.equal(points, some))

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The expected loss in each component: moments H x ... x K, base samples M x K: H x ... .

        Without a closed form it is the loss of the means where the loss is affine in f, else the average over the base
        samples; a decision that has one overrides this.
        """
        return monte_carlo_loss(self, moments, a, draws)

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """The gain in closed form under this belief, where there is one."""
        return None

    def sums(self) -> Sums | None:
        """The loss as sums over members and pairs, where it is one."""
        return None

    def actions_given(self, observed: Tensor) -> ActionSpace:
        """The actions that are open once designs n x d have been observed; `follows_data` says that they matter."""
        return self.actions

    def within(self, space: DesignSpace) -> "Decision":
        """The same decision, checked against a design space and with what it leaves open settled."""
        self.actions.check(space, repr(self))
        return self

    def notes(self, space: DesignSpace) -> tuple[str, ...]:
        """What a person should know before deciding so on a space, in sentences."""
        return ()

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """The action as rows of a table for a person."""
        return self.actions.describe(a, space)

    def __repr__(self) -> str:
        shown = {k: v for k, v in vars(self).items() if not k.startswith("_") and k not in ("actions", "needs")}
        brief = {k: f"{len(v)} points" if isinstance(v, Tensor) else repr(v) for k, v in shown.items()}
        options = ", ".join(f"{k}={v}" for k, v in brief.items())
        return f"{type(self).__name__}({options})"


class Solved(Decision):
    """A decision whose least expected loss follows from the belief at fixed points `at` (m x d), without a search."""

    at: Tensor | None
    scores_actions: bool = True
    """Whether `expected_loss` has a closed form for any action, not only for the best one."""

    saved_by: Needs | None = None
    """What of the belief after an outcome tells `saved_at`: means averaged over components, or variances as well.

    None where the loss is not a sum over the points.
    """

    @abstractmethod
    def solve(self, moments: Moments) -> Tensor:
        """The least expected loss of any action, given moments H x ... x m: ... ."""

    def replicates(self, moments: Moments, seed: int) -> Tensor | None:
        """Several independent estimates of `solve` where it draws at random; None where it is exact."""
        return None

    @abstractmethod
    def bayes_action(self, moments: Moments) -> Tensor:
        """The action that has it."""

    def judged(self, moments: Moments, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The least expected loss, that of action a (both ...), and the best action: for those that share work."""
        stay = moments.expect(self.expected_loss(moments, a, moments.mean[..., :0]))
        return self.solve(moments), stay, self.bayes_action(moments)

    def saved_at(self, moments: Moments, a: Tensor) -> Tensor:
        """What the best action saves against action a, point by point: moments H x ... x m, a ... x m: ... x m."""
        raise DecisionError(f"{type(self).__name__} has saved_by = {self.saved_by} but does not define saved_at")

    def at_stake(self, moments: Moments) -> Tensor:
        """At least what any experiment can be expected to save at each point, given moments now: H x m to m."""
        raise DecisionError(f"{type(self).__name__} has saved_by = {self.saved_by} but does not define at_stake")

    def points(self, a: Any) -> Tensor:
        """The fixed points: m x d."""
        return self.settled_points

    @property
    def settled_points(self) -> Tensor:
        """The fixed points (m x d), once `within` has settled them."""
        if self.at is None:
            raise DecisionError(f"{type(self).__name__} has no points yet; give at=..., or use it with a space")
        return self.at


def checked_loss(decision: Decision, f: Tensor, a: Any) -> Tensor:
    """The loss, or a `DecisionError` that says what is wrong with it."""
    name = type(decision).__name__
    try:
        loss = decision.loss(f, a)
    except (HentropyError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also one that ends the program: the loss has no right to
        raise DecisionError(
            f"the loss of {name} raised {type(error).__name__}: {error} (for values of shape {tuple(f.shape)})"
        ) from error
    if not isinstance(loss, Tensor):
        raise DecisionError(
            f"the loss of {name} returned {type(loss).__name__}; it must return a tensor of shape (...)"
        )
    if loss.is_complex():
        raise DecisionError(f"the loss of {name} returned complex numbers, which have no order; return real ones")
    if not loss.is_floating_point():
        loss = loss.to(f)
    expected = tuple(f.shape[:-1])
    if tuple(loss.shape) != expected:
        raise DecisionError(
            f"the loss of {name} returned shape {tuple(loss.shape)} for values of shape {tuple(f.shape)}; it must"
            f" return {expected}: reduce over the last dimension of f only"
        )
    if bool(torch.isnan(loss).any()):
        raise DecisionError(f"the loss of {name} is NaN for some values; guard its logarithms, roots and divisions")
    return loss


def monte_carlo_loss(decision: Decision, moments: Moments, a: Any, draws: Tensor) -> Tensor:
    """The expected loss in each component by base samples: moments H x ... x K, draws M x K: H x ... ."""
    if moments.point_mass or decision.needs is Needs.MEAN:
        f = moments.mean
        return checked_loss(decision, f, _spread(a, f, decision))
    if moments.cov is None:
        raise DecisionError(
            f"{type(decision).__name__} has needs = Needs.VARIANCE but no expected_loss of its own; define it, or"
            " leave needs at Needs.JOINT to have the loss averaged over draws"
        )
    root = robust_root(moments.covariance)
    noise = shares_of_draws(draws, root.shape[0]).movedim(1, 0)  # H x M' x K
    # one product for each component: roots are not copied for every draw
    moves = noise @ root.reshape(root.shape[0], -1, root.shape[-1]).mT  # H x M' x (... K)
    f = moments.mean + moves.movedim(1, 0).reshape(-1, *root.shape[:-1])  # M' x H x ... x K
    return checked_loss(decision, f, _spread(a, f, decision)).mean(0)


def shares_of_draws(draws: Tensor, components: int) -> Tensor:
    """Base samples M x K dealt out among the components of a mixture: M' x H x K, in antithetic pairs of variance one.

    The average over components is taken anyway: each needs but a share of the draws.
    """
    pairs = draws.shape[0] // 2
    if components == 1 or pairs < components:
        return draws.unsqueeze(1).expand(-1, components, -1)
    own = draws[: pairs - pairs % components].unflatten(0, (-1, components))  # M'/2 x H x K
    own = own / own.square().mean(0).sqrt().clamp_min(1e-12)
    return torch.cat([own, -own])


def _spread(a: Any, f: Tensor, decision: Decision) -> Any:
    """The action with the leading dimensions of f, so that a loss may combine the two as it likes."""
    event = decision.actions.event
    return a.expand(*f.shape[:-1], *a.shape[-event:]) if event and isinstance(a, Tensor) else a


def base_samples(decision: Decision, count: int, points: int, seed: int) -> Tensor:
    """Base samples for a decision: M x K; a single row of zeros where its needs show that none are used."""
    if decision.needs is not Needs.JOINT:
        return torch.zeros(1, points, dtype=torch.float64)
    return value_draws(count, points, seed)
