"""A family of rows in other units: every number times a power of two, which rounds nothing."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.interval import NORMAL, TINY, Interval
from ..expressions.quadratics import Quadratic
from ..expressions.ring import Polynomial
from ..model.families import RowFamily
from ..model.linear_form import LinearForm
from ..model.peaks import inherit
from ..oracles.base import Enclosure, Ints, Pieces, Weighted

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def reversible(values: Array, *factors: Array) -> bool:
    """Whether values times factors, one after the other, are undone by dividing by them."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for factor in factors:
            moved = values * factor
            if not (moved / factor == values).all() or (np.isinf(moved) != np.isinf(values)).any():
                return False
            values = moved
    return True


def _same(name: str) -> Any:
    """An attribute that units do not change."""
    return property(attrgetter(f"inner.{name}"))


class ScaledFamily:
    """A family whose rows are multiplied by factors, for variables in other units."""

    name, labels, columns = _same("name"), _same("labels"), _same("columns")
    domain, visible, shown = _same("domain"), _same("visible"), _same("shown")
    indices, coordinates = _same("indices"), _same("coordinates")
    trusts, undefined_at = _same("trusts"), _same("undefined_at")
    convex = _same("convex")
    enclosable, differentiable, memory = _same("enclosable"), _same("differentiable"), _same("memory")

    def __init__(self, inner: RowFamily, factors: Array, columns: Array) -> None:
        self.inner, self._b = inner, factors
        self._a: Array = factors[:, None] * columns[inner.columns]  # (p, K)
        self._rows = np.concatenate([self._a, factors[:, None]], axis=1)  # (p, K + 1)
        self._flat = np.concatenate([self._a.ravel(), factors])  # as tapes order them
        inherit(self, inner)

    @property
    def smooth(self) -> bool:
        return bool(getattr(self.inner, "smooth", False))

    @property
    def data_key(self) -> Hashable:
        return self.inner.data_key, self._rows.tobytes()

    @property
    def lipschitz(self) -> tuple[float, float] | None:
        given = self.inner.lipschitz
        return None if given is None else (given[0] * float(self._a.max(initial=0.0)), given[1] * float(self._b.max()))

    @cached_property
    def linear(self) -> LinearForm | None:
        return _form(self.inner.linear, self._rows)

    def rows(self, y: Array) -> tuple[Array, Array]:
        a, b = self.inner.rows(y)
        return a * self._a, b * self._b

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        a, b = self.inner.chosen(y, component)
        return a * self._a[component], b * self._b[component]

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        parts = self.inner.chosen_derivatives(y, component)
        if parts is None:
            return None
        v, g, h = (part * self._rows[component] for part in parts)
        return v, g, h

    def largest(self) -> float:
        return self.inner.largest() * float(self._a.max(initial=0.0))

    def steepest(self) -> float:
        return self.inner.steepest() * float(self._a.max(initial=0.0))

    def affine_in(self, used: Mask) -> LinearForm | None:
        return _form(self.inner.affine_in(used), self._a)

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        a, b = self.inner.enclosed(lower, upper, component)
        return _multiplied(a, self._a[component]), _multiplied(b, self._b[component])

    def quadratics(self, cell: Cell) -> Enclosure:
        inner = self.inner.quadratics(cell)

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, Mask | None]:
            rows, sides, straddles = inner(lower, upper, pieces, order)
            found = Quadratic(*(part * self._flat for part in rows))
            return found._replace(error=found.error + LOST), sides, straddles  # whatever underflowed

        return enclose

    def unscaled(self, weights: Array, spread: Array | None) -> Weighted | None:
        for part in (weights,) if spread is None else (weights, spread):
            if not reversible(part, self._rows):
                return None
        return Weighted(self.inner, weights * self._rows, None if spread is None else spread * self._rows)

    def fractions(self, y: Array, component: Ints) -> list[list[Fraction]] | None:
        found = self.inner.fractions(y, component)
        if found is None:
            return None
        factors = [[Fraction(v) for v in row] for row in self._rows[:, :-1].tolist()]
        return [[u * v for u, v in zip(row, factors[c], strict=True)] for row, c in zip(found, component, strict=True)]

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        factors = self._rows[component]
        moved = weights * factors
        same = (moved / factors == weights).all()  # what underflows is another polynomial
        return self.inner.polynomial(component, moved) if same else None

    def identity(self) -> Iterator[object]:
        yield from self.inner.identity()
        yield self._flat


def _form(form: LinearForm | None, factors: Array) -> LinearForm | None:
    """The coefficients of rows times powers of two; what underflows is doubt. None if something overflows."""
    if form is None:
        return None
    own = factors.ravel()[form.place]
    with np.errstate(over="ignore", under="ignore"):
        value, slope = form.value * factors, form.slope * own
        found = replace(
            form,
            value=value,
            value_doubt=_doubt(form.value_doubt, value, form.value, factors),
            slope=slope,
            slope_doubt=_doubt(form.slope_doubt, slope, form.slope, own),
        )
    numbers = (found.value, found.value_doubt, found.slope, found.slope_doubt)
    return found if all(np.isfinite(part).all() for part in numbers) else None


def _doubt(doubt: Array, scaled: Array, given: Array, factors: Array) -> Array:
    """The doubt about scaled numbers: that about the given ones, and what underflow may have taken of either."""
    lost = (doubt > 0) | (scaled / factors != given)
    return np.where(lost, np.nextafter(doubt * factors, np.inf) + TINY, 0.0)


def _multiplied(u: Interval, factor: Array | float) -> Interval:
    """Intervals times powers of two; what underflows is rounded outward."""
    lo, hi = u.lo * factor, u.hi * factor
    lost = lo / factor != u.lo, hi / factor != u.hi
    if u.exact and not lost[0].any():
        return Interval(lo, lo)
    lo = np.where(lost[0] & (np.abs(lo) < NORMAL), np.nextafter(lo, -np.inf), lo)
    hi = np.where(lost[1] & (np.abs(hi) < NORMAL), np.nextafter(hi, np.inf), hi)
    large = np.finfo(float).max  # what overflows is larger than every double, and no more is known of it
    lo = np.where((lo == np.inf) & (u.lo < np.inf), large, lo)
    return Interval(lo, np.where((hi == -np.inf) & (u.hi > -np.inf), -large, hi))
