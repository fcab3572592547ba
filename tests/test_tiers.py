"""What runs each time covers what runs at night, and every mark is described in CONTRIBUTING.md."""

import re
from itertools import combinations, product
from pathlib import Path

import pytest

from support.tiers import cover

ROOT = Path(__file__).parents[1]
TABLE = [case for case in product("abcd", range(3), "xyz") if case[:2] != ("a", 0)]

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(("together", "most"), [(1, 5), (2, 15)])
def test_few_cases_have_all_that_occurs(together: int, most: int) -> None:
    def occur(cases: list[tuple[object, ...]]) -> set[object]:
        return {part for case in cases for part in combinations(enumerate(case), together)}

    found = cover(TABLE, together)
    assert occur(found) == occur([*TABLE])
    assert len(found) <= most


@pytest.mark.covering
@pytest.mark.parametrize("one", [1, 1.0, "1"])
@pytest.mark.parametrize("other", [[], {}, ()])
def test_a_table_that_is_marked_runs_by_a_cover(one: object, other: object, request: pytest.FixtureRequest) -> None:
    own = [item for item in request.session.items if item.name.startswith("test_a_table_that_is_marked")]
    assert sum(item.get_closest_marker("nightly") is None for item in own) <= 3


def test_every_mark_is_described() -> None:
    used = {
        mark
        for file in (ROOT / "tests").glob("test_*.py")
        for mark in re.findall(r"pytest\.mark\.(\w+)", file.read_text())
    }
    own = used - {"parametrize", "filterwarnings", "skipif", "usefixtures"}
    said = (ROOT / "CONTRIBUTING.md").read_text()
    assert own - {name for name in own if f"`{name}`" in said} == set()
