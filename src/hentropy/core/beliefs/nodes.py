"""Where the outcome of an experiment is integrated: a few standard normal nodes with weights.

Nodes for searching have mean zero and variance one exactly: what is linear in the outcome is reproduced exactly.

A single outcome is cut into strata that reach into the tails: narrow in probability there, and weighted by it. Late in
a study only an outcome that surprises changes the decision. Equally likely strata end at 1.7 standard deviations where
there are 8 of them; they see no gain at all in what takes more, and a search would then polish what it knows for ever.

Two outcomes of one design lie on rings, whose radii are strata that reach as far: with 16 nodes, gains on 30 beliefs
were wrong by 9 % (Sobol points: 23 %, a product of strata: 28 %), under a mixture by 8 % (41 %, 28 %).

Quantiles of mixtures of normal distributions say where outcomes of a mixture lie.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from hentropy.core.spaces import sobol
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class Nodes:
    """Standard normal outcomes z (N x q) with weights (N), and which component each is drawn from (N, in (0, 1)).

    With `quantiles`, a single outcome of a mixture is the quantile of the whole mixture at Phi(z) instead; of several
    outcomes of one design, each is, given those before it. With `every`, z are grades, every combination of them, and
    how likely each is depends on the design. With `branches` above 1, that many combinations of grades belong to each
    normal node, one after the other.
    """

    z: Tensor
    weights: Tensor
    component: Tensor
    quantiles: bool = False
    every: bool = False
    branches: int = 1

    def to(self, like: Tensor) -> "Nodes":
        """The same nodes on the device and in the precision of a tensor."""
        return replace(self, z=self.z.to(like), weights=self.weights.to(like), component=self.component.to(like))

    def some(self, index: Tensor) -> "Nodes":
        """Some of the nodes, by their index; the weights are as they were."""
        return replace(self, z=self.z[index], weights=self.weights[index], component=self.component[index])

    @property
    def count(self) -> int:
        """N."""
        return self.z.shape[0]


def join(parts: Sequence[Nodes]) -> Nodes:
    """Several sets of nodes as one, each with an equal share of the weight."""
    weights = torch.cat([part.weights for part in parts]) / len(parts)
    component = torch.cat([part.component for part in parts])
    return replace(parts[0], z=torch.cat([part.z for part in parts]), weights=weights, component=component)


def _normal_quantile(u: Tensor) -> Tensor:
    return math.sqrt(2.0) * torch.erfinv(2.0 * u - 1.0)


def _standardised(z: Tensor, weights: Tensor) -> Tensor:
    z = z - weights @ z
    return z / (weights @ z.square()).sqrt().clamp_min(1e-12)


def _equal_weights(count: int) -> Tensor:
    return torch.full((count,), 1.0 / count, dtype=torch.float64)


def _middle(count: int) -> Tensor:
    return torch.full((count,), 0.5, dtype=torch.float64)


def gauss_hermite(count: int) -> Nodes:
    """Exact for polynomials of degree 2 count - 1 in one outcome (q = 1)."""
    z, w = np.polynomial.hermite_e.hermegauss(count)
    weights = torch.from_numpy(w / w.sum())
    return Nodes(torch.from_numpy(z)[:, None], weights, _middle(count), True)


def every_combination(grades: Sequence[int]) -> Tensor:
    """Every combination of grades, from 0 on, of which there are this many of each outcome: N x outcomes."""
    return torch.tensor(list(product(*map(range, grades))), dtype=torch.float64)


def every_grade(grades: int, q: int) -> Nodes:
    """Every combination of grades, from 0 on, of q designs."""
    z = every_combination([grades] * q)
    return Nodes(z, _equal_weights(len(z)), _middle(len(z)), every=True)


TAILS_BEGIN = 3.0
"""The outermost strata of a single outcome begin this many standard deviations out."""

FEWEST_WITH_TAILS = 6
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


def outcome_nodes(count: int, q: int, components: int, seed: int | None = None) -> Nodes:
    """Nodes for q outcomes of a belief with this many components.

    One outcome: strata that reach into the tails, at their means (seed None) or at a random place in each. More of
    them, or more components than nodes (drawn functions: which one it is says more than its noise): equally weighted
    scrambled Sobol points, whose last coordinate chooses the component. Without a seed, for searching, mean and
    variance are made exact; with one, for auditing, nodes stay as they fall: moving them would bias the tails.
    """
    if count < 2:
        raise InputError(f"at least 2 outcomes are needed to look ahead, got {count}")
    if q > 1 or components > count:
        points = sobol(count, q + 1, 0 if seed is None else seed)
        z, weights = _normal_quantile(points[:, :q]), _equal_weights(count)
        return Nodes(z if seed is not None else _standardised(z, weights), weights, points[:, q])
    edges = _edges(count)
    below = torch.special.ndtr(edges)  # the probability below each edge: count + 1
    weights = below.diff()
    if seed is None:
        density = torch.exp(-0.5 * edges.square()) / math.sqrt(2.0 * math.pi)
        z = (-density.diff() / weights).unsqueeze(-1)
        component = _turns(weights, (GOLDEN * torch.arange(count, dtype=torch.float64)).remainder(1.0).argsort())
        return Nodes(_standardised(z, weights), weights, component if components > 1 else _middle(count), True)
    generator = torch.Generator().manual_seed(seed)
    # antithetic: the upper half mirrors the lower one, so that an even count has mean zero
    half = (count + 1) // 2
    place = torch.rand(half, generator=generator, dtype=torch.float64)
    lower = _normal_quantile((below[:half] + place * weights[:half]).clamp_min(1e-12))
    z = torch.cat([lower, -lower[: count // 2].flip(0)]).unsqueeze(-1)
    # the shift makes every stratum equally likely to be of any component
    shift = torch.rand((), generator=generator, dtype=torch.float64)
    component = (_turns(weights, sobol(count, 1, seed)[:, 0].argsort()) + shift).remainder(1.0)
    return Nodes(z, weights, component if components > 1 else _middle(count), True)


RINGS_SHARE, FEWEST_ON_RING = 0.75, 4
"""The square of the number of rings is this share of the number of nodes; on a ring are at least this many."""


def pair_nodes(count: int, seed: int | None = None) -> Nodes:
    """Nodes for two outcomes of one design, on rings in the plane of the two: angles equally spaced, radii in strata.

    Without a seed all nodes of a ring have its mean radius, and mean and variance are made exact. With one, each ring
    is turned at random, and its nodes are spread at random over its stratum.
    """
    if count < FEWEST_ON_RING:
        raise InputError(f"at least {FEWEST_ON_RING} nodes are needed to look ahead to two outcomes, got {count}")
    rings = min(round(math.sqrt(RINGS_SHARE * count)), count // FEWEST_ON_RING)
    edges = (-2.0 * torch.log1p(-torch.arange(1, rings, dtype=torch.float64) / rings)).sqrt()
    edges = edges * max(1.0, TAILS_BEGIN / float(edges[-1])) if rings > 1 else edges
    beyond = torch.cat([edges.new_ones(1), torch.exp(-0.5 * edges.square()), edges.new_zeros(1)])  # P(radius > edge)
    # the integral of r^2 exp(-r^2 / 2) up to each edge, for the mean radii
    half = math.sqrt(0.5 * math.pi)
    inner = half * torch.erf(edges * math.sqrt(0.5)) - edges * beyond[1:-1]
    moment = torch.cat([edges.new_zeros(1), inner, edges.new_full((1,), half)])
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    z, weights = [], []
    for k, chance in enumerate(beyond[:-1] - beyond[1:]):
        nodes = count // rings + (k >= rings - count % rings)
        place = torch.arange(nodes, dtype=torch.float64)
        if generator is None:
            turn, radius = torch.tensor(k * GOLDEN).double(), ((moment[k + 1] - moment[k]) / chance).expand(nodes)
        else:
            turn, *within = torch.rand(1 + nodes, generator=generator, dtype=torch.float64)
            spread = (torch.randperm(nodes, generator=generator) + torch.stack(within)) / nodes
            radius = (-2.0 * torch.log((beyond[k] - spread * chance).clamp_min(1e-300))).sqrt()
        angle = 2.0 * math.pi * (place / nodes + turn)
        z.append(torch.stack([radius * angle.cos(), radius * angle.sin()], -1))
        weights.append((chance / nodes).expand(nodes))
    all_z, all_weights = torch.cat(z), torch.cat(weights)
    return Nodes(_standardised(all_z, all_weights) if seed is None else all_z, all_weights, _middle(count), True)


def joint_nodes(count: int, q: int, uncertain: Sequence[bool], components: int, seed: int | None = None) -> Nodes:
    """Nodes for all values that q designs show, design by design: z is count x values, zero for those that are known.

    `uncertain` says which are not known.
    """
    doubtful = [i for i, one in enumerate(uncertain) if one]
    if q == 1 and len(doubtful) == 2 and count >= FEWEST_ON_RING:
        nodes = pair_nodes(count, seed)
    else:
        nodes = outcome_nodes(count, max(1, len(doubtful)), components, seed)
    z = nodes.z.new_zeros(count, len(uncertain))
    if doubtful:
        z[..., doubtful] = nodes.z
    return Nodes(z, nodes.weights, nodes.component, q == 1)


def _turns(weights: Tensor, order: Tensor) -> Tensor:
    """Where the components of strata lie in (0, 1): one after the other, so that each component has its weight."""
    turns = torch.empty_like(weights)
    turns[order] = weights[order].cumsum(0) - 0.5 * weights[order]
    return turns


def _edges(count: int) -> Tensor:
    """The edges of strata of one outcome, from -inf to inf: quantiles, stretched so that the last is far out."""
    inner = _normal_quantile(torch.arange(1, count, dtype=torch.float64) / count)
    if count >= FEWEST_WITH_TAILS:
        inner = inner * max(1.0, TAILS_BEGIN / float(inner[-1]))
    end = inner.new_full((1,), torch.inf)
    return torch.cat([-end, inner, end])


def value_draws(count: int, dim: int, seed: int) -> Tensor:
    """Fixed quasi-random standard normal base samples for values at the points of an action: count x dim.

    Drawn in antithetic pairs (and zero, where the count is odd): odd moments vanish exactly.
    """
    if count < 2:
        raise InputError(f"at least 2 draws are needed to integrate over values, got {count}")
    half = _normal_quantile(sobol(count // 2, dim, seed))
    draws = torch.cat([half, -half, half.new_zeros(count % 2, dim)])
    return draws / draws.square().mean(0).sqrt().clamp_min(1e-12)


HALVINGS = 60
"""The interval that holds a quantile is halved so often: down to rounding errors."""


def mixture_quantiles(shares: Sequence[float], weights: Tensor, mean: Tensor, sd: Tensor) -> Tensor:
    """Where so much of the probability lies below: S shares of mixtures with weights, mean and sd H x ...: S x ... .

    A component with sd 0 is a point mass.
    """
    share = torch.tensor(list(shares), dtype=mean.dtype, device=mean.device).view(-1, *[1] * (mean.dim() - 1))
    own = mean.unsqueeze(1) + sd.unsqueeze(1) * torch.special.ndtri(share)  # H x S x ...
    # the quantile lies between the least and the greatest of the components' own
    low, high = own.amin(0), own.amax(0)
    if mean.shape[0] == 1:
        return low
    weights, mean, sd = weights.unsqueeze(1), mean.unsqueeze(1), sd.clamp_min(1e-300).unsqueeze(1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = (weights * torch.special.ndtr((middle - mean) / sd)).sum(0) < share
        low, high = torch.where(below, middle, low), torch.where(below, high, middle)
    return 0.5 * (low + high)


MIXTURE_NEWTON_STEPS = 40
"""At most so many steps find the quantile of a mixture; quadratic convergence takes about five."""

MIXTURE_TOLERANCE = 1e-7
"""A step that short, compared with the interval that holds the quantile, was the last but one."""


Coordinate = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From a number (b x N) to the normal value that each component takes it for, and the slope of that: H x b x N each."""


def mixture_outcomes(
    z: Tensor,
    weights: Tensor,
    mean: Tensor,
    sd: Tensor,
    about: tuple[Tensor, Tensor, Tensor] | None = None,
    see: Coordinate | None = None,
) -> Tensor:
    """The quantiles of mixtures at probability Phi(z): z b x N, weights, mean and sd H x b x 1: b x N.

    Differentiable in weights, mean and sd: the last Newton step from a solution has the derivative of the solution.
    Where components `see` a number as different normal values, it lies between two numbers, and `about` are these and a
    guess: b x N each.
    """

    side = torch.where(z < 0, -1.0, 1.0)

    def beyond(y: Tensor) -> tuple[Tensor, Tensor]:
        """The probability of the tail from y on, on the side of z, and the density: b x N each."""
        seen, slope = (y, 1.0) if see is None else see(y)
        gap = (seen - mean) / sd
        tail = (weights * torch.erfc(gap * (side * 0.5**0.5))).sum(0) * 0.5
        each = weights / sd * slope * torch.exp(-0.5 * gap.square())
        return tail, each.sum(0).clamp_min(1e-300) * 0.3989422804014327

    with torch.no_grad():
        aim = torch.special.ndtr(-z.abs())
        if about is None:
            own = mean + sd * z
            about = own.amin(0), own.amax(0), (weights * own).sum(0)
        low, high, y = about
        near = MIXTURE_TOLERANCE * (high - low)
        y = y.clamp(low, high)
        for _ in range(
            MIXTURE_NEWTON_STEPS
        ):  # Newton steps for the log of the tail, which is nearly straight; else halves
            tail, density = beyond(y)
            less = (tail > aim) == (side > 0)
            low, high = torch.where(less, y, low), torch.where(less, high, y)
            step = side * (tail.clamp_min(1e-300) / aim).log() * tail / density
            new = y + step
            new = torch.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            done = bool(((new - y).abs() <= near).all())
            y = new
            if done:
                break
        slope = beyond(y)[1]
    last = side * (beyond(y)[0] - aim) / slope
    # between narrow components, where there is next to no density, a step would lead anywhere
    return y + torch.where(last.abs() <= high - low + near, last, 0.0)


def bayes(weights: Tensor, log_density: Tensor) -> Tensor:
    """Weights of components after outcomes that they held to be so likely."""
    return torch.softmax(weights.log() + log_density, 0)


def outcomes_in_turn(z: Tensor, weights: Tensor, mean: Tensor, L: Tensor, blind: Tensor) -> Tensor:
    """Outcomes of mixtures of normal distributions with mean (H x b x q) and root L (H x b x q x q): b x N x q.

    Each is the quantile at Phi(z) of the mixture as those before it have weighted it; `blind` ones (H x b x q) say
    nothing.
    """
    white: list[Tensor] = []
    found: list[Tensor] = []
    for j in range(z.shape[-1]):
        at, sd = mean[..., j : j + 1], L[..., j, j].unsqueeze(-1)
        for r, before in enumerate(white):
            at = at + L[..., j, r].unsqueeze(-1) * before
        found.append(mixture_outcomes(z[..., j], weights, at, sd))
        if j + 1 < z.shape[-1]:
            known = blind[..., j : j + 1]
            white.append(torch.where(known, 0.0, (found[-1] - at) / sd))
            likely = torch.where(known, 0.0, -0.5 * white[-1].square() - sd.log())
            weights = bayes(weights, likely)
    return torch.stack(found, -1) if found else z
