"""What all adapters share: the study that another package's trials amount to, rebuilt from them each time.

The other package keeps the trials. A study is a function of its options, its seed and its trials alone, so nothing is
lost by that, and nothing can get out of step.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Any

from hentropy.core.decisions import Decision, Maximize, Minimize, Pareto
from hentropy.core.decisions.one_design import Among
from hentropy.core.spaces import Choice, Levels, Parameter, Params, Space
from hentropy.core.spaces.parameters import Number
from hentropy.errors import DocPage, InputError, explained_in
from hentropy.studies.outcomes import Computed
from hentropy.studies.records import Failed, Trial, Values
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.study import Study

RESERVED = ("where", "tables", "same_in_batch")
"""Names that a space has for something else."""

FRONT = 5
"""Designs of a front, if nobody says how many."""

ENOUGH_CURVES = 2
"""Complete trials that must have reported at a step before they say how a trial goes on from there."""


@dataclass(frozen=True)
class Curve:
    """What a complete trial reported of an outcome, by step, and the value that it ended with."""

    reports: Mapping[Any, float]
    end: float


def continued(reports: Mapping[Any, float], complete: Sequence[Curve]) -> tuple[float, float] | None:
    """The value that a trial which was stopped early would have ended with, and its standard error, if that is known.

    It goes on from its last report as complete ones did, on average, from the same step. It is not better than the
    best of these, and not worse than the worst: a run that was stopped is not the best one, and one that diverges does
    not set the scale.
    """
    finite = {step: value for step, value in reports.items() if math.isfinite(value)}
    ends = [curve.end for curve in complete if math.isfinite(curve.end)]
    if not finite or not ends:
        return None
    step = max(finite)
    changes = [curve.end - curve.reports.get(step, math.nan) for curve in complete]
    changes = [change for change in changes if math.isfinite(change)]
    if len(changes) < ENOUGH_CURVES:
        return None
    return min(max(finite[step] + fmean(changes), min(ends)), max(ends)), stdev(changes)


@dataclass(frozen=True)
class HostTrials:
    """What another package knows: designs with what came of them, and designs that run."""

    ended: tuple[tuple[Params, Values | Failed], ...] = ()
    running: tuple[Params, ...] = ()

    def study(self, space: Space, decision: Decision, **options: Any) -> Study:
        """These trials as a study, in memory."""
        made = Study(space, decision, records=[Trial(i, params) for i, params in enumerate(self.running)], **options)
        made.attach_many(self.ended)
        return made


def finite_or_failed(told: Mapping[str, Any]) -> Values | Failed:
    """Values by name, or a failure if one is not finite: objectives say so that a design cannot be used."""
    for name, value in told.items():
        number = value[0] if isinstance(value, tuple) else value
        if not isinstance(number, str) and not math.isfinite(number):
            return Failed(f"{name} is {number}")
    return dict(told)


@explained_in(DocPage.ADAPTERS)
def space_of(
    parameters: Mapping[str, Parameter], designs: Sequence[Params] = (), *, where: Sequence[str] = ()
) -> Space:
    """A space of another package's parameters, where new designs keep to the present ranges.

    It is widened to `designs` of earlier ranges, or with executed in place of planned values: they remain data.
    """
    taken = [name for name in parameters if name in RESERVED]
    if taken:
        raise InputError(f"a parameter cannot be called {taken[0]!r} here; rename it")
    wide, conditions = {}, list(where)
    for name, parameter in parameters.items():
        wide[name] = _widened(name, parameter, [design[name] for design in designs])
        if wide[name] is not parameter:
            conditions += _present(name, parameter, wide[name])
    return Space(**wide, where=conditions)


def _widened(name: str, parameter: Parameter, values: Sequence[Any]) -> Parameter:
    """A parameter that can have these values, too."""
    if isinstance(parameter, Number):
        try:
            parameter.check(name, parameter.encode(name, [values]))
        except InputError:
            return replace(parameter, low=min(parameter.low, *values), high=max(parameter.high, *values), step=None)
    if isinstance(parameter, Levels) or (isinstance(parameter, Choice) and not parameter.descriptors):
        others = [value for value in dict.fromkeys(values) if value not in parameter.all_values]
        if others and isinstance(parameter, Levels):
            return replace(parameter, values=[*parameter.all_values, *others])
        if others:
            return Choice([*parameter.all_values, *others])
    return parameter


def _present(name: str, parameter: Parameter, wide: Parameter) -> list[str]:
    """The conditions that new designs keep to a parameter, and not to a wider one."""
    if isinstance(parameter, Number):
        return [f"{parameter.low!r} <= {name} <= {parameter.high!r}"]
    assert isinstance(parameter, Levels | Choice)
    assert isinstance(wide, Levels | Choice)
    return [f"{name} != {value!r}" for value in wide.all_values if value not in parameter.all_values]


@explained_in(DocPage.ADAPTERS)
def usual_decision(largest: Mapping[str, bool], limits: tuple[str, ...] = (), among: Among | None = None) -> Decision:
    """What optimisers decide: the best design for one objective, a front for several; `largest` says which way."""
    if len(largest) == 1:
        [(name, up)] = largest.items()
        return (Maximize if up else Minimize)(name, subject_to=limits, among=among)
    if limits:
        raise InputError(
            f"several objectives ({', '.join(largest)}) with constraints have no usual decision; give one, such as"
            ' Maximize("yield", subject_to=["cost <= 3"])'
        )
    return Pareto(FRONT, {name: "max" if up else "min" for name, up in largest.items()})


@explained_in(DocPage.ADAPTERS)
def with_outcomes(names: tuple[str, ...], options: Mapping[str, Any], *, complete: bool = True) -> dict[str, Any]:
    """The options of a study with these outcomes: plain numbers, unless the options say more of them.

    `complete` is whether these are all outcomes that there will be.
    """
    given: Mapping[str, Outcome | Computed] = options.get("outcomes") or {}
    strange = [name for name in given if name not in names]
    if strange and complete:
        raise InputError(f"outcomes describes {strange[0]!r}; what is measured is {', '.join(names)}")
    return {**options, "outcomes": {name: given.get(name, Outcome()) for name in names}}


def states_error(name: str, study_options: Mapping[str, Any]) -> bool:
    """Whether the noise of an outcome is stated: errors are stated for all of its results, or for none."""
    return study_options.get("noise") is not None or study_options["outcomes"][name].noise is not None
