"""`Frame`: between the user's units and those that a model was fitted in."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Frame:
    """How a model sees designs and outcomes: inputs = transform(x), outcome = shift + scale x model value."""

    transform: Callable[[Tensor], Tensor]
    shift: Tensor
    scale: Tensor
