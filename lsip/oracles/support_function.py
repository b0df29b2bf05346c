"""Exact separation where the constraint is affine in the index: the worst point of Y has a formula.

With a(y) and b(y) affine, g(y) = a(y) x - b(y) is v + d · y for some number v and vector d that depend on x, and its
supremum is v plus the support function of Y at d. This is what makes robust linear programs easy, in any dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..domains import Domain
from ..errors import ModelError
from ..expressions.interval import EPS, TINY
from .base import AffineForm, Array, EnclosableViolation, Separation, Violation


@dataclass(frozen=True)
class SupportTuning:
    """When rational numbers are asked.

    Parameters
    ----------
    close
        How many times what is not known of a supremum it may be above zero, for rounding to be what decides.
    most_products
        Of rational numbers that are multiplied at once; each takes a few microseconds.
    """

    close: float = 4.0
    most_products: int = 50_000


TUNING = SupportTuning()


@dataclass(frozen=True)
class SupportFunction:
    """Maximise d · y over the domain in closed form; certified, whatever the dimension.

    For constraints that are affine in the index, over a Box, Ball, Budget, Simplex, Finite or Polytope (where a small
    linear program takes the place of a formula), products and unions of them.

    Examples
    --------
    >>> import lsip
    >>> x, y = lsip.Variable(2, name="x", lower=0), lsip.Index("y", lsip.Ball(np.zeros(2), 1.0))
    >>> problem = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, (2 + y) @ x <= 1)])
    >>> solution = problem.solve(oracle=lsip.oracles.SupportFunction(), verbose=False)
    >>> print(solution.certified, round(solution.value, 6))
    True 0.369398
    """

    instant: ClassVar[bool] = True

    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The worst point of every row, worst first. Exact: `seed` plays no part, nor does `target`."""
        if not isinstance(violation, EnclosableViolation) or violation.family.linear is None:
            raise ModelError(
                "SupportFunction needs a constraint that is affine in the index, written in the language; for others "
                "use BranchAndBound, Multistart, Grid or RandomSearch."
            )
        form, domain, w = violation.family.linear, violation.domain, violation.weights  # (p, K + 1)
        size = np.abs(w)
        constant, constant_doubt = _weighted(form.value, form.value_doubt, w, size)
        d, d_doubt = _weighted(form.slope, form.slope_doubt, w, size)  # (m, p)
        found = domain.support(d.T)
        if found is None:
            raise ModelError(f"There is no formula for the worst point of {domain}; use BranchAndBound instead.")
        y, top = found
        top = np.where((d != 0).any(axis=0), top, 0.0)  # bounds of nothing are rounded up like all others
        # A bounding box may be rounded; what d leaves in doubt is so little that a generous one costs nothing.
        reach = np.maximum(np.abs(domain.lower), np.abs(domain.upper)) + 1e-6 * (domain.upper - domain.lower).max()
        sup = constant + top
        doubt = constant_doubt + reach @ d_doubt * (1 + EPS * domain.dim) + 4 * EPS * (np.abs(constant) + np.abs(top))
        sup += doubt
        if violation.spread is not None:
            sup += _swing(form, reach, violation.spread)
        component = np.arange(len(w))
        values = violation.at(y, component)
        lost = doubt + 2 * (domain.dim + 2) * EPS * (np.abs(constant) + np.abs(top))  # what sets round up included
        near = np.flatnonzero((sup > 0) & (sup <= TUNING.close * lost))
        few = np.count_nonzero(form.slope[:, near] * w[near]) <= TUNING.most_products
        for row in near.tolist() if few and violation.spread is None else ():
            exact = _exact(form, domain, w[row], row)
            if exact is not None and exact <= 0:
                sup[row], values[row] = 0.0, min(values[row], 0.0)
        order = np.argsort(-values, kind="stable")
        bound = max(float(sup.max()), float(values.max()))
        return Separation(
            y[order], values[order], bound, component[order], trusts=violation.family.trusts(violation.domain)
        )


def _exact(form: AffineForm, domain: Domain, w: Array, row: int) -> Fraction | None:
    """The supremum of a row in rational numbers; None where its coefficients, or the set, are not."""
    if form.value_doubt[row].any() or form.slope_doubt[:, row].any():
        return None
    weights = [Fraction(v) for v in w.tolist()]
    constant, *slopes = (
        sum((Fraction(a) * b for a, b in zip(part, weights, strict=True) if a and b), Fraction(0))
        for part in (form.value[row].tolist(), *form.slope[:, row].tolist())
    )
    top = domain.exact_support(slopes)
    return None if top is None else constant + top


def _swing(form: AffineForm, reach: Array, spread: Array) -> Array:
    """How far rows (p,) move with weights within `spread`, at most: the largest coefficients where |y| <= reach."""
    largest = np.abs(form.value) + form.value_doubt
    largest = largest + np.tensordot(reach, np.abs(form.slope) + form.slope_doubt, axes=1) + 2 * len(reach) * TINY
    operations = spread.shape[1] + len(reach) + 8
    swing = (largest * spread).sum(axis=-1) * (1 + operations * EPS) + operations * TINY
    return np.where(spread.any(axis=-1), swing, 0.0)


def _weighted(mid: Array, doubt: Array, w: Array, size: Array) -> tuple[Array, Array]:
    """Sums of numbers (..., p, K + 1) known up to `doubt`, times the weights (p, K + 1), and what is not known of them.

    Half a unit in the last place for every product and every sum, and as much again for the sums of doubts themselves.
    Products that are not zero may underflow.
    """
    operations = w.shape[1] + 4
    total, largest = (mid * w).sum(axis=-1), np.abs(mid)
    lost = operations * TINY * (((largest > 0) | (doubt > 0)) & (size > 0)).any(axis=-1)
    return total, ((doubt + operations * EPS * largest) * size).sum(axis=-1) * (1 + operations * EPS) + 4 * lost
