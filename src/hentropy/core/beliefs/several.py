r"""`Several`: what is known about several outcomes of a design.

Beliefs side by side, each about one outcome, or about some that are correlated (see `correlated`). These parts are
independent of each other, given the components. The h-th component of the whole is the h-th component of each part, so
that all parts have the same weights w. What one part y_i says about its own hyperparameters then weighs the components
of all:

    w'_h is proportional to w_h prod_i p_ih(y_i)

Values of o outcomes at K points are K o numbers: all outcomes of the first point, then those of the second.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hentropy.core.beliefs.base import Belief, Fantasy, LookAhead, Mixture, Moments, Needs, check_names, half_way
from hentropy.core.beliefs.correlated import Correlated, CorrelatedFantasy, CorrelatedLookAhead
from hentropy.core.beliefs.gaussian import Gaussian, GaussianFantasy, GaussianLookAhead
from hentropy.core.beliefs.graded import MOST_BRANCHES, Graded, GradedFantasy, GradedLookAhead
from hentropy.core.beliefs.known import Known, KnownFantasy, KnownLookAhead
from hentropy.core.beliefs.nodes import Nodes, bayes, every_combination, every_grade, joint_nodes
from hentropy.core.spaces.rows import RowIndex
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

Part = Gaussian | Known | Correlated | Graded

FEWEST_BESIDE_GRADES = 8
"""This many normal nodes at least stand beside each combination of grades."""


@dataclass(frozen=True, repr=False)
class Several(Mixture):
    """Beliefs about one outcome each, or about groups of correlated outcomes. All mixtures have the same weights.

    `order` are the outcomes, by default in the order of the parts. With `only`, observations show only these outcomes.
    The first designs of a look-ahead may be pending: `awaited` are the outcomes measured at each of them.
    """

    parts: tuple[Part, ...]
    order: tuple[str, ...] = ()
    only: frozenset[str] | None = None
    awaited: tuple[frozenset[str], ...] = ()

    def __post_init__(self) -> None:
        if len(self.parts) < 2 and not any(isinstance(part, Correlated) for part in self.parts):
            raise InputError(f"a belief about several outcomes has at least 2 of them, got {len(self.parts)}")
        self._check_parts()
        for part in self._mixtures:
            if part.components != self.components or not torch.allclose(part.weights, self.weights):
                raise InputError(
                    f"the beliefs about {self._mixtures[0].outcomes[0]!r} and {part.outcomes[0]!r} differ in the number"
                    " of their components, or in the weights of these; the h-th components of all outcomes belong"
                    " together"
                )

    def _check_parts(self) -> None:
        """Beliefs that can stand beside each other, about different outcomes of designs of one space."""
        names = [name for part in self.parts for name in part.outcomes]
        for part in self.parts:
            if not isinstance(part, Part):
                raise InputError(
                    f"the belief about {part.outcomes[0]!r} is a {type(part).__name__}, which cannot stand beside"
                    ' others; fit it with hyperparameters="families", or all together with fit_outcomes'
                )
            if part.X.shape[-1] != self.parts[0].X.shape[-1]:
                raise InputError(
                    f"designs of {self.parts[0].outcomes[0]!r} have {self.parts[0].X.shape[-1]} coordinates, and those"
                    f" of {part.outcomes[0]!r} have {part.X.shape[-1]}; fit all beliefs in one space"
                )
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise InputError(
                f"two beliefs are about {twice!r}; give each outcome a name of its own, such as"
                ' dataclasses.replace(belief, outcomes=("yield",))'
            )
        if self.order:
            check_names(self.order, tuple(names))

    @property
    def _mixtures(self) -> list[Gaussian | Correlated | Graded]:
        return [part for part in self.parts if not isinstance(part, Known) and part.components > 1]

    @property
    def outcomes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names."""
        return self.order or tuple(name for part in self.parts for name in part.outcomes)

    @property
    def measured(self) -> tuple[str, ...]:
        """What an observation shows, including known outcomes: the outcomes of the belief come first."""
        return self._in_order([name for part in self.parts for name in self._shown_by(part)])

    def _in_order(self, shown: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(shown, key=(*self.outcomes, *(name for name in shown if name not in self.outcomes)).index))

    def _shown_by(self, part: Part, design: int | None = None) -> tuple[str, ...]:
        """The outcomes of a part that an observation shows; of a design of a look ahead, by its place."""
        if design is not None and design < len(self.awaited):
            return tuple(name for name in _names(part) if name in self.awaited[design])
        if isinstance(part, Correlated) or self.only is None:
            return part.measured
        return tuple(name for name in part.outcomes if name in self.only)

    def shown(self, designs: int) -> list[list[tuple[int, str]]]:
        """What each part shows of this many designs: pairs of a design's index and an outcome, design by design."""
        return [[(j, name) for j in range(designs) for name in self._shown_by(part, j)] for part in self.parts]

    def width(self, designs: int) -> int:
        """How many values an observation of this many designs shows, pending ones first."""
        return sum(map(len, self.shown(designs)))

    @property
    def graded(self) -> frozenset[str]:  # type: ignore[override]
        """Outcomes that are modelled as probabilities."""
        return frozenset().union(*(part.graded for part in self.parts))

    def viewing(self, levels: Mapping[str, float | None]) -> "Several":
        """The belief about the probits of some graded outcomes, for each of which there may be a level to exceed."""
        parts = tuple(
            part.above(levels[part.outcomes[0]]) if isinstance(part, Graded) and part.outcomes[0] in levels else part
            for part in self.parts
        )
        key = ("viewing", *levels.items())
        if key not in self.found:
            self.found[key] = replace(self, parts=parts)
        own: Several = self.found[key]
        return own

    @property
    def logs(self) -> frozenset[str]:  # type: ignore[override]
        """Outcomes that are modelled as logarithms."""
        return frozenset().union(*(part.logs for part in self.parts))

    @cached_property
    def X(self) -> Tensor:  # type: ignore[override]  # noqa: N802 (as in all beliefs)
        """The designs of which at least one outcome was observed: n x d."""
        X = self.parts[0].X
        for part in self.parts[1:]:
            if len(part.X):
                X = torch.cat([X, part.X[~RowIndex(part.X).equal_to_any(X)]]) if len(X) else part.X
        return X

    @property
    def noise_std(self) -> Tensor:  # type: ignore[override]
        """The noise standard deviation of a future observation, for each outcome: o."""
        each = [torch.as_tensor(part.noise_std).to(self.X).reshape(-1) for part in self.parts]
        return torch.cat(each)[self._places]

    @cached_property
    def _places(self) -> list[int]:
        """Where each outcome stands in the parts."""
        names = [name for part in self.parts for name in part.outcomes]
        return [names.index(name) for name in self.outcomes]

    @property
    def weights(self) -> Tensor:  # type: ignore[override]
        """The weights of the components, common to all outcomes: H."""
        own = [part.weights for part in self.parts if not isinstance(part, Known)]
        return max(own, key=len) if own else torch.ones(1).to(self.X)

    @property
    def correlations(self) -> dict[tuple[str, str], float]:
        """The correlations of pairs of outcomes that are modelled jointly."""
        together = [part for part in self.parts if isinstance(part, Correlated)]
        return {
            (first, part.names[j]): float(part.correlation[i, j])
            for part in together
            for i, first in enumerate(part.names)
            for j in range(i + 1, len(part.names))
        }

    @property
    def kinds(self) -> list[str]:
        """Those of the first mixture: the h-th components of all belong together."""
        return next((part.kinds for part in self._mixtures), [])

    @property
    def notes(self) -> tuple[str, ...]:
        """Which outcomes are modelled jointly, and which are not."""
        said = []
        for part in self.parts:
            if isinstance(part, Correlated):
                pairs = {pair: r for pair, r in self.correlations.items() if pair[0] in part.names}
                each = [f"{r:.1f}" if len(pairs) == 1 else f"{r:.1f} of {a} and {b}" for (a, b), r in pairs.items()]
                said.append(f"{_listed(part.names)} are modelled together: correlation {', '.join(each)}")
        apart = [name for part in self.parts if isinstance(part, Gaussian | Graded) for name in part.outcomes]
        if len(apart) > 1 or (apart and said):
            said.append(f"{_listed(apart)} {'is' if len(apart) == 1 else 'are'} modelled independently")
        return tuple(said)

    def of(self, *outcomes: str) -> Belief:
        """The belief about some of the outcomes, in this order; for an independent outcome, its own belief."""
        check_names(outcomes, self.outcomes)
        if outcomes == self.outcomes:
            return self
        if outcomes not in self.found:
            first = [part for name in outcomes for part in self.parts if name in part.outcomes]
            parts = [part for i, part in enumerate(first) if not any(part is other for other in first[:i])]
            alone = len(parts) == 1 and not isinstance(parts[0], Correlated)
            shown = tuple(part.showing(*outcomes) if isinstance(part, Correlated) else part for part in parts)
            self.found[outcomes] = parts[0] if alone else Several(shown, outcomes, self.only, self.awaited)
        own: Belief = self.found[outcomes]
        return own

    def alone(self) -> Belief:
        """The process of a single outcome that is correlated with others, as if only it were observed."""
        part, *others = self.parts
        seen = all(set(self.outcomes) <= set(names) for names in (self.measured, *self.awaited))
        known = seen and len(self.outcomes) == 1 and not others
        return part.process_of(*self.outcomes) if isinstance(part, Correlated) and known else self

    def related(self, *outcomes: str) -> frozenset[str]:
        """The outcomes whose measurement is informative about some of them: these, and those correlated with them."""
        parts = [part for part in self.parts if not isinstance(part, Known) and set(outcomes) & set(part.outcomes)]
        return frozenset(
            name for part in parts for name in (part.names if isinstance(part, Correlated) else part.outcomes)
        )

    def measuring(self, *outcomes: str) -> "Several":
        """The same belief, where observations show only some outcomes: its own, or ones correlated with them."""
        everything = dict.fromkeys(self.outcomes) | dict.fromkeys(
            name for part in self.parts if isinstance(part, Correlated) for name in part.names
        )
        check_names(outcomes, tuple(everything))
        parts = tuple(part.measuring(*outcomes) if isinstance(part, Correlated) else part for part in self.parts)
        return Several(parts, self.order, frozenset(outcomes), self.awaited)

    def awaiting(self, *each: frozenset[str]) -> "Several":
        """The same belief, where the first designs of a look-ahead are pending, each with its own outcomes."""
        return replace(self, awaited=each)

    def expecting(self, x: Tensor) -> "Several":
        """The belief after designs x (m x d) have given their expected outcomes; pending ones those awaited."""
        every = self.measuring(*(name for part in self.parts for name in _names(part)))
        y, seen = (
            every.expected(x),
            [self.awaited[j] if j < len(self.awaited) else self.measured for j in range(len(x))],
        )
        told = torch.tensor([[name in names for name in every.measured] for names in seen], device=y.device)
        grades = torch.tensor([name in self.graded for name in every.measured], device=y.device)
        after = every.condition(x, torch.where(told & ~grades, y, torch.nan))
        after = after._each(
            lambda part: (
                part.expecting(x[told[:, every.measured.index(part.outcomes[0])]]) if isinstance(part, Graded) else part
            )
        )
        return replace(after.measuring(*self.measured), only=self.only, awaited=())

    def nodes(self, count: int, q: int, seed: int | None = None) -> Nodes:
        """Where the outcomes of q designs are integrated: z is count x values, zero for known outcomes."""
        cells = [part for j in range(q) for part in self.parts for _ in self._shown_by(part, j)]
        uncertain = [not isinstance(part, Known) for part in cells]
        grades = {i: part.grades for i, part in enumerate(cells) if isinstance(part, Graded)}
        branches = math.prod(grades.values())
        if not grades or branches > MOST_BRANCHES:
            return joint_nodes(count, q, uncertain, self.components, seed).to(self.X)
        codes = every_combination(list(grades.values()))
        if sum(uncertain) == len(grades):
            z = codes.new_zeros(branches, len(cells))
            z[:, list(grades)] = codes
            return replace(every_grade(branches, 1), z=z, branches=branches).to(self.X)
        numbers = [one and i not in grades for i, one in enumerate(uncertain)]
        normal = joint_nodes(max(FEWEST_BESIDE_GRADES, count // branches), q, numbers, self.components, seed)
        z = normal.z.repeat_interleave(branches, 0)
        z[:, list(grades)] = codes.repeat(normal.count, 1)
        weights, component = (part.repeat_interleave(branches) for part in (normal.weights, normal.component))
        return Nodes(z, weights / branches, component, normal.quantiles, branches=branches).to(self.X)

    def half_way(self) -> Tensor:
        """What each component says of every outcome."""
        return torch.cat([half_way(part) for part in self._mixtures], -1)

    def some(self, components: list[int]) -> "Several":
        """The mixture of some of the components."""
        return self._each(lambda part: part.some(components) if part.components > 1 else part)

    def weighted(self, weights: Tensor) -> "Several":
        """With other weights of the components."""
        return self._each(lambda part: part.weighted(weights) if part.components > 1 else part)

    def split(self) -> tuple[Belief, ...]:
        """Its parts."""
        return self.parts

    def rejoined(self, parts: Sequence[Belief]) -> "Several":
        """Of other parts, in the order of its own."""
        return replace(self, parts=tuple(parts))  # type: ignore[arg-type]

    def rescaled(self, shift: float, scale: float) -> "Several":
        """The belief about shift + scale times every outcome that is no probability and not computed."""
        return self.rejoined([part.rescaled(shift, scale) for part in self.parts])

    def process_of(self, name: str) -> Belief:
        """The belief about one outcome; of one that is correlated with others, its own process."""
        own = self.of(name)
        part = own.split()[0]
        return part.process_of(name) if isinstance(part, Correlated) else own

    @property
    def observed(self) -> Tensor | None:  # type: ignore[override]
        """The values of a single outcome that is correlated with others."""
        part = self.parts[0]
        return part.observed_of(*self.outcomes) if isinstance(part, Correlated) and len(self.outcomes) == 1 else None

    def _each(self, change: "Callable[[Uncertain], Uncertain]") -> "Several":
        """With another belief about each outcome that is not known."""
        return replace(self, parts=tuple(part if isinstance(part, Known) else change(part) for part in self.parts))

    def exact(self) -> "Several":
        """The same belief with noiseless future observations."""
        return self.rejoined([part.exact() for part in self.parts])

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points ... x m x d: H x ... x m o."""
        return _side_by_side([part.moments(points, needs) for part in self.parts], self._places)

    def look_ahead(self, x: Tensor) -> "SeveralLookAhead":
        """Prepare to observe what is measured at x: b x q x d."""
        looks = (
            part.look_ahead_to(x, shown)
            if isinstance(part, Correlated)
            else part.look_ahead(x[..., [j for j, _ in shown], :])
            for part, shown in zip(self.parts, self.shown(x.shape[-2]), strict=True)
        )
        return SeveralLookAhead(self, x.shape[-2], tuple(looks))

    def condition(self, x: Tensor, y: Tensor) -> "Several":
        """The belief after observing y (n x w, NaN where an outcome was not measured) at x (n x d)."""
        y = y.unsqueeze(-1) if y.dim() == len(self.measured) == 1 else y
        if tuple(y.shape) != (x.shape[0], len(self.measured)):
            raise InputError(
                f"outcomes of {x.shape[0]} designs have shape {(x.shape[0], len(self.measured))}, one column for each"
                f" of {', '.join(self.measured)}, NaN where it was not measured; got {tuple(y.shape)}"
            )
        parts, log_density = list(self.parts), self.weights.new_zeros(1)
        for i, part in enumerate(self.parts):
            own = y[:, [self.measured.index(name) for name in self._shown_by(part)]]
            told = ~torch.isnan(own).all(-1)
            if not isinstance(part, Known) and bool(told.any()):
                values = own[told] if isinstance(part, Correlated) else own[told, 0]
                parts[i], likely = part.extended(x[told], values)
                log_density = log_density + (likely if part.components > 1 else 0.0)
        weights = bayes(self.weights, log_density.expand(self.components))
        return self.rejoined(parts).weighted(weights)

    def expected(self, x: Tensor) -> Tensor:
        """The means of what an observation at designs x (n x d) shows: n x w."""
        columns: dict[str, Tensor] = {}
        for part in self.parts:
            names = self._shown_by(part)
            if not names:
                continue
            found = (part.showing(*names) if isinstance(part, Correlated) else part).moments(x, Needs.MEAN)
            means = found.expect_vector(found.mean).unflatten(-1, (len(x), -1))
            columns |= dict(zip(names, means.unbind(-1), strict=True))
        return torch.stack([columns[name] for name in self.measured], -1)

    def paths(self, count: int, seed: int) -> Callable[[Tensor], Tensor]:
        """Functions drawn from the belief: points ... x m x d to count x ... x m x o, for one outcome ... x m."""
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.multinomial(self.weights.cpu(), count, replacement=True, generator=generator)
        shares = drawn.bincount(minlength=self.components).tolist()

        def of_part(part: Part, own: int) -> Callable[[Tensor], Tensor]:
            if isinstance(part, Known) or part.components == 1:
                return part.paths(count, own)
            each = [part.component(h).paths(n, own + h) for h, n in enumerate(shares) if n]
            return lambda points: torch.cat([path(points) for path in each])

        # the same numbers for two outcomes would tie them together
        paths = [of_part(part, seed + 1_000_003 * i) for i, part in enumerate(self.parts)]

        def all_of_them(points: Tensor) -> Tensor:
            each = [
                path(points) if isinstance(part, Correlated) else path(points).unsqueeze(-1)
                for part, path in zip(self.parts, paths, strict=True)
            ]
            values = torch.cat(each, -1)[..., self._places]
            return values if len(self.outcomes) > 1 else values.squeeze(-1)

        return all_of_them

    def sample(self, points: Tensor, count: int, seed: int) -> Tensor:
        """Joint draws at points m x d: count x m x o, for one outcome count x m."""
        drawn = super().sample(points, count, seed)
        return drawn.unflatten(-1, (-1, len(self.outcomes))) if len(self.outcomes) > 1 else drawn


@dataclass(frozen=True)
class SeveralLookAhead(LookAhead):
    """Observing q designs: a look ahead for each part."""

    belief: Several
    q: int
    looks: tuple[GaussianLookAhead | KnownLookAhead | CorrelatedLookAhead | GradedLookAhead, ...]

    def fantasy(self, nodes: Nodes) -> "SeveralFantasy":
        """The beliefs after the outcomes that the nodes stand for.

        All outcomes of a node are drawn from one component. Quantiles are taken one outcome after the other, each of
        the mixture as those before have weighted it.
        """
        belief, shown = self.belief, self.belief.shown(self.q)
        # the coordinates of z come design by design, and then part by part
        places = sorted((j, i, k) for i, cells in enumerate(shown) for k, (j, _) in enumerate(cells))
        at = {(i, k): place for place, (_, i, k) in enumerate(places)}
        own = [replace(nodes, z=nodes.z[:, [at[i, k] for k in range(len(cells))]]) for i, cells in enumerate(shown)]
        weights = belief.weights[:, None, None]
        drawn: dict[int, tuple[Tensor, Tensor]] = {}
        for i, look in enumerate(self.looks):
            if not isinstance(look, KnownLookAhead | GradedLookAhead):
                white, innovation, log_density = look.drawn(own[i], weights)
                drawn[i] = white, innovation
                weights = bayes(weights, log_density)
        # how likely grades are depends on the numbers that came with them, through the components
        graded, likely = {}, nodes.weights
        for i, look in enumerate(self.looks):
            if isinstance(look, GradedLookAhead):
                own[i] = replace(own[i], every=nodes.branches > 1)
                graded[i] = look.graded(own[i], weights)
                chance = (weights * graded[i].log_probability.exp()).sum(0)
                likely = likely * chance if nodes.branches > 1 else likely
                weights = bayes(weights, graded[i].log_probability)
        if nodes.branches > 1:  # nodes may stand twice: pending designs alone
            each = likely.unflatten(-1, (-1, nodes.branches))
            of_normal = nodes.weights.unflatten(-1, (-1, nodes.branches)).sum(-1, keepdim=True)
            likely = (of_normal * each / each.sum(-1, keepdim=True)).flatten(-2)

        def of(look: LookAhead) -> Tensor:
            return weights if look.belief.components > 1 else weights.new_ones(1, 1, 1)  # type: ignore[attr-defined]

        parts = [
            look.fantasy(own[i])
            if isinstance(look, KnownLookAhead)
            else look.after(own[i], graded[i], of(look), likely)
            if isinstance(look, GradedLookAhead)
            else look.after(own[i], *drawn[i], of(look))
            for i, look in enumerate(self.looks)
        ]
        return SeveralFantasy(self, nodes, likely, tuple(parts))


@dataclass(frozen=True)
class SeveralFantasy(Fantasy):
    """The beliefs about each outcome after observing what is measured, components weighted by all of it."""

    look: SeveralLookAhead
    nodes: Nodes
    weights: Tensor
    parts: tuple[GaussianFantasy | KnownFantasy | CorrelatedFantasy | GradedFantasy, ...]

    @property
    def values(self) -> Tensor:
        """What is measured of each design, design by design: b x N x values."""
        belief, q = self.look.belief, self.look.q
        cells = [cell for shown in belief.shown(q) for cell in shown]
        order = [
            cells.index((j, name))
            for j in range(q)
            for name in belief._in_order([name for place, name in cells if place == j])
        ]
        each = [values for part in self.parts if (values := part.values).shape[-1]]
        return _joined(each, 1)[..., order]

    def some(self, index: Tensor) -> "SeveralFantasy":
        """The beliefs after some of the outcomes."""
        parts = tuple(part.some(index) for part in self.parts)
        return SeveralFantasy(self.look, self.nodes.some(index), self.weights[..., index], parts)

    def moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points of each belief's own, b x (N or 1) x ... x K x d: H x b x N x ... x K o."""
        return _side_by_side([part.moments(points, needs) for part in self.parts], self.look.belief._places)

    def shared_moments(self, points: Tensor, needs: Needs) -> Moments:
        """At points that all beliefs share, P x K x d: H x b x N x P x K o."""
        return _side_by_side([part.shared_moments(points, needs) for part in self.parts], self.look.belief._places)


Uncertain = Gaussian | Correlated | Graded


def _names(part: Part) -> tuple[str, ...]:
    """All outcomes that can be observed of a part."""
    return part.names if isinstance(part, Correlated) else part.outcomes


def _listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _joined(each: Sequence[Tensor], last: int) -> Tensor:
    """Tensors side by side along the last dimension, all dimensions before it alike or one."""
    # the function of this name in torch imports a computer algebra system
    shape = np.broadcast_shapes(*(values.shape[:-last] for values in each))
    return torch.cat([values.expand(*shape, *values.shape[-last:]) for values in each], -1)


def _in_blocks(each: Sequence[Tensor], places: list[int]) -> Tensor:
    """Covariances of independent parts (... x K x w x K x w each) as one, outcomes in order: ... x K x o x K x o."""
    shape = np.broadcast_shapes(*(block.shape[:-4] for block in each))
    K, o = each[0].shape[-2], sum(block.shape[-1] for block in each)
    whole, start = each[0].new_zeros(*shape, K, o, K, o), 0
    for block in each:
        own = slice(start, start + block.shape[-1])
        whole[..., own, :, own] = block
        start = own.stop
    return whole[..., places, :, :][..., places]


def _side_by_side(each: Sequence[Moments], places: list[int]) -> Moments:
    """The moments of independent parts (H x ... x K w each, or 1 x ... x K w) as one: H x ... x K o."""
    weights = max((moments.weights for moments in each), key=len)
    widths = [moments.outcomes for moments in each]
    K = each[0].mean.shape[-1] // widths[0]

    def flat(values: Sequence[Tensor]) -> Tensor:
        split = [value.unflatten(-1, (K, w)) for value, w in zip(values, widths, strict=True)]
        return _joined(split, 1)[..., places].flatten(-2)

    var = None if each[0].var is None else flat([moments.variance for moments in each])
    cov = between = None
    if each[0].cov is not None:
        blocks = [m.covariance.unflatten(-1, (K, w)).unflatten(-3, (K, w)) for m, w in zip(each, widths, strict=True)]
        cov = _in_blocks(blocks, places).flatten(-2).flatten(-3, -2)
    if any(moments.between is not None for moments in each):
        of_points = [m.variance[..., None, None] if m.between is None else m.between for m in each]  # ... x K x w x w
        between = _in_blocks([block[..., None, :, None, :] for block in of_points], places).squeeze(-4).squeeze(-2)
    point_mass = all(moments.point_mass for moments in each)
    apart = all(width == 1 for width in widths)
    return Moments(weights, flat([m.mean for m in each]), var, cov, point_mass, sum(widths), between, apart)
