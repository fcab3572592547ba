"""Conditions as linear constraints: the clauses together are as true as the condition."""

import pytest
import torch
from torch import Tensor

from hentropy.core.spaces import Levels, Real, Space
from hentropy.core.spaces.evaluation import Columns, ParameterColumn, evaluate
from hentropy.core.spaces.expressions import parse
from hentropy.core.spaces.linear_constraints import Clause, half_spaces
from support.expressions import TABLES, Writer, at, designs
from support.tiers import nightly

pytestmark = pytest.mark.smoke


def linear(text: str, columns: Columns | None = None) -> list[Clause] | None:
    """The clauses of a condition, for the choices of some designs alone."""
    choices = {
        name: column if column.levels else ParameterColumn(torch.full_like(column.values, torch.nan))
        for name, column in (columns or designs(1, 0)).items()
    }
    return half_spaces(parse(text), choices, TABLES)


def holds(clauses: list[Clause], columns: Columns) -> Tensor:
    """Whether all clauses hold, from their coefficients alone."""
    found = torch.tensor(True)
    for clause in clauses:
        total = clause.constant + sum(slope * columns[name].values for name, slope in clause.slopes.items())
        total = torch.as_tensor(total)
        zero = total.abs() <= 1e-9
        one = zero if clause.equal else (total < 0) & ~zero if clause.strict else (total < 0) | zero
        found = found & (one if clause.free is None else one | clause.free)
    return found


@pytest.mark.parametrize("seed", [*range(100), *map(nightly, range(100, 300))])
def test_clauses_are_as_true_as_the_condition(seed: int) -> None:
    text, columns = Writer(seed, straight=True).condition(3), designs(60, seed)
    clauses = linear(text, columns)
    assert (clauses is None) == (linear(text) is None), "this depends on the condition alone"
    if clauses is not None:
        assert torch.equal(holds(clauses, columns).expand(60), evaluate(parse(text), columns, TABLES)), text


def test_many_random_conditions_are_linear_with_numbers() -> None:
    found = [linear(Writer(seed, straight=True).condition(3)) for seed in range(300)]
    some = [[clause for clause in clauses if clause.slopes] for clauses in found if clauses is not None]
    assert sum(bool(clauses) for clauses in some) > 60
    assert sum(any(clause.free is not None for clause in clauses) for clauses in some) > 20
    assert sum(clauses is None for clauses in found) > 30


TWO = at(x=[0.3, -1.0], y=[1.5, -0.7], solvent=["THF", "water"], count=[2, 4], stirred=[False, True])


def shown(clause: Clause) -> str:
    """A clause in one line; what differs between two designs with a bar between."""

    def both(value: Tensor | float) -> str:
        return "|".join(dict.fromkeys(f"{each:g}" for each in torch.as_tensor(value).double().expand(2).tolist()))

    free = "0" if clause.free is None else both(clause.free)
    terms = " + ".join([*(f"{name}({both(slope)})" for name, slope in clause.slopes.items()), both(clause.constant)])
    return f"free({free}) or {terms} {'==' if clause.equal else '<' if clause.strict else '<='} 0"


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("x + y <= 1", ["free(0) or x(1) + y(1) + -1 <= 0"]),
        ("0 < x < y", ["free(0) or x(-1) + 0 < 0", "free(0) or x(1) + y(-1) + 0 < 0"]),
        ("2 * (x - y) / 4 >= 3 * x", ["free(0) or x(2.5) + y(0.5) + 0 <= 0"]),
        ("x == 2 * y", ["free(0) or x(1) + y(-2) + 0 == 0"]),
        ("not x != 1", ["free(0) or x(1) + -1 == 0"]),
        ("x <= price[solvent]", ["free(0) or x(1) + -2|0.5 <= 0"]),
        ("x * price[solvent] / count - 1 < y", ["free(0) or x(1|-0.125) + y(-1) + -1 < 0"]),
        ("solvent != 'THF' or x <= 66", ["free(0|1) or x(1) + -66 <= 0"]),
        ("not (solvent == 'THF' and x > 66)", ["free(0|1) or x(1) + -66 <= 0"]),
        ("solvent == 'THF'", ["free(1|0) or 1 <= 0"]),
        ("x <= 1 and stirred", ["free(0) or x(1) + -1 <= 0", "free(0|1) or 1 <= 0"]),
        ("x <= 1 and y <= 1 or stirred", ["free(0|1) or x(1) + -1 <= 0", "free(0|1) or y(1) + -1 <= 0"]),
        ("max(x, 2 * y) <= 1", ["free(0) or x(1) + -1 <= 0", "free(0) or y(2) + -1 <= 0"]),
        ("1 < min(x, y)", ["free(0) or x(-1) + 1 < 0", "free(0) or y(-1) + 1 < 0"]),
        ("-min(x, y) <= 1", ["free(0) or x(-1) + -1 <= 0", "free(0) or y(-1) + -1 <= 0"]),
        ("abs(x - 1) <= count", ["free(0) or x(1) + -3|-5 <= 0", "free(0) or x(-1) + -1|-3 <= 0"]),
        ("-2 * abs(x) >= -3", ["free(0) or x(2) + -3 <= 0", "free(0) or x(-2) + -3 <= 0"]),
        ("x <= (1 if stirred else y)", ["free(1|0) or x(1) + -1 <= 0", "free(0|1) or x(1) + y(-1) + 0 <= 0"]),
        ("x <= 1 if stirred else y < 2", ["free(1|0) or x(1) + -1 <= 0", "free(0|1) or y(1) + -2 < 0"]),
        ("0 < count < x", ["free(1) or 1 <= 0", "free(0) or x(-1) + 2|4 < 0"]),
        ("True", ["free(1) or 1 <= 0"]),
        ("x - x <= count", ["free(0) or -2|-4 <= 0"]),
    ],
)
def test_clauses(text: str, clauses: list[str]) -> None:
    found = linear(text, TWO)
    assert found is not None
    assert [shown(clause) for clause in found] == clauses
    columns = designs(200, 1)
    found = linear(text, columns)
    assert found is not None
    assert torch.equal(holds(found, columns).expand(200), evaluate(parse(text), columns, TABLES))


@pytest.mark.parametrize(
    "text",
    [
        "x * y <= 1",
        "x ** 2 <= 1",
        "1 / x <= 1",
        "exp(x) <= 1",
        "x <= 1 or y <= 1",
        "not (x <= 1 and y <= 1)",
        "x != 1",
        "x in [1, 2]",
        "max(x, y) >= 1",
        "min(x, y) <= 1",
        "abs(x) >= 1",
        "abs(x) == 1",
        "price[solvent] * abs(x) <= 1",
        "x <= (1 if y < 1 else 2)",
        "x <= 1 if y < 1 else x <= 2",
        "(x <= 1) == stirred",
        "x / 0 <= 1",
        " + ".join(["abs(x)"] * 100) + " <= 1",
    ],
)
def test_what_is_no_conjunction_of_linear_clauses(text: str) -> None:
    assert linear(text) is None


def test_sums_of_absolute_values_have_a_limit() -> None:
    found = linear(" + ".join(["abs(x)"] * 8) + " <= 1")
    assert found is not None
    assert len(found) == 256
    assert linear(" + ".join(["abs(x)"] * 9) + " <= 1") is None


def test_a_long_conjunction_is_linear() -> None:
    found = linear("and ".join(["x<1"] * 280))
    assert found is not None
    assert len(found) == 280


@pytest.mark.parametrize("sign", ["<=", "=="])
def test_where_the_guard_holds_nothing_is_asked(sign: str) -> None:
    x, count = Real(0.0, 10.0), Levels([1, 2, 4])
    space = Space(x=x, count=count, solvent=["THF", "water"], where=[f"solvent == 'THF' or count * x {sign} 5"])
    designs = space.encode_many([{"x": 1.25, "count": 4, "solvent": solvent} for solvent in ("THF", "water")])
    assert space._feasible is not None
    slopes, constant, [clause] = space._feasible._half_spaces(designs)
    assert clause.equal == (sign == "==")
    assert slopes[:, 0].tolist() == [[0.0] * space.dim, [4.0] + [0.0] * (space.dim - 1)]
    assert constant.tolist() == [[0.0 if clause.equal else -1.0], [-5.0]]
