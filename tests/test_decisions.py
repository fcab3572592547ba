"""Every decision keeps the relations of the conformance suite: one GP and a mixture, one outcome and two, a box, a list
and a space with every kind of parameter.
"""

from inspect import isabstract

import pytest

from hentropy.core import decisions as library
from hentropy.core.beliefs import Belief, Needs, Several
from hentropy.core.decisions import Decision
from hentropy.core.gain import Effort
from hentropy.studies.testing import check_decision
from support.beliefs import composed, correlated, gaussian, two_outcomes
from support.decisions import (
    MIXED,
    ON_MIXED,
    POOL,
    ROWS,
    SEVERAL_ON_MIXED,
    SEVERAL_ROWS,
    SPACE,
    STEPPED,
    Row,
    each_way,
    on_mixed,
    two_on_mixed,
)
from support.tiers import nightly

pytestmark = pytest.mark.smoke

# A suite compares some 30 statistics at 6 standard errors of 8 replicates (t with 7 degrees of freedom: 5e-4 each for a
# truly random integral); quasi-random replicates with fixed seeds do not change from run to run.


def test_the_rows_cover_every_decision() -> None:
    exported = [vars(library)[name] for name in library.__all__]
    decisions = {d for d in exported if isinstance(d, type) and issubclass(d, Decision) and not isabstract(d)}
    assert {type(row.make(0.0)) for row in [*ROWS.values(), *SEVERAL_ROWS.values()]} >= decisions


SMALL = Effort(replicates=4, outcomes=4, draws=64, steps=4, rounds=1)


def check_on_mixed(name: str, row: Row, belief: Belief) -> None:
    """Two designs together, and one beside a pending one; of `Improve` the last one measured counts alone."""
    q = 1 if name.startswith("improve") else 2
    check_decision(row.make(0.0), belief, MIXED, actions=2, designs=1, q=q, effort=SMALL)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), each_way(ROWS, "box", "mixed"))
def test_one_gaussian_process(name: str, where: str) -> None:
    """On a box, and on choices, levels, fractions and a condition."""
    row = ROWS[name]
    if where == "mixed":
        check_on_mixed(name, ON_MIXED[name], on_mixed())
    else:
        check_decision(row.make(0.0), gaussian(1), SPACE, moved=row.make, scales=row.linear, designs=row.designs)


@pytest.mark.parametrize("name", ROWS)
def test_mixture_on_a_list(name: str) -> None:
    """Of families; losses that are averaged over draws would need more of them for these variances."""
    row = ROWS[name]
    families = None if row.make(0.0).needs is Needs.JOINT else composed(3, 2)
    check_decision(
        row.make(0.0), gaussian(3, covariance=families), POOL, moved=row.make, scales=row.linear, designs=row.designs
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "where"), each_way(SEVERAL_ROWS, "list", "box", "mixed"))
def test_two_outcomes(name: str, where: str) -> None:
    """One GP each on a box and on choices, levels and fractions, and mixtures on a list."""
    if where == "mixed":
        check_on_mixed(name, SEVERAL_ON_MIXED[name], two_on_mixed())
        return
    components, space = (1, SPACE) if where == "box" else (3, POOL)
    row = SEVERAL_ROWS[name]
    moved = row.make if row.moves else None
    belief = two_outcomes(components)
    check_decision(row.make(0.0), belief, space, moved=moved, scales=row.linear, designs=row.designs)


@pytest.mark.parametrize("name", ["identify_max", "best_observed", *map(nightly, ("maximize", "top_k"))])
def test_descriptors_logarithms_and_steps(name: str) -> None:
    check_decision(ROWS[name].make(0.0), on_mixed(STEPPED), STEPPED, actions=2, designs=1, q=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["maximize", "level_sets"])
def test_correlated_outcomes_on_a_box(name: str) -> None:
    check_decision(SEVERAL_ROWS[name].make(0.0), Several((correlated(1),)), SPACE, actions=6, designs=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL_ROWS)
def test_mixtures_of_correlated_outcomes_on_a_list(name: str) -> None:
    check_decision(SEVERAL_ROWS[name].make(0.0), Several((correlated(3),)), POOL, actions=6, designs=2)


@pytest.mark.parametrize(
    "name", ["maximize", "best_observed", "improve", "identify_max", "identify_argmax", "estimate"]
)
def test_one_of_two_correlated_outcomes_on_a_list(name: str) -> None:
    made = ROWS[name].make(0.0)
    made.outcomes = ("yield",)
    check_decision(made, Several((correlated(1),)), POOL, actions=6, designs=2)
