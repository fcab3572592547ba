"""What expressions mean: their values against Python's own `eval`, violations, gradients, and every misfit."""

import math

import pytest
import torch

from hentropy.core.spaces.evaluation import Categories, ParameterColumn, Tables, check, evaluate, violation
from hentropy.core.spaces.expressions import parse
from hentropy.errors import InputError
from support.expressions import KINDS, TABLES, at, by_python, designs, plain, written
from support.tiers import nightly

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("seed", [*range(100), *map(nightly, range(100, 400))])
def test_values_are_those_of_python(seed: int) -> None:
    text, condition = written(seed)
    expression = parse(text)
    check(expression, KINDS, TABLES, condition=condition)
    columns, python = designs(24, seed), by_python(text)
    found = evaluate(expression, columns, TABLES)
    assert found.shape == (24,)
    assert (found.dtype == torch.bool) == condition
    for i in range(24):
        try:
            expected = python(plain(columns, i))
        except (ZeroDivisionError, OverflowError, ValueError):
            continue  # a value that is infinite or not a number here
        assert bool(found[i]) == expected if condition else math.isclose(found[i], expected, rel_tol=1e-7, abs_tol=1e-9)


def test_python_gives_values_to_compare_with() -> None:
    compared = 0
    for seed in range(0, 400, 7):
        python = by_python(written(seed)[0])
        for i in range(24):
            try:
                python(plain(designs(24, seed), i))
                compared += 1
            except (ZeroDivisionError, OverflowError, ValueError):
                pass
    assert compared > 0.6 * 58 * 24


@pytest.mark.parametrize("seed", [*range(1, 200, 2), *map(nightly, range(201, 600, 2))])
def test_the_violation_is_zero_where_a_condition_holds(seed: int) -> None:
    expression = parse(written(seed)[0])
    columns = dict(designs(24, seed))
    for name in ("x", "y"):
        columns[name] = ParameterColumn(columns[name].values.requires_grad_())
    found = violation(expression, columns, TABLES)
    assert torch.equal(found == 0, evaluate(expression, columns, TABLES))
    assert (found >= 0).all()
    if found.requires_grad:
        for slope in torch.autograd.grad(found.sum(), [columns["x"].values, columns["y"].values], allow_unused=True):
            assert slope is None or slope.isfinite().all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("z < 1", "there is no parameter z; known are x, y, count, solvent, grade, least, stirred"),
        ("1 < cuont", "there is no parameter cuont; did you mean count? known are x, "),
        ("true", "there is no parameter true; did you mean True?"),
        ("price < 1", "price is a table; say of which parameter, as in 'price[...]'"),
        ("x < 'THF'", "x is a number and 'THF' is a text, so they cannot be compared"),
        ("'a' == 'b'", "'a' and 'b' are both texts; compare a parameter with a text"),
        ("solvent == x", "solvent is a choice and x is a number, so they cannot be compared"),
        ("solvent == 1", "1 is not an option of solvent; known are 'THF', 'water', 'DMF'"),
        ("solvent == 'TFH'", "'TFH' is not an option of solvent; did you mean 'THF'? known are 'THF', 'water', 'DMF'"),
        ("solvent in ['THF', 'wate']", "'wate' is not an option of solvent; did you mean 'water'?"),
        ("'ice' != solvent", "'ice' is not an option of solvent; known are"),
        ("grade < 'd'", "'d' is not an option of grade"),
        ("count == 3", "3 is not an option of count; known are 1, 2, 4"),
        ("stirred == 1", "1 is not an option of stirred; known are True, False"),
        ("solvent < 'THF'", "the options of solvent have no order, so '<' cannot compare them; use == or in"),
        ("solvent == grade", "solvent and grade have no option in common, so '==' cannot compare them"),
        ("stirred < True", "stirred is a condition; '<' compares numbers"),
        ("(x < 1) == 2", "x < 1 is a condition and 2 is a number, so they cannot be compared"),
        ("x in ['a']", "x is a number and 'a' is a text, so they cannot be compared"),
        (
            "solvent + 1 < 2",
            "solvent is a choice, but a number is needed; a table can give a number to each option, as in ",
        ),
        ("abs(solvent) < 2", "solvent is a choice, but a number is needed"),
        ("x + 'a' < 2", "'a' is a text, but a number is needed"),
        ("(x < 1) * 2 < 1", "x < 1 is a condition, but a number is needed; for a number, write '1 if ... else 0'"),
        ("stirred + 1 < 2", "stirred is a condition, but a number is needed"),
        ("x and y < 1", "x is a number, but a condition is needed; compare it with a number, as in 'x > 0'"),
        ("not solvent", "solvent is a choice, but a condition is needed; compare it with one of its options, as in "),
        ("x", "x is a number, but a condition is needed"),
        ("x < 1 if y else x < 2", "y is a number, but a condition is needed"),
        ("x < 1 if stirred else 2", "2 is a number, but a condition is needed"),
        ("(x < 1 if stirred else 2) == True", "2 is a number, but a condition is needed"),
        ("x < (1 if stirred else x < 2)", "x < 2 is a condition, but a number is needed"),
        ("x < ('a' if stirred else 'b')", "'a' is a text, but a number is needed"),
        ("x < prise[solvent]", "there is no table prise; did you mean price? known are price, time"),
        ("x < price[x]", "x is a number; the table price needs a choice"),
        ("x < price[grade]", "the table price has no entry for 'a_low', 'b_mid', 'c_high'; add it"),
        ("x < price['ice']", "the table price has no entry for 'ice'; add it"),
        ("x < price[solvant]", "there is no parameter solvant; did you mean solvent?"),
        ("x < broken[solvent]", "the table broken has nan for 'THF'; a finite number is needed"),
    ],
)
def test_mistakes_in_what_an_expression_means(text: str, said: str) -> None:
    tables: Tables = TABLES if "broken" not in text else {"broken": {"THF": math.nan, "water": 1.0, "DMF": 1.0}}
    with pytest.raises(InputError) as caught:
        check(parse(text), KINDS, tables, condition=True)
    assert str(caught.value).startswith(f'in the expression "{text}", ')
    assert said in str(caught.value)


def test_a_cost_is_a_number_and_orders_must_be_the_same() -> None:
    with pytest.raises(InputError, match="x < 1 is a condition, but a number is needed"):
        check(parse("x < 1"), KINDS, TABLES, condition=False)
    check(parse("1 if x < 1 else 20"), KINDS, TABLES, condition=False)
    check(parse("count + price[solvent]"), KINDS, TABLES, condition=False)
    other = {**KINDS, "other": Categories(("a_low", "c_high"), ordered=True)}
    check(parse("other == grade"), other, TABLES, condition=True)
    with pytest.raises(InputError, match="other and grade have different options, so '<' cannot compare them"):
        check(parse("other < grade"), other, TABLES, condition=True)


def test_choices_are_compared_by_option_not_by_position() -> None:
    one, two = Categories(("a", 1, True)), Categories((True, "b", "a"))
    columns = {
        "p": ParameterColumn(torch.tensor([0, 1, 2, 0]), one),
        "q": ParameterColumn(torch.tensor([2, 0, 0, 1]), two),
    }
    for text, expected in {
        "p == q": [True, False, True, False],
        "p != q": [False, True, False, True],
        "p == 1": [False, True, False, False],
        "p == True": [False, False, True, False],
        "q in ['a', 'b']": [True, False, False, True],
    }.items():
        check(parse(text), {"p": one, "q": two}, {}, condition=True)
        assert evaluate(parse(text), columns, {}).tolist() == expected
        assert (violation(parse(text), columns, {}) == 0).tolist() == expected


@pytest.mark.parametrize(("size", "off"), [(1.0, 1e-12), (1e6, 1e-7), (1e-6, 1e-12), (-1e3, 1e-9)])
def test_rounding_moves_no_design_across_a_boundary(size: float, off: float) -> None:
    x = [size - 1e-6 * abs(size) - 1e-6, size - off, size, size + off, size + 1e-6 * abs(size) + 1e-6]
    columns = at(x=x, b=[size] * 5)
    below, equal, above = (torch.tensor(holds) for holds in ([1, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 1]))
    for sign, holds in {
        "<": below, "<=": below + equal, "==": equal, "!=": below + above, ">=": equal + above, ">": above
    }.items():  # fmt: skip
        for text in (f"x {sign} b", f"not (not x {sign} b)"):
            assert torch.equal(evaluate(parse(text), columns, {}), holds.bool()), text
            assert torch.equal(violation(parse(text), columns, {}) == 0, holds.bool()), text
        assert torch.equal(evaluate(parse(f"not x {sign} b"), columns, {}), ~holds.bool())
        assert torch.equal(violation(parse(f"not x {sign} b"), columns, {}) == 0, ~holds.bool())


def test_shapes_broadcast() -> None:
    columns = {
        "x": ParameterColumn(torch.arange(3.0, dtype=torch.float64)),
        "solvent": ParameterColumn(torch.tensor([[0], [2]]), KINDS["solvent"]),
        "n": ParameterColumn(torch.tensor(2)),
    }
    found = evaluate(parse("x * n + price[solvent]"), columns, TABLES)
    assert found.tolist() == [[2.0, 4.0, 6.0], [4.0, 6.0, 8.0]]
    assert found.dtype == torch.float64
    for text in ("7", "x", "price[solvent]", "price['THF']"):
        assert evaluate(parse(text), columns, TABLES).shape == (2, 3)
    for text in ("True", "x < 1", "solvent == 'THF'"):
        assert evaluate(parse(text), columns, TABLES).shape == (2, 3)
        assert violation(parse(text), columns, TABLES).shape == (2, 3)


def test_single_precision_and_whole_numbers_are_taken() -> None:
    columns = {
        "x": ParameterColumn(torch.tensor([0.5, 2.0], requires_grad=True)),
        "y": ParameterColumn(torch.tensor([1, 3])),
        "solvent": ParameterColumn(torch.tensor([0, 1]), KINDS["solvent"]),
    }
    assert evaluate(parse("max(x, 1) + y / 2 + price[solvent]"), columns, TABLES).tolist() == [3.5, 3.0]
    found = violation(
        parse("(x <= 1 or solvent == 'THF') and y < 2 and (x if y < 2 else 1) <= price[solvent]"),
        columns,
        {"price": TABLES["price"]},
    )
    torch.testing.assert_close(found.double(), torch.tensor([0.0, 1.0 + 1.0 + 1.5], dtype=torch.float64))


@pytest.mark.parametrize(
    ("text", "x", "slope"),
    [
        ("sqrt(x) if x > 0 else 2 * x", [-1.0, 0.0, 4.0], [2.0, 2.0, 0.25]),
        ("1 / x if x != 0 else 0", [0.0, 2.0], [0.0, -0.25]),
        ("0 if x <= 0 else log(x)", [-1.0, 0.0, 2.0], [0.0, 0.0, 0.5]),
        ("exp(x) if x < 10 else x", [0.0, 1000.0], [1.0, 1.0]),
        ("x ** 0.5 if x >= 1 else x ** 2", [-1.0, 0.0, 4.0], [-2.0, 0.0, 0.25]),
        ("x ** 2 + x ** -1 + x ** 3", [-2.0], [-4.0 - 0.25 + 12.0]),
        (
            "(sqrt(x) if x > 1 else 1 / x) if x > 0 else x ** 1.5 if x > 5 else 3 * x",
            [-1.0, 0.0, 4.0],
            [3.0, 3.0, 0.25],
        ),
        ("min(sqrt(x), x - 1)", [0.0, 4.0], [1.0, 0.25]),
    ],
)
def test_branches_not_taken_leave_the_gradient_alone(text: str, x: list[float], slope: list[float]) -> None:
    values = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    found = evaluate(parse(text), {"x": ParameterColumn(values)}, {})
    torch.testing.assert_close(torch.autograd.grad(found.sum(), values)[0].tolist(), slope)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x <= 1", 2.0),
        ("x >= 1", 0.0),
        ("x == 1 and y >= 0", 4.0),
        ("x == 1 or y >= 0", 2.0),
        ("0 <= x <= 1 <= y", 2.0 + 3.0),
        ("not (x > 1)", 2.0),
        ("not (x <= 5 and y <= 0)", 2.0),
        ("x in [1, 2.5]", 0.5),
        ("solvent == 'water'", 1.0),
        ("stirred", 1.0),
        ("solvent == 'water' or x <= 2.5", 0.5),
        ("(x <= 1) == (y <= 1)", 2.0),
        ("x <= 1 if y <= 0 else x >= 5", 2.0),
        ("x <= (1 if stirred else 2)", 1.0),
        ("log(y) <= 0", 1.0),
    ],
)
def test_how_far_a_design_is_from_a_condition(text: str, expected: float) -> None:
    columns = at(x=[3.0], y=[-2.0], solvent=["THF"], stirred=[False])
    torch.testing.assert_close(violation(parse(text), columns, {}).item(), expected, rtol=0, atol=1e-7)


def test_descent_finds_a_feasible_design() -> None:
    condition = parse("x + y <= 1 and x - y >= 0.5 and (stirred or sqrt(x) <= 0.5) and abs(y) < 0.5")
    stirred = ParameterColumn(torch.tensor([1] * 8), KINDS["stirred"])
    xy = (4 * torch.rand(2, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1).requires_grad_()
    assert not evaluate(condition, {**_columns(xy), "stirred": stirred}, {}).any()
    for step in range(400):
        [slope] = torch.autograd.grad(violation(condition, {**_columns(xy), "stirred": stirred}, {}).sum(), xy)
        xy = (xy - 0.2 / (1 + 0.1 * step) * slope.clamp(-1, 1)).detach().requires_grad_()
    assert evaluate(condition, {**_columns(xy), "stirred": stirred}, {}).all()


def _columns(xy: torch.Tensor) -> dict[str, ParameterColumn]:
    return {"x": ParameterColumn(xy[0]), "y": ParameterColumn(xy[1])}
