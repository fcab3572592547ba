"""`minimize`: called as in SciPy, with a list of bounds and a function of x."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import hentropy as he
from hentropy.studies.study import Minimum

pytestmark = pytest.mark.smoke

QUICK: dict[str, Any] = {"hyperparameters": "map"}


def bowl(x: np.ndarray, low: float = 1.0) -> float:
    return float((x[0] - 0.3) ** 2 + (x[1] - 2.0) ** 2 + low)


def test_it_finds_the_bottom_and_says_what_was_measured_there() -> None:
    """Of results that noise could explain the likeliest is chosen; where none is possible, the least."""
    for deterministic in (False, True):
        bounds = Bounds([-1.0, 0.0], [1.0, 4.0])
        found = he.minimize(bowl, bounds, (3.0,), budget=14, deterministic=deterministic, **QUICK)
        assert found.fun == bowl(found.x, 3.0)
        assert found.fun - found.func_vals.min() <= (0.0 if deterministic else 1e-4)
        assert found.fun < 3.01
        assert found.expected_loss == pytest.approx(found.fun, abs=0.01)
        assert found.nfev == len(found.records) == len(found.x_iters) <= 14


def test_data_that_were_there_cost_no_calls_and_starts_do() -> None:
    x0 = [[0.0, 1.0], [0.5, 2.5], [0.3, 2.0]]
    found = he.minimize(bowl, [(-1, 1), (0, 4)], x0=x0, y0=[bowl(np.array(x)) for x in x0], budget=1, **QUICK)
    assert (found.nfev, len(found.records)) == (1, 4)
    np.testing.assert_array_equal(found.x, [0.3, 2.0])
    again = he.minimize(bowl, [(-1, 1), (0, 4)], x0=[0.3, 2.0], budget=3, seed=0, **QUICK)
    assert (again.nfev, again.fun, again.records[0].origin) == (3, 1.0, "attached")


def test_a_callback_sees_the_best_so_far_and_ends_the_search() -> None:
    seen: list[Minimum] = []

    def enough(result: Minimum) -> bool:
        seen.append(result)
        return len(seen) == 3

    found = he.minimize(bowl, [(-1, 1), (0, 4)], callback=enough, **QUICK)
    assert [result.nfev for result in seen] == [1, 2, 3]
    assert [result.fun for result in seen] == [found.func_vals[: n + 1].min() for n in range(3)]

    def never_more(result: Minimum) -> None:
        raise StopIteration

    assert he.minimize(bowl, [(-1, 1), (0, 4)], callback=never_more, **QUICK).nfev == 1


def test_a_deterministic_function_has_no_noise() -> None:
    found = he.minimize(bowl, [(-1, 1), (0, 4)], budget=7, deterministic=True, **QUICK)
    assert found.study.outcomes.by_name == {"value": he.Outcome(noise=0.0)}
    with pytest.raises(he.InputError, match=r"deterministic=True means noise=0, but noise is 0\.1"):
        he.minimize(bowl, [(-1, 1), (0, 4)], deterministic=True, noise=0.1)


def test_it_stops_when_a_call_is_not_worth_tol() -> None:
    found = he.minimize(bowl, [(-1, 1), (0, 4)], tol=1e6, budget=20, **QUICK)
    assert found.nfev == found.study.first
    assert "below 1e+06" in found.message


def test_whole_numbers_and_words_are_coordinates_too() -> None:
    def cost(x: list[Any]) -> float:
        assert isinstance(x[0], int)
        if x[1] == "broken":
            raise RuntimeError("it broke")
        return abs(x[0] - 4) + (x[1] == "slow")

    found = he.minimize(cost, [he.Integer(1, 9), ["quick", "slow", "broken"]], budget=10, **QUICK)
    assert found.x[1] != "broken"
    assert found.nfev == len(found.records) > len(found.x_iters)


@pytest.mark.parametrize(
    ("bounds", "more", "said"),
    [
        (he.Space(x=he.Real(0, 1)), {}, "use he.search"),
        ([(0, 1), "ab"], {}, "the bounds of coordinate 1 are 'ab'"),
        (3, {}, "bounds is 3"),
        ([(0, 1)], {"x0": [0.1, 0.2]}, "must have 1 coordinates"),
        ([(0, 1)], {"x0": [[0.1]], "y0": [1.0, 2.0]}, "y0 has 2 values for the 1 designs"),
        ([(0, 1)], {"budget": 1, "x0": [[0.1]]}, "above that of x0, 1"),
    ],
)
def test_what_cannot_be_used_is_named(bounds: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(he.InputError, match=said):
        he.minimize(lambda x: 0.0, bounds, **more)
