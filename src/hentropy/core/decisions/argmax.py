"""The information of an outcome about where f is largest: Shannon entropies of paths that are moved by the outcome.

A path drawn from the belief becomes a path of the belief after observing y by the exact pathwise update
f'(a) = f(a) + C(a) S^-1 (y - f(x) - e), in whitened form f(a) + R(a) (t_y - t_f) with R = C L^-T, t = L^-1 (. - mean).
"""

from collections.abc import Callable

from hentropy.core.beliefs import Belief, Gaussian, Needs, Samples, Transformed, outcome_nodes
from hentropy.core.beliefs.paths import FEATURES
from hentropy.core.beliefs.transformed import normal_fantasy
from hentropy.errors import DecisionError
from hentropy.lazy import Tensor, torch

PATHS = 192
OUTCOMES = 8
PLAUSIBLE = 160
"""Candidates that can win: the ones with the largest mean + 3 standard deviations; the others hardly ever do."""

CHUNK = 8_000_000
"""Numbers in the largest array of one chunk of designs."""

CACHED = 2**19
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


def argmax_gain(belief: Belief, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    """The expected fall of the Shannon entropy of the argmax over candidates at (m x d)."""
    mean, var = belief.moments(at, Needs.VARIANCE).total()
    at = at[(mean + 3.0 * var.sqrt()).topk(min(PLAUSIBLE, at.shape[0])).indices]
    if isinstance(belief, Samples):
        return _of_samples(belief, at, seed)
    if isinstance(belief, Gaussian):
        return _of_paths(belief, belief, at, seed)
    if isinstance(belief, Transformed):  # values come in the order of the normal values behind them
        return _of_paths(belief.latent, belief, at, seed)
    raise DecisionError(
        f'Identify("argmax") needs functions drawn from the belief, which {type(belief).__name__} cannot give; use'
        " he.fit, a SingleTaskGP, or he.Samples"
    )


def _of_samples(belief: Samples, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    values = belief.moments(at, Needs.MEAN).mean
    before = shannon(_wins(values, belief.weights))

    def gain(x: Tensor) -> Tensor:
        nodes = outcome_nodes(4 * OUTCOMES, x.shape[-2], belief.components, seed).to(x)
        gains = []
        for part in x.split(max(1, CHUNK // (values.numel() * nodes.count))):
            moments = belief.look_ahead(part).fantasy(nodes).shared_moments(at.unsqueeze(0), Needs.MEAN)
            weights = moments.weights.squeeze(-1)
            wins = _wins(moments.mean.squeeze(-2).expand(*weights.shape, at.shape[0]), weights)
            gains.append(before - shannon(wins) @ nodes.weights)
        return torch.cat(gains)

    return gain


def _of_paths(belief: Gaussian, observed: Gaussian | Transformed, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    """By paths of a belief, or of the one behind what is `observed`."""
    H, frame = belief.components, belief.frame
    share = max(24, PATHS // H)
    paths = [belief.component(h).paths(share, seed + h) for h in range(H)]

    def drawn(points: Tensor) -> Tensor:
        """The paths in the model's units, component by component: H x S x ... x m."""
        return (torch.stack([path(points) for path in paths]) - frame.shift) / frame.scale

    # single precision is enough to tell which of a few candidates is greatest, and takes half the time
    values = drawn(at).float()
    nowhere = values.new_zeros(H, 1, at.shape[0], 1), values.new_zeros(H, 1, 1, 1), values.new_zeros(H, share, 1, 1)
    before = shannon(_wins_of_moved(values, *nowhere, belief.weights.float().view(H, 1, 1))).squeeze()

    def of(x: Tensor) -> Tensor:
        b, q, _ = x.shape
        nodes = outcome_nodes(OUTCOMES if H == 1 else 2 * OUTCOMES, q, H, seed).to(x)
        fantasy = normal_fantasy(observed, x, nodes)
        look = fantasy.look
        R = look.whitened_cross(at) / frame.scale  # H x b x m x q
        t_y = torch.linalg.solve_triangular(look.L, fantasy.innovation.mT, upper=False).mT  # H x b x N x q
        e = _noise(H, share, q, seed).to(x) * belief.future_noise.sqrt()[:, None, None, None]  # H x S x 1 x q
        off = drawn(x) - look.mean.unsqueeze(1) + e
        t_f = torch.linalg.solve_triangular(look.L.unsqueeze(1), off.unsqueeze(-1), upper=False).squeeze(-1)
        R, t_y, t_f = R.float(), t_y.float(), t_f.float()
        weights = fantasy.component_weights.expand(H, b, nodes.count).float()
        few = max(1, CACHED // (share * nodes.count * at.shape[0]))
        parts = (slice(start, start + few) for start in range(0, b, few))
        wins = [_wins_of_moved(values, R[:, p], t_y[:, p], t_f[:, :, p], weights[:, p]) for p in parts]
        return before - shannon(torch.cat(wins)) @ nodes.weights

    def gain(x: Tensor) -> Tensor:
        return torch.cat([of(part) for part in x.split(max(1, CHUNK // (H * FEATURES)))])

    return gain


def _wins_of_moved(values: Tensor, R: Tensor, t_y: Tensor, t_f: Tensor, weights: Tensor) -> Tensor:
    """How likely each candidate is to be the largest after each outcome: b x N x m, in double precision.

    From paths H x S x m, what moves them H x b x m x q, the outcomes H x b x N x q, the paths' own H x S x b x q, and
    the weight of each component H x b x N. Equal candidates share a win.
    """
    H, S, m = values.shape
    b, N, q = t_y.shape[1:]
    total, moved = values.new_zeros(b, N, m), values.new_empty(b, S, N, m)
    for h in range(H):  # one component at a time, always in the same memory: it stays in the cache
        step = t_y[h].unsqueeze(1) - t_f[h].movedim(0, 1).unsqueeze(2)  # b x S x N x q
        torch.addcmul(values[h].unsqueeze(1), step[..., :1], R[h, :, None, None, :, 0], out=moved)
        for j in range(1, q):  # a product of matrices, but of so few columns that it is slower as one
            moved.addcmul_(step[..., j : j + 1], R[h, :, None, None, :, j])
        won = moved.ge_(moved.amax(-1, keepdim=True))  # 1 where greatest, 0 elsewhere
        total.addcmul_(won.div_(won.sum(-1, keepdim=True)).sum(1), weights[h].unsqueeze(-1), value=1.0 / S)
    return total.double()


def _noise(H: int, share: int, q: int, seed: int) -> Tensor:
    """A noise of each path's own for each of q observations, apart from the numbers that the paths were drawn with."""
    generator = torch.Generator().manual_seed(seed + 1_000_003)
    return torch.randn(H, share, 1, q, generator=generator, dtype=torch.float64)
