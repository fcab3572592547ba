"""Conditions as linear constraints: the clauses together are as true as the condition."""

import pytest
import torch
from torch import Tensor

from hentropy.core.spaces.evaluation import Columns, evaluate
from hentropy.core.spaces.expressions import parse
from hentropy.core.spaces.linear_constraints import Linear, linear
from support.expressions import KINDS, TABLES, Writer, designs

pytestmark = pytest.mark.core


def is_number(name: str) -> bool:
    return KINDS.get(name) is None


def holds(clauses: tuple[Linear, ...], columns: Columns) -> Tensor:
    """Whether all clauses hold, from their coefficients alone."""
    found = torch.tensor(True)
    choices = {name: column for name, column in columns.items() if column.levels}
    for clause in clauses:
        terms, constant = clause.coefficients(choices, TABLES)
        total = constant + sum(c * columns[name].values for name, c in terms.items())
        zero = total.abs() <= 1e-9
        found = found & (zero if clause.equal else (total < 0) & ~zero if clause.strict else (total < 0) | zero)
    return found


@pytest.mark.parametrize("seed", range(300))
def test_clauses_are_as_true_as_the_condition(seed: int) -> None:
    condition, columns = parse(Writer(seed, straight=True).condition(3)), designs(60, seed)
    clauses = linear(condition, is_number)
    if clauses is not None:
        assert torch.equal(holds(clauses, columns), evaluate(condition, columns, TABLES)), str(condition)
        for clause in clauses:
            for expression in (clause.guard, clause.constant, *(c for _, c in clause.terms)):
                assert expression is None or parse(str(expression)) == expression


def test_many_random_conditions_are_linear_with_numbers() -> None:
    found = [linear(parse(Writer(seed, straight=True).condition(3)), is_number) for seed in range(300)]
    assert sum(clauses is not None and any(clause.terms for clause in clauses) for clauses in found) > 60
    assert (
        sum(clauses is not None and any(clause.terms and clause.guard for clause in clauses) for clauses in found) > 20
    )
    assert sum(clauses is None for clauses in found) > 30


def shown(clause: Linear) -> str:
    """A clause in one line."""
    terms = " + ".join([*(f"{name}({c})" for name, c in clause.terms), str(clause.constant)])
    return f"{clause.guard or '-'} | {terms} {'==' if clause.equal else '<' if clause.strict else '<='} 0"


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("x + y <= 1", ["- | x(1) + y(1) + -1 <= 0"]),
        ("0 < x < y", ["- | x(-1) + 0 < 0", "- | x(1) + y(-1) + 0 < 0"]),
        ("2 * (x - y) / 4 >= 3 * x", ["- | x(2.5) + y(0.5) + 0 <= 0"]),
        ("x == 2 * y", ["- | x(1) + y(-2) + 0 == 0"]),
        ("not x != 1", ["- | x(1) + -1 == 0"]),
        ("x <= price[solvent]", ["- | x(1) + -price[solvent] <= 0"]),
        ("x * price[solvent] / count - 1 < y", ["- | x(price[solvent] / count) + y(-1) + -1 < 0"]),
        ("solvent != 'THF' or x <= 66", ["solvent != 'THF' | x(1) + -66 <= 0"]),
        ("not (solvent == 'THF' and x > 66)", ["solvent != 'THF' | x(1) + -66 <= 0"]),
        ("solvent == 'THF'", ["solvent == 'THF' | 1 <= 0"]),
        ("x <= 1 and stirred", ["- | x(1) + -1 <= 0", "stirred | 1 <= 0"]),
        ("x <= 1 and y <= 1 or stirred", ["stirred | x(1) + -1 <= 0", "stirred | y(1) + -1 <= 0"]),
        ("max(x, 2 * y) <= 1", ["- | x(1) + -1 <= 0", "- | y(2) + -1 <= 0"]),
        ("1 < min(x, y)", ["- | x(-1) + 1 < 0", "- | y(-1) + 1 < 0"]),
        ("-min(x, y) <= 1", ["- | x(-1) + -1 <= 0", "- | y(-1) + -1 <= 0"]),
        ("abs(x - 1) <= count", ["- | x(1) + -1 - count <= 0", "- | x(-1) + 1 - count <= 0"]),
        ("-2 * abs(x) >= -3", ["- | x(2) + -3 <= 0", "- | x(-2) + -3 <= 0"]),
        ("x <= (1 if stirred else y)", ["not stirred | x(1) + -1 <= 0", "stirred | x(1) + y(-1) + 0 <= 0"]),
        ("x <= 1 if stirred else y < 2", ["not stirred | x(1) + -1 <= 0", "stirred | y(1) + -2 < 0"]),
        ("0 < count < x", ["0 < count | 1 <= 0", "- | x(-1) + count < 0"]),
        ("True", ["True | 1 <= 0"]),
        ("x - x <= count", ["- | -count <= 0"]),
    ],
)
def test_clauses(text: str, clauses: list[str]) -> None:
    found = linear(parse(text), is_number)
    assert found is not None
    assert [shown(clause) for clause in found] == clauses
    columns = designs(200, 1)
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
    assert linear(parse(text), is_number) is None


def test_sums_of_absolute_values_have_a_limit() -> None:
    found = linear(parse(" + ".join(["abs(x)"] * 8) + " <= 1"), is_number)
    assert found is not None
    assert len(found) == 256
    assert linear(parse(" + ".join(["abs(x)"] * 9) + " <= 1"), is_number) is None


def test_a_long_conjunction_is_linear() -> None:
    found = linear(parse("and ".join(["x<1"] * 280)), is_number)
    assert found is not None
    assert len(found) == 280


def test_where_the_guard_holds_nothing_is_asked() -> None:
    columns = {"solvent": designs(50, 3)["solvent"], "count": designs(50, 3)["count"]}
    free = evaluate(parse("solvent == 'THF'"), columns, TABLES)
    for text, vacuous in (("solvent == 'THF' or count * x <= 5", -1.0), ("solvent == 'THF' or count * x == 5", 0.0)):
        [clause] = linear(parse(text), is_number) or ()
        terms, constant = clause.coefficients(columns, TABLES)
        assert torch.equal(terms["x"], torch.where(free, 0.0, evaluate(parse("count"), columns, TABLES)))
        assert torch.equal(constant, torch.where(free, vacuous, -5.0).double())
