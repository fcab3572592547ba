"""Every decision keeps the relations of the conformance suite: one GP and a mixture, a box and a list."""

from inspect import isabstract

import pytest

from hentropy.core import decisions as library
from hentropy.core.decisions import Decision
from hentropy.studies.testing import check_decision
from support.beliefs import gaussian
from support.decisions import POOL, ROWS, SPACE

pytestmark = pytest.mark.core

# A suite compares some 30 statistics at 6 standard errors of 8 replicates (t with 7 degrees of freedom: 5e-4 each for a
# truly random integral); quasi-random replicates with fixed seeds do not change from run to run.


def test_the_rows_cover_every_decision() -> None:
    exported = [vars(library)[name] for name in library.__all__]
    decisions = {d for d in exported if isinstance(d, type) and issubclass(d, Decision) and not isabstract(d)}
    assert {type(row.make(0.0)) for row in ROWS.values()} >= decisions


@pytest.mark.parametrize("name", ROWS)
def test_one_gaussian_process_on_a_box(name: str) -> None:
    row = ROWS[name]
    check_decision(row.make(0.0), gaussian(1), SPACE, moved=row.make, scales=row.linear)


@pytest.mark.parametrize("name", ROWS)
def test_mixture_on_a_list(name: str) -> None:
    row = ROWS[name]
    check_decision(row.make(0.0), gaussian(3), POOL, moved=row.make, scales=row.linear)
