"""PyTorch and other large libraries, imported on first use: that takes seconds, and many commands compute nothing.

Modules take `torch` and `Tensor` from here. They may name them in annotations, and decorate with `@torch.no_grad()`;
what else runs while a module is imported, such as a constant that is a tensor, would import PyTorch at once.
"""

import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

__all__ = ["AutogradFunction", "Tensor", "botorch", "gpytorch", "linear_operator", "once_imported", "special", "torch"]


class LazyModule(ModuleType):
    """A module that is imported when one of its names is wanted, and has all of them from then on."""

    broken: BaseException | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by those who look at all modules, such as debuggers
            raise AttributeError(f"{self.__name__} is not imported yet")
        if self.broken is not None:
            raise ImportError(f"the import of {self.__name__} was interrupted; start Python again") from self.broken
        try:
            real = import_module(self.__name__)
        except ModuleNotFoundError:
            raise
        except BaseException as error:  # such as Ctrl-C: half of it is there, and it cannot be imported again
            object.__setattr__(self, "broken", error)
            raise
        if self.__spec__ is None:
            self.__dict__.update(vars(real))
            self.imported()
        return getattr(real, name)

    def imported(self) -> None:
        """What is done right after the import."""


class NoGrad(ContextDecorator):
    """What `torch.no_grad()` is before the import: around a block, or for every call of a function."""

    def __enter__(self) -> None:
        self._real = torch.set_grad_enabled(False)

    def __exit__(self, *error: Any) -> None:
        self._real.__exit__(*error)

    def _recreate_cm(self) -> "NoGrad":
        return NoGrad()  # calls may be nested


class TorchType(type):
    """What a type of PyTorch is before the import: it serves for annotations, `isinstance` and calls."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, getattr(sys.modules.get("torch"), cls.__name__, ()))  # nothing is one before

    def __call__(cls, *given: Any, **options: Any) -> Any:
        """One of them."""
        return getattr(torch, cls.__name__)(*given, **options)


def _type(name: str) -> TorchType:
    return TorchType(name, (), {"__module__": "torch"})


class LazyTorch(LazyModule):
    """PyTorch, with what modules name while they are imported themselves."""

    no_grad = NoGrad
    Tensor, Generator, Size, device, dtype = map(_type, ("Tensor", "Generator", "Size", "device", "dtype"))
    waiting: ClassVar[list[Callable[[], None]]] = []

    def imported(self) -> None:
        """Do what waits."""
        for action in self.waiting:
            action()


_TORCH = LazyTorch("torch")

if TYPE_CHECKING:
    import botorch
    import gpytorch
    import linear_operator
    import torch
    from scipy import special
    from torch import Tensor
else:
    torch, Tensor = _TORCH, _TORCH.Tensor
    gpytorch, botorch, linear_operator, special = map(
        LazyModule, ("gpytorch", "botorch", "linear_operator", "scipy.special")
    )


def once_imported(action: Callable[[], None]) -> None:
    """Do something as soon as PyTorch is used: now, if it has been."""
    if "torch" in sys.modules:
        action()
    else:
        _TORCH.waiting.append(action)


class AutogradFunction:
    """A function whose derivative is written by hand: `forward` and `backward` as in `torch.autograd.Function`.

    It is differentiable once.
    """

    forward: ClassVar[Callable[..., Any]]
    backward: ClassVar[Callable[..., Any]]
    _real: ClassVar[Any] = None

    @classmethod
    def apply(cls, *given: Any) -> Any:
        """The value."""
        if cls._real is None:
            once = torch.autograd.function.once_differentiable(cls.backward)
            own = {"forward": staticmethod(cls.forward), "backward": staticmethod(once)}
            cls._real = type(cls.__name__, (torch.autograd.Function,), own)
        return cls._real.apply(*given)
