"""gest-api: a generator with `suggest` and `ingest` over a VOCS, for Xopt, libEnsemble and Optimas.

Objectives, constraints and observables are outcomes by their names. Points that were suggested and not yet ingested are
pending. A result whose outputs are all missing, or of which one is infinite, is a failed experiment; a single missing
output was not measured. Results outside of the domains are data; suggestions are inside.
"""

import math
from typing import Any

from hentropy.adapters.host import HostTrials, finite_or_failed, space_of, usual_decision, with_outcomes
from hentropy.core.decisions import Decision
from hentropy.core.given import is_count, is_number
from hentropy.core.spaces import Choice, Levels, Parameter, Params, Real, Space
from hentropy.errors import DocPage, InputError, StudyError, explained_in, require
from hentropy.studies.records import Failed, Values, Verdict
from hentropy.studies.study import Study

require("gest_api", "gest-api", "gest-api")

from gest_api.generator import Generator
from gest_api.vocs import (
    VOCS,
    BaseConstraint,
    BaseVariable,
    BoundsConstraint,
    ContextualVariable,
    ContinuousVariable,
    DiscreteVariable,
    ExploreObjective,
    GreaterThanConstraint,
    LessThanConstraint,
    MaximizeObjective,
)


class HentropyGenerator(Generator):
    """Suggests the points that improve a decision most.

    `decision` is about the outputs of the VOCS by name. By default it is the best point for one objective, subject to
    all constraints, and a front of five points for several objectives. `options` are those of `hentropy.Study`:
    `noise=0` for a deterministic simulation, or `outcomes={"f": Outcome(noise=0.1, low=0)}` for outputs of which more
    is known.
    """

    def __init__(self, vocs: VOCS, decision: Decision | None = None, **options: Any) -> None:
        self.vocs = vocs
        self._options = options
        self._ended: list[tuple[Params, Values | Failed]] = []
        self._running: list[Params] = []
        self._parameters = {name: _parameter(name, one) for name, one in vocs.variables.items()}
        self._outputs = tuple(dict.fromkeys([*vocs.objectives, *vocs.constraints, *vocs.observables]))
        self._decision = _decision(vocs) if decision is None else decision
        super().__init__(vocs)

    def _validate_vocs(self, vocs: VOCS) -> None:
        """Whatever a study would refuse is refused at once."""
        self.as_study()

    @explained_in(DocPage.ADAPTERS)
    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """The next points to evaluate side by side; one, if nobody says how many."""
        count = 1 if num_points is None else num_points
        if not is_count(count):
            raise InputError(f"the number of points must be a whole number of at least 1, got {num_points!r}")
        asked = [trial.params for trial in self.as_study().ask_many(count)]
        if len(asked) < count:
            raise StudyError(f"only {len(asked)} of {count} points are left to suggest; ask for fewer")
        self._running += asked
        constants = {name: one.value for name, one in self.vocs.constants.items()}
        return [{**params, **constants} for params in asked]

    def ingest(self, results: list[dict[str, Any]]) -> None:
        """What came of points, suggested here or not."""
        read = [self._read(result) for result in results]
        for params, outcome in read:
            self._ended.append((params, outcome))
            suggested = next((i for i, one in enumerate(self._running) if self._same(one, params)), None)
            if suggested is not None:
                del self._running[suggested]

    def decide(self) -> Verdict:
        """What would be decided now, with its expected loss."""
        return self.as_study().decide()

    def as_study(self) -> Study:
        """All points so far as a study of hentropy, in memory."""
        made = HostTrials(tuple(self._ended), tuple(self._running))
        return made.study(self._space(), self._decision, **with_outcomes(self._outputs, self._options))

    def _space(self, *more: Params) -> Space:
        """The space of the variables, and of all points so far."""
        return space_of(self._parameters, [*(params for params, _ in self._ended), *more])

    @explained_in(DocPage.ADAPTERS)
    def _read(self, result: dict[str, Any]) -> tuple[Params, Values | Failed]:
        names = tuple(self._parameters)
        missing = [name for name in names if name not in result]
        if missing:
            raise InputError(
                f"a result has no value of the variable {missing[0]}; it has {', '.join(map(str, result))}"
            )
        given = {name: result[name] for name in names}
        params = self._space(given).cleaned(given)
        told = {name: result[name] for name in self._outputs if _is_measured(result.get(name))}
        return params, finite_or_failed(told) if told else Failed("no output was returned")

    def _same(self, one: Params, other: Params) -> bool:
        fields = [field for name, parameter in self._parameters.items() for field in parameter.fields(name)]
        return all(field.same(one[field.name], other[field.name]) for field in fields)


def _is_measured(value: Any) -> bool:
    return value is not None and not math.isnan(value)


@explained_in(DocPage.ADAPTERS)
def _parameter(name: str, variable: BaseVariable) -> Parameter:
    if isinstance(variable, ContextualVariable):
        raise InputError(f"the variable {name} is contextual, which hentropy does not support; make it a constant")
    if variable.dtype is not None and not isinstance(variable.dtype, type | str):
        raise InputError(f"the variable {name} is an array ({variable.dtype}); give each element a name of its own")
    if isinstance(variable, ContinuousVariable):
        return Real(*variable.domain)
    if isinstance(variable, DiscreteVariable):
        values = sorted(variable.values, key=lambda value: (not is_number(value), value if is_number(value) else 0))
        return Levels(values) if all(is_number(value) for value in values) else Choice(sorted(map(str, values)))
    raise InputError(f"the variable {name} is a {type(variable).__name__}, which hentropy does not know")


@explained_in(DocPage.ADAPTERS)
def _decision(vocs: VOCS) -> Decision:
    explored = [name for name, one in vocs.objectives.items() if isinstance(one, ExploreObjective)]
    if explored or not vocs.objectives:
        what = f"the objective {explored[0]} is to be explored" if explored else "the VOCS has no objectives"
        raise InputError(
            f'{what}: say what will be decided, such as decision=he.LevelSets([0.5], outcome="NAME") or he.Estimate()'
        )
    largest = {name: isinstance(one, MaximizeObjective) for name, one in vocs.objectives.items()}
    return usual_decision(largest, tuple(_limit(name, one) for name, one in vocs.constraints.items()))


@explained_in(DocPage.ADAPTERS)
def _limit(name: str, constraint: BaseConstraint) -> str:
    if isinstance(constraint, LessThanConstraint):
        return f"{name} <= {constraint.value!r}"
    if isinstance(constraint, GreaterThanConstraint):
        return f"{name} >= {constraint.value!r}"
    if isinstance(constraint, BoundsConstraint):
        return f"{constraint.range[0]!r} <= {name} <= {constraint.range[1]!r}"
    raise InputError(f"the constraint {name} is a {type(constraint).__name__}, which hentropy does not know")
