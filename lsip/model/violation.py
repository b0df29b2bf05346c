"""A family at a given x: g(y) = a(y) x - b(y), what separation oracles maximise and what people see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from ..domains import Domain
from ..errors import ModelError
from ..expressions.jets import triangle
from ..oracles.base import Array, Ints, visible
from .directed_rows import DirectedRows
from .families import RowFamily


def contract(d: Array, h: Array, w: Array) -> tuple[Array, Array]:
    """Gradients (k, m) and Hessians (k, m, m) of w (k, J) times rows with derivatives d (m, k, J), h (packed, k, J).

    Without any packed Hessian, rows are affine. Derivatives may be infinite, as those of sqrt(y) at 0: a weight of zero
    makes nan of them, which says that nothing is known, as it should.
    """
    m = len(d)
    with np.errstate(invalid="ignore"):
        gradient = (d * w).sum(axis=2).T
        if not len(h):
            return gradient, np.zeros((d.shape[1], m, m))
        i, j = triangle(m)
        hessian = np.empty((d.shape[1], m, m))
        hessian[:, i, j] = hessian[:, j, i] = (h * w).sum(axis=2).T
    return gradient, hessian


@dataclass(eq=False)
class FamilyViolation:
    """g(y) = a(y) x - scale b(y) for a family at a given x; `scale` is 0 when x is a direction.

    With a `radius`, x stands for a box, and g(y) is the largest value over all x' in it: a bound that is proven of g
    holds for every one of them.

    Parameters
    ----------
    family
        The rows.
    x
        The point, (n,): the middle of a box, if there is a radius.
    scale
        Of the right-hand side.
    radius
        Half-widths (n,) >= 0 of the box around x; None for the point alone.
    part
        The part of the family's index set to ask about; None for all of it.
    """

    family: RowFamily
    x: Array
    scale: float = 1.0
    radius: Array | None = None
    part: Domain | None = None
    weights: Array = field(init=False)  # (p, K + 1), the middles of (x, -scale) in each row
    spread: Array | None = field(init=False)  # (p, K + 1), their half-widths

    def __post_init__(self) -> None:
        gathered = self.x[self.family.columns]
        self.weights = np.concatenate([gathered, np.full((len(gathered), 1), -self.scale)], axis=1)
        self.spread = None
        if self.radius is not None:
            known = np.zeros((len(gathered), 1))
            self.spread = np.concatenate([self.radius[self.family.columns], known], axis=1)

    @property
    def components(self) -> int:
        return len(self.weights)

    @property
    def domain(self) -> Domain:
        return self.family.domain if self.part is None else self.part

    def over(self, part: Domain) -> FamilyViolation:
        """The same function over a part of the family's index set."""
        whole = self.family.domain
        if part.dim != whole.dim or (part.lower < whole.lower).any() or (part.upper > whole.upper).any():
            raise ModelError(f"{self.family.legend.name} is about {whole}; {part} is not a part of it.")
        return replace(self, part=part)

    def values(self, y: Array) -> Array:
        a, b = self.family.rows(y)
        middle = np.einsum("npk,pk->np", a, self.weights[:, :-1]) - self.scale * b
        if self.spread is None:
            return middle
        return middle + np.einsum("npk,pk->np", np.abs(a), self.spread[:, :-1])

    def at(self, y: Array, component: Ints) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""
        a, b = self.family.chosen(y, component)
        middle = np.einsum("nk,nk->n", a, self.weights[component, :-1]) - self.scale * b
        if self.spread is None:
            return middle
        return middle + np.einsum("nk,nk->n", np.abs(a), self.spread[component, :-1])

    def derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        parts = self.family.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, g, h = parts
        w = self.weights[component]
        if self.spread is not None:  # the worst corner of the box of x, where coefficients keep their signs
            w = w + np.sign(v) * self.spread[component]
        return (v * w).sum(axis=1), *contract(g, h, w)


@dataclass(eq=False)
class SeenViolation:
    """g(y) = sup over all directions of a(y, v) x - scale b(y, v): what people see of a family with directions."""

    family: RowFamily
    rows: DirectedRows
    x: Array
    scale: float = 1.0

    @property
    def components(self) -> int:
        return len(self.family.columns)

    @property
    def domain(self) -> Domain:
        return visible(self.family)

    def values(self, y: Array) -> Array:
        """g at the points y (N, m): shape (N, p)."""
        entries = self.rows.entries
        a, b = entries.rows(y if self.family.legend.shown else np.zeros((len(y), 1)))
        return self.rows.worst.value(np.einsum("npk,pk->np", a, self.x[entries.columns]) - self.scale * b)

    def at(self, y: Array, component: Ints) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""
        found: Array = self.values(y)[np.arange(len(y)), component]
        return found

    def derivatives(self, y: Array, component: Ints) -> None:
        """None: where the worst direction changes, there are none."""


Seen: TypeAlias = FamilyViolation | SeenViolation  # what people see of a family at a given x
