"""BayBE: a recommender for any decision about one target, over discrete or continuous search spaces.

Encodings of categories and of substances become descriptors of choices. Measurements are in the target's own units: its
transformation is not applied. Values of parameters that were executed within their tolerance are modelled as they are;
an infinite measurement is a failed experiment.
"""

import math
from collections.abc import Sequence
from typing import Any

from hentropy.adapters.host import space_of
from hentropy.core.decisions import Decision, Maximize, Minimize
from hentropy.core.given import Tails, check_tails
from hentropy.core.models import fit, fit_success
from hentropy.core.models.gp import Treatment
from hentropy.core.solvers import propose
from hentropy.core.spaces import Choice, Levels, Parameter, Params, Pool, Real, Space
from hentropy.errors import DocPage, InputError, explained_in, require
from hentropy.studies.records.outcome import check_noise

require("baybe", "baybe")

import pandas as pd
from baybe.constraints import ContinuousLinearConstraint
from baybe.exceptions import NotEnoughPointsLeftError
from baybe.objectives import SingleTargetObjective
from baybe.objectives.base import Objective
from baybe.parameters import (
    CategoricalParameter,
    NumericalContinuousParameter,
    NumericalDiscreteParameter,
    TaskParameter,
)
from baybe.parameters.base import DiscreteParameter
from baybe.parameters.base import Parameter as BaybeParameter
from baybe.searchspace import SearchSpace
from baybe.searchspace.core import SearchSpaceType
from baybe.targets import NumericalTarget
from baybe.transformations import IdentityTransformation
from torch import Tensor


class HentropyRecommender:
    """Recommends the experiments that improve a decision most: for a `Campaign`, behind an initial recommender.

    `decision` is about the values of the target; by default, it is the design with the highest or lowest value, as the
    target says. `hyperparameters` are those of `hentropy.fit`. `noise` is by how much a repeated measurement differs, a
    standard deviation; 0 for a deterministic simulation. Without it, the noise is learned from the measurements. With
    tails="heavy", measurements may be grossly wrong now and then, as in `hentropy.fit`.
    """

    @explained_in(DocPage.ADAPTERS)
    def __init__(
        self,
        decision: Decision | None = None,
        *,
        hyperparameters: Treatment = "auto",
        noise: float | None = None,
        tails: Tails | None = None,
        seed: int = 0,
    ) -> None:
        check_noise(noise)
        check_tails(tails)
        self.decision, self.hyperparameters, self.seed = decision, hyperparameters, seed
        self.noise, self.tails = noise, tails

    @explained_in(DocPage.ADAPTERS)
    def recommend(
        self,
        batch_size: int,
        searchspace: SearchSpace,
        objective: Objective | None = None,
        measurements: pd.DataFrame | None = None,
        pending_experiments: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """The next experiments, as rows of BayBE's experimental representation."""
        target = _target(objective)
        if measurements is None or measurements.empty:
            raise InputError(
                "there are no measurements yet; begin with another recommender: TwoPhaseMetaRecommender("
                "initial_recommender=FPSRecommender(), recommender=HentropyRecommender())"
            )
        space = _space(searchspace, [*_designs(measurements), *_designs(pending_experiments)])
        rows, values = _rows(space, measurements), [float(value) for value in measurements[target.name]]
        worked = [math.isfinite(value) for value in values]
        if not any(worked):
            raise InputError(f"no measurement of {target.name} is finite, so nothing is known: measure other designs")
        candidates = searchspace.discrete.get_candidates()[0]
        listed = searchspace.type is SearchSpaceType.DISCRETE
        if listed and len(candidates) < batch_size:
            raise NotEnoughPointsLeftError(f"{batch_size} experiments are wanted, and {len(candidates)} are left.")
        found = propose(
            _decision(target) if self.decision is None else self.decision,
            fit(
                rows[worked],
                [value for value in values if math.isfinite(value)],
                space=space,
                noise=self.noise,
                tails=self.tails,
                hyperparameters=self.hyperparameters,
                seed=self.seed,
            ),
            Pool.among(space, _rows(space, candidates)) if listed else space,
            q=batch_size,
            seed=self.seed + 1000 * len(measurements),
            pending=None if pending_experiments is None else _rows(space, pending_experiments),
            decide_on=Pool.among(space, _rows(space, searchspace.discrete.exp_rep)) if listed else space,
            success=None if all(worked) else fit_success(rows, worked, space=space, seed=self.seed),
        )
        if not listed:
            return pd.DataFrame(found.params)[list(space.names)]
        return candidates.iloc[_places(_rows(space, candidates), found.x)]


def _rows(space: Space, designs: pd.DataFrame) -> Tensor:
    """Designs as rows of coordinates: n x d."""
    return space.encode_many([{name: row[name] for name in space.names} for row in _designs(designs)])


def _designs(table: pd.DataFrame | None) -> list[Params]:
    """The rows of a table, in which there are more columns."""
    plain = [] if table is None else table.astype(object).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in plain]


def _places(rows: Tensor, chosen: Tensor) -> list[int]:
    """Which of the rows (n x d) were chosen (q x d); each once."""
    places: list[int] = []
    for x in chosen:
        order = (rows - x).abs().sum(-1).argsort().tolist()
        places.append(next(place for place in order if place not in places))
    return places


@explained_in(DocPage.ADAPTERS)
def _target(objective: Objective | None) -> NumericalTarget:
    if not isinstance(objective, SingleTargetObjective) or not isinstance(objective.targets[0], NumericalTarget):
        raise InputError(f"the objective is {objective!r}; hentropy recommends for one numerical target in BayBE")
    return objective.targets[0]


@explained_in(DocPage.ADAPTERS)
def _decision(target: NumericalTarget) -> Decision:
    if not isinstance(target.transformation, IdentityTransformation):
        raise InputError(
            f"the target {target.name} is transformed; say what is decided about its values:"
            " HentropyRecommender(decision)"
        )
    return Minimize() if target.minimize else Maximize()


@explained_in(DocPage.ADAPTERS)
def _space(given: SearchSpace, designs: Sequence[Params]) -> Space:
    if given.type is SearchSpaceType.HYBRID:
        raise InputError("the search space has discrete and continuous parameters; hentropy supports one kind in BayBE")
    linear = [*given.continuous.constraints_lin_ineq, *given.continuous.constraints_lin_eq]
    if given.continuous.constraints_nonlin:
        raise InputError(
            "the search space has nonlinear continuous constraints, which hentropy does not take from BayBE"
        )
    parameters = {one.name: _parameter(one) for one in given.parameters}
    return space_of(parameters, designs, where=[_condition(one) for one in linear])


@explained_in(DocPage.ADAPTERS)
def _condition(given: ContinuousLinearConstraint) -> str:
    if given.is_eq or given.is_interpoint:
        raise InputError(f"the constraint {given!r} is an equality or between points, which hentropy does not support")
    terms = zip(given.parameters, given.coefficients, strict=True)
    return f"{' + '.join(f'{weight!r} * {name}' for name, weight in terms)} {given.operator} {given.rhs!r}"


@explained_in(DocPage.ADAPTERS)
def _parameter(given: BaybeParameter) -> Parameter:
    if isinstance(given, NumericalContinuousParameter):
        return Real(given.bounds.lower, given.bounds.upper)
    if isinstance(given, NumericalDiscreteParameter):
        return Levels(list(given.values))
    if isinstance(given, TaskParameter) or not isinstance(given, DiscreteParameter):
        raise InputError(f"the parameter {given.name} is a {type(given).__name__}, which hentropy does not support")
    options: list[Any] = list(given.values)
    if isinstance(given, CategoricalParameter):
        return Choice(options)
    return Choice(options, given.comp_df)
