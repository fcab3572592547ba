"""`botorch_model`: a BoTorch model that is refitted whenever a study has more data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hentropy.core.beliefs import Belief
from hentropy.core.models.botorch import from_botorch
from hentropy.core.models.own import ModelData
from hentropy.errors import InputError
from hentropy.lazy import Tensor, botorch, gpytorch

Builder = Callable[[Tensor, Tensor], Any]
"""From X (n x d) and Y (n x 1) to a fitted BoTorch model."""


@dataclass(frozen=True)
class BotorchFit:
    """A class of BoTorch's with its options, or a function that builds and fits a model."""

    build: Builder | type[botorch.models.model.Model]
    noise_std: float | None
    options: dict[str, Any]

    def __call__(self, data: ModelData) -> Belief:
        """The belief of the model, fitted to the data."""
        Y = data.Y.unsqueeze(-1)
        if not _is_class(self.build):
            return from_botorch(self.build(data.X, Y), self.noise_std, seed=data.seed)
        options: dict[str, Any] = {
            "input_transform": botorch.models.transforms.Normalize(
                data.X.shape[-1], bounds=data.space.bounds.to(data.X)
            ),
            "outcome_transform": botorch.models.transforms.Standardize(1),
        }
        if data.told_noise is not None and data.noise is not None:
            options["train_Yvar"] = data.noise.square().unsqueeze(-1)
        model: Any = self.build(data.X, Y, **(options | self.options))
        botorch.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        return from_botorch(model.eval(), self.noise_std, seed=data.seed)


def _is_class(build: Any) -> bool:
    return isinstance(build, type) and issubclass(build, botorch.models.model.Model)


def botorch_model(
    build: Builder | type[botorch.models.model.Model], *, noise_std: float | None = None, **options: Any
) -> BotorchFit:
    """The model of a study (`Study(model=...)`) that BoTorch fits.

    `build` is a class of exact Gaussian processes such as SingleTaskGP, which gets designs scaled to the unit cube,
    standardised outcomes, standard errors if told, and `options`, and is fitted by its marginal likelihood;
    or a function from X (n x d) and Y (n x 1) to a model that it has fitted. `noise_std` as in `from_botorch`.
    """
    if not callable(build):
        raise InputError(f"build must be a class of BoTorch models, or a function from X and Y to one; got {build!r}")
    if options and not _is_class(build):
        raise InputError(f"options ({', '.join(options)}) are for a class; a function has its own")
    return BotorchFit(build, noise_std, options)
