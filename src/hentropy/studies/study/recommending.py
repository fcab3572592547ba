r"""What a study recommends where one design is decided on by one number: the Bayes action, or a measured design.

The Bayes action is the best of all designs by its expected loss. Of many designs that are almost as good, it is the one
whose expectation is too optimistic: the optimiser's curse. So where it was never measured, its advantage over a
measured design is worth little unless it is clear. A study starts from the design that measured best, and leaves it for
another only if that is truly better with a probability of at least `CLEAR`, by the joint posterior of both:

    best        the measured design with the best values (means over replicates)
    likely      the measured design with the smallest expected loss: another one where `best` was lucky
    Bayes       the design with the smallest expected loss of all
    recommended = best, unless P(likely is better) >= CLEAR: then likely; unless P(Bayes is better) >= CLEAR: then Bayes

If these probabilities are right, the recommended design is worse than the best measured one in at most 1 - CLEAR of the
studies that leave it. docs/explanation/recommendation.md has the figures by which CLEAR was chosen.
A decision that is restricted to measured designs is what it is by definition (`likely`), and only compared with `best`.

The stated value. The best of n results is also the luckiest one. A belief that knows the noise accounts for that; where
the noise is learned from the same results, it is least certain where it matters. So the spread of the value that is
stated is that of simultaneous intervals: in each component of the belief, the interval of a design that was chosen
among n holds with probability `COVERED` if those of all n do (Sidak),

    c_n = Phi^-1((1 + COVERED^(1/n)) / 2) / Phi^-1((1 + COVERED) / 2)          c_1 = 1, c_10 = 1.6, c_40 = 1.8

    Var = sum_h w_h (c_n^2 v_h + (m_h - m)^2)                                  v_h, m_h: of f there;  m: as stated

Components that expect no noise have v_h = 0 at a measured design: without noise nothing changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

from hentropy.core.action_search.base import loss_now
from hentropy.core.beliefs import Belief, Moments
from hentropy.core.beliefs.success import Success
from hentropy.core.decisions import Decision, base_samples
from hentropy.core.decisions.advantage import Advantage, advantage
from hentropy.core.entropy import Entropy
from hentropy.core.spaces import DesignSpace
from hentropy.lazy import Tensor, torch
from hentropy.studies.outcomes import Computed, Outcomes
from hentropy.studies.records import State, Trial, in_state

CLEAR = 0.95
"""The probability of being better from which on a design replaces the one that measured best."""

SAME = 1e-9
"""Designs of the unit cube that are so close are the same."""

COVERED = 0.9
"""The probability of the intervals that hold for all measured designs at once."""

NORMAL = NormalDist()


def simultaneous(count: int) -> float:
    """c_n: by which factor intervals are wider of which so many hold at once as probably as each one would."""
    wide, one = (NORMAL.inv_cdf(0.5 + 0.5 * COVERED ** (1.0 / each)) for each in (max(count, 1), 1))
    return wide / one


def stated_spread(own: Moments, stating: Moments, count: int) -> float:
    """By which factor the standard deviation of a value chosen among `count` exceeds that of its moments (H x 1).

    `stating` are the moments (H' x 1) that tell how far the value may be from the mean of its own. Never below 1.
    """
    mean, var = own.total()
    wide = stating.expect_vector(simultaneous(count) ** 2 * stating.variance + (stating.mean - mean).square())
    return max(1.0, float((wide / var).sqrt())) if float(var) > 0.0 else 1.0


@dataclass(frozen=True)
class MeasuredDesign:
    """A design (1 x d), the trials that measured all that is decided on, and the means of what they measured.

    `exact` are the outcomes that they measured without noise, alike where the design was repeated; `errors` are the
    standard errors of the means of those with a stated noise.
    """

    action: Tensor
    trials: tuple[int, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    exact: frozenset[str] = frozenset()
    errors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Compared:
    """A design beside the recommended one, and what the recommended one saves over it."""

    design: MeasuredDesign
    advantage: Advantage


@dataclass(frozen=True)
class Recommendation:
    """The design that is recommended, beside the best measured one and the Bayes action, where these are others.

    A design that was never measured has no trials. `forgone` is how much more the recommended design is expected to
    cost than the Bayes action.
    """

    design: MeasuredDesign
    best: Compared | None = None
    alternative: Compared | None = None
    forgone: float = 0.0
    chosen_among: int = 1
    """So many designs were measured."""


@torch.no_grad()
def recommended(
    found: Entropy,
    priced: Decision,
    belief: Belief,
    space: DesignSpace,
    measured: Sequence[MeasuredDesign],
    losses: Sequence[float] | None,
) -> Recommendation:
    """The recommendation, given the designs of a space that were measured and may be decided on: at least one.

    `priced` is the decision with what failures cost, by which the Bayes action was found. `losses` are those of the
    measured values; None where these are no numbers, such as grades: then the best measured design is the one with the
    smallest expected loss. The belief is the one that the decision looks at.
    """
    decision = found.decision
    actions = torch.stack([each.action for each in measured]).to(belief.X)  # n x 1 x d
    expected = loss_now(priced, belief, actions, base_samples(decision, 2, 1, seed=0).to(belief.X)).tolist()
    places = range(len(measured))
    likely = min(places, key=lambda i: expected[i])
    best = likely if losses is None else min(places, key=lambda i: (losses[i], expected[i]))
    apart = (space.to_unit(actions) - space.to_unit(found.action.to(belief.X))).abs().flatten(1).amax(-1)
    known = float(apart.min()) <= SAME
    bayes = measured[int(apart.argmin())] if known else MeasuredDesign(found.action)

    def over(one: MeasuredDesign, other: MeasuredDesign) -> Advantage:
        return advantage(decision, belief, one.action.to(belief.X), other.action.to(belief.X))

    chosen = bayes if decision.follows_data else measured[best]
    rivals = () if decision.follows_data else (measured[likely], *(() if known else (bayes,)))
    for rival in rivals:
        if rival is not chosen and over(rival, chosen).chance >= CLEAR:
            chosen = rival
    beside = None if chosen is measured[best] else Compared(measured[best], over(chosen, measured[best]))
    if chosen is bayes:
        return Recommendation(chosen, beside, chosen_among=len(measured))
    own = expected[next(i for i in places if measured[i] is chosen)]
    other = Compared(bayes, over(chosen, bayes))
    return Recommendation(chosen, beside, other, max(0.0, own - found.value), len(measured))


def measured_designs(
    trials: Sequence[Trial],
    row_of: Callable[[Trial], Tensor],
    places: Callable[[Tensor], list[tuple[float, ...]]],
    outcomes: Outcomes,
    decided: Sequence[str],
) -> list[MeasuredDesign]:
    """The designs of trials in which all outcomes that are decided on were measured, replicates together."""
    names = [name for name in decided if name in outcomes.measured]
    complete = [
        trial for trial in in_state(trials, State.COMPLETE) if all(name in trial.measurements for name in names)
    ]
    if not complete:
        return []
    rows = torch.stack([row_of(trial) for trial in complete])
    groups: dict[tuple[float, ...], list[int]] = {}
    for index, place in enumerate(places(rows)):
        groups.setdefault(place, []).append(index)
    numbers = [name for name in names if not outcomes.words(name)]
    found = []
    for own in groups.values():
        same = [complete[i] for i in own]
        told = {name: [trial.measurements[name].value for trial in same] for name in numbers}
        exact = frozenset(numbers).intersection(*map(outcomes.exact, same))
        means = {name: sum(values) / len(values) for name, values in told.items()}
        found.append(
            MeasuredDesign(
                rows[own[0]].unsqueeze(0),
                tuple(trial.number for trial in same),
                means,
                frozenset(name for name in exact if len(set(told[name])) == 1),
                outcomes.mean_errors(same, means),
            )
        )
    return found


def decidable(
    designs: Sequence[MeasuredDesign], decide_on: DesignSpace, success: Success | None
) -> list[MeasuredDesign]:
    """Those that may be decided on: in the space of the decision, and likely enough to succeed."""
    if not designs:
        return []
    X = torch.cat([each.action for each in designs])
    allowed = decide_on.contains(X)
    if success is not None:
        allowed = allowed & (success.chance(X) >= success.at_least).to(allowed)
    return [each for each, may in zip(designs, allowed.tolist(), strict=True) if may]


def measured_losses(
    decision: Decision, designs: Sequence[MeasuredDesign], outcomes: Outcomes, decided: Sequence[str]
) -> list[float] | None:
    """The losses if what was measured were the truth; None where some of it is no number."""
    if any(outcomes.words(name) for name in decided):
        return None
    columns = []
    for name in decided:
        one = outcomes.by_name[name]
        if isinstance(one, Computed):
            columns.append(torch.cat([one.at(outcomes.space, each.action) for each in designs]))
            continue
        values = torch.tensor([each.values[name] for each in designs], dtype=torch.float64)
        columns.append(values.log() if outcomes.is_log(name) else values)
    f = torch.stack(columns, -1)  # n x o
    actions = torch.stack([each.action for each in designs])
    losses: list[float] = decision.loss(f if len(columns) == 1 else f.unsqueeze(-2), actions).tolist()
    return losses
