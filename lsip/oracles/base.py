"""What every separation oracle speaks: it maximises a `Violation` over a domain and returns a `Separation`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..domains import Domain

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Separation:
    """The worst index points found, and what is proven about all the others."""

    points: Array  # (k, m), all in the domain, worst first
    values: Array  # (k,), attained at the points
    bound: float  # sup over the domain (and over all components) is at most this; inf if nothing is proven
    components: NDArray[np.intp] = field(
        default_factory=lambda: np.zeros(0, dtype=np.intp)
    )  # (k,), the row of each point
    rows: tuple[Array, Array] | None = None  # coefficients (k, K) and rhs (k,) of those rows, if they are known already

    @property
    def worst(self) -> float:
        """The largest value attained (-inf when no point was returned)."""
        return float(self.values.max()) if len(self.values) else -np.inf


class Violation(Protocol):
    """A function g(y) with p components, to be maximised over y and over the components."""

    components: int

    def values(self, y: Array) -> Array:
        """g at the points y (N, m): shape (N, p)."""

    def derivatives(self, y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array] | None:
        """Value (N,), gradient (N, m) and Hessian (N, m, m) of one component a point; None for a black box."""


@runtime_checkable
class Oracle(Protocol):
    """A separation method. Implementations are frozen dataclasses: their options, and this one method."""

    def maximise(self, violation: Any, domain: Domain, *, target: float = 0.0, seed: int = 0) -> Separation:
        """Look for the largest value of `violation` over `domain`.

        `target` is the largest value that the caller tolerates: nothing needs to be proven more sharply than that.
        `seed` makes oracles that sample reproducible.
        """
