"""Random expressions over a small space, and what Python's own `eval` makes of them at one design."""

import ast
import math
import operator
import random
from typing import Any

import torch
from torch import Tensor

from hentropy.core.spaces.evaluation import Categories, Columns, Kinds, ParameterColumn, Tables

KINDS: Kinds = {
    "x": None,
    "y": None,
    "count": Categories((1, 2, 4)),
    "solvent": Categories(("THF", "water", "DMF")),
    "grade": Categories(("a_low", "b_mid", "c_high"), ordered=True),
    "least": Categories(("a_low", "b_mid", "c_high"), ordered=True),
    "stirred": Categories((True, False)),
}
TABLES: Tables = {"price": {"THF": 2.0, "water": -0.5, "DMF": 4.0}, "time": {1: 0.25, 2: 1.0, 4: -2.0}}


def designs(count: int, seed: int) -> Columns:
    """Random designs: numbers half of the time in steps of 0.5, so that comparisons meet ties."""
    generator = torch.Generator().manual_seed(seed)

    def numbers() -> Tensor:
        steps = torch.randint(-4, 5, (count,), generator=generator) / 2.0
        free = 4 * torch.rand(count, generator=generator, dtype=torch.float64) - 2
        return torch.where(torch.rand(count, generator=generator) < 0.5, steps.double(), free)

    return {
        name: ParameterColumn(numbers())
        if levels is None
        else ParameterColumn(torch.randint(len(levels.options), (count,), generator=generator), levels)
        for name, levels in KINDS.items()
    }


def plain(columns: Columns, i: int) -> dict[str, Any]:
    """One of the designs in plain values."""
    return {
        name: column.levels.options[int(column.values[i])] if column.levels else float(column.values[i])
        for name, column in columns.items()
    }


class Writer:
    """Writes random texts; with `straight`, only what can be linear, in numbers that binary fractions hold exactly."""

    def __init__(self, seed: int, straight: bool = False) -> None:
        self.random, self.straight = random.Random(seed), straight

    def bracketed(self, text: str, always: bool = False) -> str:
        return f"({text})" if always or " if " in text or self.random.random() < 0.5 else text

    def atom(self, discrete: bool) -> str:
        numbers = ["0.5", "1", "2", "-3", "count * 1", "price[solvent]", "time[count]", "price['THF']"]
        return self.random.choice(numbers if discrete else [*numbers, *"xyxyxy"])

    def number(self, depth: int, discrete: bool = False) -> str:
        if depth == 0 or self.random.random() < 0.1:
            return self.atom(discrete)
        a, b = (self.bracketed(self.number(depth - 1, discrete)) for _ in range(2))
        way = self.random.choice("+-*/nmMaif" if self.straight else "+-*/nmMaifpels")
        if way in "*/" and self.straight:
            b = self.random.choice(["2", "-0.5", "4", "count", "price[solvent]", "time[count]"])
            return f"{b} * {a}" if way == "*" and self.random.random() < 0.5 else f"{self.operand(a)} {way} {b}"
        if way in "+-*/":
            return f"{a} {way} {b}" if way in "+-" else f"{self.operand(a)} {way} {self.operand(b)}"
        return {
            "n": f"-{self.operand(a)}",
            "m": f"min({a}, {b}, {self.atom(discrete)})",
            "M": f"max({a}, {b})",
            "a": f"abs({a})",
            "i": f"{a} if {self.bracketed(self.condition(depth - 1, discrete or self.straight))} else {b}",
            "f": f"{a} + {b} - {self.atom(discrete)}",
            "p": f"({a}) ** {self.random.choice(['2', '3', '-1', '0'])}",
            "e": f"exp({a})",
            "l": f"log({a})",
            "s": f"sqrt({a})",
        }[way]

    def operand(self, text: str) -> str:
        return text if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else f"({text})"

    def condition(self, depth: int, discrete: bool = False) -> str:
        if depth == 0 or self.random.random() < 0.2:
            if discrete or self.random.random() < 0.5:
                return self.random.choice(
                    [
                        "solvent != 'THF'", "'water' == solvent", "solvent in ['THF', \"DMF\"]", "stirred", "True",
                        "count not in [1, 4]", "grade < 'c_high'", "least <= grade", "grade == least", "not stirred",
                        "stirred == False", "count <= 2", "'b_mid' <= grade < 'c_high'", "0.5 < price[solvent]",
                    ]
                )  # fmt: skip
            return f"x {self.sign()} {self.atom(False)}"
        way = self.random.choice("ccccaoni" if self.straight else "cccaoniq")
        a, b = (self.condition(depth - 1, discrete) for _ in range(2))
        parts = [self.bracketed(self.number(depth - 1, discrete)) for _ in range(self.random.choice([2, 2, 3]))]
        return {
            "c": "".join(f"{part} {self.sign()} " for part in parts[:-1]) + parts[-1],
            "a": f"{self.bracketed(a)} and {self.bracketed(b)}",
            "o": f"{self.bracketed(a)} or {self.bracketed(b)}",
            "n": f"not {self.bracketed(a)}",
            "i": f"{self.bracketed(a)} if {self.bracketed(b)} else {self.condition(0, discrete)}",
            "q": f"({a}) {self.random.choice(['==', '!='])} ({b})",
        }[way]

    def sign(self) -> str:
        return self.random.choice(list(SIGNS))


def compare(values: list[Any], signs: list[str]) -> bool:
    """A chain of comparisons of plain values, numbers with tolerance."""

    def one(a: Any, sign: str, b: Any) -> bool:
        if sign in ("in", "not in"):
            return any(one(a, "==", option) for option in b) == (sign == "in")
        if isinstance(a, float | int) and not isinstance(a, bool) and abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)):
            a = b
        return bool(SIGNS[sign](a, b))

    return all(one(a, sign, b) for a, sign, b in zip(values[:-1], signs, values[1:], strict=True))


SIGNS: dict[str, Any] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne
}  # fmt: skip
NODES = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
    ast.NotIn: "not in",
}  # fmt: skip


class Tolerant(ast.NodeTransformer):
    """Comparisons become calls of `compare`, the rest stays Python."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        signs = ast.List([ast.Constant(NODES[type(op)]) for op in node.ops], ast.Load())
        values = ast.List([node.left, *node.comparators], ast.Load())
        return ast.Call(ast.Name("compare", ast.Load()), [values, signs], [])


def by_python(text: str) -> Any:
    """A function of one plain design: Python's own reading of the text."""
    code = compile(ast.fix_missing_locations(Tolerant().visit(ast.parse(text, mode="eval"))), "text", "eval")
    known = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt, "compare": compare, **TABLES}
    return lambda design: eval(code, known, design)


def written(seed: int) -> tuple[str, bool]:
    """A random text, and whether it is a condition."""
    writer = Writer(seed)
    return (writer.condition(4), True) if seed % 2 else (writer.number(4), False)


def at(**values: Any) -> Columns:
    """Designs from numbers, and from options of the space."""
    found = {}
    for name, value in values.items():
        levels = KINDS.get(name)
        found[name] = ParameterColumn(
            torch.tensor([levels.position(v) for v in value])
            if levels
            else torch.as_tensor(value, dtype=torch.float64),
            levels,
        )
    return found
