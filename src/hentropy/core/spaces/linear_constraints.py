"""Conditions as linear constraints: `guard or c_0 + sum_i c_i x_i <= 0`, where guard and c depend on choices alone.

A number e is piecewise linear here: e = max over pieces k of l_k, without those whose guard holds. Pieces come from max
and abs, and guards from `if`. With the pieces of e and those of -e side by side, one pass over a tree decides: a factor
below zero exchanges them, a maximum has none of -e. Likewise a condition stands beside its negation.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import isfinite

from hentropy.core.spaces.evaluation import Columns, Tables, evaluate
from hentropy.core.spaces.expressions import (
    OPPOSITE,
    Chain,
    Expression,
    Literal,
    Name,
    Operation,
    chain,
    connected,
    names,
    tables_used,
)
from hentropy.lazy import Tensor, torch

MAX_CLAUSES = 256
"""Clauses that a sum of maxima, or an `or`, may have: their number grows exponentially with the text."""

ZERO, ONE = Literal(0.0), Literal(1.0)


@dataclass(frozen=True)
class Linear:
    """A clause: `guard` holds, or `constant` + the sum of coefficient times number is <= 0 (< 0 if strict, or == 0).

    A clause without numbers is its guard alone: the constant is 1 then.
    """

    terms: tuple[tuple[str, Expression], ...]
    constant: Expression
    guard: Expression | None = None
    strict: bool = False
    equal: bool = False

    def coefficients(self, columns: Columns, tables: Tables) -> tuple[dict[str, Tensor], Tensor]:
        """c by name and c_0 at each design, whose choices are given; where the guard holds, 0 and -1 (or 0 and 0)."""
        free = evaluate(self.guard or Literal(False), columns, tables)
        found = {name: torch.where(free, 0.0, evaluate(c, columns, tables)) for name, c in self.terms}
        return found, torch.where(free, 0.0 if self.equal else -1.0, evaluate(self.constant, columns, tables))


Clauses = list[Linear] | None
"""All of them hold; None if a condition has no such form."""


def linear(condition: Expression, is_number: Callable[[str], bool]) -> tuple[Linear, ...] | None:
    """The condition as clauses that must all hold, None where it is not of that form; `is_number` knows parameters."""
    found, _ = _Reader(is_number).clauses(condition)
    return None if found is None else tuple(found)


class _Reader:
    def __init__(self, is_number: Callable[[str], bool]) -> None:
        self.is_number = is_number

    def discrete(self, e: Expression) -> bool:
        return not any(self.is_number(name) for name in names(e))

    def clauses(self, e: Expression) -> tuple[Clauses, Clauses]:
        """A condition, and its negation."""
        if self.discrete(e):
            return [Linear((), ONE, e)], [Linear((), ONE, _not(e))]
        match e:
            case Operation("not", (part,)):
                return self.clauses(part)[::-1]
            case Operation("and", parts):
                return self.all([self.clauses(part) for part in parts])
            case Operation("or", parts):
                return self.all([self.clauses(part)[::-1] for part in parts])[::-1]
            case Operation("if", (value, condition, other)):
                (yes, no), (a, not_a), (b, not_b) = self.clauses(condition), self.clauses(value), self.clauses(other)
                return _both(_either(no, a), _either(yes, b)), _both(_either(no, not_a), _either(yes, not_b))
            case Chain(signs, parts) if e.is_condition:
                return self.all([self.comparison(s, a, b) for s, (a, b) in zip(signs, pairwise(parts), strict=True)])
        return None, None

    def all(self, some: list[tuple[Clauses, Clauses]]) -> tuple[Clauses, Clauses]:
        (found, negation), *rest = some
        for clauses, negated in rest:
            found, negation = _both(found, clauses), _either(negation, negated)
        return found, negation

    def comparison(self, sign: str, left: Expression, right: Expression) -> tuple[Clauses, Clauses]:
        if self.discrete(whole := Chain((sign,), (left, right))):
            return self.clauses(whole)
        above, below = self.pieces(chain("-", (left, right)))
        if sign in ("==", "!="):
            equal = None if above is None or below is None else [replace(piece, equal=True) for piece in above]
            return (equal, None) if sign == "==" else (None, equal)
        if sign in (">", ">="):
            above, below = below, above
        strict = sign in ("<", ">")
        return above and [replace(p, strict=strict) for p in above], below and [
            replace(p, strict=not strict) for p in below
        ]

    def pieces(self, e: Expression) -> tuple[Clauses, Clauses]:
        """A number, and its negative, as the largest of some pieces."""
        if self.discrete(e):
            return [Linear((), e)], [Linear((), _minus(e))]
        match e:
            case Name(name):
                return [Linear(((name, ONE),), ZERO)], [Linear(((name, _minus(ONE)),), ZERO)]
            case Operation("neg", (part,)):
                return self.pieces(part)[::-1]
            case Operation("abs", (part,)):
                return _both(*self.pieces(part)), None
            case Operation("max", parts):
                return reduce(_both, [self.pieces(part)[0] for part in parts]), None
            case Operation("min", parts):
                return None, reduce(_both, [self.pieces(part)[1] for part in parts])
            case Operation("if", (value, condition, other)) if self.discrete(condition):
                a, b, unless = self.pieces(value), self.pieces(other), _not(condition)
                above, below = [_both(_guarded(a[i], unless), _guarded(b[i], condition)) for i in (0, 1)]
                return above, below
            case Chain(signs, (first, *rest)) if signs[0] in ("+", "-"):
                above, below = self.pieces(first)
                for sign, part in zip(signs, rest, strict=True):
                    more, less = self.pieces(part)[:: 1 if sign == "+" else -1]
                    above, below = _sum(above, more), _sum(below, less)
                return above, below
            case Chain(signs, parts) if signs[0] in ("*", "/"):
                factors = list(zip(("*", *signs), parts, strict=True))
                numbers = [factor for factor in factors if not self.discrete(factor[1])]
                if len(numbers) == 1 and numbers[0][0] == "*":
                    factors.remove(numbers[0])
                    return reduce(_scaled, factors, self.pieces(numbers[0][1]))
        return None, None


def _both(a: Clauses, b: Clauses) -> Clauses:
    """The clauses of both, or the pieces of a maximum."""
    return None if a is None or b is None else a + b


def _either(a: Clauses, b: Clauses) -> Clauses:
    """One or the other: each clause of one beside each of the other, of which only one may have numbers."""
    if a is None or b is None or len(a) * len(b) > MAX_CLAUSES:
        return None
    pairs = [(q, p) if _is_guard(p) else (p, q) for p in a for q in b]
    return [replace(p, guard=_or(p.guard, q.guard)) for p, q in pairs] if all(_is_guard(q) for _, q in pairs) else None


def _is_guard(clause: Linear) -> bool:
    return not clause.terms and clause.constant == ONE


def _guarded(pieces: Clauses, guard: Expression) -> Clauses:
    return pieces and [replace(piece, guard=_or(piece.guard, guard)) for piece in pieces]


def _sum(a: Clauses, b: Clauses) -> Clauses:
    """The pieces of a sum: each of one and each of the other."""
    if a is None or b is None or len(a) * len(b) > MAX_CLAUSES:
        return None
    found = []
    for p in a:
        for q in b:
            terms = dict(p.terms)
            for name, c in q.terms:
                terms[name] = _computed("+", terms[name], c) if name in terms else c
            kept = tuple((name, c) for name, c in terms.items() if c != ZERO)
            found.append(Linear(kept, _computed("+", p.constant, q.constant), _or(p.guard, q.guard)))
    return found


def _scaled(pair: tuple[Clauses, Clauses], factor: tuple[str, Expression]) -> tuple[Clauses, Clauses]:
    """A number, and its negative, times or over a factor without numbers."""
    (above, below), (sign, by) = pair, factor
    if not names(by) and not tables_used(by):
        value = float(evaluate(by, {}, {}))
        if not isfinite(value) or (sign == "/" and value == 0):
            return None, None
        above, below, by = (below, above, Literal(-value)) if value < 0 else (above, below, Literal(value))
    elif above is None or below is None:
        return None, None  # which of the two is needed depends on a choice
    scaled = [
        pieces and [
            Linear(tuple((n, _computed(sign, c, by)) for n, c in p.terms), _computed(sign, p.constant, by), p.guard)
            for p in pieces
        ]
        for pieces in (above, below)
    ]  # fmt: skip
    return scaled[0], scaled[1]


def _or(a: Expression | None, b: Expression | None) -> Expression | None:
    return connected("or", (a, b)) if a and b else a or b


def _not(e: Expression) -> Expression:
    match e:
        case Operation("not", (part,)):
            return part
        case Operation("in" | "not in" as sign, parts):
            return Operation(OPPOSITE[sign], parts)
        case Chain(("==" | "!=" as sign,), parts):
            return Chain((OPPOSITE[sign],), parts)
    return Operation("not", (e,))


def _minus(e: Expression) -> Expression:
    if isinstance(e, Literal) and isinstance(e.value, float):
        return Literal(-e.value)
    return e.parts[0] if isinstance(e, Operation) and e.sign == "neg" else Operation("neg", (e,))


def _computed(sign: str, a: Expression, b: Expression) -> Expression:
    """A sum, product or quotient of coefficients, simplified where that is easy."""
    if a == ZERO:
        return b if sign == "+" else ZERO
    if b == (ZERO if sign == "+" else ONE):
        return a
    if sign == "*" and a in (ONE, _minus(ONE)):
        return b if a == ONE else _minus(b)
    if isinstance(a, Literal) and isinstance(b, Literal):
        value = float(evaluate(Chain((sign,), (a, b)), {}, {}))
        if isfinite(value):
            return Literal(value)
    if sign == "+" and isinstance(b, Operation) and b.sign == "neg":
        return chain("-", (a, b.parts[0]))
    return chain(sign, (a, b))
