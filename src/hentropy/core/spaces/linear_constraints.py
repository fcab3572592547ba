"""Conditions as half-spaces of the numbers of designs: `free or c_0 + sum_i c_i x_i <= 0`; choices decide free and c.

A number e is piecewise linear here: e = max over pieces k of l_k, without those that are free. Pieces come from max
and abs, and what frees them from `if`. With the pieces of e and those of -e side by side, one pass over a tree decides:
a factor below zero exchanges them, a maximum has none of -e. Likewise a condition stands beside its negation.
"""

import operator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from math import isfinite

from hentropy.core.spaces.evaluation import Columns, Tables, evaluate
from hentropy.core.spaces.expressions import Chain, Expression, Literal, Name, Operation, chain
from hentropy.lazy import Tensor

MAX_CLAUSES = 256
"""Clauses that a sum of maxima, or an `or`, may have: their number grows exponentially with the text."""

Coefficient = Tensor | float
"""At each design, or the same at all."""


@dataclass(frozen=True, eq=False)
class Clause:
    """At designs that are not `free`, constant + sum of slope times number is <= 0 (< 0 if strict, or == 0)."""

    slopes: dict[str, Coefficient]
    constant: Coefficient
    free: Tensor | None = None
    strict: bool = False
    equal: bool = False

    @property
    def needs_choice(self) -> bool:
        """Whether only choices make it hold, by which it is free."""
        return not self.slopes and isinstance(self.constant, float) and self.constant == 1.0


Clauses = list[Clause] | None
"""All of them hold; None if a condition has no such form."""


def half_spaces(condition: Expression, columns: Columns, tables: Tables) -> Clauses:
    """The condition as clauses that must all hold, given the choices of designs; None where it is not of that form.

    Whether it is depends on the condition alone. The values of numbers do not matter.
    """
    return _Reader(columns, tables).clauses(condition)[0]


class _Reader:
    def __init__(self, columns: Columns, tables: Tables) -> None:
        self.columns, self.tables = columns, tables

    def discrete(self, e: Expression) -> bool:
        return all(self.columns[name].levels for name in e.names)

    def number(self, e: Expression) -> Coefficient:
        if isinstance(e, Literal):
            return float(e.value)
        return evaluate(e, self.columns, self.tables) if e.names else float(evaluate(e, {}, self.tables))

    def clauses(self, e: Expression) -> tuple[Clauses, Clauses]:
        """A condition, and its negation."""
        if self.discrete(e):
            holds = evaluate(e, self.columns, self.tables)
            return [Clause({}, 1.0, holds)], [Clause({}, 1.0, ~holds)]
        match e:
            case Operation("not", (part,)):
                return self.clauses(part)[::-1]
            case Operation("and", parts):
                return _all([self.clauses(part) for part in parts])
            case Operation("or", parts):
                return _all([self.clauses(part)[::-1] for part in parts])[::-1]
            case Operation("if", (value, condition, other)):
                (yes, no), (a, not_a), (b, not_b) = map(self.clauses, (condition, value, other))
                return _both(_either(no, a), _either(yes, b)), _both(_either(no, not_a), _either(yes, not_b))
            case Chain(signs, parts) if e.is_condition:
                return _all([self.comparison(s, a, b) for s, (a, b) in zip(signs, pairwise(parts), strict=True)])
        return None, None

    def comparison(self, sign: str, left: Expression, right: Expression) -> tuple[Clauses, Clauses]:
        if self.discrete(whole := Chain((sign,), (left, right))):
            return self.clauses(whole)
        above, below = self.pieces(chain("-", (left, right)))
        if sign in ("==", "!="):
            equal = below and above and [replace(piece, equal=True) for piece in above]
            return (equal, None) if sign == "==" else (None, equal)
        if sign in (">", ">="):
            above, below = below, above
        strict = sign in ("<", ">")
        negation = below and [replace(piece, strict=not strict) for piece in below]
        return above and [replace(piece, strict=strict) for piece in above], negation

    def pieces(self, e: Expression) -> tuple[Clauses, Clauses]:
        """A number, and its negative, as the largest of some pieces."""
        if self.discrete(e):
            constant = self.number(e)
            return [Clause({}, constant)], [Clause({}, -1.0 * constant)]
        match e:
            case Name(name):
                return [Clause({name: 1.0}, 0.0)], [Clause({name: -1.0}, 0.0)]
            case Operation("neg", (part,)):
                return self.pieces(part)[::-1]
            case Operation("abs", (part,)):
                return _both(*self.pieces(part)), None
            case Operation("max", parts):
                return reduce(_both, [self.pieces(part)[0] for part in parts]), None
            case Operation("min", parts):
                return None, reduce(_both, [self.pieces(part)[1] for part in parts])
            case Operation("if", (value, condition, other)) if self.discrete(condition):
                a, b, holds = self.pieces(value), self.pieces(other), evaluate(condition, self.columns, self.tables)
                above, below = (_both(_freed(one, ~holds), _freed(two, holds)) for one, two in zip(a, b, strict=True))
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
                    by = [(sign, self.number(part)) for sign, part in factors]
                    return reduce(_scaled, by, self.pieces(numbers[0][1]))
        return None, None


def _all(some: list[tuple[Clauses, Clauses]]) -> tuple[Clauses, Clauses]:
    return reduce(lambda one, other: (_both(one[0], other[0]), _either(one[1], other[1])), some)


def _both(a: Clauses, b: Clauses) -> Clauses:
    """The clauses of both, or the pieces of a maximum."""
    return None if a is None or b is None else a + b


def _either(a: Clauses, b: Clauses) -> Clauses:
    """One or the other: each clause of one beside each of the other, of which only one may have numbers."""
    if a is None or b is None or len(a) * len(b) > MAX_CLAUSES:
        return None
    pairs = [(q, p) if p.needs_choice else (p, q) for p in a for q in b]
    free = all(q.needs_choice for _, q in pairs)
    return [replace(p, free=_or(p.free, q.free)) for p, q in pairs] if free else None


def _or(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else a | b


def _freed(pieces: Clauses, free: Tensor) -> Clauses:
    return pieces and [replace(piece, free=_or(piece.free, free)) for piece in pieces]


def _sum(a: Clauses, b: Clauses) -> Clauses:
    """The pieces of a sum: each of one and each of the other."""
    if a is None or b is None or len(a) * len(b) > MAX_CLAUSES:
        return None
    found = []
    for p in a:
        for q in b:
            slopes = {**p.slopes, **{name: p.slopes.get(name, 0.0) + slope for name, slope in q.slopes.items()}}
            kept = {name: slope for name, slope in slopes.items() if not isinstance(slope, float) or slope}
            found.append(Clause(kept, p.constant + q.constant, _or(p.free, q.free)))
    return found


def _scaled(pair: tuple[Clauses, Clauses], factor: tuple[str, Coefficient]) -> tuple[Clauses, Clauses]:
    """A number, and its negative, times or over a factor."""
    (above, below), (sign, by) = pair, factor
    if isinstance(by, float):
        if not isfinite(by) or (sign == "/" and by == 0):
            return None, None
        above, below, by = (below, above, -by) if by < 0 else (above, below, by)
    elif above is None or below is None:
        return None, None  # which of the two is needed depends on a choice
    times = operator.mul if sign == "*" else operator.truediv

    def scaled(pieces: Clauses) -> Clauses:
        return pieces and [
            Clause({name: times(slope, by) for name, slope in p.slopes.items()}, times(p.constant, by), p.free)
            for p in pieces
        ]

    return scaled(above), scaled(below)
