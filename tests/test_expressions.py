"""Conditions and costs as texts: how they are read, how they are written, and every mistake in them."""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hentropy.core.spaces.evaluation import check, evaluate, violation
from hentropy.core.spaces.expressions import Chain, Literal, parse
from hentropy.core.spaces.linear_constraints import half_spaces
from hentropy.errors import InputError
from support.expressions import KINDS, TABLES, at, designs, written

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize("seed", range(400))
def test_texts_of_trees_are_read_back(seed: int) -> None:
    expression = parse(written(seed)[0])
    text = str(expression)
    assert parse(text) == expression
    assert hash(parse(text)) == hash(expression)
    assert str(parse(text)) == text
    assert len(text) <= len(written(seed)[0])


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((a + b)) + (c)", "a + b + c"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a * b) / c * (d / e)", "a * b / c * (d / e)"),
        ("-2 ** 2", "-2 ** 2"),
        ("(-2) ** 2", "(-2) ** 2"),
        ("(a ** b) ** c", "(a ** b) ** c"),
        ("a ** (b ** -c)", "a ** b ** -c"),
        ("- (5)", "-5"),
        ("+x * -y", "x * -y"),
        ("1.50 + 2.0 + 1e3 + .5 + 1e-7", "1.5 + 2 + 1000 + 0.5 + 1e-07"),
        ("(0 < x) == (y < 1)", "(0 < x) == (y < 1)"),
        ("not (a == b)", "not a == b"),
        ("(not a) == b", "(not a) == b"),
        ("(a and (b and c)) or d", "a and b and c or d"),
        ("a and (b or c)", "a and (b or c)"),
        ("(a if b else c) if d else (e if f else g)", "(a if b else c) if d else e if f else g"),
        ('x not  in ( 1, -2, "it\'s",True )', "x not in [1, -2, 'it\\'s', True]"),
        ("`boiling point`[ solvent ] > `in` + `x`", "`boiling point`[solvent] > `in` + x"),
        ("`a``b` <= lambda + température", "`a``b` <= lambda + température"),
        ("price['a\\\\b'] + max(a, (b), c + 1)", "price['a\\\\b'] + max(a, b, c + 1)"),
        ("min <= max(exp, 1)", "min <= max(exp, 1)"),
    ],
)
def test_canonical_texts(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


def test_what_an_expression_uses() -> None:
    expression = parse("`a b` + x <= price[solvent] + price['THF'] * time[count] or stirred")
    assert expression.names == {"a b", "x", "solvent", "count", "stirred"}
    conditions = ["x < 1", "not a", "a and b", "x in [1]", "True", "a < 1 if b else c < 1"]
    assert all(parse(text).is_condition for text in conditions)
    assert not any(
        parse(text).is_condition for text in ["x", "1", "-x", "x + 1", "min(1, x)", "t[a]", "1 if a < 1 else 2"]
    )
    assert Literal(True) != Literal(1.0)
    assert parse("x == True") != parse("x == 1")


LEAF = "expected a number, a name or a bracket"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("x = 3", 3, "write '==' instead of '='"),
        ("x =< 3", 3, "write '<=' instead of '=<'"),
        ("x => 3", 3, "write '>=' instead of '=>'"),
        ("x <> 3", 3, "write '!=' instead of '<>'"),
        ("x ≤ 3", 3, "write '<=' instead of '≤'"),
        ("x === 3", 5, "write '==' instead of '='"),
        ("x is 3", 3, "write '==' instead of 'is'"),
        ("a && b", 3, "write 'and' instead of '&&'"),
        ("a || b", 3, "write 'or' instead of '||'"),
        ("!a", 1, "write 'not' instead of '!'"),
        ("x ^ 2", 3, "write '**' instead of '^'"),
        ("a AND b", 3, "write 'and' instead of 'AND'"),
        ("a == \u2018THF\u2019", 6, "write \"'\" instead of '\u2018'"),
        ("(x + 1", 1, "the bracket '(' is never closed; add ')'"),
        ("min(x, price[a", 13, "the bracket '[' is never closed; add ']'"),
        ("x + 1)", 6, "the bracket ')' is never opened; remove it"),
        ("(x + 1]", 7, "']' cannot close '('; write ')'"),
        ("[x + 1] < 2", 1, "write '(' instead of '['"),
        ("sqr(x)", 1, "there is no function sqr; did you mean sqrt? known are abs, min, max, exp, log, sqrt"),
        ("1 + foo(x)", 5, "there is no function foo; known are abs, min, max, exp, log, sqrt"),
        ("1 + abs(x, y)", 5, "abs takes one argument, got 2"),
        ("exp()", 1, "exp takes one argument, got 0"),
        ("min(x)", 1, "min takes two or more arguments, got 1"),
        ("min(x y)", 7, "expected a comma or an operator, found 'y'"),
        ("min(x,)", 7, f"{LEAF}, found ')'"),
        ("2x <= 1", 2, "for a product, write '2 * x'"),
        ("x y", 3, "expected an operator such as + or <=, found 'y'"),
        ("'a' 'b'", 5, "expected an operator such as + or <=, found \"'b'\""),
        ("x +* y", 4, f"{LEAF}, found '*'"),
        ("x <", None, LEAF),
        ("or x", 1, f"{LEAF}, found 'or'"),
        ("1 if x < 2", None, "expected else, as in '1 if x < 2 else 3'"),
        ("1 + not x", 5, "put brackets around 'not' and what it negates"),
        ("x == 'THF", 6, "the quote ' is never closed; add another one"),
        ("`x < 1", 1, "the quote ` is never closed; add another one"),
        ("x.y < 1", 2, "'.' has no meaning here; put a name with a dot between back-quotes, `like.this`"),
        ("x % 2 == 0", 3, "'%' has no meaning here"),
        ("x // 2 == 0", 3, "'//' has no meaning here"),
        ("x in y", 6, "expected a list after 'in', as in 'x in [1, 2]', found 'y'"),
        ("x in [y]", 7, "expected a number, a text, True or False, found 'y'"),
        ("x in []", 7, "expected a number, a text, True or False, found ']'"),
        ("x not in [-'a']", 12, "expected a number, a text, True or False, found \"'a'\""),
        ("x in [1; 2]", 8, "';' has no meaning here"),
        ("x + 1 in [2]", 7, "only a parameter can stand before 'in', as in 'x in [1, 2]'"),
        ("1 < x in [2]", 7, "put one of the two comparisons in brackets"),
        ("x in [2] == y", 10, "put one of the two comparisons in brackets"),
        ("price[x + 1]", 9, "expected the end of the bracket, as in price[ligand], found '+'"),
        ("price[]", 7, "expected an option or a parameter, as in price[ligand], found ']'"),
        ("x² <= 1", 1, "put the name x² between back-quotes, `x²`"),
        ("x <= 1e400", 6, "the number 1e400 is too large; the largest is about 1.8e308"),
        ("x <= 1" + 400 * "0", 6, "is too large; the largest is about 1.8e308"),
    ],
)
def test_mistakes_in_a_text(text: str, place: int | None, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    where = f"at character {place}: " if place else "at the end: "
    start = f"cannot read the expression {text!r}, " if len(text) < 60 else "cannot read the expression 'x <= 1000"
    assert str(caught.value).startswith(start)
    assert where in str(caught.value)
    assert str(caught.value).endswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the expression is empty; write a condition such as 'a + b <= 1' or a cost such as '2 + 3 * a'"),
        (" \n ", "the expression is empty"),
        (3, "an expression is a text such as 'a + b <= 1', got 3"),
        ("x + " * 501 + "x", "has 2005 characters; at most 2000 are allowed"),
        ("(" * 10_000 + "x" + ")" * 10_000, "has 20001 characters; at most 2000 are allowed"),
    ],
)
def test_texts_that_are_not_read_at_all(text: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__",
        "x.__class__",
        "lambda: 0",
        "[x for x in y]",
        "(x for x in y)",
        "f'{x}'",
        "rb'x' == x",
        "(x := 3) < 4",
        "{1: 2}[x]",
        "x; y",
        "x < 1 # fine",
        "print(x)",
        "max(*x)",
        "max(key=x)",
        "price[x][y]",
        "(x)(y)",
        "'a'.join",
        "x @ y",
        "...",
        "1_000",
        "0x10",
        "1j",
        "x if y",
        "await x",
        "not",
        "-",
        "\x00",
        "x\x00 < 1",
        "٣ < x",
    ],
)
def test_nothing_but_the_language_is_read(text: str) -> None:
    with pytest.raises(InputError, match=r"^cannot read the expression "):
        parse(text)


NESTED = {
    "brackets": ("(", "x", ")"),
    "minus": ("-", "x", ""),
    "not": ("not ", "stirred", ""),
    "power": ("x ** ", "x", ""),
    "functions": ("abs(1 + ", "x", ")"),
    "sums": ("(1 + 2 * ", "x", ")"),
    "branches": ("x if x < 1 else ", "x", ""),
    "compared": ("(stirred == ", "stirred", ")"),
    "compared twice": ("(stirred == ", "stirred", " != stirred)"),
    "maxima": ("max(x, 1 + ", "x", ")"),
    "guards": ("(x if stirred else ", "x", ")"),
    "scaled": ("(count * ", "x", " + y)"),
}


def deeper(frames: int, use: Callable[[], None]) -> None:
    """As far down as a web server would call it."""
    if frames:
        deeper(frames - 1, use)
    else:
        use()


@pytest.mark.covering
@pytest.mark.parametrize("way", NESTED)
@pytest.mark.parametrize("levels", [20, 49, 99, 100, 101, 150, 400])
def test_deep_nesting_is_refused_before_it_does_harm(way: str, levels: int) -> None:
    before, middle, after = NESTED[way]
    text = before * levels + middle + after * levels
    condition = "stirred" in middle

    def use() -> None:
        expression = parse(text)
        assert parse(str(expression)) == expression
        check(expression, KINDS, TABLES, condition=condition)
        evaluate(expression, designs(3, 0), TABLES)
        whole = expression if condition else Chain(("<",), (expression, Literal(1.0)))
        violation(whole, designs(3, 0), TABLES)
        half_spaces(whole, designs(3, 0), TABLES)

    if levels <= 45:
        deeper(200, use)
    elif levels > 100:
        with pytest.raises(InputError, match=r"more than 100 nested levels|at most 2000 are allowed"):
            deeper(200, use)
    else:
        # brackets are no levels of the tree, and some ways take two levels at a time
        with suppress(InputError):
            deeper(200, use)


def test_a_hundred_levels_are_allowed() -> None:
    assert parse("(" * 100 + "x" + ")" * 100) == parse("x")
    assert str(parse("-" * 99 + "x")) == "-" * 99 + "x"
    for text in ("(" * 101 + "x" + ")" * 101, "-" * 100 + "x", "(" * 60 + "x" + "+1)*2" * 60):
        with pytest.raises(InputError, match="more than 100 nested levels; remove brackets or split the expression"):
            parse(text)


def test_hundreds_of_terms_are_no_nesting() -> None:
    assert evaluate(parse(" + ".join(["x"] * 400)), at(x=[1.0, 2.0]), {}).tolist() == [400.0, 800.0]
    assert evaluate(parse(" or ".join(["x < 1"] * 200)), at(x=[1.0, 0.0]), {}).tolist() == [False, True]


def test_huge_numbers_neither_hang_nor_fail() -> None:
    tower = parse("9 ** 9 ** 9 ** 9")
    assert evaluate(tower, {}, {}).item() == math.inf
    columns = at(x=[0.0, -1.0, 1.0])
    assert evaluate(parse("x < 9 ** 9 ** 9"), columns, {}).tolist() == [True] * 3
    assert evaluate(parse("1 / x <= 5"), columns, {}).tolist() == [False, True, True]
    assert evaluate(parse("log(x) <= 0"), columns, {}).tolist() == [True, False, True]
    assert evaluate(parse("9 ** 9 ** 9 * x <= 0"), columns, {}).tolist() == [False, True, False]
    assert half_spaces(parse("9 ** 9 ** 9 * x <= 0"), columns, {}) is None
    for text in ("nan < x", "inf < x"):
        with pytest.raises(InputError, match=r"there is no parameter (nan|inf); known are x"):
            check(parse(text), {"x": None}, {}, condition=True)
