"""What all adapters share: the study that another package's trials amount to, rebuilt from them each time.

The other package keeps the trials. A study is a function of its options, its seed and its trials alone, so nothing is
lost by that, and nothing can get out of step.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hentropy.core.decisions import Decision, Maximize, Minimize, Pareto
from hentropy.core.decisions.one_design import Among
from hentropy.core.spaces import Parameter, Params, Space
from hentropy.errors import DocPage, InputError, explained_in
from hentropy.studies.outcomes import Computed
from hentropy.studies.records import Failed, Trial, Values
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.study import Study

RESERVED = ("where", "tables", "same_in_batch")
"""Names that a space has for something else."""

FRONT = 5
"""Designs of a front, if nobody says how many."""


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
def space_of(parameters: Mapping[str, Parameter], **options: Any) -> Space:
    """A space of another package's parameters."""
    taken = [name for name in parameters if name in RESERVED]
    if taken:
        raise InputError(f"a parameter cannot be called {taken[0]!r} here; rename it")
    return Space(**parameters, **options)


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
