"""BoTorch's own acquisition functions, driven as the library ships them, in the unit cube of the space."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.exceptions.warnings import BadInitialCandidatesWarning, OptimizationWarning
from botorch.models.gp_regression import SingleTaskGP
from botorch.optim import optimize_acqf
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor

from hentropy.core.acquisition import as_botorch
from hentropy.core.beliefs import Gaussian
from hentropy.core.clock import Clock
from hentropy.core.gain import Appraisal
from hentropy.core.spaces import DesignSpace


def model_in_unit_cube(belief: Gaussian, space: DesignSpace) -> SingleTaskGP:
    """The BoTorch model of the belief, about designs in the unit cube: where BoTorch's optimisers do best."""
    frame = belief.frame
    moved = replace(frame, transform=lambda u: frame.transform(space.from_unit(u)))
    return as_botorch(replace(belief, X=space.to_unit(belief.X), frame=moved))


def optimised(
    acquisition: AcquisitionFunction, appraisal: Appraisal, q: int, restarts: int, raw_samples: int
) -> Tensor:
    """The designs that `optimize_acqf` finds: q x d, in their own units."""
    ends = torch.arange(2.0).to(appraisal.belief.X)
    bounds = ends.unsqueeze(-1).expand(2, appraisal.space.dim).contiguous()
    u, _ = optimize_acqf(
        acquisition, bounds, q=q, num_restarts=restarts, raw_samples=raw_samples, timeout_sec=_left(appraisal.clock)
    )
    return appraisal.space.project(appraisal.space.from_unit(u.detach()))


def _left(clock: Clock) -> float | None:
    """Seconds until the time is up, at least a little: BoTorch returns nothing where it may not begin."""
    return None if clock.seconds == float("inf") else max(clock.seconds - clock.spent, 1e-3)


@contextmanager
def contained(seed: int) -> Iterator[None]:
    """BoTorch draws from torch's global generators: give it a seed, and put them back afterwards.

    Its warnings that an ascent ended early, that all starts are equally good, or that a matrix got jitter are not for
    the user of a baseline: the best restart counts.
    """
    devices = range(torch.cuda.device_count())
    with torch.random.fork_rng(devices=devices), warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizationWarning)
        warnings.simplefilter("ignore", BadInitialCandidatesWarning)
        warnings.simplefilter("ignore", NumericalWarning)
        warnings.filterwarnings("ignore", "Optimization failed", RuntimeWarning)
        torch.manual_seed(seed)
        yield
