"""A decision from a plain function."""

from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

from hentropy.core.decisions.actions import ActionSpace
from hentropy.core.decisions.base import Decision
from hentropy.errors import InputError
from hentropy.lazy import Tensor


class FunctionDecision(Decision):
    """A decision whose loss (and, if given, points) are plain functions."""

    def __init__(
        self,
        function: Callable[[Tensor, Any], Tensor],
        actions: ActionSpace,
        points: Callable[[Any], Tensor] | None = None,
        outcomes: tuple[str, ...] = (),
    ) -> None:
        self.actions = actions
        self.outcomes = outcomes
        self._function = function
        self._points = points

    def loss(self, f: Tensor, a: Any) -> Tensor:
        """What the function says."""
        return self._function(f, a)

    def points(self, a: Any) -> Tensor:
        """Where the function looks."""
        return super().points(a) if self._points is None else self._points(a)

    def __repr__(self) -> str:
        function = self._function
        name = function.__name__ if isinstance(function, FunctionType | BuiltinFunctionType) else repr(function)
        return f"decision({name}, {type(self.actions).__name__})"


def decision(
    loss: Callable[[Tensor, Any], Tensor],
    actions: ActionSpace,
    points: Callable[[Any], Tensor] | None = None,
    outcomes: Sequence[str] = (),
) -> Decision:
    """Your own decision: `decision(lambda f, a: -f.min(-1).values, actions=Points(2))`.

    loss(f, a): f are values at the action's points (... x K), a the action (... x k x d for `Points`, ... x p for
    `Box`, the item itself for `Options`); it returns ... . points(a) are the designs at which f is evaluated,
    by default the action itself. `outcomes` names those that the loss uses, where a design has several; with more than
    one, f is ... x K x o in their order.
    """
    if not callable(loss):
        raise InputError(f"the loss must be a function of values and an action, got {loss!r}")
    if not isinstance(actions, ActionSpace):
        raise InputError(f"actions must be Points(k), Box(low, high), Listed(rows) or Options(items), got {actions!r}")
    names = (outcomes,) if isinstance(outcomes, str) else tuple(outcomes)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(f"outcomes are names, each given once, got {outcomes!r}")
    return FunctionDecision(loss, actions, points, names)
