"""Spaces: into the unit cube and back, what can be run, and errors that name the value."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hentropy.core.spaces import DesignSpace, Integer, Pool, Real, Space
from hentropy.errors import InputError

pytestmark = pytest.mark.numerics

MIXED = Space(a=Real(-3.0, -1.0), rate=Real(1e-4, 10.0, log=True), k=Integer(2, 7), width=Integer(1, 64, log=True))
TABLE = torch.tensor([[5.0, 1.0, 7.0], [6.0, -1.0, 7.0], [9.0, 0.0, 7.0], [5.5, 0.5, 7.0]], dtype=torch.float64)


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Boxes with bounds anywhere, straight or logarithmic, real or whole."""
    made: dict[str, Real | Integer] = {}
    for i in range(draw(st.integers(1, 4))):
        log = draw(st.booleans())
        low = draw(st.floats(1e-3, 1e3) if log else st.floats(-1e3, 1e3))
        width = draw(st.floats(1e-1, 1e3))
        if draw(st.booleans()):
            start = math.ceil(low)
            made[f"p{i}"] = Integer(start, start + max(1, int(width)), log)
        else:
            made[f"p{i}"] = Real(low, low + width, log)
    return Space(**made)


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 1000))
def test_into_the_unit_cube_and_back(space: Space, seed: int) -> None:
    u = torch.rand(3, 5, space.dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    x = space.from_cube(u)
    close(space.to_unit(x), u)
    low, high = space.bounds
    assert bool(((x >= low - 1e-9 * low.abs()) & (x <= high + 1e-9 * high.abs())).all())
    close(space.to_unit(space.bounds), torch.stack([torch.zeros(space.dim), torch.ones(space.dim)]).double())
    run = space.project(x)
    space.check(run)
    assert torch.equal(space.project(run), run)
    for row in run.reshape(-1, space.dim)[:3]:
        assert torch.equal(space.encode(space.decode(row)), row)


@settings(max_examples=30, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-2, 1e2), st.integers(0, 100))
def test_shift_and_scale_change_nothing(shift: float, scale: float, seed: int) -> None:
    plain = Space(x=Real(-1.0, 2.0), y=Real(0.5, 0.75))
    other = Space(x=Real(shift - scale, shift + 2.0 * scale), y=Real(shift + 0.5 * scale, shift + 0.75 * scale))
    x = plain.sample(8, seed)
    torch.testing.assert_close(other.sample(8, seed), shift + scale * x, rtol=1e-7, atol=1e-7 * scale)
    torch.testing.assert_close(other.to_unit(shift + scale * x), plain.to_unit(x), rtol=1e-7, atol=1e-7)


def test_logarithmic_parameters_are_straight_in_ratios() -> None:
    close(MIXED.from_cube(torch.full((4,), 0.5, dtype=torch.float64)),
          torch.tensor([-2.0, math.sqrt(1e-3), 4.5, 8.0], dtype=torch.float64))  # fmt: skip


def test_slopes_through_the_unit_cube_are_finite_differences() -> None:
    x = MIXED.from_cube(torch.full((2, 4), 0.3, dtype=torch.float64)).requires_grad_()
    u = torch.full((2, 4), 0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(MIXED.to_unit, [x])
    assert torch.autograd.gradcheck(MIXED.from_cube, [u])
    outside = torch.tensor([[-5.0, 0.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(MIXED.to_unit(outside).sum(), outside)
    assert bool(torch.isfinite(slope).all())


def test_projection_clamps_and_rounds() -> None:
    x = torch.tensor([[-9.0, 20.0, 3.6, 0.2], [-1.5, 1.0, 9.4, 70.0]], dtype=torch.float64)
    expected = torch.tensor([[-3.0, 10.0, 4.0, 1.0], [-1.5, 1.0, 7.0, 64.0]], dtype=torch.float64)
    assert torch.equal(MIXED.project(x), expected)


def test_samples_fill_the_space() -> None:
    x = MIXED.sample(4096, seed=3)
    MIXED.check(x)
    assert torch.equal(x, MIXED.sample(4096, seed=3))
    assert not torch.equal(x, MIXED.sample(4096, seed=4))
    quarters = torch.histc(MIXED.to_unit(x)[:, 1], 4, 0, 1)
    assert float((quarters - 1024).abs().max()) <= 4
    whole = torch.bincount(x[:, 2].long(), minlength=8)[2:]
    assert len(whole) == 6
    assert float((whole - 4096 / 6).abs().max()) <= 6
    shares = torch.bincount(x[:, 3].long(), minlength=65)[1:] / 4096
    k = torch.arange(1, 65)
    expected = torch.log((k + 0.5) / (k - 0.5)) / math.log(64.5 / 0.5)  # each by the ratio of its cell's edges
    assert float((shares - expected).abs().max()) < 4e-3


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_a_pool_gives_its_rows_without_repetition_while_it_lasts(count: int) -> None:
    pool = Pool(TABLE)
    rows = pool.sample(count, seed=1)
    assert rows.shape == (count, 3)
    pool.check(rows)
    assert len(torch.unique(rows, dim=0)) == min(count, 4)
    assert torch.equal(rows, pool.sample(count, seed=1))


def test_a_pool_of_repeated_rows_gives_each_as_often_as_it_is_there() -> None:
    assert len(Pool([[1.0], [1.0], [2.0]]).sample(3, seed=0)) == 3


FORMS: list[tuple[Any, tuple[str, ...]]] = [
    (TABLE, ("x1", "x2", "x3")),
    (TABLE.clone().requires_grad_(), ("x1", "x2", "x3")),
    (TABLE.numpy(), ("x1", "x2", "x3")),
    (TABLE.tolist(), ("x1", "x2", "x3")),
    (pd.DataFrame(TABLE.numpy(), columns=["heat", "time", "salt"]), ("heat", "time", "salt")),
]


@pytest.mark.parametrize(("rows", "names"), FORMS, ids=["tensor", "with gradient", "array", "lists", "DataFrame"])
def test_a_pool_from_any_table(rows: Any, names: tuple[str, ...]) -> None:
    pool = Pool(rows)
    assert pool.names == names
    assert torch.equal(pool.points, TABLE)
    assert pool.points.dtype == torch.float64
    assert torch.equal(pool.bounds, torch.stack([TABLE.min(0).values, TABLE.max(0).values]))
    close(pool.from_cube(pool.to_unit(TABLE)), TABLE)
    assert Pool(rows, names=["a", "b", "c"]).names == ("a", "b", "c")
    assert torch.equal(pool.encode(dict(zip(names, TABLE[2].tolist(), strict=True))), TABLE[2])


def test_a_pool_does_not_change_with_the_array_it_came_from() -> None:
    array = TABLE.numpy().copy()
    pool = Pool(array)
    array[:] = 0.0
    assert torch.equal(pool.points, TABLE)


def test_the_nearest_row_counts_by_the_range_of_each_column() -> None:
    pool = Pool([[0.0, 0.0], [1.0, 0.0], [0.0, 1000.0]])
    x = torch.tensor([[[0.4, 100.0]], [[0.9, 400.0]], [[0.1, 600.0]]], dtype=torch.float64)
    assert torch.equal(pool.project(x)[:, 0], pool.points)


def test_rows_that_nearly_coincide_are_told_apart() -> None:
    step = torch.arange(100, dtype=torch.float64)[:, None] * 1e-10
    rows = torch.cat([torch.cat([0.5 + step, 0.5 - step], -1), torch.tensor([[0.0, 0.0], [1.0, 1.0]]).double()])
    assert torch.equal(Pool(rows).project(rows), rows)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"a": -2.0}, "misses rate, k, width; its parameters are a, rate, k, width"),
        ({"a": -2.0, "rate": 1.0, "k": 3, "width": 4, "b": 1}, "has unknown b"),
        ({"a": -0.5, "rate": 1.0, "k": 3, "width": 4}, r"parameter a is -0.5, outside \[-3, -1\]"),
        ({"a": -2.0, "rate": 0.0, "k": 3, "width": 4}, r"parameter rate is 0.0, outside \[0.0001, 10\]"),
        ({"a": -2.0, "rate": 1.0, "k": 3.5, "width": 4}, "parameter k is 3.5; it must be a whole number"),
        ({"a": -2.0, "rate": 1.0, "k": 8, "width": 4}, r"parameter k is 8.0, outside \[2, 7\]"),
        ({"a": float("nan"), "rate": 1.0, "k": 3, "width": 4}, "parameter a is nan"),
        ({"a": -2.0, "rate": math.inf, "k": 3, "width": 4}, "parameter rate is inf"),
        ({"a": "red", "rate": 1.0, "k": 3, "width": 4}, "parameter a is 'red'; it must be a number"),
        ({"a": None, "rate": 1.0, "k": 3, "width": 4}, "parameter a is None; it must be a number"),
    ],
)
def test_designs_that_cannot_be_run_are_named(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MIXED.encode(params)


def test_the_value_at_fault_is_found_in_a_batch() -> None:
    x = MIXED.sample(6, seed=0).reshape(2, 3, 4)
    x[1, 2, 2] = 7.25
    with pytest.raises(InputError, match=r"parameter k is 7.25, outside \[2, 7\]"):
        MIXED.check(x)
    with pytest.raises(InputError, match=r"have 4 coordinates \(a, rate, k, width\), got shape \(2, 3\)"):
        MIXED.check(torch.zeros(2, 3))


def test_numbers_of_other_libraries_are_numbers() -> None:
    row = MIXED.encode({"a": np.float32(-2.0), "rate": torch.tensor(1.0), "k": np.int64(3), "width": 4})
    assert row.tolist() == [-2.0, 1.0, 3.0, 4.0]
    assert MIXED.decode(row) == {"a": -2.0, "rate": 1.0, "k": 3, "width": 4}
    assert [type(v) for v in MIXED.decode(row).values()] == [float, float, int, int]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Real(1.0, 1.0), "lower bound 1.0 must be below the upper bound 1.0"),
        (lambda: Real(2, 1), "lower bound 2 must be below the upper bound 1"),
        (lambda: Real(0.0, math.inf), "bounds 0.0, inf must be finite"),
        (lambda: Real(math.nan, 1.0), "bounds nan, 1.0 must be finite"),
        (lambda: Real(0.0, 1.0, log=True), "lower bound above 0, got 0.0"),
        (lambda: Integer(0, 9, log=True), "lower bound above 0, got 0"),
        (lambda: Real(0.0, 1e300, step=1e-300), "step 1e-300 is too small for the range"),
        (lambda: Integer(1, 2.5), "whole numbers, got 1 and 2.5"),
        (lambda: Space(), "at least one parameter"),
        (lambda: Space(x=(0, 1)), r"parameter x is \(0, 1\)"),
        (lambda: Space.box([0.0, 0.0], [1.0]), r"as many lower as upper bounds, got \[0.0, 0.0\] and \[1.0\]"),
        (lambda: Pool(torch.zeros(0, 2)), "at least one row.*got 2 columns of 0 rows"),
        (lambda: Pool(torch.zeros(2, 2, 2)), r"got shape \(2, 2, 2\)"),
        (lambda: Pool([[0.0, 1.0], [0.0, math.nan]]), "row 1 of the pool has the value nan in column x2"),
        (lambda: Pool([["red"], [2.0]]), "row 1 of the pool has the value 2.0 in column x1, which has texts elsewhere"),
        (lambda: Pool([[1.0, 2.0], [3.0]]), "table of numbers"),
        (lambda: Pool(TABLE, names=["a"]), r"3 columns but 1 names: \['a'\]"),
        (lambda: Pool(TABLE, names=["a", "b", "a"]), r"must differ, got \['a', 'b', 'a'\]"),
        (lambda: Pool(TABLE).check(TABLE[:1] + 0.1), "is .*, outside|is not in the pool of 4 designs"),
        (lambda: Pool(TABLE[:, :2]).check(torch.tensor([[5.2, 0.1]])), "'x1': 5.19.*is not in the pool of 4 designs"),
    ],
)
def test_what_cannot_be_a_space_is_named(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("space", [MIXED, Pool(TABLE), Pool([1.0, 2.0, 5.0])], ids=["space", "pool", "column"])
def test_every_space_keeps_the_same_promises(space: DesignSpace) -> None:
    x = space.sample(3, seed=2)
    space.check(x)
    assert x.shape == (3, space.dim)
    assert torch.equal(space.project(x), x)
    close(space.from_cube(space.to_unit(x)), x)
    close(space.encode(space.decode(x[0])), x[0])
    assert (space.points is None) == isinstance(space, Space)
    assert repr(space).startswith(type(space).__name__)


def test_a_box_is_a_space_of_reals() -> None:
    box = Space.box([0.0, -5.0], [1.0, 5.0])
    assert box.names == ("x1", "x2")
    assert box.bounds.tolist() == [[0.0, -5.0], [1.0, 5.0]]


@pytest.mark.parametrize("bounds", [(-1e308, 1e308), (0, 10**400)])
def test_ranges_that_no_number_can_hold_are_refused(bounds: tuple) -> None:
    with pytest.raises(InputError, match="too wide for double precision"):
        Integer(*bounds)


@pytest.mark.parametrize("high", [2**62, 2**63 - 1, 2**70, 2**1000])
def test_grids_too_long_for_a_whole_number_are_not_listed(high: int) -> None:
    space = Space(x=Integer(0, high), y=Integer(0, 2))
    assert space.points is None
    assert len(space.sample(3, seed=0)) == 3


def test_rows_of_a_pool_are_found_without_their_ids() -> None:
    pool = Pool(
        [["A1", "Fe", 1.0, 3.0], ["A2", "Ti", 2.0, 4.0]],
        ["sample", "alloy", "x", "price"],
        id="sample",
        ignore=["price"],
    )
    row = {"sample": "A2", "alloy": "Ti", "x": 2.0, "price": 4.0}
    assert pool.cleaned({"alloy": "Ti", "x": 2.0}) == pool.cleaned({"sample": "A2"}) == pool.cleaned(row) == row
    with pytest.raises(InputError, match="misses x; its parameters are alloy, x"):
        pool.encode({"alloy": "Ti"})
