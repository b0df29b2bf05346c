"""Exact separation where the constraint is affine in the index: the worst point of Y has a formula.

With a(y) and b(y) affine, g(y) = a(y) x - b(y) is v + d · y for some number v and vector d that depend on x, and its
supremum is v plus the support function of Y at d. This is what makes robust linear programs easy, in any dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..deadline import EFFORT
from ..domains import Domain
from ..errors import ModelError
from ..expressions.interval import EPS
from .base import AffineForm, Array, EnclosableViolation, Separation, Violation, maximises


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

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The worst point of every row, worst first. Exact: `seed` plays no part, nor does `target`."""
        if not isinstance(violation, EnclosableViolation) or violation.family.linear is None:
            raise ModelError(
                "SupportFunction needs a constraint that is affine in the index, written in the language; for others "
                "use BranchAndBound, Multistart, Grid or RandomSearch."
            )
        form, domain, w = violation.family.linear, violation.domain, violation.weights  # (p, K + 1)
        constant, constant_doubt, d, d_doubt = form.weighted(w)
        found = domain.support(d)
        if found is None:
            raise ModelError(f"There is no formula for the worst point of {domain}; use BranchAndBound instead.")
        y, top = found
        top = np.where((d != 0).any(axis=-1), top, 0.0)  # bounds of nothing are rounded up like all others
        # A bounding box may be rounded; what d leaves in doubt is so little that a generous one costs nothing.
        reach = np.maximum(np.abs(domain.lower), np.abs(domain.upper)) + 1e-6 * (domain.upper - domain.lower).max()
        sup = constant + top
        doubt = constant_doubt + d_doubt @ reach * (1 + EPS * domain.dim) + 4 * EPS * (np.abs(constant) + np.abs(top))
        sup += doubt
        if violation.spread is not None:
            sup += form.swing(reach, violation.spread)
        component = np.arange(len(w))
        values = violation.at(y, component)
        lost = doubt + 2 * (domain.dim + 2) * EPS * (np.abs(constant) + np.abs(top))  # what sets round up included
        near = np.flatnonzero((sup > 0) & (sup <= 4.0 * lost))  # where rounding may decide
        for row in near.tolist() if len(near) * w.shape[1] <= EFFORT.exact // 4 and violation.spread is None else ():
            exact = _exact(form, domain, w[row], row)
            if exact is not None and exact <= 0:
                sup[row], values[row] = 0.0, min(values[row], 0.0)
        order = np.argsort(-values, kind="stable")
        bound = max(float(sup.max()), float(values.max()))
        return Separation(
            y[order], values[order], bound, component[order], trusts=violation.family.source.trusts(violation.domain)
        )


def _exact(form: AffineForm, domain: Domain, w: Array, row: int) -> Fraction | None:
    """The supremum of a row in rational numbers; None where its coefficients, or the set, are not."""
    known = form.fractions(w, row)
    top = None if known is None else domain.exact_support(known[1])
    return None if known is None or top is None else known[0] + top
