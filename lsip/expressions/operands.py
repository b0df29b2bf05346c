"""What may stand in an expression, by name: for signatures and the type checker, and nothing that happens."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol, SupportsIndex, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..validation import Foreign, Scalar

T = TypeVar("T")
Taken = TypeVar("Taken", contravariant=True)  # the expressions that may be the other operand
Made = TypeVar("Made", covariant=True)  # what operations make
Told = TypeVar("Told", covariant=True)  # what a comparison gives

Shape: TypeAlias = tuple[int, ...]
Ints: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
# One side of an operator: an expression, numbers, or lists of both.
Operand: TypeAlias = T | Scalar | Foreign | Sequence["Operand[T]"]
# The axes that a reduction is over; None for all of them.
Axis: TypeAlias = int | Sequence[int] | None
# What may stand in brackets.
Place: TypeAlias = (
    SupportsIndex
    | slice
    | EllipsisType
    | NDArray[np.integer]
    | NDArray[np.bool_]
    | Sequence[int]
    | Sequence[bool]
    | None
)
Key: TypeAlias = Place | tuple[Place, ...]


class Indexed(Protocol):
    """What has a shape, and an element at every place in it."""

    @property
    def shape(self) -> Shape: ...

    def __getitem__(self, key: Shape, /) -> object: ...
