"""What a decision is: an action space and a loss.

The loss of an action depends on f at finitely many points. A decision says which points (`points`) and what the loss is
given the values there (`loss`); nothing else is required. Where it knows more, it says so:

    `needs`           that the loss is affine in f (MEAN), separable (VARIANCE), or neither (JOINT)
    `expected_loss`   the expectation given moments, in closed form; otherwise quasi-Monte Carlo with fixed base samples
    `gain_formula`    the gain itself, in closed form
    `sums`            that the loss is a sum over the members of an action and over pairs of them
    `losses_with`     what replacing a member changes, where that is quicker than to evaluate whole actions
    `actions_given`   an action space that depends on the data (with `follows_data = True`)
    `outcomes`        which outcomes of a design it looks at, by name, where there are several

A decision whose best action follows from the belief at fixed points is a `Solved` one.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

from hentropy.core.beliefs import Belief, Moments, Needs, value_draws
from hentropy.core.beliefs.links import of_logarithm
from hentropy.core.beliefs.nodes import mixture_quantiles
from hentropy.core.decisions.actions import ActionSpace, NamedDesigns
from hentropy.core.decisions.headlines import Quantity, for_each, in_words, probable, roughly
from hentropy.core.given import Best
from hentropy.core.spaces import DesignSpace
from hentropy.errors import DecisionError, HentropyError, InputError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class GainFormula:
    """EHIG of designs (b x q x d to b) without a search over actions, for at most `max_q` observations at once.

    `exact` means free of Monte Carlo error, for at most `exact_q` observations at once; without `differentiable`,
    solvers search with values alone; `cumulative` means that the gain of designs together includes that of some of
    them. `numbers` says how many numbers are held at once for each of the b designs. `quick` is a cheaper estimate for
    a first look at many designs, where there is one.
    """

    function: Callable[[Tensor], Tensor]
    exact: bool = True
    differentiable: bool = True
    max_q: int | None = None
    cumulative: bool = True
    numbers: int = 512
    quick: Callable[[Tensor], Tensor] | None = None
    exact_q: int | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Designs b x q x d: b."""
        return self.function(x)

    def covers(self, q: int) -> bool:
        """Whether the formula holds for q observations at once."""
        return self.max_q is None or q <= self.max_q

    def exact_for(self, q: int) -> bool:
        """Whether the formula is free of Monte Carlo error for q observations at once."""
        return self.exact and (self.exact_q is None or q <= self.exact_q)


def _as_they_are(points: Tensor) -> Tensor:
    return points


@dataclass(frozen=True)
class Sums:
    """A loss that adds over the k points of an action: sum_j c_j f(a_j) - sum over pairs i < j of reward(a_i, a_j).

    `coefficients` are the c_j. `reward` maps points m x d and p x d, in the `coordinates` in which they are compared,
    to m x p; it is symmetric, and where there is one, all coefficients are equal. A search over lists then replaces
    members without evaluating whole actions. With `worth`, f(a_j) counts by what it is worth, which is affine in it:
    points m x d to a factor and a summand for each, m.
    """

    coefficients: tuple[float, ...]
    reward: Callable[[Tensor, Tensor], Tensor] | None = None
    coordinates: Callable[[Tensor], Tensor] = _as_they_are
    worth: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None

    def weighed(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """The factor and the summand of values at points m x d: m each."""
        if self.worth is None:
            return points.new_ones(len(points)), points.new_zeros(len(points))
        return self.worth(points)

    def rewards(self, points: Tensor) -> Tensor | None:
        """Those of all pairs of points (m x d): m x m, or None where pairs do not count."""
        if self.reward is None:
            return None
        compared = self.coordinates(points)
        return self.reward(compared, compared)


@dataclass(frozen=True)
class Stated:
    """A value of an outcome (of the only one, if it has no name) that a decision was given, and what it is there."""

    what: str
    outcome: str | None
    value: float
    extreme: bool = False
    """Whether it may be the smallest or the largest possible value: a probability of 0 as a fallback."""


class Decision(ABC):
    """The decision that will be made in the end."""

    actions: ActionSpace
    needs: Needs = Needs.JOINT
    follows_data: bool = False
    outcomes: tuple[str, ...] = ()
    """The outcomes that the loss looks at, in this order; none are named where a belief is about a single one."""
    subject_to: tuple[str, ...] = ()
    """The limits on outcomes, as they were written."""
    in_units: bool = False
    """Whether the loss is in the units of the outcome."""
    recommends_one: bool = False
    """Whether an action is one design and its loss one number: it can be compared with designs that were measured."""
    best_outcomes: Best | None = None
    """Which outcomes it looks for, if it does."""
    _kept: "Decision | None" = None
    _shown_if_given: tuple[str, ...] = ("outcome", "subject_to", "fallback")

    @abstractmethod
    def loss(self, f: Tensor, a: Any) -> Tensor:
        """The loss of action a if f has these values at its points: f ... x K, a ... x k x d (or ... x p): ... .

        Where several outcomes are named (o of them), f is ... x K x o.
        """

    def drawn(self, belief: Belief) -> bool:
        """Whether `expected_loss` averages over draws of the values; not where it has a closed form."""
        return self.needs is Needs.JOINT

    @property
    def by_sides(self) -> bool:
        """Whether only the side of levels on which values lie counts: for a probability it then uses the probit."""
        return False

    def points(self, a: Any) -> Tensor:
        """The designs that the loss of a depends on: ... x K x d. For `Points` and `Listed`, the action itself."""
        points = self.actions.points(a)
        if points is None:
            raise DecisionError(
                f"{type(self).__name__} does not say where its loss looks at f: define points(a), or give at=... to"
                f" {type(self.actions).__name__}"
            )
        return points

    def looks_at_itself(self, space: DesignSpace) -> bool:
        """Whether the loss of an action depends on f at the designs that the action consists of."""
        if not self.actions.of_designs:
            return False
        some = torch.as_tensor(self.actions.sample(space, 3, seed=0))
        points = self.points(some)
        return points.shape == some.shape and bool(torch.equal(points, some))

    def expected_loss(self, moments: Moments, a: Any, draws: Tensor) -> Tensor:
        """The expected loss in each component: moments H x ... x K, base samples M x K: H x ... .

        With several outcomes there are K o values, point by point.
        Without a closed form it is the loss of the means where the loss is affine in f, else the average over the base
        samples; a decision that has one overrides this.
        """
        return monte_carlo_loss(self, moments, a, draws)

    def gain_formula(self, belief: Belief, space: DesignSpace, seed: int) -> GainFormula | None:
        """The gain in closed form under this belief, where there is one."""
        return None

    def sums(self) -> Sums | None:
        """The loss as sums over members and pairs, if it has that form."""
        return None

    def losses_with(self, kept: Tensor, new: Tensor) -> Tensor | None:
        """The losses of actions whose members but one are kept, the last being each of M new ones, given all values.

        From ... x (k - 1) x o and ... x M x o to ... x M; None where evaluating whole actions is as quick.
        """
        return None

    def actions_given(self, observed: Tensor) -> ActionSpace:
        """The actions available once designs n x d have been observed; with `follows_data` they depend on these."""
        return self.actions

    def within(self, space: DesignSpace) -> "Decision":
        """The same decision, checked against a design space and with its open options set."""
        self.actions.check(space, repr(self))
        return self

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The values of outcomes given to the decision, such as levels and limits, to be checked before use."""
        return ()

    def informed(self, belief: Belief) -> "Decision":
        """The same decision, with what depends on the data filled in; the belief is about its outcomes."""
        return self

    def settled(self, **changes: Any) -> Self:
        """With some attributes changed: itself if they already have these values, otherwise a copy.

        It is the same object each time, so that a belief recognises it.
        """
        found = copy(self)
        vars(found).update(changes, _kept=None)
        if _alike(self, found):
            return self
        if self._kept is None or not _alike(self._kept, found):
            self._kept = found
        return self._kept  # type: ignore[return-value]

    @property
    def given(self) -> dict[str, Any]:
        """What the constructor was given for options that are not kept in attributes of the same names."""
        return {}

    def limits_hold(self, moments: Moments) -> Tensor | None:
        """The probability that each member of an action meets all limits on outcomes: ... x K; None without limits."""
        return None

    def notes(self, space: DesignSpace) -> tuple[str, ...]:
        """Remarks for the user on this decision in this space."""
        return ()

    def describe(self, a: Any, space: DesignSpace) -> list[dict[str, Any]]:
        """The action as rows of a table for a person."""
        return self.actions.describe(a, space)

    def looked_at(self, belief: Belief) -> Belief:
        """The belief about the outcomes that it uses, as its loss takes them: probabilities sometimes as probits."""
        own = belief.of(*(self.outcomes or belief.outcomes))
        if not own.graded:
            return own
        if len(own.outcomes) > 1:
            self.check_graded(own.graded)
            return self.viewed(own)
        if self.by_sides:
            return own.scores
        if self.needs is not Needs.MEAN:
            raise InputError(
                f"{self!r} looks at more than the expected value, and {', '.join(sorted(own.graded))} is believed as a"
                " probability; use Maximize, Minimize, BestObserved, TopK, LevelSets or Improve"
            )
        return own

    def check_graded(self, graded: Collection[str]) -> None:
        """Raise an `InputError` if it cannot use several outcomes of which these are modelled as probabilities."""
        raise InputError(
            f"{self!r} looks at {', '.join(self.outcomes)} together, and {', '.join(sorted(graded))} is believed as a"
            " probability; limit it beside a number, such as Maximize('yield', ['crystal >= 0.8'])"
        )

    def viewed(self, belief: Belief) -> Belief:
        """A belief about several outcomes, some of them probabilities, as the loss takes them."""
        return belief

    def answer(self, a: Any, belief: Belief, expected_loss: float, quantities: Mapping[str, Quantity]) -> str:
        """The verdict in a sentence: what is decided, its expected outcome, and whether limits are met."""
        names = self.outcomes or belief.outcomes[:1]
        points = torch.as_tensor(self.points(a)).to(belief.X)
        about = [_quantity(name, quantities, belief, points) for name in names]
        seen = belief.scores if self.by_sides and len(names) == 1 else belief
        # values that depend on each other matter where the best of a few counts
        needs = Needs.JOINT if self.needs is Needs.JOINT and self.looks_at_designs(a) else Needs.VARIANCE
        each = [seen.of(name).moments(points, needs) for name in names]
        if len(names) > 1 and not self.subject_to:
            return self.headline_of_several(each, about)
        said = self.headline(a, each[0], expected_loss, about[0])
        holds = self.limits_hold(self.looked_at(belief).moments(points, Needs.VARIANCE)) if self.subject_to else None
        if holds is None:
            return said
        least = float(holds.min())
        alike = len({probable(share) for share in holds.flatten().tolist()}) == 1
        surely = f"with {probable(least)}" if alike else for_each(least)
        doubt = "" if float(holds.max()) >= 0.5 else " No design is known that is likely to hold the limits."
        return f"{said[:-1]}, {self.limits_in_words(quantities)} {surely} probability.{doubt}"

    def limits_in_words(self, quantities: Mapping[str, Quantity]) -> str:
        """The limits on outcomes, with their units."""
        return ", ".join(self.subject_to)

    def headline(self, a: Any, moments: Moments, expected_loss: float, about: Quantity) -> str:
        """The answer in one sentence, given moments at its points (H x K, with variances) in the model's terms."""
        if not self.looks_at_designs(a):
            return f"Expected loss {expected_loss:.4g}."
        mean, sd = totals(moments, about)
        return f"{in_words(len(mean), 'design')}: {about.among(mean, sd)}."

    def spreads(self, belief: Belief) -> Tensor | None:
        """The standard deviations, in units, of the numbers that the rows of a report state; None if it states none."""
        return None

    def in_order(self, a: Any, belief: Belief) -> Any:
        """An action as a person reads it: where the order of its designs does not matter, the best one first."""
        return a

    def headline_of_several(self, each: Sequence[Moments], about: Sequence[Quantity]) -> str:
        """The answer about several outcomes in one sentence, given the moments of each (H x K) in the model's terms."""
        said = ", ".join(one.among(*totals(moments, one)) for one, moments in zip(about, each, strict=True))
        return f"{in_words(each[0].mean.shape[-1], 'design')}: {said}."

    def saving(self, amount: float, error: float, about: Quantity) -> str:
        """What lowering the expected loss by this much is worth, with its error, in the units of the outcome."""
        if not self.in_units:
            return f"{roughly(amount, error)} of expected loss"
        return about.difference(amount, error, falls=self.best_outcomes == "low")

    def better(self, amount: float, about: Quantity) -> str:
        """That a design has a loss that is lower by so much: better by 0.44 %."""
        about = about if self.in_units else Quantity()
        return f"better by {about.change(amount, falls=self.best_outcomes == 'low')}"

    def looks_at_designs(self, a: Any) -> bool:
        """Whether an action consists of designs, and its loss depends on f there."""
        return self.actions.of_designs and isinstance(a, Tensor) and torch.equal(self.points(a), a)

    def __repr__(self) -> str:
        last = self._shown_if_given
        hidden = {"actions", "needs", "saved_by", "outcomes", *last}
        shown = {k: v for k, v in vars(self).items() if not k.startswith("_") and k not in hidden}
        given = {k: vars(self).get(k) for k in last}
        shown |= {k: v for k, v in given.items() if isinstance(v, Tensor) or v not in (None, ())}
        brief = {k: _brief(v) if isinstance(v, Tensor) else repr(v) for k, v in shown.items()}
        options = ", ".join(f"{k}={v}" for k, v in brief.items())
        return f"{type(self).__name__}({options})"


def _brief(values: Tensor) -> str:
    """How many numbers, points or sets of points there are; a single number itself."""
    if values.dim() == 0:
        return f"{float(values):g}"
    return f"{len(values)} {('numbers', 'points', 'sets of points')[min(values.dim(), 3) - 1]}"


def _quantity(name: str, known: Mapping[str, Quantity], belief: Belief, points: Tensor) -> Quantity:
    """The outcome in the user's words; a probability with the range that holds it at points K x d."""
    about = replace(known.get(name, Quantity(name)), log=name in belief.logs)
    if not about.event or name not in belief.graded or points.shape[-2] > FEW_FOR_RANGES:
        return about
    moments = belief.scores.moments(points, Needs.VARIANCE)
    weights = moments.weights.unsqueeze(-1).expand_as(moments.mean)
    ends = mixture_quantiles((0.05, 0.95), weights, moments.mean, moments.variance.clamp_min(0.0).sqrt())
    return replace(about, likely=tuple(map(tuple, torch.special.ndtr(ends).mT.tolist())))


FEW_FOR_RANGES = 20
"""Of more points than these no ranges are said."""


def totals(moments: Moments, about: Quantity) -> tuple[list[float], list[float]]:
    """Means and standard deviations over all components, in units, from moments H x K: two lists of K."""
    mean, var = in_units(moments, about.log).total()
    return mean.tolist(), (about.spread * var.clamp_min(0.0).sqrt()).tolist()


def in_units(moments: Moments, log: bool) -> Moments:
    """Moments with variances of values whose logarithms are normal; without `log`, as they are."""
    return Moments(moments.weights, *of_logarithm(moments.mean, moments.variance)) if log else moments


def _alike(one: Decision, other: Decision) -> bool:
    """Whether two decisions of a class have the same attributes, what they keep apart."""

    def same(a: Any, b: Any) -> bool:
        return a is b or bool(torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else a == b)

    mine, its = ({k: v for k, v in vars(each).items() if k != "_kept"} for each in (one, other))
    return mine.keys() == its.keys() and all(same(value, its[key]) for key, value in mine.items())


class Solved(Decision):
    """A decision whose least expected loss follows from the belief at fixed points `at` (m x d), without a search."""

    at: Tensor | NamedDesigns | None
    scores_actions: bool = True
    """Whether `expected_loss` has a closed form for any action, not only for the best one."""

    saved_by: Needs | None = None
    """What of the belief after an outcome tells `saved_at`: means averaged over components, or variances as well.

    None where the loss is not a sum over the points.
    """

    @abstractmethod
    def solve(self, moments: Moments) -> Tensor:
        """The smallest expected loss of any action, given moments H x ... x m: ... ."""

    def replicates(self, moments: Moments, seed: int) -> Tensor | None:
        """Several independent estimates of `solve` where it draws at random; None where it is exact."""
        return None

    @abstractmethod
    def bayes_action(self, moments: Moments) -> Tensor:
        """The action that has it."""

    def judged(self, moments: Moments, a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The smallest expected loss, that of action a (both ...), and the best action: for those that share work."""
        stay = moments.expect(self.expected_loss(moments, a, moments.mean[..., :0]))
        return self.solve(moments), stay, self.bayes_action(moments)

    def saved_at(self, moments: Moments, a: Tensor) -> Tensor:
        """What the best action saves against action a, point by point: moments H x ... x m, a ... x m: ... x m."""
        raise DecisionError(f"{type(self).__name__} has saved_by = {self.saved_by} but does not define saved_at")

    def at_stake(self, moments: Moments) -> Tensor:
        """At least what any experiment can be expected to save at each point, given moments now: H x m to m."""
        raise DecisionError(f"{type(self).__name__} has saved_by = {self.saved_by} but does not define at_stake")

    def among(self, index: Tensor | slice) -> "Solved":
        """The same decision for moments at some of its points, where these do not all count the same."""
        return self

    def points(self, a: Any) -> Tensor:
        """The fixed points: m x d."""
        return self.settled_points

    @property
    def settled_points(self) -> Tensor:
        """The fixed points (m x d), once `within` has settled them."""
        if not isinstance(self.at, Tensor):
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
    expected = tuple(_batch(f, decision))
    if tuple(loss.shape) != expected:
        reduced, several = "the last dimension", len(decision.outcomes) > 1
        if several:
            reduced = f"the last two dimensions (points, then {', '.join(decision.outcomes)})"
        raise DecisionError(
            f"the loss of {name} returned shape {tuple(loss.shape)} for values of shape {tuple(f.shape)}; it must"
            f" return {expected}: reduce over {reduced} of f only"
        )
    if bool(torch.isnan(loss).any()):
        raise DecisionError(f"the loss of {name} is NaN for some values; guard its logarithms, roots and divisions")
    return loss


def monte_carlo_loss(decision: Decision, moments: Moments, a: Any, draws: Tensor) -> Tensor:
    """The expected loss in each component by base samples: moments H x ... x K, draws M x K: H x ... ."""
    if moments.point_mass or decision.needs is Needs.MEAN:
        f = by_outcome(moments.mean, moments.outcomes)
        return checked_loss(decision, f, _spread(a, f, decision))
    f = by_outcome(drawn_values(decision, moments, draws), moments.outcomes)
    return checked_loss(decision, f, _spread(a, f, decision)).mean(0)


def drawn_values(decision: Decision, moments: Moments, draws: Tensor) -> Tensor:
    """Values by base samples M x K in each component: M' x H x ... x K."""
    if moments.cov is None and (moments.latent is None or moments.latent.cov is None):
        raise DecisionError(
            f"{type(decision).__name__} has needs = Needs.VARIANCE but no expected_loss of its own; define it, or"
            " leave needs at Needs.JOINT to have the loss averaged over draws"
        )
    noise = shares_of_draws(draws, moments.mean.shape[0]).movedim(1, 0)  # H x M' x K
    if moments.apart and moments.outcomes > 1:
        own = moments.roots_apart  # H x ... x o x k x k: a fraction of the work of one root for all
        moved = [
            part @ root.reshape(root.shape[0], -1, root.shape[-1]).mT  # H x M' x (... k)
            for part, root in zip(noise.unflatten(-1, (-1, moments.outcomes)).unbind(-1), own.unbind(-3), strict=True)
        ]
        each = torch.stack(moved, -1).movedim(1, 0)  # M' x H x (... k) x o
        return moments.mean + each.reshape(-1, *own.shape[:-3], moments.mean.shape[-1])
    mean, root = moments.normal
    # one product for each component: roots are not copied for every draw
    moves = noise @ root.reshape(root.shape[0], -1, root.shape[-1]).mT  # H x M' x (... K)
    values = mean + moves.movedim(1, 0).reshape(-1, *root.shape[:-1])
    return values if moments.latent is None else moments.latent.outcomes(values, at=1)


def believed_as_log(belief: Belief, outcome: str | None) -> bool:
    """Whether a belief is about the logarithm of an outcome (of the only one, if it has no name)."""
    return (belief.outcomes[0] if outcome is None else outcome) in belief.logs


def in_belief(belief: Belief, outcome: str | None, value: float) -> float:
    """A value of an outcome (of the only one, if it has no name) as a belief has it.

    That is its logarithm, for a probability maybe its probit, or itself.
    """
    name = belief.outcomes[0] if outcome is None else outcome
    if name in belief.graded:
        if not 0.0 < value < 1.0:
            raise InputError(f"what is believed about {name} is a probability; {value:g} is not between 0 and 1")
        return float(torch.special.ndtri(torch.tensor(value, dtype=torch.float64))) if belief.latent_view else value
    if not believed_as_log(belief, outcome):
        return value
    if value <= 0:
        raise InputError(f"{name} is believed as its logarithm, and {value:g} has none; give a number above 0")
    return math.log(value)


def named(outcome: str | None) -> tuple[str, ...]:
    """The outcomes of a decision about one of them."""
    return () if outcome is None else (outcome,)


def shares_of_draws(draws: Tensor, components: int) -> Tensor:
    """Base samples M x K dealt out among the components of a mixture: M' x H x K, in antithetic pairs of variance one.

    The average over components is taken anyway: each needs but a share of the draws.
    """
    pairs = draws.shape[0] // 2
    if components == 1 or pairs < components:
        return draws.unsqueeze(1).expand(-1, components, -1)
    # neighbours together: every eighth point of a Sobol sequence lies in one eighth of its first coordinate
    own = draws[: pairs - pairs % components].unflatten(0, (components, -1)).transpose(0, 1)  # M'/2 x H x K
    own = own / own.square().mean(0).sqrt().clamp_min(1e-12)
    return torch.cat([own, -own])


def by_outcome(values: Tensor, outcomes: int) -> Tensor:
    """Values as a loss gets them: ... x K of one outcome, ... x K x o of several."""
    return values if outcomes == 1 else values.unflatten(-1, (-1, outcomes))


def _batch(f: Tensor, decision: Decision) -> torch.Size:
    """The leading dimensions of values as a loss gets them."""
    return f.shape[:-2] if len(decision.outcomes) > 1 else f.shape[:-1]


def _spread(a: Any, f: Tensor, decision: Decision) -> Any:
    """The action with the leading dimensions of f, so that a loss may combine the two as it likes."""
    event = decision.actions.event
    return a.expand(*_batch(f, decision), *a.shape[-event:]) if event and isinstance(a, Tensor) else a


def base_samples(decision: Decision, count: int, points: int, seed: int) -> Tensor:
    """Base samples for a decision: M x K; a single row of zeros where its needs show that none are used."""
    if decision.needs is not Needs.JOINT:
        return torch.zeros(1, points, dtype=torch.float64)
    return value_draws(count, points, seed)
