"""`botorch_model`: a BoTorch model that is fitted anew whenever a study has more data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botorch.fit import fit_gpytorch_mll
from botorch.models.model import Model as BotorchModel
from botorch.models.transforms import Normalize, Standardize
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from hentropy.core.beliefs import Belief
from hentropy.core.models.botorch import from_botorch
from hentropy.core.models.own import ModelData
from hentropy.errors import InputError

Builder = Callable[[Tensor, Tensor], BotorchModel]


@dataclass(frozen=True)
class BotorchFit:
    """A class of BoTorch's with its options, or a function that builds and fits a model."""

    build: Builder | type[BotorchModel]
    noise_std: float | None
    options: dict[str, Any]

    def __call__(self, data: ModelData) -> Belief:
        """The belief of the model, fitted to the data."""
        Y = data.Y.unsqueeze(-1)
        if not _is_class(self.build):
            return from_botorch(self.build(data.X, Y), self.noise_std, seed=data.seed)
        options: dict[str, Any] = {
            "input_transform": Normalize(data.X.shape[-1], bounds=data.space.bounds.to(data.X)),
            "outcome_transform": Standardize(1),
        }
        if data.told_noise is not None and data.noise is not None:
            options["train_Yvar"] = data.noise.square().unsqueeze(-1)
        model: Any = self.build(data.X, Y, **(options | self.options))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return from_botorch(model.eval(), self.noise_std, seed=data.seed)


def _is_class(build: Any) -> bool:
    return isinstance(build, type) and issubclass(build, BotorchModel)


def botorch_model(build: Builder | type[BotorchModel], *, noise_std: float | None = None, **options: Any) -> BotorchFit:
    """The model of a study (`Study(model=...)`) that BoTorch fits.

    `build` is a class of exact Gaussian processes such as SingleTaskGP, which gets designs scaled to the unit cube,
    standardised outcomes, standard errors where they are told, and `options`, and is fitted by its marginal likelihood;
    or a function from X (n x d) and Y (n x 1) to a model that it has fitted. `noise_std` as in `from_botorch`.
    """
    if not callable(build):
        raise InputError(f"build must be a class of BoTorch models, or a function from X and Y to one; got {build!r}")
    if options and not _is_class(build):
        raise InputError(f"options ({', '.join(options)}) are for a class; a function has its own")
    return BotorchFit(build, noise_std, options)
