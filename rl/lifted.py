"""NumPy's functions on tensors: costs that are written in the language of lsip run on a learner's device as they are.

A cost that can be traced uses operators, indices and NumPy's functions, and asks for nothing else. So what it is given
may as well be tensors in disguise. What it wants beyond that, such as an array of plain numbers, is refused with a
`TypeError`, and whoever asked computes on the host instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

Axes: TypeAlias = int | tuple[int, ...] | None


def doubles(device: torch.device) -> torch.dtype:
    """The most exact numbers of a device: Apple's have no doubles."""
    return torch.float32 if device.type == "mps" else torch.float64


# NumPy and torch have the same name for these, or torch has the one on the right.
SAME = (
    "add subtract multiply negative positive sqrt square exp expm1 log log1p log2 log10 sin cos tan sinh cosh "
    "tanh maximum minimum floor ceil sign logaddexp hypot matmul greater greater_equal less less_equal"
)
OTHER = {
    "divide": torch.true_divide,
    "power": torch.pow,
    "absolute": torch.abs,
    "arctan": torch.atan,
    "arctan2": torch.atan2,
    "arcsin": torch.asin,
    "arccos": torch.acos,
    "arcsinh": torch.asinh,
}
UFUNCS: dict[Any, Callable[..., Tensor]] = {getattr(np, name): getattr(torch, name) for name in SAME.split()}
UFUNCS |= {getattr(np, name): function for name, function in OTHER.items()}


def _along(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A reduction of torch with NumPy's name for an axis."""

    def reduce(values: Tensor, axis: Axes = None, **options: object) -> Tensor:
        return function(values, dim=axis, **options) if axis is not None else function(values)

    return reduce


def _joined(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda parts, axis=0: function(list(parts), dim=axis)


FUNCTIONS: dict[Any, Callable[..., Tensor]] = {
    np.sum: _along(torch.sum),
    np.mean: _along(torch.mean),
    np.max: _along(torch.amax),
    np.min: _along(torch.amin),
    np.linalg.norm: lambda values, ord=None, axis=None, **options: torch.linalg.vector_norm(
        values, 2 if ord is None else ord, dim=axis, **options
    ),
    np.clip: torch.clip,
    np.stack: _joined(torch.stack),
    np.concatenate: _joined(torch.cat),
    np.reshape: torch.reshape,
    np.broadcast_to: torch.broadcast_to,
}


class Lifted(NDArrayOperatorsMixin):
    """A tensor that looks like an array."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    shape = property(lambda self: tuple(self.tensor.shape))
    ndim = property(lambda self: self.tensor.ndim)
    T = property(lambda self: Lifted(self.tensor.mT))

    def __len__(self) -> int:
        return len(self.tensor)

    def __getitem__(self, key: object) -> Lifted:
        return Lifted(self.tensor[self._plain(key)])

    def __array__(self, *arguments: object, **options: object) -> NoReturn:
        raise TypeError("it is on a device, and not an array")

    def reshape(self, *shape: int) -> Lifted:
        """The same numbers in another shape."""
        return Lifted(self.tensor.reshape(*shape))

    def sum(self, axis: Axes = None, **options: object) -> Lifted:
        """As NumPy's."""
        return Lifted(FUNCTIONS[np.sum](self.tensor, axis=axis, **options))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *arguments: object, **options: object) -> Lifted:
        if method != "__call__" or ufunc not in UFUNCS or options:
            return NotImplemented
        return Lifted(UFUNCS[ufunc](*(self._tensor(each) for each in arguments)))

    def __array_function__(
        self, function: Callable[..., object], types: object, arguments: tuple[object, ...], options: dict[str, object]
    ) -> Lifted:
        if function is np.where:  # torch would take its numbers for single ones
            condition, yes, no = map(self._tensor, arguments)
            return Lifted(torch.where(condition, yes, no))
        if function not in FUNCTIONS:
            return NotImplemented
        return Lifted(
            FUNCTIONS[function](*map(self._plain, arguments), **{k: self._plain(v) for k, v in options.items()})
        )

    def _plain(self, value: object) -> Any:
        """Without the disguise, in collections too."""
        if isinstance(value, tuple | list):
            return type(value)(self._plain(each) for each in value)
        return value.tensor if isinstance(value, Lifted) else value

    def _tensor(self, value: object) -> Tensor:
        """Numbers become tensors on the same device, as exact as it can have them."""
        if isinstance(value, Lifted):
            return value.tensor
        array = np.asarray(value)
        kind = doubles(self.tensor.device) if np.issubdtype(array.dtype, np.floating) else None
        return torch.as_tensor(array, device=self.tensor.device, dtype=kind)


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of tensors."""

    def of_tensors(*tensors: Tensor) -> Any:
        value = function(*map(Lifted, tensors))
        return value.tensor if isinstance(value, Lifted) else value

    return of_tensors
