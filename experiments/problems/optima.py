r"""The best that could be decided if the function were known: what `Best` stores, found again.

    python -m experiments.problems.optima NAME

Level sets are exact. A sequence whose targets all lie within the function's range has loss 0: they are met by
bisection. k designs of a list are exact too, by branch and bound. Fronts are searched by exchange and descent. k
designs of a continuous space that keep apart are searched:

1. Starts: tuples of good candidates, tuples crowded around one, and random ones whose members were replaced in turn by
   the best candidate (exchange).
2. Adam with steps that shrink ten thousandfold, all tuples at once. Its momentum slides along the kinks of capped
   distances, where descent by signs stalls.
3. Polish. With distances s_ij and fixed signs of all coordinate differences the loss is smooth, so the best tuples are
   refined by sequential quadratic programming to about 1e-12:

       min -sum f(u_i) - c sum s_ij     s_ij <= cap,   s_ij <= sum over axes of sign x (u_i - u_j) x length of the axis

4. Hops: the best tuples, with a member or a coordinate replaced or coordinates traded between members, go through 2
   and 3 again, until nothing better comes.
"""

import argparse
import math
from collections.abc import Sequence as Arguments
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from experiments.problems.subsets import best_subset
from hentropy.bench.problems.base import Best, Problem, UnitL1, best_labels, named
from hentropy.bench.problems.catalogue import PROBLEMS
from hentropy.core.action_search.descent import descend, polish
from hentropy.core.action_search.exchange import exchange
from hentropy.core.beliefs import Moments
from hentropy.core.clock import Clock
from hentropy.core.decisions import LevelSets, Pareto, Sequence, TopK
from hentropy.core.decisions.several_designs import all_pairs
from hentropy.core.spaces import sobol
from hentropy.errors import InputError

LONGEST, SHRINK = 0.03, 1e-4
"""The first step of a descent in unit coordinates, and what the last one is of it."""

MET = 1e-20
"""A sequence with a loss below this misses its targets by rounding errors alone."""


@dataclass(frozen=True)
class SearchEffort:
    """How hard k designs of a continuous space are searched for."""

    candidates: int = 4096
    tuples: int = 2048
    shaken: int = 1024
    steps: int = 400
    polished: int = 16
    parents: int = 64
    hops: int = 100
    patience: int = 10


class Apart:
    """The search for k designs of a continuous space that are good and apart; tuples are B x k x d in the unit cube."""

    def __init__(self, problem: Problem, decision: TopK, seed: int, effort: SearchEffort) -> None:
        self.problem, self.decision, self.effort, self.seed = problem, decision, effort, seed
        self.k, self.d = decision.k, problem.space.dim
        self.generator = torch.Generator().manual_seed(seed)
        self.candidates = self._candidates()

    def losses(self, u: Tensor) -> Tensor:
        """Losses of tuples B x k x d: B."""
        x = self.problem.space.from_cube(u)
        return self.decision.loss(self.problem(x), x)

    def run(self) -> Tensor:
        """The best tuple found: k x d."""
        best = self._refined(torch.cat([self._exchanged(), self._drawn()]))
        stale = 0
        for _ in range(self.effort.hops):
            before = float(self.losses(best[:1]))
            best = self._sorted(torch.cat([best, self._refined(self._shaken(best))]))[: self.effort.parents]
            stale = 0 if float(self.losses(best[:1])) < before - 1e-10 else stale + 1
            if stale == self.effort.patience:
                break
        return best[0]

    def _candidates(self) -> Tensor:
        """Points that fill the space, the summits of f, and points around those: M x d."""
        sign = -1.0 if self.decision.largest else 1.0
        filling = sobol(self.effort.candidates, self.d, self.seed)
        summits, _ = descend(lambda u: sign * self.problem(self.problem.space.from_cube(u)), filling[::8], 300, Clock())
        around = summits + 0.1 * self._normal(*summits.shape)
        return torch.cat([filling, summits, around]).clamp(0.0, 1.0)

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=torch.float64)

    def _integers(self, below: int, *shape: int) -> Tensor:
        return torch.randint(below, shape, generator=self.generator)

    def _exchanged(self) -> Tensor:
        points = self.problem.space.from_cube(self.candidates)
        moments = Moments(torch.ones(1, dtype=torch.float64), self.problem(points).unsqueeze(0), point_mass=True)
        none = torch.zeros(1, self.k, dtype=torch.float64)
        chunks = self._integers(len(points), 64, self.k).split(8)
        found = [exchange(self.decision, moments, points, index, none, sweeps=8, distinct=True)[0] for index in chunks]
        return self.candidates[torch.cat(found)]

    def _drawn(self) -> Tensor:
        """Tuples of any candidates, of the better ones, and crowds around one of the better ones: B x k x d."""
        sign = 1.0 if self.decision.largest else -1.0
        order = (sign * self.problem(self.problem.space.from_cube(self.candidates))).argsort(descending=True)
        third, better = self.effort.tuples // 3, max(self.k, len(order) // 10)
        loose = torch.cat([self._integers(len(order), third, self.k), order[self._integers(better, third, self.k)]])
        reach = torch.empty(third, 1, 1, dtype=torch.float64).uniform_(0.01, 0.1, generator=self.generator)
        crowds = self.candidates[order[self._integers(better, third, 1)]] + reach * self._normal(third, self.k, self.d)
        return torch.cat([self.candidates[loose], crowds.clamp(0.0, 1.0)])

    def _shaken(self, best: Tensor) -> Tensor:
        """The best tuples, each changed in one of three ways and then shaken: B x k x d.

        A member is replaced; or one coordinate of it is; or the members trade their coordinates along an axis. Where f
        is a sum over axes, as Alpine is, a trade leaves the sum of the values as it is and changes the distances alone.
        """
        B, k, d = self.effort.shaken, self.k, self.d
        tuples = best[self._integers(min(self.effort.parents, len(best)), B)]
        row, member, axis = torch.arange(B), self._integers(k, B), self._integers(d, B)
        stranger = self.candidates[self._integers(len(self.candidates), B)]
        kind = self._integers(3, B)
        whole, single, trade = tuples.clone(), tuples.clone(), tuples.clone()
        whole[row, member] = stranger
        single[row, member, axis] = stranger[row, axis]
        order = torch.rand(B, k, generator=self.generator).argsort(-1)
        trade[row, :, axis] = tuples[row, :, axis].gather(-1, order)
        tuples = torch.where((kind == 0).view(B, 1, 1), whole, torch.where((kind == 1).view(B, 1, 1), single, trade))
        reach = torch.exp(torch.empty(B, 1, 1, dtype=torch.float64).uniform_(-8.0, -2.0, generator=self.generator))
        return (tuples + reach * self._normal(B, k, d)).clamp(0.0, 1.0)

    def _refined(self, tuples: Tensor) -> Tensor:
        """Where tuples lead, by descent and then polish, best first."""
        ends = self._sorted(self._descended(tuples))
        polished = [self._polished(u).unsqueeze(0) for u in ends[: self.effort.polished]]
        return self._sorted(torch.cat([ends[: self.effort.parents], *polished]))

    def _descended(self, tuples: Tensor) -> Tensor:
        u = tuples.clone().requires_grad_(True)
        optimiser = torch.optim.Adam([u], lr=LONGEST)
        best, least = tuples, self.losses(tuples)
        for step in range(self.effort.steps):
            optimiser.param_groups[0]["lr"] = LONGEST * SHRINK ** (step / self.effort.steps)
            optimiser.zero_grad()
            losses = self.losses(u)
            losses.sum().backward()
            with torch.no_grad():
                lower = losses < least
                best, least = torch.where(lower.view(-1, 1, 1), u, best), torch.where(lower, losses, least)
            optimiser.step()
            with torch.no_grad():
                u.clamp_(0.0, 1.0)
        return best.detach()

    def _sorted(self, tuples: Tensor) -> Tensor:
        """Tuples by their loss, one of each loss."""
        losses, order = self.losses(tuples).detach().sort()
        new = torch.cat([torch.ones(1, dtype=torch.bool), losses.diff() > 1e-12])
        return tuples[order[new]]

    def _polished(self, u: Tensor) -> Tensor:
        """A local minimum near a tuple k x d, for fixed signs of the differences; the signs are settled a few times."""
        lengths = self._lengths()
        if lengths is None or self.decision.cap is None or self.k == 1:
            return u
        pairs = torch.tensor(list(combinations(range(self.k), 2)))
        for _ in range(3):
            signs = torch.sign(u[pairs[:, 0]] - u[pairs[:, 1]]) * lengths  # pairs x d
            u = self._solved(u, pairs, signs)
        return u

    def _lengths(self) -> Tensor | None:
        """The lengths of the axes in the distance, where it is a sum over axes."""
        low, high = self.problem.space.bounds
        if isinstance(self.decision.distance, UnitL1):
            return torch.ones_like(low)
        return high - low if self.decision.distance == "l1" else None

    def _solved(self, u: Tensor, pairs: Tensor, signs: Tensor) -> Tensor:
        k, d, P = self.k, self.d, len(pairs)
        slope = torch.zeros(P, k, d, dtype=torch.float64)
        slope[torch.arange(P), pairs[:, 0]] = signs
        slope[torch.arange(P), pairs[:, 1]] = -signs
        linear = np.concatenate([slope.flatten(1).numpy(), -np.eye(P)], 1)  # distance - s >= 0
        share = self.decision.weight / P
        sign = -1.0 if self.decision.largest else 1.0

        def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
            points = torch.from_numpy(z[: k * d]).view(k, d).requires_grad_(True)
            total = sign * self.problem(self.problem.space.from_cube(points)).sum()
            (gradient,) = torch.autograd.grad(total, points)
            value = float(total.detach()) - share * float(z[k * d :].sum())
            return value, np.concatenate([gradient.flatten().numpy(), np.full(P, -share)])

        cap = float(self.decision.cap or np.inf)
        apart = (slope * u).sum((-1, -2)).clamp_max(cap)
        result = minimize(
            loss,
            np.concatenate([u.flatten().numpy(), apart.numpy()]),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * (k * d) + [(-np.inf, cap)] * P,
            constraints={"type": "ineq", "fun": lambda z: linear @ z, "jac": lambda z: linear},
            options={"maxiter": 200, "ftol": 1e-15},
        )
        found = torch.from_numpy(result.x[: k * d]).view(k, d).clamp(0.0, 1.0)
        return found if float(self.losses(found)) < float(self.losses(u)) else u


def best_apart(problem: Problem, decision: TopK, seed: int = 0, effort: SearchEffort | None = None) -> Best:
    """k designs of a continuous space."""
    u = Apart(problem, decision, seed, effort or SearchEffort()).run()
    x = problem.space.project(problem.space.from_cube(u))
    how = "searched: thousands of descents, polish, hops until nothing better came"
    return Best(problem.loss(x), how, x)


def best_of_list(problem: Problem, decision: TopK, points: Tensor) -> Best:
    """k designs of a list."""
    sign = 1.0 if decision.largest else -1.0
    apart = all_pairs(decision.distance, decision.coordinates(points)).clamp_max(decision.cap or math.inf)
    pairs = decision.k * (decision.k - 1) / 2
    rewards = apart * (decision.weight / max(pairs, 1.0))
    chosen = points[best_subset((sign * problem(points)).numpy(), rewards.numpy(), decision.k)]
    return Best(problem.loss(chosen), "exact: branch and bound over the list", chosen)


def best_sequence(problem: Problem, decision: Sequence, seed: int = 0) -> Best:
    """A design for each target, by bisection between places where the function is least and greatest."""
    if decision.link > 0:
        raise InputError(f"the designs of a sequence are found one by one, which a link forbids; got {decision}")
    space = problem.space
    filling, ends = sobol(2**14, space.dim, seed), []
    for sign in (1.0, -1.0):
        height = partial(_signed, problem, sign)
        lowest = height(filling).topk(64, largest=False).indices
        places, values = descend(height, filling[lowest], 300, Clock())
        ends.append(places[values.argmin()])
    targets = torch.tensor(decision.targets, dtype=torch.float64)
    below, above = torch.zeros_like(targets), torch.ones_like(targets)  # parts of the way from the valley to the summit
    for _ in range(200):
        middle = (below + above) / 2
        low = problem(space.from_cube(torch.lerp(ends[0], ends[1], middle.unsqueeze(-1)))) < targets
        below, above = torch.where(low, middle, below), torch.where(low, above, middle)
    x = space.from_cube(torch.lerp(ends[0], ends[1], above.unsqueeze(-1)))
    loss = problem.loss(x)
    met = "exact: every target is met, by bisection"
    return Best(loss, met if loss < MET else "searched: the nearest value, for targets out of the function's range", x)


FRONT_STARTS, FRONT_CANDIDATES, FRONT_ROUNDS, FRONT_STEPS = 32, 4096, 8, 200


def best_front(problem: Problem, decision: Pareto, seed: int = 0) -> Best:
    """k designs of the greatest hypervolume: members are exchanged for candidates, and numbers polished, in turn."""
    space, k = problem.space, decision.k
    generator = torch.Generator().manual_seed(seed)
    points = space.sample(FRONT_CANDIDATES, seed)
    index = torch.randint(len(points), (FRONT_STARTS, k), generator=generator)

    def loss(u: Tensor) -> Tensor:
        designs = space.from_cube(u.reshape(len(u), k, -1))
        return decision.loss(problem(designs), designs)

    for round_ in range(FRONT_ROUNDS):
        values = problem(points).reshape(1, -1)
        zero = values.new_zeros(())
        cov = zero.expand(*values.shape, values.shape[-1])
        known = Moments(values.new_ones(1), values, zero.expand(values.shape), cov, True, len(decision.outcomes))
        index, losses = exchange(decision, known, points, index, values[..., :0], sweeps=20, distinct=False)
        found = points[index[losses.argsort()[: FRONT_STARTS // 2]]]
        u, _, _ = polish(loss, space.to_cube(found).flatten(1), FRONT_STEPS, Clock())
        found = torch.cat([space.project(space.from_cube(u.unflatten(-1, (k, -1)))), found])
        found = found[loss(space.to_cube(found).flatten(1)).argsort()]
        near = space.to_cube(found[0]).repeat(FRONT_CANDIDATES // 8, 1)
        noise = 0.1 * 0.5**round_ * torch.randn(near.shape, generator=generator, dtype=torch.float64)
        others = [
            space.project(space.from_cube((near + noise).clamp(0.0, 1.0))),
            space.neighbours(found[0]).flatten(0, 1),
        ]
        points = torch.cat([found.flatten(0, 1), *others])
        index = torch.arange(found[..., 0].numel()).reshape(-1, k)
    return Best(problem.loss(found[0]), "searched: exchange among candidates and descent, in turn", found[0])


def _signed(problem: Problem, sign: float, u: Tensor) -> Tensor:
    return sign * problem(problem.space.from_cube(u))


def best_for(problem: Problem, seed: int = 0, effort: SearchEffort | None = None) -> Best:
    """The best that can be decided, by the way that fits the decision and the space."""
    decision, points = problem.decision, problem.space.points
    if isinstance(decision, LevelSets):
        return best_labels(problem.function, problem.space, problem.scored or decision)
    if isinstance(decision, Sequence) and points is None:
        return best_sequence(problem, decision, seed)
    if isinstance(decision, TopK):
        if points is None:
            return best_apart(problem, decision, seed, effort)
        return best_of_list(problem, decision, points)
    if isinstance(decision, Pareto) and points is None:
        return best_front(problem, decision, seed)
    raise InputError(f"no search is known for {decision!r} on {problem.space!r}")


def main(arguments: Arguments[str] | None = None) -> None:
    """Search and print."""
    parser = argparse.ArgumentParser(description="The best that could be decided if the function were known.")
    parser.add_argument("name", help=f"one of {', '.join(sorted(PROBLEMS))}")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        asked = named(options.name, PROBLEMS, "problem")()
        found = best_for(asked, options.seed)
    except InputError as error:
        parser.error(str(error))
    print(f"loss {found.loss:.12f} ({found.how})")
    if asked.best is not None:
        print(f"stored {asked.best.loss:.12f} ({asked.best.how})")
    if found.action is not None and not isinstance(asked.decision, LevelSets):
        for row in found.action.tolist():
            print("[" + ", ".join(f"{value:.12f}" for value in row) + "],")


if __name__ == "__main__":
    main()
