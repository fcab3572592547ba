"""A small neural network: shares between 0 and 1 as a smooth function of a place.

h_0 = (x - centre) / scale,   h_i = tanh(h_(i-1) W_i + b_i),   share = 1 / (1 + exp(-(h W + b)))
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Network:
    """Layers of weights (in x out) and biases (out); the last one has a single output."""

    centre: Tensor
    scale: Tensor
    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]

    def __call__(self, x: Tensor) -> Tensor:
        """Shares at places ... x d: ... ."""
        h = (x - self.centre.to(x)) / self.scale.to(x)
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = torch.tanh(h @ W.to(x) + b.to(x))
        return torch.sigmoid((h @ self.weights[-1].to(x) + self.biases[-1].to(x)).squeeze(-1))

    @property
    def hidden(self) -> tuple[int, ...]:
        """The sizes of the hidden layers."""
        return tuple(b.shape[0] for b in self.biases[:-1])

    @property
    def numbers(self) -> Tensor:
        """All weights, then all biases, in one row."""
        return torch.cat([part.reshape(-1) for part in (*self.weights, *self.biases)])

    def with_numbers(self, numbers: Tensor) -> "Network":
        """The same network with other weights and biases."""
        old = (*self.weights, *self.biases)
        parts = [new.view(part.shape) for new, part in zip(numbers.split([p.numel() for p in old]), old, strict=True)]
        return replace(self, weights=tuple(parts[: len(self.weights)]), biases=tuple(parts[len(self.weights) :]))

    @classmethod
    def drawn(cls, centre: Tensor, scale: Tensor, hidden: tuple[int, ...], seed: int) -> "Network":
        """A network with random weights: the outputs of each layer are about as large as its inputs."""
        generator = torch.Generator().manual_seed(seed)
        sizes = (centre.shape[0], *hidden, 1)
        weights = [torch.randn(n, m, generator=generator, dtype=torch.float64) / n**0.5 for n, m in pairwise(sizes)]
        biases = [torch.randn(m, generator=generator, dtype=torch.float64) for m in sizes[1:]]
        return cls(centre, scale, tuple(weights), (*biases[:-1], torch.zeros(1, dtype=torch.float64)))

    def arrays(self) -> dict[str, np.ndarray]:
        """What `from_arrays` needs, to be stored."""
        layers = {f"weight_{i}": W for i, W in enumerate(self.weights)} | {
            f"bias_{i}": b for i, b in enumerate(self.biases)
        }
        return {name: t.numpy() for name, t in {"centre": self.centre, "scale": self.scale, **layers}.items()}

    @classmethod
    def from_arrays(cls, stored: Any) -> "Network":
        """The network in a mapping of arrays, such as an npz file."""
        layers = sum(name.startswith("weight_") for name in stored)
        weights = [torch.from_numpy(stored[f"weight_{i}"]) for i in range(layers)]
        biases = [torch.from_numpy(stored[f"bias_{i}"]) for i in range(layers)]
        return cls(torch.from_numpy(stored["centre"]), torch.from_numpy(stored["scale"]), tuple(weights), tuple(biases))

    def __repr__(self) -> str:
        return f"Network(hidden={self.hidden})"
