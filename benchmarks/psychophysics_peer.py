"""AEPsych's look-ahead, for `benchmarks.psychophysics`: run by a Python that has AEPsych, which needs no hentropy.

The arguments are two files: the mean and the covariance of a latent process at designs and points, and what is found.
AEPsych sees the process through a model that knows it at these places, which are named by their numbers.
"""

import sys
from types import SimpleNamespace

import numpy as np
import torch

try:
    from aepsych.acquisition.lookahead import SUR_fn
    from aepsych.acquisition.lookahead_utils import lookahead_levelset_at_xstar, lookahead_p_at_xstar
except ImportError:
    sys.exit(3)


class KnownProcess:
    """A model whose inputs (... x 1) are the numbers of places."""

    def __init__(self, mean: torch.Tensor, covariance: torch.Tensor) -> None:
        self.mean, self.covariance = mean, covariance

    def posterior(self, X: torch.Tensor, posterior_transform: None = None) -> SimpleNamespace:
        """The mean (... x n x 1) and the distribution with the covariance (... x n x n)."""
        place = X[..., 0].long()
        own = SimpleNamespace(covariance_matrix=self.covariance[place.unsqueeze(-1), place.unsqueeze(-2)])
        return SimpleNamespace(mean=self.mean[place].unsqueeze(-1), distribution=own)


def main(given: str, found: str) -> None:
    with np.load(given) as read:
        mean, covariance = torch.from_numpy(read["mean"]), torch.from_numpy(read["covariance"])
        b, level = int(read["designs"]), float(read["level"])
    model, places = KnownProcess(mean, covariance), torch.arange(len(mean), dtype=torch.float64).unsqueeze(-1)
    designs, points = places[:b].unsqueeze(1), places[b:].expand(b, -1, -1)
    threshold = torch.special.ndtri(torch.tensor(level, dtype=torch.float64))
    now, after_yes, after_no, yes = lookahead_levelset_at_xstar(model=model, Xstar=designs, Xq=points, gamma=threshold)
    _, detected, not_detected, _ = lookahead_p_at_xstar(model=model, Xstar=designs, Xq=points)
    gain = SUR_fn(now, after_yes, after_no, yes)
    # its level sets are those below the level
    above = 1.0 - torch.stack([after_no, after_yes])
    np.savez(found, above=above.numpy(), yes=torch.stack([not_detected, detected]).numpy(), gain=gain.numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
