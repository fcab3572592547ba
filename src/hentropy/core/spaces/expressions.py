"""The small language of conditions and costs: `solvent != 'THF' or temperature <= 66`, `2 + price[ligand]`.

A text becomes a tree (`parse`), and a tree a text again (`str`). Nothing here runs Python: there are no attributes, and
no functions but those listed. `evaluation` says what a tree means, `linear_constraints` which conditions are linear.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import NamedTuple, NoReturn

from hentropy.core.given import closest
from hentropy.errors import InputError

MAX_LENGTH, MAX_DEPTH = 2000, 100
"""Characters of a text and levels of a tree: more could keep a server busy."""

Option = str | float | bool

IF, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 11)
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "==", "in": "not in", "not in": "in"}
COMPARISONS = tuple(OPPOSITE)[:6]
CHAINS = dict.fromkeys(COMPARISONS, COMPARE) | {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
INFIX = CHAINS | {"if": IF, "or": OR, "and": AND, "in": COMPARE, "not in": COMPARE, "**": POWER}
FUNCTIONS = ("abs", "min", "max", "exp", "log", "sqrt")
RESERVED = ("and", "or", "not", "in", "if", "else", "True", "False")
REPLACEMENTS = {
    "=": "==", "=<": "<=", "=>": ">=", "<>": "!=", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "is": "==",
    "!": "not", "&": "and", "&&": "and", "|": "or", "||": "or", "^": "**",
    "\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/",
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "[": "(", "{": "(",
}  # fmt: skip
"""What people write elsewhere, and what is written here."""

TOKENS = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<sign>\*\*|<=|>=|==|!=|[-+*>()\[\],]|<(?!>)|/(?!/))
    | (?P<wrong>=<|=>|<>|&&|\|\||//|:=|.)""",
    re.VERBOSE | re.DOTALL,
)
OPERAND, OPERATOR = "a number, a name or a bracket", "an operator such as + or <="


class Expression:
    """A number or a condition: a tree of frozen nodes. Its text has the fewest brackets and parses to an equal tree."""

    parts: tuple["Expression", ...] = ()

    def __str__(self) -> str:
        return _text(self, IF)

    @cached_property
    def names(self) -> frozenset[str]:
        """The parameters that occur."""
        return frozenset(node.name for node, _ in _walk(self) if isinstance(node, Name))

    @property
    def is_condition(self) -> bool:
        """True for a condition, False for a number. A name alone counts as a number: only `check` knows its options."""
        return False


@dataclass(frozen=True, eq=False)
class Literal(Expression):
    """A number (always a float), a text, True or False."""

    value: Option

    def __eq__(self, other: object) -> bool:
        # True is 1 in Python, but another literal here
        return isinstance(other, Literal) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    @property
    def is_condition(self) -> bool:
        """True and False are conditions."""
        return isinstance(self.value, bool)


@dataclass(frozen=True)
class Name(Expression):
    """A parameter."""

    name: str


@dataclass(frozen=True)
class Lookup(Expression):
    """The number that a table has for an option: `boiling_point[solvent]`."""

    table: str
    key: Name | Literal


@dataclass(frozen=True)
class Operation(Expression):
    """A function, or one of: neg, **, not, and, or, in, not in, if (parts: value, condition, other value)."""

    sign: str
    parts: tuple[Expression, ...]

    @property
    def is_condition(self) -> bool:
        """By its sign; `if` gives what its values are."""
        return self.parts[0].is_condition if self.sign == "if" else self.sign in ("not", "and", "or", "in", "not in")


@dataclass(frozen=True)
class Chain(Expression):
    """Signs of one rank between parts, from the left: a - b + c, a * b / c, a < b <= c."""

    signs: tuple[str, ...]
    parts: tuple[Expression, ...]

    @property
    def is_condition(self) -> bool:
        """A comparison is one."""
        return self.signs[0] in COMPARISONS


def _walk(expression: Expression) -> Iterator[tuple[Expression, int]]:
    """Every node with its level."""
    left = [(expression, 1)]
    while left:
        node, level = left.pop()
        yield node, level
        left += [(part, level + 1) for part in ((node.key,) if isinstance(node, Lookup) else node.parts)]


def _text(e: Expression, least: int) -> str:
    """A text, in brackets where its rank is below the least."""
    rank = ATOM
    match e:
        case Literal(str(value)):
            text = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case Literal(value):
            text = repr(value).removesuffix(".0")
            rank = UNARY if text.startswith("-") else ATOM
        case Name(name):
            text = name if name.isidentifier() and name not in RESERVED else "`" + name.replace("`", "``") + "`"
        case Lookup(table, key):
            text = f"{Name(table)}[{key}]"
        case Chain(signs, (first, *rest)):
            rank = CHAINS[signs[0]]
            text = _text(first, rank + 1)
            for sign, part in zip(signs, rest, strict=True):
                text += f" {sign} {_text(part, rank + 1)}"
        case Operation("if", (value, condition, other)):
            rank, text = IF, f"{_text(value, OR)} if {_text(condition, OR)} else {_text(other, IF)}"
        case Operation("in" | "not in" as sign, (item, *options)):
            rank, text = COMPARE, f"{item} {sign} [{', '.join(map(str, options))}]"
        case Operation("neg", (part,)):
            rank, text = UNARY, f"-{_text(part, UNARY)}"
        case Operation("not", (part,)):
            rank, text = NOT, f"not {_text(part, NOT)}"
        case Operation("**", (base, exponent)):
            rank, text = POWER, f"{_text(base, ATOM)} ** {_text(exponent, UNARY)}"
        case Operation("and" | "or" as sign, parts):
            rank = INFIX[sign]
            text = f" {sign} ".join([_text(part, rank + 1) for part in parts])
        case Operation(sign, parts):
            text = f"{sign}({', '.join([_text(part, IF) for part in parts])})"
    return text if rank >= least else f"({text})"


def chain(signs: Sequence[str], parts: Sequence[Expression]) -> Expression:
    """A sum, product or comparison; a sum that begins with a sum continues it."""
    first, rank = parts[0], CHAINS[signs[0]]
    if isinstance(first, Chain) and rank == CHAINS[first.signs[0]] != COMPARE:
        return Chain((*first.signs, *signs), (*first.parts, *parts[1:]))
    return Chain(tuple(signs), tuple(parts))


def connected(sign: str, parts: Iterable[Expression]) -> Expression:
    """Parts with `and` or `or` between them, without brackets."""
    split = [part.parts if isinstance(part, Operation) and part.sign == sign else (part,) for part in parts]
    return Operation(sign, tuple(part for some in split for part in some))


def cut(text: object, at: int = 0) -> str:
    """A text, or if it is long what stands around a place."""
    whole, start, stop = str(text), max(0, at - 60), at + 60
    return "..." * (start > 0) + whole[start:stop] + "..." * (stop < len(whole))


def in_quotes(text: str) -> str:
    """A word or sign in quotes, in a sentence."""
    return f'"{text}"' if "'" in text else f"'{text}'"


def nearest(word: object, known: Iterable[object]) -> str:
    """A question that names the closest known word, to stand before those known; or nothing."""
    close = closest(str(word), [str(name) for name in known])
    return f"did you mean {close}? " if close else ""


class _Token(NamedTuple):
    kind: str
    text: str
    at: int

    @property
    def closing(self) -> str:
        return ")" if self.text == "(" else "]"


def parse(text: str) -> Expression:
    """The tree of a text; an `InputError` says what is wrong with it, where, and what would be right."""
    if not isinstance(text, str):
        raise InputError(f"an expression is a text such as 'a + b <= 1', got {text!r}")
    if not text.strip():
        raise InputError(
            "the expression is empty; write a condition such as 'a + b <= 1' or a cost such as '2 + 3 * a'"
        )
    if len(text) > MAX_LENGTH:
        raise InputError(f"the expression {cut(text)!r} has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    return _Parser(text).parse()


class _Parser:
    """Reads tokens from the left; an operand ends before the first sign whose rank is too low for it."""

    def __init__(self, text: str) -> None:
        found = [_Token(str(m.lastgroup), m[0], m.start()) for m in TOKENS.finditer(text) if m.lastgroup != "space"]
        self.text, self.tokens = text, [*found, _Token("end", "", len(text))]
        self.next, self.open = 0, list[_Token]()

    @property
    def token(self) -> _Token:
        return self.tokens[self.next]

    def parse(self) -> Expression:
        found = self.operand(IF, 1)
        if self.token.kind != "end":
            self.unexpected(OPERATOR)
        if max(level for _, level in _walk(found)) > MAX_DEPTH:
            self.too_deep()
        return found

    def wrong(self, why: str, at: _Token | None = None) -> NoReturn:
        place = (at or self.token).at
        where = f"at character {place + 1}" if place < len(self.text) else "at the end"
        raise InputError(f"cannot read the expression {cut(self.text, place)!r}, {where}: {why}")

    def too_deep(self) -> NoReturn:
        self.wrong(f"more than {MAX_DEPTH} nested levels; remove brackets or split the expression")

    def unexpected(self, wanted: str) -> NoReturn:
        """The error for a token that cannot stand where it does."""
        kind, text, _ = self.token
        if text in REPLACEMENTS and (kind != "sign" or wanted == OPERAND):
            self.wrong(f"write {in_quotes(REPLACEMENTS[text])} instead of {in_quotes(text)}")
        if kind == "wrong" and text in "'\"`":
            self.wrong(f"the quote {text} is never closed; add another one")
        if kind == "wrong":
            hint = "; put a name with a dot between back-quotes, `like.this`" if text == "." else ""
            self.wrong(f"'{text}' has no meaning here{hint}")
        if kind == "word" and text.lower() in RESERVED and text not in RESERVED:
            self.wrong(f"write '{text.lower()}' instead of '{text}'")
        if kind == "end" and self.open:
            self.wrong(
                f"the bracket '{self.open[-1].text}' is never closed; add '{self.open[-1].closing}'", self.open[-1]
            )
        if text in (")", "]") and not self.open:
            self.wrong(f"the bracket '{text}' is never opened; remove it")
        if text in (")", "]") and text != self.open[-1].closing:
            self.wrong(f"'{text}' cannot close '{self.open[-1].text}'; write '{self.open[-1].closing}'")
        before = self.tokens[max(0, self.next - 1)]
        if before.kind == "number" and kind in ("word", "quoted") and text not in RESERVED:
            self.wrong(f"for a product, write '{before.text} * {text}'")
        self.wrong(f"expected {wanted}, found {in_quotes(cut(text))}" if text else f"expected {wanted}")

    def take(self, *texts: str) -> bool:
        """Whether the next token is one of these signs and words; it is passed then."""
        found = self.token.text in texts and self.token.kind in ("sign", "word")
        self.next += found
        return found

    def enter(self) -> None:
        self.open.append(self.token)
        if len(self.open) > MAX_DEPTH:
            self.too_deep()
        self.next += 1

    def leave(self, wanted: str) -> None:
        if not self.take(self.open[-1].closing):
            self.unexpected(wanted)
        self.open.pop()

    def infix(self) -> str:
        """The sign or words between two operands that come next, or nothing."""
        kind, text, _ = self.token
        if text == "not" and self.tokens[self.next + 1].text == "in":
            return "not in"
        return text if kind in ("sign", "word") and text in INFIX else ""

    def operand(self, least: int, level: int) -> Expression:
        if level > MAX_DEPTH:
            self.too_deep()
        left = self.prefix(least, level)
        while (sign := self.infix()) and INFIX[sign] >= least:
            left = self.continued(left, sign, level + 1)
        return left

    def continued(self, left: Expression, sign: str, level: int) -> Expression:
        """What begins with an operand and goes on with a sign."""
        rank, token = INFIX[sign], self.token
        self.next += len(sign.split())
        if sign == "**":
            return Operation(sign, (left, self.operand(UNARY, level)))
        if sign == "if":
            condition = self.operand(OR, level)
            if not self.take("else"):
                self.unexpected("else, as in '1 if x < 2 else 3'")
            return Operation(sign, (left, condition, self.operand(IF, level)))
        if sign in ("in", "not in"):
            if not isinstance(left, Name):
                self.wrong(f"only a parameter can stand before '{sign}', as in 'x {sign} [1, 2]'", token)
            found: Expression = Operation(sign, (left, *self.listed(sign)))
        else:
            signs, parts = [sign], [left, self.operand(rank + 1, level)]
            while INFIX.get(sign := self.infix()) == rank and sign not in ("in", "not in"):
                self.next += 1
                signs.append(sign)
                parts.append(self.operand(rank + 1, level))
            found = connected(sign := signs[0], parts) if rank in (OR, AND) else chain(signs, parts)
        if rank == COMPARE == INFIX.get(self.infix()):
            self.wrong("put one of the two comparisons in brackets")
        return found

    def prefix(self, least: int, level: int) -> Expression:
        kind, text, _ = token = self.token
        if kind in ("sign", "word") and text in ("-", "+", "not"):
            if text == "not" and least > NOT:
                self.wrong("put brackets around 'not' and what it negates")
            self.next += 1
            inner = self.operand(NOT if text == "not" else UNARY, level + 1)
            if isinstance(inner, Literal) and isinstance(inner.value, float) and text == "-":
                return Literal(-inner.value)
            return inner if text == "+" else Operation("neg" if text == "-" else "not", (inner,))
        if kind == "sign" and text == "(":
            self.enter()
            inner = self.operand(IF, level)
            self.leave(OPERATOR)
            return inner
        if kind not in ("word", "quoted") or text in RESERVED:
            return self.literal(OPERAND)
        name = self.name()
        if self.token.kind == "sign" and self.token.text == "[":
            self.enter()
            known = self.token.kind in ("word", "quoted") and self.token.text not in RESERVED
            key = Name(self.name()) if known else self.literal("an option or a parameter, as in price[ligand]")
            self.leave("the end of the bracket, as in price[ligand]")
            return Lookup(name, key)
        return self.call(token, name, level) if self.token == ("sign", "(", self.token.at) else Name(name)

    def name(self) -> str:
        kind, text, _ = self.token
        if kind == "word" and not text.isidentifier():
            self.wrong(f"put the name {text} between back-quotes, `{text}`")
        self.next += 1
        return text[1:-1].replace("``", "`") if kind == "quoted" else text

    def call(self, token: _Token, name: str, level: int) -> Expression:
        if name not in FUNCTIONS:
            known = f"known are {', '.join(FUNCTIONS)}"
            self.wrong(f"there is no function {name}; {nearest(name, FUNCTIONS)}{known}", token)
        self.enter()
        parts = [self.operand(IF, level + 1)] if self.token.text != ")" else []
        while self.take(","):
            parts.append(self.operand(IF, level + 1))
        self.leave("a comma or an operator")
        many = name in ("min", "max")
        if len(parts) < 2 if many else len(parts) != 1:
            self.wrong(f"{name} takes {'two or more arguments' if many else 'one argument'}, got {len(parts)}", token)
        return Operation(name, tuple(parts))

    def listed(self, sign: str) -> list[Literal]:
        if self.token.kind != "sign" or self.token.text not in ("[", "("):
            self.unexpected(f"a list after '{sign}', as in 'x {sign} [1, 2]'")
        self.enter()
        found = [self.literal(wanted := "a number, a text, True or False")]
        while self.take(","):
            found.append(self.literal(wanted))
        self.leave("a comma or the end of the list")
        return found

    def literal(self, wanted: str) -> Literal:
        minus = self.take("-")
        kind, text, _ = self.token
        if not (kind == "number" or (not minus and (kind == "text" or text in ("True", "False")))):
            self.unexpected(wanted)
        if kind == "number" and not isfinite(float(text)):
            self.wrong(f"the number {cut(text)} is too large; the largest is about 1.8e308")
        self.next += 1
        if kind == "number":
            return Literal(-float(text) if minus else float(text))
        return Literal(re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL) if kind == "text" else text == "True")
