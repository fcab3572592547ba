"""The information of an outcome about where f is greatest: Shannon entropies of paths that are moved by the outcome.

A path drawn from the belief becomes a path of the belief after observing y by the exact pathwise update
f'(a) = f(a) + C(a) S^-1 (y - f(x) - e), in whitened form f(a) + R(a) (t_y - t_f) with R = C L^-T, t = L^-1 (. - mean).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from hentropy.beliefs import Belief, Gaussian, Needs, Samples, outcome_nodes
from hentropy.errors import DecisionError

PATHS = 192
OUTCOMES = 8
PLAUSIBLE = 160
"""Candidates that can win: the ones with the greatest mean + 3 standard deviations; the others hardly ever do."""

CHUNK = 8_000_000
"""Numbers in the largest array of one chunk of designs."""


def shannon(chances: Tensor) -> Tensor:
    """-sum p log p over the last dimension."""
    return -torch.xlogy(chances, chances).sum(-1)


def _wins(values: Tensor, weights: Tensor) -> Tensor:
    """How often each candidate is greatest: values S x ... x m, weights S x ...; ... x m."""
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
        return _of_paths(belief, at, seed)
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
            moments = belief.look_ahead(part).fantasy(nodes).pool_moments(at.unsqueeze(0), Needs.MEAN)
            weights = moments.weights.squeeze(-1)
            wins = _wins(moments.mean.squeeze(-2).expand(*weights.shape, at.shape[0]), weights)
            gains.append(before - shannon(wins) @ nodes.weights)
        return torch.cat(gains)

    return gain


def _of_paths(belief: Gaussian, at: Tensor, seed: int) -> Callable[[Tensor], Tensor]:
    H = belief.components
    share = max(24, PATHS // H)
    paths = [belief.component(h).paths(share, seed + h) for h in range(H)]
    values = torch.stack([path(at) for path in paths])  # H x S x m
    weights = belief.weights[:, None].expand(H, share) / share
    before = shannon(_wins(values.flatten(0, 1), weights.flatten()))

    def of(x: Tensor, nodes_seed: int) -> Tensor:
        b, q, _ = x.shape
        nodes = outcome_nodes(OUTCOMES if H == 1 else 3 * OUTCOMES, q, H, nodes_seed).to(x)
        look = belief.look_ahead(x)
        fantasy = look.fantasy(nodes)
        R = look.whitened_cross(at)  # H x b x m x q
        t_y = torch.linalg.solve_triangular(look.L, fantasy.innovation.mT, upper=False).mT  # H x b x N x q
        centre = belief.frame.shift + belief.frame.scale * look.mean  # H x b x q
        e = _noise(H, share, q, seed).to(x) * belief.future_noise.sqrt()[:, None, None, None]  # H x S x 1 x q
        off = (torch.stack([path(x) for path in paths]) - centre.unsqueeze(1)) / belief.frame.scale + e
        t_f = torch.linalg.solve_triangular(look.L.unsqueeze(1), off.unsqueeze(-1), upper=False).squeeze(-1)
        entropy = x.new_zeros(b, nodes.count)
        for j in range(nodes.count):
            step = t_y[:, None, :, j] - t_f  # H x S x b x q
            moved = values[:, :, None] + torch.einsum("hbmq,hsbq->hsbm", R, step)
            each = (fantasy.component_weights[..., min(j, fantasy.component_weights.shape[-1] - 1)] / share).unsqueeze(
                1
            )
            entropy[:, j] = shannon(_wins(moved.flatten(0, 1), each.expand(H, share, b).flatten(0, 1)))
        return before - entropy @ nodes.weights

    def gain(x: Tensor) -> Tensor:
        size = max(1, CHUNK // (H * share * at.shape[0]))
        return torch.cat([of(part, seed) for part in x.split(size)])

    return gain


def _noise(H: int, share: int, q: int, seed: int) -> Tensor:
    """A noise of each path's own for each of q observations, apart from the numbers that the paths were drawn with."""
    generator = torch.Generator().manual_seed(seed + 1_000_003)
    return torch.randn(H, share, 1, q, generator=generator, dtype=torch.float64)
