"""The information of an outcome about where f is largest: Shannon entropies of functions moved by the outcome.

A function drawn from the belief becomes one of the belief after observing y by the exact pathwise update
f'(a) = f(a) + C(a) S^-1 (y - f(x) - e), in whitened form f(a) + R(a) (t_y - t_f) with R = C L^-T, t = L^-1 (. - mean).
Values at the candidates are drawn jointly once, and t_f for each design given these values: both are normal.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hentropy.core.beliefs import Belief, Gaussian, Needs, outcome_nodes
from hentropy.core.beliefs.linalg import robust_root
from hentropy.core.beliefs.transformed import normal_fantasy
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

PATHS, LEAST_PATHS = 220, 12
"""Functions drawn from all components together, by their weights, and at least so many from each of several."""

QUICK_SHARE = 0.25
"""A first look at many designs takes this share of the functions, and the root of it of the outcomes."""

RESOLVED = 1e-9
"""Of the typical standard deviation of a candidate: with less, given the candidates before it, it counts as known."""

ARGMAX_OUTCOMES = 8
PLAUSIBLE = 160
"""Candidates that can win: the ones with the largest mean + 3 standard deviations; the others hardly ever do."""

DESIGN_NUMBERS = 8_000_000
"""Numbers in the largest array of one chunk of designs."""

CACHED_WINS = 2**19
"""The same for arrays that are used several times in a row, and so had better stay in the cache."""


def shannon(chances: Tensor) -> Tensor:
    """-sum p log p over the last dimension."""
    return -torch.xlogy(chances, chances).sum(-1)


def _wins(values: Tensor, weights: Tensor) -> Tensor:
    """How often each candidate is largest: values S x ... x m, weights S x ...; ... x m."""
    best = values.argmax(-1)
    total = values.new_zeros(*values.shape[1:])
    for s in range(values.shape[0]):
        total.scatter_add_(-1, best[s].unsqueeze(-1), weights[s].expand(best[s].shape).unsqueeze(-1))
    return total


Gains = Callable[[Tensor], Tensor]
"""Of designs b x q x d: b."""


def argmax_gain(belief: Belief, at: Tensor, seed: int) -> tuple[Gains, Gains | None]:
    """The expected fall of the Shannon entropy of the argmax over candidates at (m x d), and a quick estimate of it."""
    if belief.point_masses:
        return _of_samples(belief, _plausible(belief, at), seed), None
    if belief.process is not None:
        drawn_at = ArgmaxPlaces.of(belief, at)
        return _of_draws(belief, drawn_at, seed), _of_draws(belief, drawn_at, seed, QUICK_SHARE)
    raise DecisionError(
        f'Identify("argmax") needs functions drawn from the belief, which {type(belief).__name__} cannot give; use'
        " he.fit, a SingleTaskGP, or he.Samples"
    )


def _plausible(belief: Belief, at: Tensor) -> Tensor:
    mean, var = belief.moments(at, Needs.VARIANCE).total()
    return at[(mean + 3.0 * var.sqrt()).topk(min(PLAUSIBLE, at.shape[0])).indices]


@dataclass(frozen=True)
class ArgmaxPlaces:
    """Those that can win (m x d), their means (H x m) and roots of their covariances (H x m x m)."""

    at: Tensor
    mean: Tensor
    root: Tensor

    @classmethod
    def of(cls, belief: Belief, at: Tensor) -> "ArgmaxPlaces":
        """Found once for a belief: the replicates of an audit differ in what is drawn alone."""
        _, known = belief.found.get("argmax", (None, None))
        if known is None or belief.found["argmax"][0] is not at:
            places = _plausible(belief, at)
            moments = belief.process.moments(places, Needs.JOINT)
            known = cls(places, moments.mean, _invertible(moments.root))
            belief.found["argmax"] = at, known
        return known


def _of_samples(belief: Belief, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    now = belief.moments(at.unsqueeze(0), Needs.MEAN)
    values = now.mean.squeeze(1)
    before = shannon(_wins(values, now.weights.squeeze(-1)))

    def gain(x: Tensor) -> Tensor:
        nodes = outcome_nodes(4 * ARGMAX_OUTCOMES, x.shape[-2], belief.components, seed).to(x)
        gains = []
        for part in x.split(max(1, DESIGN_NUMBERS // (values.numel() * nodes.count))):
            moments = belief.look_ahead(part).fantasy(nodes).shared_moments(at.unsqueeze(0), Needs.MEAN)
            weights = moments.weights.squeeze(-1)
            wins = _wins(moments.mean.squeeze(-2).expand(*weights.shape, at.shape[0]), weights)
            gains.append(before - shannon(wins) @ nodes.weights)
        return torch.cat(gains)

    return gain


def _of_draws(observed: Belief, candidates: ArgmaxPlaces, seed: int, share: float = 1.0) -> Gains:
    """With a share of the functions and of the outcomes. Values come in the order of the normal values behind them."""
    belief: Gaussian = observed.process
    at, root = candidates.at, candidates.root
    H, m = belief.components, at.shape[0]
    generator = torch.Generator().manual_seed(seed)
    counts = _counts(belief.weights, share)
    outcomes = max(4, round((ARGMAX_OUTCOMES if H == 1 else 2 * ARGMAX_OUTCOMES) * share**0.5))
    white = [torch.randn(count, m, generator=generator, dtype=torch.float64).to(at) for count in counts]
    # single precision is enough to tell which of a few candidates is greatest, and takes half the time
    values = [(candidates.mean[h] + white[h] @ root[h].mT).float() for h in range(H)]
    none = values[0].new_zeros(H, 1, 1, 1)
    still = [own.new_zeros(len(own), 1, 1) for own in values]
    now = _wins_of_moved(values, none.expand(H, 1, m, 1), none, still, belief.weights.float().view(H, 1, 1))
    before = shannon(now).squeeze()

    def of(x: Tensor) -> Tensor:
        b, q, _ = x.shape
        nodes = outcome_nodes(outcomes, q, H, seed).to(x)
        fantasy = normal_fantasy(observed, x, nodes)
        look = fantasy.look
        R = look.whitened_cross(at)  # H x b x m x q
        t_y = torch.linalg.solve_triangular(look.L, fantasy.innovation.mT, upper=False).mT  # H x b x N x q
        t_f = _given_candidates(root, R, white, _besides(counts, q, seed, x))
        weights = fantasy.component_weights.expand(H, b, nodes.count).float()
        R, t_y = R.float(), t_y.float()
        few = max(1, CACHED_WINS // (max(counts) * nodes.count * m))
        parts = (slice(start, start + few) for start in range(0, b, few))
        wins = [_wins_of_moved(values, R[:, p], t_y[:, p], [t[:, p] for t in t_f], weights[:, p]) for p in parts]
        return before - shannon(torch.cat(wins)) @ nodes.weights

    def gain(x: Tensor) -> Tensor:
        return torch.cat([of(part) for part in x.split(max(1, DESIGN_NUMBERS // (H * m * max(16, m // 8))))])

    return gain


def _counts(weights: Tensor, share: float) -> list[int]:
    """How many functions are drawn from each component: by its weight, and some of each."""
    return [math.ceil(share * max(LEAST_PATHS, PATHS * w)) for w in weights.tolist()]


def _besides(counts: list[int], q: int, seed: int, like: Tensor) -> list[Tensor]:
    """What outcomes of the functions have besides their values at candidates: not the numbers that drew these."""
    generator = torch.Generator().manual_seed(seed + 1_000_003)
    return [torch.randn(count, q, generator=generator, dtype=torch.float64).to(like) for count in counts]


def _invertible(root: Tensor) -> Tensor:
    """Lower triangular roots that can be divided by: candidates that are known, or equal to others, have a little."""
    diagonal = root.diagonal(dim1=-2, dim2=-1)
    floor = (RESOLVED * root.square().sum(-1).mean(-1, keepdim=True).sqrt()).clamp_min(1e-150)
    return root + torch.diag_embed((floor - diagonal).clamp_min(0.0))


def _given_candidates(root: Tensor, R: Tensor, white: list[Tensor], besides: list[Tensor]) -> list[Tensor]:
    """Whitened outcomes of the functions drawn, given their values at the candidates: S x b x q in single precision.

    With values mean + root z and G = root^-1 R, they are G^T z + (1 - G^T G)^1/2 e: jointly normal, exactly.
    """
    H, b, m, q = R.shape
    G = torch.linalg.solve_triangular(root, R.movedim(2, 1).reshape(H, m, b * q), upper=False)
    rest = robust_root(torch.eye(q).to(R) - _squares(G.view(H, m, b, q))) if q > 1 else None
    found = []
    for h, z in enumerate(white):
        own = (z @ G[h]).view(len(z), b, q)
        e = besides[h][:, None, :q]
        if rest is None:
            length = G[h].square().sum(0).view(b, 1)
            own = own / length.clamp_min(1.0).sqrt() + (1.0 - length).clamp_min(0.0).sqrt() * e  # rounding aside
        else:
            own = own + (rest[h] @ e.unsqueeze(-1)).squeeze(-1)
        found.append(own.float())
    return found


def _squares(G: Tensor) -> Tensor:
    """G^T G of each design: H x m x b x q to H x b x q x q."""
    each = G.movedim(2, 1)
    return each.mT @ each


def _wins_of_moved(values: Sequence[Tensor], R: Tensor, t_y: Tensor, t_f: Sequence[Tensor], weights: Tensor) -> Tensor:
    """How likely each candidate is to be the largest after each outcome: b x N x m, in double precision.

    From functions S x m of each component, what moves them H x b x m x q, the outcomes H x b x N x q, the functions'
    own S x b x q, and the weight of each component H x b x N. Equal candidates share a win.
    """
    b, N, q = t_y.shape[1:]
    m = values[0].shape[-1]
    total, space = values[0].new_zeros(b, N, m), values[0].new_empty(b * max(map(len, values)) * N * m)
    for h, own in enumerate(values):  # one component at a time, always in the same memory: it stays in the cache
        moved = space[: b * len(own) * N * m].view(b, len(own), N, m)
        step = t_y[h].unsqueeze(1) - t_f[h].movedim(0, 1).unsqueeze(2)  # b x S x N x q
        torch.addcmul(own.unsqueeze(1), step[..., :1], R[h, :, None, None, :, 0], out=moved)
        for j in range(1, q):  # a product of matrices, but of so few columns that it is slower as one
            moved.addcmul_(step[..., j : j + 1], R[h, :, None, None, :, j])
        won = moved.ge_(moved.amax(-1, keepdim=True))  # 1 where greatest, 0 elsewhere
        total.addcmul_(won.div_(won.sum(-1, keepdim=True)).sum(1), weights[h].unsqueeze(-1), value=1.0 / len(own))
    return total.double()
