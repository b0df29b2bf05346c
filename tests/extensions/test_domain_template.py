"""How to add a domain: this file is a complete one.

1. Subclass `Domain` as a frozen dataclass with its own constructor. Validate there, raise `ModelError` with what was
   expected and what came, and fill the fields with `self._set`, `lower` and `upper` (the tight bounding box) included.
2. Write `diameter`, `measure`, `contains`, `project`, `place`, `cells` and `_arguments`; sampling, grids, products,
   unions, equality and hashing follow from these.
3. Write `cells` with plain NumPy operators on the vector y, so that it also takes index expressions: that is what lets
   branch-and-bound prove bounds over the domain.
4. Write `witness` if models over the domain are to be certified: a box near each given point that is proven to hold a
   point of the domain. Move points a few ulps inwards, then prove that they are in, with outward rounding; nan where
   that fails. Without it, only points in boxes without inequalities are proven.
5. Declare `filed`, what `_arguments` are in a file, if models over the set are to be saved: see `Ball`.
6. Test it with `check_domain`, as below. A built-in domain lives in `lsip/domains/<name>.py` and is re-exported there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import pi
from typing import Any, final

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from lsip.domains import Cell, Domain, Interval
from lsip.domains.base import Array, as_points
from lsip.domains.points import constant
from lsip.domains.proven import above, dot_bounds
from lsip.errors import ModelError

from .domain_checks import check_domain

EPS = 2.0**-52


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Annulus(Domain):
    """The ring {y in R^2 : inner <= ||y|| <= outer}."""

    inner: float
    outer: float

    def __init__(self, inner: float, outer: float) -> None:
        if not 0 <= inner < outer < np.inf:
            raise ModelError(f"An annulus needs 0 <= inner < outer; got inner={inner}, outer={outer}.")
        corner = np.full(2, float(outer))
        self._set(inner=inner, outer=outer, lower=constant(-corner, "lower", 1), upper=constant(corner, "upper", 1))

    @property
    def diameter(self) -> float:
        return 2 * self.outer

    @property
    def measure(self) -> tuple[int, float]:
        return 2, pi * (self.outer**2 - self.inner**2)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        radius = np.linalg.norm(as_points(y, 2, finite=False), axis=1)
        slack = self._slack(tol)
        return (radius >= self.inner - slack) & (radius <= self.outer + slack)

    def project(self, y: ArrayLike) -> Array:
        points = as_points(y, 2)
        radius = np.linalg.norm(points, axis=1, keepdims=True)
        direction = np.where(radius > 0, points, [1.0, 0.0]) / np.where(radius > 0, radius, 1.0)
        return direction * np.clip(radius, self.inner, self.outer)

    def place(self, u: Array) -> Array:
        radius = np.sqrt(self.inner**2 + u[:, 0] * (self.outer**2 - self.inner**2))
        angle = 2 * pi * u[:, 1]
        return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

    def cells(self) -> tuple[Cell, ...]:
        return (Cell(self.lower[None], self.upper[None], self._inside),)

    def _inside(self, y: Any) -> Any:
        # Squares rounded outward: cells must not leave out a point of the domain.
        sign = np.array([1.0, -1.0])
        squares = [above(Fraction(self.outer) ** 2), above(-(Fraction(self.inner) ** 2))]
        return squares - np.outer(sign, [1.0, 1.0]) @ y**2

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        points = as_points(y, 2)
        radius = np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)
        points = points * (np.clip(radius, self.inner * (1 + 4 * EPS), self.outer * (1 - 4 * EPS)) / radius)
        low, high = dot_bounds(points, points)  # of the squared radius
        proven = (low >= above(Fraction(self.inner) ** 2)) & (high <= -above(-(Fraction(self.outer) ** 2)))
        points[~proven] = np.nan
        return points, points.copy()

    def _arguments(self) -> tuple[object, ...]:
        return self.inner, self.outer


@pytest.mark.parametrize(
    "domain", [Annulus(1, 2), Annulus(0, 1), Annulus(1, 2) * Interval(0, 1), Annulus(1, 2) | Annulus(3, 4)]
)
def test_template_keeps_the_promises(domain: Domain) -> None:
    check_domain(domain)


def test_the_checks_take_an_exact_test_of_the_domain() -> None:
    def ring(lower: list[Fraction], upper: list[Fraction]) -> bool:
        near = sum(max(a, -b, Fraction(0)) ** 2 for a, b in zip(lower, upper, strict=True))
        far = sum(max(abs(a), abs(b)) ** 2 for a, b in zip(lower, upper, strict=True))
        return near <= 4 and far >= 1

    check_domain(Annulus(1, 2), meets=ring)
    with pytest.raises(AssertionError, match="witness holds"):
        check_domain(Annulus(1, 2), meets=lambda lower, upper: lower[0] < 0)


def test_template_proves_that_points_belong_to_it() -> None:
    assert not np.isnan(Annulus(1, 2).witness([[1, 0], [0, 2], [0.6, 0.8], [9, 9]])[0]).any()


def test_template_says_what_is_wrong() -> None:
    with pytest.raises(ModelError, match="0 <= inner < outer; got inner=2"):
        Annulus(2, 1)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class _Broken(Domain):
    """Wraps an annulus and breaks one promise."""

    which: str

    def __init__(self, which: str) -> None:
        ring = Annulus(1, 2)
        self._set(which=which, ring=ring, lower=ring.lower, upper=ring.upper)

    ring: Annulus

    @property
    def diameter(self) -> float:
        return 1.0 if self.which == "diameter" else self.ring.diameter

    @property
    def measure(self) -> tuple[int, float]:
        return self.ring.measure

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        return self.ring.contains(y, tol)

    def project(self, y: ArrayLike) -> Array:
        projected = self.ring.project(y)
        moved = ~self.contains(y)
        if self.which == "nearer":
            projected[moved] *= -1
        return projected

    def place(self, u: Array) -> Array:
        return self.ring.place(u**2 if self.which == "uniform" else u)

    def cells(self) -> tuple[Cell, ...]:
        if self.which == "cells":
            return (Cell(self.lower[None], self.upper[None], None),)
        if self.which == "covers":
            return (Cell(self.lower[None], self.upper[None] / 2, self.ring._inside),)
        return self.ring.cells()

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        lower, upper = self.ring.witness(y)
        if self.which == "witness holds":  # rounded onto the circle is not proven to lie on it
            lower = upper = self.ring.project(y)
        if self.which == "close":
            lower = upper = self.ring.witness(-lower)[0]
        return lower, upper

    def support(self, d: ArrayLike) -> tuple[Array, Array] | None:
        if self.which != "exact":
            return None
        directions = as_points(d, 2)
        length = np.linalg.norm(directions, axis=1)
        y = 2 * directions / np.maximum(length, EPS)[:, None]
        return np.where(length[:, None] > 0, y, [2.0, 0.0]), 2 * length * (1 - 1e-12)

    def _arguments(self) -> tuple[object, ...]:
        return (self.which,)


@pytest.mark.parametrize(
    "which", ["diameter", "nearer", "uniform", "cells", "covers", "witness holds", "close", "exact"]
)
def test_checks_notice_a_broken_promise(which: str) -> None:
    check_domain(_Broken("none"))
    with pytest.raises(AssertionError, match=which):
        check_domain(_Broken(which))
