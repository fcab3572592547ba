"""A recommendation beside the measured designs, as it is recorded and in sentences."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.decisions import Decision
from hentropy.core.decisions.base import totals
from hentropy.core.decisions.headlines import Quantity, probable
from hentropy.lazy import Tensor
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Comparison, Rival
from hentropy.studies.records.numbers import short
from hentropy.studies.study.recommending import Compared, MeasuredDesign, Recommendation

BLURRED = 2.0
"""A belief whose error is more times that of a measurement has lost what was measured."""


@dataclass(frozen=True)
class Comparer:
    """Compares designs for a person: `row_of` makes a row of a design (1 x d), with the spreads of quantities.

    `decided` are the outcomes that the decision looks at; the belief is about these.
    """

    decision: Decision
    belief: Belief
    decided: Sequence[str]
    outcomes: Outcomes
    row_of: Callable[[Tensor, Mapping[str, Quantity]], Mapping[str, Any]]

    def comparison(self, given: Recommendation) -> Comparison:
        """The recommended design beside the others."""
        best = None if given.best is None else self._rival(given.design, given.best)
        other = given.alternative
        if other is not None and self._has_lost(given.design, other.advantage.mean):
            other = None
        alternative = None if other is None else self._rival(given.design, other)
        parts = [self._own(given.design)] if given.design.trials or given.best is None else []
        if given.best is not None and best is not None:
            parts.append((self._doubt if given.design.trials else self._lead)(given.best.design, best))
        if alternative is not None and alternative.perhaps_better:
            parts.append(self._alternative(alternative))
        return Comparison(
            sentence=" ".join(parts),
            trials=given.design.trials,
            values=given.design.values,
            best=best,
            alternative=alternative,
            forgone=given.forgone,
        )

    def at_bound(self, given: Recommendation) -> Recommendation:
        """The best measured design in place of one that was never run, if its value leaves nothing to gain."""
        best, chosen = given.best, given.design
        bounded = self._about.bounds != Quantity().bounds
        if not bounded or chosen.trials or best is None:
            return given
        if self._within_bounds(best.advantage.mean, chosen, best.design) > 0.0:
            return given
        saved = best.advantage
        other = Compared(chosen, replace(saved, mean=-saved.mean, chance=1.0 - saved.chance))
        return replace(given, design=best.design, best=None, alternative=other, forgone=max(0.0, saved.mean))

    def row(self, design: MeasuredDesign, quantities: Mapping[str, Quantity] | None = None) -> dict[str, Any]:
        """A design and what is known of it: what was measured, where the belief knows less, or else what is expected.

        The quantities say with which spread; by default, with that of the belief.
        """
        found = self.row_of(design.action, quantities or self.outcomes.quantities)
        return self.outcomes.with_measured(found, self.decided, self._measured(design))

    def known(self, design: MeasuredDesign) -> dict[str, Quantity]:
        """What outcomes are called, with the values of a design of which the belief knows less than was measured."""
        measured = self._measured(design)
        texts = {
            name: short(one[0]) if name in design.exact else Quantity().amount(*one) for name, one in measured.items()
        }
        return {
            name: replace(about, log=name in self.belief.logs, measured=texts.get(name, ""))
            for name, about in self.outcomes.quantities.items()
        }

    def _measured(self, design: MeasuredDesign) -> dict[str, tuple[float, float]]:
        """By outcome the value and the error that were measured, where the belief does not know it as well.

        A value without noise is known. A stated noise bounds what is not known of a design that was measured; behind a
        transform of values over decades, rounding can be far greater.
        """
        noisy = {name: (design.values[name], error) for name, error in design.errors.items()}
        blurred = {name: one for name, one in noisy.items() if self._believed(design, name)[1] > BLURRED * one[1]}
        return {**{name: (design.values[name], 0.0) for name in design.exact}, **blurred}

    def _rival(self, design: MeasuredDesign, one: Compared) -> Rival:
        other, own = one.design, one.advantage
        saved = self._within_bounds(own.mean, design, other)
        return Rival(self.row(other), other.trials, other.values, saved, own.sd, own.chance)

    def _has_lost(self, design: MeasuredDesign, saved: float) -> bool:
        """Whether a difference in value is no more than what the belief is off at a design whose value is known."""
        about, name = self._about, self.decided[0]
        if about.log or self.decision.subject_to or not self.decision.in_units or name not in self._measured(design):
            return False
        return abs(self._believed(design, name)[0] - design.values[name]) > 0.5 * abs(saved)

    def _within_bounds(self, saved: float, design: MeasuredDesign, other: MeasuredDesign) -> float:
        """What a design saves over another: where that is a difference of values, no more than their bounds leave."""
        about = self._about
        if about.bounds == Quantity().bounds or about.log or self.decision.subject_to or not self.decision.in_units:
            return saved
        mine, its = (about.within(self._known_value(one)) for one in (design, other))
        return math.copysign(min(abs(saved), abs(mine - its)), saved)

    @property
    def _about(self) -> Quantity:
        name = self.decided[0]
        return replace(self.outcomes.quantities[name], log=name in self.belief.logs)

    def _own(self, design: MeasuredDesign) -> str:
        """Where the recommended design was measured."""
        if not design.trials:
            return "Never run."
        said = "" if self._is_exact(design) else self._values(design, ": ")
        return f"Measured in {_trials(design)}{said}."

    def _lead(self, design: MeasuredDesign, best: Rival) -> str:
        """How much better a design that was never run is than the one that measured best."""
        expected = f" ({said} expected)" if (said := self._expected(design)) else ""
        better = self.decision.better(best.advantage, self._about)
        return (
            f"Never run; best run so far: {_trials(design)}{self._values(design, ' with ')}{expected}. The recommended"
            f" design should be {better} on average; it is better with {probable(best.chance)} probability: confirm it"
            " once."
        )

    def _doubt(self, design: MeasuredDesign, best: Rival) -> str:
        """Why a measured design is recommended and not the one that measured best."""
        expected = f", but {said} is expected there" if (said := self._expected(design)) else ""
        return (
            f"{_trials(design).capitalize()}{self._values(design, ' measured ')}{expected}; the recommended design is"
            f" better with {probable(best.chance)} probability."
        )

    def _alternative(self, other: Rival) -> str:
        """That another design may be better, mostly one that was never run."""
        better = self.decision.better(-other.advantage, self._about)
        said = f"should be {better} on average, but is better with only {probable(1.0 - other.chance)} probability"
        if other.trials:
            return f"{_trials(other).capitalize()}{self._values(other, ' with ')} {said}: no clear advantage."
        return f"A design that was never run {said}: too uncertain to recommend before a run."

    def _values(self, design: MeasuredDesign | Rival, before: str) -> str:
        """What was measured of a design: 90.48 %, of several outcomes with their names; nothing of grades."""
        each = [(self.outcomes.quantities[name], value) for name, value in design.values.items()]
        named = len(self.decided) > 1
        said = ", ".join(f"{f'{about.name} ' if named else ''}{about.with_unit(short(value))}" for about, value in each)
        return f"{before}{said}" if said else ""

    def _is_exact(self, design: MeasuredDesign) -> bool:
        """Whether the only value that is decided on was measured without noise: then the verdict says it already."""
        return len(self.decided) == 1 and self.decided[0] in design.exact

    def _expected(self, design: MeasuredDesign) -> str:
        """The true value that is expected at a design; nothing where it was measured, or several outcomes count."""
        if self._is_exact(design) or (len(self.decided) > 1 and not self.decision.subject_to):
            return ""
        return self._about.amount(*self._expected_value(design))

    def _expected_value(self, design: MeasuredDesign) -> tuple[float, float]:
        name = self.decided[0]
        known = {} if name in design.exact else self._measured(design)
        return known[name] if name in known else self._believed(design, name)

    def _known_value(self, design: MeasuredDesign) -> float:
        name = self.decided[0]
        return design.values[name] if name in design.exact else self._expected_value(design)[0]

    def _believed(self, design: MeasuredDesign, name: str) -> tuple[float, float]:
        """The mean and the standard deviation of an outcome, in its units."""
        about = replace(self.outcomes.quantities[name], log=name in self.belief.logs)
        moments = self.belief.of(name).moments(design.action.to(self.belief.X), Needs.VARIANCE)
        [mean], [sd] = totals(moments, about)
        return mean, sd


def _trials(design: MeasuredDesign | Rival) -> str:
    """Trial 31; trials 3, 8 and 17."""
    *others, last = map(str, design.trials)
    return f"trials {', '.join(others)} and {last}" if others else f"trial {last}"
