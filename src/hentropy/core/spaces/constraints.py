"""Conditions that every design must satisfy, and how searches keep to them.

A condition is an expression (`expressions`) or a function of the columns. Linear ones are used as such: for the options
that a design has, they are half-spaces of its numbers, and a design that violates them is moved onto them, one after
the other, in the unit cube. What is still infeasible then, because a condition bends or a number has steps, is drawn
back towards a feasible design nearby until it is feasible. So whatever a search looks at can be run.

    u      a point of the search's cube        x      a design, rows of coordinates
    anchors     feasible designs that were found first, spread over the space
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from hentropy.core.spaces.evaluation import Categories, Columns, ParameterColumn, Tables, check, evaluate, violation
from hentropy.core.spaces.expressions import Expression, parse
from hentropy.core.spaces.linear_constraints import Clause, Clauses, half_spaces
from hentropy.core.spaces.parameters import written
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

Condition = str | Callable[[Mapping[str, Any]], Any]
"""An expression, or a function of the columns (numbers as tensors, options as arrays): which designs are feasible."""

DESCENT_SWEEPS, MAX_SWEEPS = 6, 60
"""How often all linear conditions are visited: at a step of descent, and at its end."""

STRICT_MARGIN = 1e-7
"""Strict conditions are met by so much, in units of the range of the numbers."""

BISECTIONS, DESCENT_BISECTIONS = 24, 8
"""Bisection steps towards a feasible design: at the end, and during descent."""

SAMPLES_AT_ONCE, MAX_SAMPLES, MAX_ANCHORS = 2**11, 2**16, 512
"""Points of the whole space that are tried for feasible ones: at first, and at most; and how many of them are kept."""

RARE_SHARE = 0.01
"""Where fewer points than this are feasible, samples walk from feasible designs instead of waiting for luck."""

WALK_STEPS, BURN_IN_STEPS, FEW_ANCHORS = 24, 300, 64
"""Steps between two samples of a walk, and before the first, where it begins from fewer than this many designs."""


class _Unconstrained(Protocol):
    """A space (see `DesignSpace`) as it would be without its conditions."""

    @property
    def cube(self) -> int: ...
    def free_columns(self, x: Tensor) -> Columns: ...
    def free_numbers(self) -> Mapping[str, int]: ...
    def free_from_cube(self, u: Tensor) -> Tensor: ...
    def free_filling(self, u: Tensor) -> Tensor: ...
    def free_stepped(self, x: Tensor, step: Tensor) -> Tensor: ...
    def free_project(self, x: Tensor) -> Tensor: ...
    def free_clamp(self, x: Tensor) -> Tensor: ...
    def to_cube(self, x: Tensor) -> Tensor: ...
    def to_unit(self, x: Tensor) -> Tensor: ...
    def from_unit_slope(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Conditions:
    """The conditions of a space, with the tables that they look up."""

    given: tuple[Condition, ...]
    tables: Tables
    kinds: Mapping[str, Categories | None]

    @classmethod
    def of(cls, given: Any, tables: Any, kinds: Mapping[str, Categories | None]) -> "Conditions":
        """Parsed and checked against the parameters."""
        if isinstance(given, str) or callable(given) or not isinstance(given, Sequence):
            raise InputError(f'where must be a list of conditions, such as ["a + b <= 1"], got {given!r}')
        known = _tables(tables, kinds)
        for condition in given:
            if isinstance(condition, str):
                check(parse(condition), kinds, known, condition=True)
            elif not callable(condition):
                raise InputError(f"a condition must be a text such as 'a + b <= 1', or a function, got {condition!r}")
        return cls(tuple(given), known, kinds)

    def subset(self, which: Sequence[int]) -> "Conditions":
        """Some of them."""
        return Conditions(tuple(self.given[i] for i in which), self.tables, self.kinds)

    @cached_property
    def _parsed(self) -> tuple[Expression | Callable[[Mapping[str, Any]], Any], ...]:
        return tuple(parse(condition) if isinstance(condition, str) else condition for condition in self.given)

    def half_spaces(self, columns: Columns) -> list[tuple[Condition | Expression, Clauses]]:
        """Each of them as linear constraints at designs; None for those that are not linear, whatever the designs."""
        return [
            (each, half_spaces(each, columns, self.tables) if isinstance(each, Expression) else None)
            for each in self._parsed
        ]

    def each(self, columns: Columns) -> Tensor:
        """Which conditions hold: ... x conditions."""
        if not self.given:
            first = next(iter(columns.values())).values
            return torch.ones(*first.shape, 0, dtype=torch.bool, device=first.device)
        return torch.stack([self._holds(condition, columns) for condition in self._parsed], -1)

    def hold(self, columns: Columns) -> Tensor:
        """Whether all of them hold: ... ."""
        return self.each(columns).all(-1)

    def _holds(self, condition: Expression | Callable[[Mapping[str, Any]], Any], columns: Columns) -> Tensor:
        if isinstance(condition, Expression):
            return evaluate(condition, columns, self.tables)
        first = next(iter(columns.values())).values
        given = {name: _for_function(column) for name, column in columns.items()}
        try:
            found = torch.as_tensor(condition(given)).to(torch.bool)
            return found.to(first.device).expand(first.shape)
        except Exception as error:
            raise InputError(
                f"the condition {_text(condition)} raised {type(error).__name__}: {error}; it"
                " gets columns by name, and returns for each design whether it is feasible"
            ) from error

    def violation(self, columns: Columns) -> Tensor:
        """How far designs are from satisfying all: ... ; a function counts 1 where it is violated."""
        parts = [
            violation(condition, columns, self.tables)
            if isinstance(condition, Expression)
            else (~self._holds(condition, columns)).to(torch.float64)
            for condition in self._parsed
        ]
        return torch.stack(list(torch.broadcast_tensors(*parts))).sum(0)


def _for_function(column: ParameterColumn) -> Any:
    """A column as functions get it."""
    if column.levels is None:
        return column.values
    return np.array(column.levels.options, dtype=object)[column.values.cpu().numpy()]


def _tables(given: Any, kinds: Mapping[str, Categories | None]) -> Tables:
    """Tables by name; text keys, as files have them, are matched with options that are no texts."""
    if not isinstance(given, Mapping) or not all(isinstance(table, Mapping) for table in given.values()):
        raise InputError(f'tables must be numbers by option, such as {{"price": {{"THF": 2.0}}}}, got {given!r}')
    options = {
        text: option
        for kind in kinds.values()
        if kind is not None
        for option in kind.options
        for text in (str(option), written(option))
    }
    found: dict[str, dict[Any, float]] = {}
    for name, table in given.items():
        for option, number in table.items():
            if not isinstance(number, int | float) or isinstance(number, bool):
                raise InputError(f"table {name} has {number!r} for {option}; it must be a number")
            found.setdefault(name, {})[options.get(str(option), option)] = float(number)
    return found


@dataclass(frozen=True)
class DesignTest:
    """A test of designs (... x d to ...), and some that pass it (m x d)."""

    passes: Callable[[Tensor], Tensor]
    known: Tensor


class FeasibleSet:
    """The designs of a space that satisfy its conditions, and that pass a test, if there is one."""

    def __init__(self, space: _Unconstrained, conditions: Conditions, test: "DesignTest | None" = None) -> None:
        self.space, self.conditions, self.test = space, conditions, test
        found = self._first() if test is None else test.known
        if not len(found):
            raise InputError(self._clash())
        self.anchors = found[:MAX_ANCHORS]
        if len(found) < FEW_ANCHORS:
            self.anchors = torch.cat([found, self._walked(MAX_ANCHORS - len(found), seed=0, burn_in=BURN_IN_STEPS)])

    def holds(self, x: Tensor) -> Tensor:
        """Whether designs (... x d) satisfy all conditions, and pass the test: ... ."""
        if self.test is not None and not self.conditions.given:
            return self.test.passes(x)
        hold = self.conditions.hold(self.space.free_columns(x)).to(x.device)
        return hold if self.test is None else hold & self.test.passes(x)

    def _first(self) -> Tensor:
        """Feasible designs to begin with: m x d, none where none were found."""
        filling = torch.quasirandom.SobolEngine(self.space.cube, scramble=True, seed=0) if self.space.cube else None
        drawn = torch.zeros(1, 0, dtype=torch.float64) if filling is None else filling.draw(SAMPLES_AT_ONCE).double()
        designs = self.space.free_filling(drawn)
        found = designs[self.holds(designs)]
        if len(found):
            return found
        moved = self.space.free_project(self._onto_linear(designs, MAX_SWEEPS))
        found = moved[self.holds(moved)]
        return found if len(found) else self._descended(designs)

    def _descended(self, designs: Tensor) -> Tensor:
        """Feasible designs that random steps find which lower the violation: m x d."""
        generator = torch.Generator().manual_seed(0)
        at, step = designs[self.conditions.violation(self.space.free_columns(designs)).argsort()[:64]], 0.2
        for _ in range(200):
            miss = self.conditions.violation(self.space.free_columns(at))
            u = self.space.to_cube(at)
            noise = torch.randn(16, *u.shape, generator=generator, dtype=torch.float64)
            tried = self.space.free_project(
                self._onto_linear(self.space.free_from_cube((u + step * noise).clamp(0.0, 1.0)), DESCENT_SWEEPS)
            )
            found = tried.flatten(0, 1)[self.holds(tried.flatten(0, 1))]
            if len(found):
                return found
            least, choice = self.conditions.violation(self.space.free_columns(tried)).min(0)
            better = least < miss
            at = torch.where(better.unsqueeze(-1), tried[choice, torch.arange(len(at))], at)
            step = step if bool(better.any()) else 0.7 * step
        return designs[:0]

    def _clash(self) -> str:
        """Which conditions contradict each other: a smallest set of them."""
        which = list(range(len(self.conditions.given)))
        for i in list(which):
            fewer = [j for j in which if j != i]
            if fewer and not self._possible(fewer):
                which = fewer
        texts = [_text(self.conditions.given[i]) for i in which]
        if len(texts) == 1:
            return f'no design satisfies the condition "{texts[0]}"; relax it, or widen the parameters'
        listed = ", ".join(f'"{text}"' for text in texts[:-1])
        return f'no design satisfies {listed} and "{texts[-1]}" together; without any one of them, designs exist'

    def _possible(self, which: Sequence[int]) -> bool:
        trial = FeasibleSet.__new__(FeasibleSet)
        trial.space, trial.conditions, trial.test = self.space, self.conditions.subset(which), None
        return bool(len(trial._first()))

    def idle(self) -> list[str]:
        """The conditions that exclude nothing, as far as many designs show."""
        filling = torch.quasirandom.SobolEngine(self.space.cube, scramble=True, seed=1)
        designs = self.space.free_filling(filling.draw(2**13).double())
        corners = self.space.free_filling((filling.draw(2**13).double() > 0.5).double().clamp(1e-9, 1 - 1e-9))
        hold = self.conditions.each(self.space.free_columns(torch.cat([designs, corners]))).all(0)
        return [_text(each) for each, always in zip(self.conditions.given, hold.tolist(), strict=True) if always]

    def violated(self, row: Tensor) -> list[str]:
        """The conditions that a design (d) does not satisfy."""
        hold = self.conditions.each(self.space.free_columns(row))
        return [_text(each) for each, does in zip(self.conditions.given, hold.tolist(), strict=True) if not does]

    def _onto_linear(self, x: Tensor, sweeps: int) -> Tensor:
        """Designs moved onto the linear conditions that they violate, one after the other, in the unit cube."""
        if not self._linear:
            return x
        A, c, clauses = self._half_spaces(x)  # ... x clauses x d, ... x clauses
        strict = torch.tensor([clause.strict for clause in clauses], device=x.device)
        equal = torch.tensor([clause.equal for clause in clauses], device=x.device)
        for _ in range(sweeps):
            slope = self.space.from_unit_slope(x.detach())
            scaled = A * slope.unsqueeze(-2)  # how much a left side changes along each axis of the unit cube
            margin = c + strict * STRICT_MARGIN * scaled.norm(dim=-1)
            with torch.no_grad():
                over = (A @ x.unsqueeze(-1)).squeeze(-1) + margin
                violated = torch.where(equal, over.abs() > 1e-12, over > 0.0).flatten(0, -2).any(0).tolist()
            if not any(violated):
                break
            size = scaled.square().sum(-1).clamp_min(1e-300)
            for j in (j for j, wrong in enumerate(violated) if wrong):
                beyond = (A[..., j, :] * x).sum(-1) + margin[..., j]
                beyond = beyond if clauses[j].equal else beyond.clamp_min(0.0)
                x = x - (beyond / size[..., j]).unsqueeze(-1) * scaled[..., j, :] * slope
            x = self.space.free_clamp(x)
        return x

    def _half_spaces(self, x: Tensor) -> tuple[Tensor, Tensor, list[Clause]]:
        """The linear conditions A v + c <= 0 for the options that designs (... x d) have: ... x clauses x d, and c."""
        numbers, columns = self.space.free_numbers(), self.space.free_columns(x.detach())
        found = [half_spaces(condition, columns, self.conditions.tables) or [] for condition in self._linear]
        clauses = [clause for clauses in found for clause in clauses if clause.slopes]
        A = x.new_zeros(*x.shape[:-1], len(clauses), x.shape[-1])
        c = x.new_zeros(A.shape[:-1])
        for j, clause in enumerate(clauses):
            c[..., j] = clause.constant
            for name, slope in clause.slopes.items():
                A[..., j, numbers[name]] = slope
            if clause.free is not None:
                A[..., j, :].masked_fill_(clause.free.unsqueeze(-1), 0.0)
                c[..., j].masked_fill_(clause.free, 0.0 if clause.equal else -1.0)
        return A, c, clauses

    @cached_property
    def _clauses(self) -> list[tuple[Condition | Expression, Clauses]]:
        """The conditions as linear constraints at some design."""
        middle = torch.full((1, self.space.cube), 0.5, dtype=torch.float64)
        return self.conditions.half_spaces(self.space.free_columns(self.space.free_filling(middle)))

    @cached_property
    def _linear(self) -> list[Expression]:
        """The conditions that are linear in some numbers."""
        linear = [condition for condition, found in self._clauses if any(clause.slopes for clause in found or ())]
        return [condition for condition in linear if isinstance(condition, Expression)]

    @cached_property
    def _bends(self) -> bool:
        """Whether something else than linear conditions is to be kept."""
        return self.test is not None or any(found is None for _, found in self._clauses)

    def from_cube(self, u: Tensor) -> Tensor:
        """A point of the cube as a feasible design, differentiable where the numbers move: ... x d."""
        x = self._onto_linear(self.space.free_from_cube(u), DESCENT_SWEEPS)
        return self._backtracked(x, rounded=False) if self._bends else x

    def project(self, x: Tensor) -> Tensor:
        """The nearest design that satisfies all conditions, or one near it: ... x d."""
        free = self.space.free_project(x)
        if bool(self.holds(free.detach()).all()):
            return free
        moved = self.space.free_project(self._onto_linear(free, MAX_SWEEPS))
        return self._backtracked(moved, rounded=True)

    def _backtracked(self, x: Tensor, rounded: bool) -> Tensor:
        """Designs (... x d), those that are infeasible on the way to a feasible one as far as needed."""
        flat = x.reshape(-1, x.shape[-1])
        with torch.no_grad():
            bad = (~self.holds(flat)).nonzero()[:, 0]
            if not len(bad):
                return x
            outside, anchors = flat[bad].detach(), self.anchors.to(x)
            near = torch.cdist(self.space.to_unit(outside), self.space.to_unit(anchors)).argmin(-1)
            start = self.space.to_cube(anchors[near])
            end = self.space.to_cube(outside)
            low, length = torch.zeros_like(end[:, :1]), 1.0
            for _ in range((BISECTIONS if rounded else DESCENT_BISECTIONS) // 2):
                # bisection by two steps at once: three points in one call cost hardly more than one
                length /= 4.0
                at = low + length * torch.arange(1, 4).view(3, 1, 1).to(low)
                tried = self.space.free_from_cube(torch.lerp(start, end, at))
                first, middle, last = self.holds(self.space.free_project(tried) if rounded else tried).unsqueeze(-1)
                low = low + length * (2 * middle + torch.where(middle, last, first))
        back = self.space.free_from_cube(torch.lerp(start, self.space.to_cube(flat[bad]), low))
        if rounded:
            back = torch.where(low > 0, self.space.free_project(back), anchors[near])
        return flat.index_put((bad,), back).reshape(x.shape)

    def repaired(self, moved: Tensor, x: Tensor) -> Tensor:
        """Designs ... x N x d, infeasible ones mended by their numbers, or else replaced by x (... x d)."""
        flat = moved.reshape(-1, moved.shape[-1])
        good = self.holds(flat)
        if not bool(good.all()):
            mended = self.space.free_project(self._onto_linear(flat, MAX_SWEEPS))
            usable = self.holds(mended).unsqueeze(-1)
            instead = torch.where(usable, mended, x.unsqueeze(-2).expand(moved.shape).reshape(flat.shape))
            flat = torch.where(good.unsqueeze(-1), flat, instead)
        return flat.reshape(moved.shape)

    def sample(self, count: int, seed: int) -> Tensor:
        """Feasible designs that fill what the conditions leave: count x d, the first ones the same for any count."""
        engine = torch.quasirandom.SobolEngine(self.space.cube, scramble=True, seed=seed)
        found, drawn = self.anchors[:0], 0
        while len(found) < count and drawn < MAX_SAMPLES:
            u = engine.draw(SAMPLES_AT_ONCE, dtype=torch.float64).clamp(1e-9, 1 - 1e-9)
            designs = self.space.free_filling(u)
            found = torch.cat([found, designs[self.holds(designs)]])
            drawn += SAMPLES_AT_ONCE
            if len(found) < RARE_SHARE * drawn:
                return self._walked(count, seed)
        return found[:count] if len(found) >= count else torch.cat([found, self._walked(count - len(found), seed)])

    def _walked(self, count: int, seed: int, burn_in: int = 0) -> Tensor:
        """Feasible designs by random walks from the anchors, which keep to steps that stay feasible: count x d.

        Steps are of many lengths, or differences of two other walks: where little is feasible, these lead along it.
        """
        generator = torch.Generator().manual_seed(seed)
        chains = 64
        at = self.anchors[torch.randint(len(self.anchors), (chains,), generator=generator)]
        found: list[Tensor] = []
        while len(found) * chains < count:
            for _ in range(WALK_STEPS if found else WALK_STEPS + burn_in):
                u = self.space.to_cube(at)
                length = 10.0 ** (-3.0 * torch.rand(chains, 1, generator=generator, dtype=torch.float64))
                noise = length * torch.randn(u.shape, generator=generator, dtype=torch.float64)
                order = torch.randperm(chains, generator=generator)
                along = (u[order] - u[order.roll(1)]) * 2.0 * torch.rand(chains, 1, generator=generator)
                either = torch.rand(chains, 1, generator=generator) < 0.5
                tried = self.space.free_stepped(at, torch.where(either, noise, along))
                if any(clause.equal for _, found in self._clauses for clause in found or ()):
                    tried = self._onto_linear(tried, DESCENT_SWEEPS)
                tried = self.space.free_project(tried)
                at = torch.where(self.holds(tried).unsqueeze(-1), tried, at)
            found.append(at)
        return torch.cat(found)[:count]


def _text(condition: Condition) -> str:
    return condition.__name__ if isinstance(condition, FunctionType) else str(condition)
