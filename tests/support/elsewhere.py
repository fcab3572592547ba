"""A device that any machine has: tensors that compute on the processor, but refuse to meet the processor's own.

`with ELSEWHERE:` gives a device "cuda" whose tensors are of the class `Elsewhere`. As on a real one, an operation with
a tensor of each device fails unless the one on the processor is a single number; `numpy` fails, and so does a
generator, which is always the processor's here.
"""

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten

DEVICE = torch.device("cuda")
CPU = torch.device("cpu")


class Elsewhere(Tensor):
    """A tensor on the other device."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func))
        if func == Tensor.device.__get__:
            return DEVICE
        if func is Tensor.cpu:
            return args[0].as_subclass(Tensor)
        if name in ("numpy", "__array__"):
            raise TypeError("a tensor on another device cannot become an array; copy it with cpu() first")
        tensors = [one for one in tree_flatten((args, kwargs))[0] if isinstance(one, Tensor)]
        there = [one for one in tensors if isinstance(one, Elsewhere)]
        here = [one for one in tensors if not isinstance(one, Elsewhere) and one.dim() > 0]
        if name == "to":
            return _moved(args, kwargs)
        if there and here and name not in ("__setitem__", "__getitem__"):
            raise RuntimeError(f"{name} of tensors on two devices: {[tuple(one.shape) for one in tensors]}")
        if name == "__setitem__" and isinstance(args[-1], Tensor) and args[-1].dim() and here:
            raise RuntimeError("__setitem__ of tensors on two devices")
        if there and kwargs.get("generator") is not None:
            raise RuntimeError(f"{name}: the generator is on the processor")
        return super().__torch_function__(func, types, args, kwargs)


def _moved(args: Any, kwargs: Any) -> Any:
    """Tensor.to: where its second argument is."""
    given, *rest = args
    target = next((one for one in (*rest, *kwargs.values()) if isinstance(one, Tensor | torch.device | str)), None)
    elsewhere = isinstance(given, Elsewhere)
    if isinstance(target, Tensor):
        elsewhere = isinstance(target, Elsewhere)
    elif target is not None:
        elsewhere = torch.device(target).type == DEVICE.type
    dtype = next((one for one in (*rest, *kwargs.values()) if isinstance(one, torch.dtype)), None)
    if isinstance(target, Tensor):
        dtype = target.dtype
    with torch._C.DisableTorchFunctionSubclass():
        moved = given if dtype is None else given.to(dtype)
    return moved.as_subclass(Elsewhere if elsewhere else Tensor)


class _Mode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if getattr(func, "__name__", "") == "to":
            return _moved(args, kwargs)
        device = kwargs.get("device")
        if device is not None and torch.device(device).type == DEVICE.type:
            return func(*args, **{**kwargs, "device": CPU}).as_subclass(Elsewhere)
        return func(*args, **kwargs)


ELSEWHERE = _Mode()
