"""A model of one's own: a function from `ModelData` to a belief, which a study calls where it would fit its own model.

A belief must follow from the data and the seed alone; a study rebuilt from its records then proposes the same again.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.beliefs.linalg import is_numerical
from hentropy.core.spaces import DesignSpace
from hentropy.errors import HentropyError, ModelError, NumericalError, last_line
from hentropy.lazy import Tensor, torch


@dataclass(frozen=True)
class ModelData:
    """The data on one outcome: designs X (n x d, coordinates of the space), values Y (n), their standard errors.

    `noise` (n) is None if none was told. `seed` is the study's, for models that use random numbers.
    """

    X: Tensor
    Y: Tensor
    space: DesignSpace
    noise: Tensor | None = None
    seed: int = 0

    @property
    def scale(self) -> float:
        """The standard deviation of the values; 1 where all are equal."""
        spread = float(self.Y.std(correction=0))
        return spread if spread > 0 else 1.0

    @property
    def told_noise(self) -> float | None:
        """The root mean square of the standard errors that were told; None if there is none, or all are zero."""
        known = None if self.noise is None else float(self.noise.square().mean().sqrt())
        return known if known else None


Model = Callable[[ModelData], Belief]


@dataclass(frozen=True)
class NamedModel:
    """A model that a study file names, "module:function"."""

    reference: str
    function: Model

    def __call__(self, data: ModelData) -> Belief:
        """What the function says."""
        return self.function(data)


def name_of(model: Model) -> str:
    """What messages call a model."""
    if isinstance(model, NamedModel):
        return model.reference
    return str(getattr(model, "__name__", type(model).__name__))


def believed(model: Model, data: ModelData, outcome: str) -> Belief:
    """The belief of a model about this outcome, checked: a `ModelError` says what is wrong with it."""
    name = name_of(model)
    try:
        belief = model(data)
    except Exception as error:
        raise _raised(name, "raised", error) from error
    if not isinstance(belief, Belief):
        raise ModelError(
            f"the model {name} returned {_kind(belief)}, not a belief; return he.fit(...), he.from_botorch(model),"
            " he.Samples(...) or another he.Belief"
        )
    if belief.X.dim() != 2 or belief.X.shape[-1] != data.space.dim:
        raise ModelError(
            f"the belief of the model {name} is about designs of shape {tuple(belief.X.shape)}; the space has"
            f" {data.space.dim} coordinates: give it the designs data.X, which are {tuple(data.X.shape)}"
        )
    named = _about(belief, outcome, name)
    try:
        mean = named.moments(data.X[:2], Needs.MEAN).mean
    except Exception as error:
        raise _raised(name, "gave a belief that cannot be asked: it raised", error) from error
    if tuple(mean.shape) != (named.components, len(data.X[:2])) or not bool(torch.isfinite(mean).all()):
        raise ModelError(
            f"the belief of the model {name} expects {mean.tolist()} at the designs {data.X[:2].tolist()}; it must be a"
            f" finite number of each design, for each of {named.components} components"
        )
    return named


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _about(belief: Belief, outcome: str, name: str) -> Belief:
    """The belief under the name of the outcome; beliefs of the library take any."""
    if belief.outcomes == (outcome,):
        return belief
    own = belief.named(outcome) if len(belief.outcomes) == 1 else None
    if own is not None:
        return own
    raise ModelError(
        f"the belief of the model {name} is about {', '.join(belief.outcomes)}, the decision about {outcome}; give it"
        f" outcomes = ({outcome!r},)"
    )


def _raised(name: str, what: str, error: Exception) -> ModelError:
    """An error inside a model, with its place; errors of the library say enough without one."""
    said, kind = last_line(error), NumericalError if is_numerical(error) else ModelError
    if isinstance(error, HentropyError):
        return kind(f"the model {name} {what} {type(error).__name__}: {error}")
    last = traceback.extract_tb(error.__traceback__)[-1]
    return kind(
        f"the model {name} {what} {said} ({Path(last.filename).name}, line {last.lineno}); fix it and ask again:"
        " all measurements are kept"
    )
