"""A recommendation beside the measured designs, as it is recorded and in sentences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.decisions import Decision
from hentropy.core.decisions.base import totals
from hentropy.core.decisions.headlines import Quantity, probable
from hentropy.lazy import Tensor
from hentropy.studies.records import Comparison, Rival
from hentropy.studies.records.numbers import short
from hentropy.studies.study.recommending import Compared, MeasuredDesign, Recommendation


@dataclass(frozen=True)
class Comparer:
    """Compares designs for a person: `quantities` say what outcomes are called, `row_of` makes a row of a design.

    `decided` are the outcomes that the decision looks at; the belief is about these.
    """

    decision: Decision
    belief: Belief
    decided: Sequence[str]
    quantities: Mapping[str, Quantity]
    row_of: Callable[[Tensor], Mapping[str, Any]]

    def comparison(self, given: Recommendation) -> Comparison:
        """The recommended design beside the others."""
        parts = [self._own(given), self._doubt(given), self._alternative(given)]
        return Comparison(
            sentence=" ".join(part for part in parts if part),
            trials=given.design.trials,
            values=given.design.values,
            best=None if given.best is None else self._rival(given.best),
            alternative=None if given.alternative is None else self._rival(given.alternative),
            forgone=given.forgone,
        )

    def _rival(self, one: Compared) -> Rival:
        own = one.advantage
        return Rival(self.row_of(one.design.action), one.design.trials, one.design.values, own.mean, own.sd, own.chance)

    @property
    def _about(self) -> Quantity:
        return self.quantities[self.decided[0]]

    def _own(self, given: Recommendation) -> str:
        """Where the recommended design was measured; if nowhere, its advantage over the best one that was."""
        if given.design.trials:
            return f"Measured in {_trials(given.design)}{self._values(given.design, ': ')}."
        if given.best is None:
            return "Never run."
        best, own = given.best.design, given.best.advantage
        expected = f" ({said} expected)" if (said := self._expected(best)) else ""
        better = self.decision.better(own.mean, own.sd, self._about)
        return (
            f"Never run; best run so far: {_trials(best)}{self._values(best, ' with ')}{expected}."
            f" The recommended design should be {better}, with {probable(own.chance)} probability: confirm it once."
        )

    def _doubt(self, given: Recommendation) -> str:
        """Why a measured design is recommended and not the one that measured best."""
        if given.best is None or not given.design.trials:
            return ""
        best, own = given.best.design, given.best.advantage
        expected = f", but {said} is expected there" if (said := self._expected(best)) else ""
        what = _trials(best)
        return (
            f"{what[0].upper()}{what[1:]}{self._values(best, ' measured ')}{expected}; the recommended design is better"
            f" with {probable(own.chance)} probability."
        )

    def _alternative(self, given: Recommendation) -> str:
        """That another design may be better, mostly one that was never run."""
        if given.alternative is None or given.alternative.advantage.mean >= 0:
            return ""
        other, own = given.alternative.design, given.alternative.advantage
        better = self.decision.better(-own.mean, own.sd, self._about)
        chance = probable(1.0 - own.chance)
        if other.trials:
            what = _trials(other)
            return (
                f"{what[0].upper()}{what[1:]}{self._values(other, ' with ')} should be {better}, with {chance}"
                " probability: no clear advantage."
            )
        return (
            f"A design that was never run should be {better}, with {chance} probability: too uncertain to recommend"
            " before a run."
        )

    def _values(self, design: MeasuredDesign, before: str) -> str:
        """What was measured of a design: 90.48 %, of several outcomes with their names; nothing of grades."""
        each = [(self.quantities[name], value) for name, value in design.values.items()]
        if len(self.decided) == 1:
            said = ", ".join(about.with_unit(short(value)) for about, value in each)
        else:
            said = ", ".join(f"{about.name} {about.with_unit(short(value))}" for about, value in each)
        return f"{before}{said}" if said else ""

    def _expected(self, design: MeasuredDesign) -> str:
        """The true value that is expected at a design; nothing where several outcomes count alike."""
        if len(self.decided) > 1 and not self.decision.subject_to:
            return ""
        moments = self.belief.of(self.decided[0]).moments(design.action.to(self.belief.X), Needs.VARIANCE)
        [mean], [sd] = totals(moments, self._about)
        return self._about.amount(mean, sd)


def _trials(design: MeasuredDesign) -> str:
    """Trial 31; trials 3, 8 and 17."""
    *others, last = map(str, design.trials)
    return f"trials {', '.join(others)} and {last}" if others else f"trial {last}"
