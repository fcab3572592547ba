r"""`last_layer`: networks whose last layer is Bayesian, so that looking ahead is exact.

A network is trained to give phi(x) w, with F features phi; then w is a random variable again:

    w ~ N(0, s / F I)        y = m + phi(x) w + e        e ~ N(0, v)

which is a Gaussian process with the kernel s phi(x) phi(x') / F. s and v are the most probable ones, by the evidence of
the outcomes. Features of one network know too well what fits the data, so that several of them are a mixture.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hentropy.core.beliefs import Frame, Gaussian
from hentropy.core.given import is_count
from hentropy.core.models.gp import ConstantMean
from hentropy.core.models.own import ModelData
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

RATE = 0.01
DECAY = 1e-4
"""Of Adam, and how strongly weights are pulled to zero."""

SIGNALS, NOISES = np.logspace(-2, 2, 33), np.logspace(-6, 0, 49)
"""Variances s and v that are tried, of standardised outcomes."""


@dataclass(frozen=True)
class Features:
    """H networks side by side, hidden layers tanh(x W + b): W is H x inputs x width, b is H x 1 x width."""

    layers: tuple[tuple[Tensor, Tensor], ...]

    @classmethod
    def drawn(cls, networks: int, inputs: int, width: int, depth: int, generator: torch.Generator) -> "Features":
        """With random weights, whose spread keeps that of their inputs."""
        sizes = [inputs] + [width] * depth
        layers = []
        for before, after in pairwise(sizes):
            W = torch.randn(networks, before, after, generator=generator, dtype=torch.float64) / math.sqrt(before)
            b = torch.randn(networks, 1, after, generator=generator, dtype=torch.float64)
            layers.append((W, b))
        return cls(tuple(layers))

    def __call__(self, u: Tensor) -> Tensor:
        """The features of inputs ... x d in the unit cube, with a constant one: H x ... x (width + 1)."""
        H = self.layers[0][0].shape[0]
        features = (2.0 * u - 1.0).reshape(1, -1, u.shape[-1]).expand(H, -1, -1)
        for W, b in self.layers:
            features = torch.tanh(torch.baddbmm(b, features, W))
        whole = torch.cat([features, torch.ones_like(features[..., :1])], -1)
        return whole.reshape(H, *u.shape[:-1], -1)

    def some(self, components: list[int]) -> "Features":
        """Some of the networks."""
        return Features(tuple((W[components], b[components]) for W, b in self.layers))


@dataclass(frozen=True)
class LastLayerKernel:
    """s phi(a) phi(b) / F for H networks; s is H."""

    network: Features
    s: Tensor

    def _scaled(self, a: Tensor) -> Tensor:
        features = self.network(a)
        height = (self.s / features.shape[-1]).sqrt()
        return height.view(-1, *[1] * (features.dim() - 1)) * features

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        """k(a, b) at inputs ... x m x d and ... x p x d: H x ... x m x p."""
        return self._scaled(a) @ self._scaled(b).mT

    def diagonal(self, a: Tensor) -> Tensor:
        """k(a_i, a_i): H x ... x m."""
        return self._scaled(a).square().sum(-1)

    def some(self, components: list[int]) -> "LastLayerKernel":
        """The kernel of some of the networks."""
        return LastLayerKernel(self.network.some(components), self.s[components])


@dataclass(frozen=True)
class LastLayer:
    """The model of networks with a Bayesian last layer."""

    width: int
    depth: int
    networks: int
    steps: int
    noise_std: float | None

    def __call__(self, data: ModelData) -> Gaussian:
        """Train the networks, and take their last layers for unknown."""
        shift, scale = data.Y.mean(), data.Y.new_tensor(data.scale)
        inputs, y = data.space.to_unit(data.X), (data.Y - shift) / scale
        generator = torch.Generator().manual_seed(data.seed)
        network = self._trained(inputs, y, generator)
        known = self.noise_std or data.told_noise
        s, v = most_probable(network(inputs), y, None if known is None else (known / float(scale)) ** 2)
        noise = v.unsqueeze(-1).expand(-1, len(y))
        if self.noise_std is None and data.noise is not None and known is not None:
            noise = (data.noise / scale).square().clamp_min(float(NOISES[0])).expand(self.networks, -1)
        frame, mean = Frame(data.space.to_unit, shift, scale), ConstantMean(torch.zeros_like(v))
        weights = torch.ones_like(v)
        return Gaussian.from_data(data.X, y, noise, v, LastLayerKernel(network, s), mean, frame, weights)

    def _trained(self, inputs: Tensor, y: Tensor, generator: torch.Generator) -> Features:
        network = Features.drawn(self.networks, inputs.shape[-1], self.width, self.depth, generator)
        network = Features(tuple((W.to(inputs), b.to(inputs)) for W, b in network.layers))
        w = inputs.new_zeros(self.networks, self.width + 1, 1)
        free = [part.requires_grad_() for part in (*(p for layer in network.layers for p in layer), w)]
        optimiser = torch.optim.Adam(free, lr=RATE)
        with torch.enable_grad():
            for _ in range(self.steps):
                optimiser.zero_grad()
                gap = (network(inputs) @ w).squeeze(-1) - y
                loss = gap.square().mean(-1).sum() + DECAY * sum(part.square().sum() for part in free)
                loss.backward()
                optimiser.step()
        return Features(tuple((W.detach(), b.detach()) for W, b in network.layers))


@torch.no_grad()
def most_probable(features: Tensor, y: Tensor, noise: float | None) -> tuple[Tensor, Tensor]:
    """The variances s and v (H each) with the largest evidence of y (n), features H x n x F; v may be known.

    With features / sqrt F = U D V^T, the outcomes along U have variances s D^2 + v, and the rest has v.
    """
    n, F = features.shape[-2:]
    U, D, _ = torch.linalg.svd(features / math.sqrt(F), full_matrices=False)
    along = (U.mT @ y.unsqueeze(-1)).squeeze(-1).square()  # H x r
    rest = (y.square().sum() - along.sum(-1)).clamp_min(0.0)
    v = y.new_tensor(NOISES if noise is None else [max(noise, NOISES[0])])
    s = y.new_tensor(SIGNALS)
    total = s.view(-1, 1, 1, 1) * D.square() + v.view(-1, 1, 1)  # signals x noises x H x r
    evidence = -0.5 * (along / total + total.log()).sum(-1)
    evidence = evidence - 0.5 * (rest / v.unsqueeze(-1) + (n - along.shape[-1]) * v.log().unsqueeze(-1))
    best = evidence.flatten(0, 1).argmax(0)
    return s[best // len(v)], v[best % len(v)]


def last_layer(
    width: int = 50, *, depth: int = 2, networks: int = 4, steps: int = 400, noise_std: float | None = None
) -> LastLayer:
    """Neural networks with a Bayesian last layer, for `Study(model=...)`.

    `networks` networks with `depth` hidden layers of `width` units are trained by `steps` steps of Adam, with the
    study's seed, and mixed. `noise_std` is the standard error of an observation; by default, those of the values
    told, or the most probable one.
    """
    for name, value in (("width", width), ("depth", depth), ("networks", networks), ("steps", steps)):
        if not is_count(value):
            raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
    if noise_std is not None and not (math.isfinite(noise_std) and noise_std > 0):
        raise InputError(f"noise_std must be a finite number above 0, or left out; got {noise_std}")
    return LastLayer(width, depth, networks, steps, noise_std)
