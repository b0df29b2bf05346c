"""What a constraint for all indices has to say of itself, so that rows can be made of it: `ForAll` does."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...domains import Domain
from ...expressions.graph import Index
from .package import Leaf, Node, Relation

Array = NDArray[np.float64]


class QuantifiedConstraint(Protocol):
    """A CVXPY constraint that holds for every value of its indices."""

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices, as formulas."""

    @property
    def domain(self) -> Domain:
        """Where they live."""

    @property
    def lipschitz(self) -> float | tuple[float, float] | None:
        """The constants given for a black box."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the constraint at one index point."""

    @property
    def size(self) -> int:
        """How many rows it has at one index point."""

    @property
    def traced(self) -> bool:
        """Whether it is known as a formula of the index."""

    @property
    def body(self) -> Node:
        """The CVXPY expression that must be <= 0, if it is."""

    def at(self, point: Array) -> Relation:
        """The CVXPY constraint of a black box at one index point."""

    def body_at(self, point: Array) -> Node:
        """The CVXPY expression that must be <= 0 at one index point; for a black box."""

    def variables(self) -> list[Leaf]:
        """The CVXPY variables in it."""

    def parameters(self) -> list[Leaf]:
        """The user's own CVXPY parameters in it."""
