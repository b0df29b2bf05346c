"""The largest value of a linear function over an index set, in rational numbers: where a sum has to vanish exactly.

Along a direction that touches the boundary of a cone, no bound that is rounded is ever below zero; one that is not may
be zero. Boxes, simplices, budgets, scenarios and their products have it in closed form. Over a polytope, a solver says
which rows hold its maximum, and rational multipliers of these prove it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..deadline import EFFORT
from .base import Array, Domain
from .box import Box
from .budget import Budget
from .finite import Finite
from .furthest import furthest
from .interval import Interval
from .polytope import Polytope
from .product import Product
from .simplex import Simplex
from .union import Union

Slopes = Sequence[Fraction]


def exact_support(domain: Domain, slopes: Slopes) -> Fraction | None:
    """At least the largest slopes · y over the set, and no more where it is attained at a corner; None if unknown."""
    if not any(slopes):
        return Fraction(0)
    if isinstance(domain, Product):
        return _of_product(domain, slopes)
    if isinstance(domain, Union):
        each = [exact_support(member, slopes) for member in domain.members]
        return None if None in each else max(v for v in each if v is not None)
    if isinstance(domain, Box | Interval) and domain.bounded:
        ends = zip(slopes, domain.lower.tolist(), domain.upper.tolist(), strict=True)
        return sum((max(s * Fraction(a), s * Fraction(b)) for s, a, b in ends), Fraction(0))
    if isinstance(domain, Simplex):
        return max(slopes)
    if isinstance(domain, Budget):
        return _of_budget(domain, slopes)
    if isinstance(domain, Finite) and len(domain.points) <= EFFORT.exact // 10:
        return max(_dot(slopes, point) for point in domain.points.tolist())
    return _of_polytope(domain, slopes) if isinstance(domain, Polytope) else None


def _dot(slopes: Slopes, point: Sequence[float]) -> Fraction:
    return sum((s * Fraction(v) for s, v in zip(slopes, point, strict=True)), Fraction(0))


def _of_product(domain: Product, slopes: Slopes) -> Fraction | None:
    total, start = Fraction(0), 0
    for factor in domain.factors:
        part = exact_support(factor, slopes[start : start + factor.dim])
        if part is None:
            return None
        total, start = total + part, start + factor.dim
    return total


def _of_budget(domain: Budget, slopes: Slopes) -> Fraction:
    """The budget is spent on the steepest coordinates, each up to 1."""
    left, total = Fraction(domain.budget), Fraction(0)
    for slope in sorted(map(abs, slopes), reverse=True):
        spent = min(left, Fraction(1))
        total, left = total + spent * slope, left - spent
    return total


def _of_polytope(domain: Polytope, slopes: Slopes) -> Fraction | None:
    """w · b for rational w >= 0 with w A = slopes, on the rows to which a solver gives weight."""
    direction = np.array([float(s) for s in slopes])
    size = float(np.abs(direction).max())
    if not 0 < size < np.inf:
        return None
    _, weights, found = furthest(domain.A, domain.b, direction[None] / size)
    heavy = np.flatnonzero(weights[0] > 1e-9 * weights[0].max(initial=0.0))  # others are a solver's rounding
    exact = _combination(domain.A[heavy], slopes) if found[0] else None
    if exact is None or min(exact) < 0:
        return None
    return _dot(exact, domain.b[heavy].tolist())


def _combination(rows: Array, slopes: Slopes) -> list[Fraction] | None:
    """The multipliers with which rows add up to the slopes, by elimination; None if there are none, or many."""
    k = len(rows)
    table = [[*map(Fraction, column), s] for column, s in zip(rows.T.tolist(), slopes, strict=True)]
    for j in range(k):
        pivot = next((i for i in range(j, len(table)) if table[i][j]), None)
        if pivot is None:
            return None
        table[j], table[pivot] = table[pivot], table[j]
        table[j] = [v / table[j][j] for v in table[j]]
        for i, row in enumerate(table):
            if i != j and row[j]:
                table[i] = [a - row[j] * b for a, b in zip(row, table[j], strict=True)]
    return None if any(row[-1] for row in table[k:]) else [row[-1] for row in table[:k]]
