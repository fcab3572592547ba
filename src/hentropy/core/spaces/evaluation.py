"""What an expression means for designs: does it fit their parameters, what is its value, how far is it from true.

Numbers a and b are equal if |a - b| <= 1e-9 max(1, |a|, |b|), and then neither is less: exactly one of a < b, a == b
and a > b holds. So x <= 1 keeps a design that rounding moved just above 1, and x < 1 excludes one just below.
Not-a-number compares false with everything; what is divided by zero is infinite.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from itertools import pairwise
from math import isfinite
from typing import NoReturn

import numpy as np

from hentropy.core.spaces.expressions import (
    COMPARISONS,
    OPPOSITE,
    Chain,
    Expression,
    Literal,
    Lookup,
    Name,
    Operation,
    Option,
    cut,
    nearest,
)
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

Tables = Mapping[str, Mapping[Option, float]]
"""Numbers by table and option."""

TOLERANCE = 1e-9
MAX_SLOPE = 1e12
"""A slope that is infinite, such as that of sqrt at 0, counts as this one: the sum of two remains a number."""

NUMBER, CONDITION, CHOICE, TEXT = "a number", "a condition", "a choice", "a text"
UNARY_OPERATIONS = ("neg", "abs", "exp", "log", "sqrt", "not")
"""Operations on a single value; all others fold several."""


@cache
def _operations() -> dict[str, Callable[..., Tensor]]:
    return {
        "+": torch.add, "-": torch.sub, "*": torch.mul, "/": torch.div, "**": torch.pow, "min": torch.minimum,
        "max": torch.maximum, "and": torch.logical_and, "or": torch.logical_or, "neg": torch.neg, "abs": torch.abs,
        "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "not": torch.logical_not,
    }  # fmt: skip


@dataclass(frozen=True)
class Categories:
    """The options of a choice; if `ordered`, from smallest to largest."""

    options: tuple[Option, ...]
    ordered: bool = False

    @property
    def kind(self) -> str:
        """A number or a condition, if all options are; else a choice."""
        if all(isinstance(option, bool) for option in self.options):
            return CONDITION
        return CHOICE if any(isinstance(option, str | bool) for option in self.options) else NUMBER

    def position(self, value: Option) -> int:
        """Where an option stands; -1 if there is none like it."""
        same = (i for i, o in enumerate(self.options) if o == value and isinstance(o, bool) == isinstance(value, bool))
        return next(same, -1)


Kinds = Mapping[str, Categories | None]
"""What each parameter is: None for a number."""


@dataclass(frozen=True, eq=False)
class ParameterColumn:
    """The values of a parameter (...): numbers, or where it has `levels` the positions of its options, as integers."""

    values: Tensor
    levels: Categories | None = None


Columns = Mapping[str, ParameterColumn]


def check(expression: Expression, kinds: Kinds, tables: Tables, *, condition: bool) -> None:
    """An `InputError` unless an expression fits the parameters and tables, and is a condition or else a number."""
    _Checker(expression, kinds, tables).need(expression, CONDITION if condition else NUMBER)


def evaluate(expression: Expression, columns: Columns, tables: Tables) -> Tensor:
    """The number, or whether the condition holds, at each design: the common shape of all columns.

    It must have been checked. A branch of `if` that is not taken has no part in the gradient.
    """
    return _expanded(_Designs(columns, tables).value(expression), columns)


def violation(condition: Expression, columns: Columns, tables: Tables) -> Tensor:
    """How far each design is from fulfilling a condition: zero where it holds, positive elsewhere.

    A comparison of numbers counts by their difference, anything else by one; `and` adds, `or` takes the least.
    """
    return _expanded(_Designs(columns, tables).violations(condition)[0], columns)


def _expanded(found: Tensor, columns: Columns) -> Tensor:
    shapes = {column.values.shape for column in columns.values()} | {found.shape}
    return found.expand(np.broadcast_shapes(*shapes))  # the like of torch imports a computer algebra system


class _Checker:
    def __init__(self, whole: Expression, kinds: Kinds, tables: Tables) -> None:
        self.whole, self.kinds, self.tables = whole, kinds, tables

    def wrong(self, why: str) -> NoReturn:
        raise InputError(f'in the expression "{cut(self.whole)}", {why}')

    def need(self, e: Expression, wanted: str) -> None:
        if (found := self.kind(e)) == wanted:
            return
        text = cut(e)
        hint = {
            (CONDITION, NUMBER): "; for a number, write '1 if ... else 0'",
            (CHOICE, NUMBER): f"; a table can give a number to each option, as in 'price[{text}]'",
            (NUMBER, CONDITION): f"; compare it with a number, as in '{text} > 0'",
            (CHOICE, CONDITION): f"; compare it with one of its options, as in '{text} == ...'",
        }
        self.wrong(f"{text} is {found}, but {wanted} is needed{hint.get((found, wanted), '')}")

    def kind(self, e: Expression) -> str:
        match e:
            case Literal(value):
                return TEXT if isinstance(value, str) else CONDITION if isinstance(value, bool) else NUMBER
            case Name():
                levels = self.levels(e)
                return levels.kind if levels else NUMBER
            case Lookup():
                self.look_up(e)
                return NUMBER
            case Operation("in" | "not in", (item, *options)):
                for option in options:
                    self.compare("==", (item, self.kind(item)), (option, self.kind(option)))
                return CONDITION
            case Operation("if", (value, condition, other)):
                self.need(condition, CONDITION)
                if (found := self.kind(value)) not in (NUMBER, CONDITION):
                    self.need(value, NUMBER)
                self.need(other, found)
                return found
            case Chain(signs, parts) if signs[0] in COMPARISONS:
                typed = [(part, self.kind(part)) for part in parts]
                for sign, (left, right) in zip(signs, pairwise(typed), strict=True):
                    self.compare(sign, left, right)
                return CONDITION
        wanted = CONDITION if e.is_condition else NUMBER
        for part in e.parts:
            self.need(part, wanted)
        return wanted

    def levels(self, e: Expression) -> Categories | None:
        """The options of what is a choice, else None."""
        if not isinstance(e, Name):
            return None
        if e.name not in self.kinds:
            if e.name in self.tables:
                self.wrong(f"{e} is a table; say of which parameter, as in '{e}[...]'")
            close = nearest(e.name, [*self.kinds, "True", "False"])
            self.wrong(f"there is no parameter {e}; {close}known are {', '.join(self.kinds) or 'none'}")
        return self.kinds[e.name]

    def look_up(self, e: Lookup) -> None:
        if e.table not in self.tables:
            known = ", ".join(self.tables) or "none"
            self.wrong(f"there is no table {Name(e.table)}; {nearest(e.table, self.tables)}known are {known}")
        table, levels = self.tables[e.table], self.levels(e.key)
        if isinstance(e.key, Name) and levels is None:
            self.wrong(f"{e.key} is a number; the table {Name(e.table)} needs a choice")
        wanted = levels.options if levels else (e.key.value,) if isinstance(e.key, Literal) else ()
        if missing := [option for option in wanted if option not in table]:
            self.wrong(f"the table {Name(e.table)} has no entry for {_listed(missing)}; add it")
        for option in wanted:
            if isinstance(table[option], bool | str) or not isfinite(table[option]):
                given = f"{table[option]!r} for {_listed([option])}"
                self.wrong(f"the table {Name(e.table)} has {given}; a finite number is needed")

    def compare(self, sign: str, left: tuple[Expression, str], right: tuple[Expression, str]) -> None:
        (a, a_kind), (b, b_kind) = left, right
        sides = (a, self.levels(a), b), (b, self.levels(b), a)
        equality = sign in ("==", "!=")
        for e, levels, other in sides:
            if levels and isinstance(other, Literal) and (equality or levels.kind == CHOICE):
                self.option(e, levels, other)
            if levels and levels.kind == CHOICE and not equality and not levels.ordered:
                self.wrong(f"the options of {e} have no order, so '{sign}' cannot compare them; use == or in")
        choices = [levels for _, levels, _ in sides if levels]
        if CHOICE in (a_kind, b_kind) and len(choices) == 2:
            one, two = choices[0].options, choices[1].options
            if not ({*one} & {*two} if equality else one == two):
                have = "no option in common" if equality else "different options"
                self.wrong(f"{a} and {b} have {have}, so '{sign}' cannot compare them")
        elif a_kind == b_kind == TEXT:
            self.wrong(f"{cut(a)} and {cut(b)} are both texts; compare a parameter with a text")
        elif a_kind != b_kind and not (CHOICE in (a_kind, b_kind) and Literal in (type(a), type(b))):
            self.wrong(f"{cut(a)} is {a_kind} and {cut(b)} is {b_kind}, so they cannot be compared")
        elif a_kind == CONDITION and not equality:
            self.wrong(f"{cut(a)} is a condition; '{sign}' compares numbers")

    def option(self, name: Expression, levels: Categories, value: Literal) -> None:
        if levels.position(value.value) < 0:
            close = nearest(value, [Literal(option) for option in levels.options])
            self.wrong(f"{value} is not an option of {name}; {close}known are {_listed(levels.options)}")


def _listed(options: Iterable[Option]) -> str:
    return cut(", ".join(str(Literal(option)) for option in options))


def _slack(a: Tensor, b: Tensor) -> Tensor:
    """The distance up to which numbers are equal."""
    return TOLERANCE * torch.maximum(a.abs(), b.abs()).clamp_min(1)


def _compared(a: Tensor, sign: str, b: Tensor) -> Tensor:
    """A comparison, of numbers with tolerance; infinite ones are equal only if they are the same."""
    equal = a == b
    if a.is_floating_point():
        apart = (a - b).abs()
        equal |= (apart <= _slack(a, b)) & apart.isfinite()
    if sign in ("==", "!="):
        return equal if sign == "==" else ~equal
    beyond = a < b if sign in ("<", "<=") else a > b
    return beyond | equal if sign in ("<=", ">=") else beyond & ~equal


def _gap(a: Tensor, sign: str, b: Tensor) -> Tensor:
    """How far two numbers are from a comparison: positive where it is wrong."""
    a, b = _finite_slope(a), _finite_slope(b)
    gaps = {"<=": a - b, ">=": b - a, "==": (a - b).abs()}
    return gaps[sign] if sign in gaps else 2 * _slack(a, b).detach() - gaps[OPPOSITE[sign]]


def _finite_slope(a: Tensor) -> Tensor:
    """The same, with a gradient that is always finite: zero times an infinite slope, in a branch not taken, is zero."""
    if a.requires_grad:
        a = a.view_as(a)
        a.register_hook(lambda slope: slope.nan_to_num(0.0, MAX_SLOPE, -MAX_SLOPE))
    return a


class _Designs:
    """Designs at which expressions are evaluated, on the device of their columns."""

    def __init__(self, columns: Columns, tables: Tables) -> None:
        self.columns, self.tables = columns, tables
        self.device = next((column.values.device for column in columns.values()), None)

    def choice(self, e: Expression) -> Categories | None:
        """The options of a choice that is neither number nor condition."""
        levels = self.columns[e.name].levels if isinstance(e, Name) else None
        return levels if levels and levels.kind == CHOICE else None

    def value(self, e: Expression) -> Tensor:
        match e:
            case Literal(str()):
                return torch.tensor(torch.nan, device=self.device)  # only its place among options counts
            case Literal(value):
                dtype = torch.bool if isinstance(value, bool) else torch.float64
                return torch.tensor(value, dtype=dtype, device=self.device)
            case Name(name):
                values, levels = self.columns[name].values, self.columns[name].levels
                if levels is None:
                    return values if values.is_floating_point() else values.double()
                if levels.kind == CHOICE:
                    return values
                dtype = torch.bool if levels.kind == CONDITION else torch.float64
                return torch.tensor(levels.options, dtype=dtype, device=values.device)[values]
            case Lookup(table, Literal(option)):
                return torch.tensor(self.tables[table][option], dtype=torch.float64, device=self.device)
            case Lookup(table, Name(name)):
                positions, levels = self.columns[name].values, self.columns[name].levels
                numbers = [self.tables[table][option] for option in (levels.options if levels else ())]
                return torch.tensor(numbers, dtype=torch.float64, device=positions.device)[positions]
            case Chain(signs, parts) if e.is_condition:
                pairs = zip(signs, self.pairs(parts), strict=True)
                return reduce(torch.logical_and, [_compared(a, sign, b) for sign, (a, b) in pairs])
            case Chain(signs, (first, *rest)):
                found = self.value(first)
                for sign, part in zip(signs, rest, strict=True):
                    found = _operations()[sign](_finite_slope(found), _finite_slope(self.value(part)))
                return found
            case Operation("if", (value, condition, other)):
                holds = self.value(condition)
                return torch.where(holds, self.value(value), self.value(other))
            case Operation("in" | "not in"):
                return self.value(_as_comparisons(e))
            case Operation(sign, (part,)) if sign in UNARY_OPERATIONS:
                return _operations()[sign](_finite_slope(self.value(part)))
            case Operation(sign, parts):
                return reduce(_operations()[sign], [_finite_slope(self.value(part)) for part in parts])
        raise TypeError(f"{e!r} is not an expression")

    def pairs(self, parts: tuple[Expression, ...]) -> list[tuple[Tensor, Tensor]]:
        """Neighbours in a chain of comparisons as tensors: numbers, conditions, or positions among the same options."""
        found = []
        for (a, left), (b, right) in pairwise([(part, self.value(part)) for part in parts]):
            levels = self.choice(a) or self.choice(b)
            found.append((self.positions(a, levels), self.positions(b, levels)) if levels else (left, right))
        return found

    def positions(self, e: Expression, levels: Categories) -> Tensor:
        """Where the options of a choice, or a literal, stand among some options; -1 for those that do not."""
        if isinstance(e, Name):
            column = self.columns[e.name]
            own = column.levels.options if column.levels else ()
            return torch.tensor([levels.position(option) for option in own], device=column.values.device)[column.values]
        return torch.tensor(levels.position(e.value) if isinstance(e, Literal) else -1, device=self.device)

    def violations(self, e: Expression) -> tuple[Tensor, Tensor]:
        """The violation of a condition, and that of its negation."""
        match e:
            case Operation("not", (part,)):
                return self.violations(part)[::-1]
            case Operation("and" | "or" as sign, parts):
                some = [self.violations(part) for part in parts]
                return _all(some) if sign == "and" else _all([one[::-1] for one in some])[::-1]
            case Operation("in" | "not in"):
                return self.violations(_as_comparisons(e))
            case Operation("if", (value, condition, other)):
                (yes, no), (a, not_a), (b, not_b) = map(self.violations, (condition, value, other))
                return torch.minimum(yes + a, no + b), torch.minimum(yes + not_a, no + not_b)
            case Chain(signs, parts) if e.is_condition:
                return _all(self.comparisons(signs, parts))
        holds = self.value(e)
        return (~holds).double(), holds.double()

    def comparisons(self, signs: tuple[str, ...], parts: tuple[Expression, ...]) -> list[tuple[Tensor, Tensor]]:
        """The violations of each comparison in a chain, and of their negations."""
        pairs = self.pairs(parts)
        conditions = {j for i, (a, _) in enumerate(pairs) if a.dtype == torch.bool for j in (i, i + 1)}
        # once for each part, as nested chains would take a time that doubles with each level
        violated = {i: self.violations(parts[i]) for i in conditions}
        found = []
        for i, (sign, (a, b)) in enumerate(zip(signs, pairs, strict=True)):
            holds = _compared(a, sign, b)
            if i in conditions and i + 1 in conditions:
                (yes, no), (also, not_also) = violated[i], violated[i + 1]
                same = torch.minimum(yes + also, no + not_also), torch.minimum(yes + not_also, no + also)
                found.append(same if sign == "==" else same[::-1])
            elif a.is_floating_point():
                known = (a - b).isfinite()
                gap, negation = (torch.where(known, _gap(a, each, b), 1.0) for each in (sign, OPPOSITE[sign]))
                found.append((torch.where(holds, 0.0, gap), torch.where(holds, negation, 0.0)))
            else:
                found.append(((~holds).double(), holds.double()))
        return found


def _all(some: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """The violation of all conditions together, and of the negation."""
    return reduce(torch.add, [one for one, _ in some]), reduce(torch.minimum, [other for _, other in some])


def _as_comparisons(e: Operation) -> Expression:
    """`x in [a, b]` as x == a or x == b."""
    found = Operation("or", tuple(Chain(("==",), (e.parts[0], option)) for option in e.parts[1:]))
    return found if e.sign == "in" else Operation("not", (found,))
