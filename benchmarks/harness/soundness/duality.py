"""Weak duality in balls: multipliers of constraints at exact index points prove a bound on the objective for every x.

For minimising c x with rows a_i x <= b_i and multipliers w_i >= 0, every feasible x has
c x >= sum_j min { r_j x_j : lower_j <= x_j <= upper_j } - sum_i w_i b_i, where r = c + sum_i w_i a_i.
A variable without the bound that the sign of r_j asks for needs r_j = 0 exactly: some of the multipliers are then the
solution of a linear system, which is enclosed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from flint import arb, arb_mat
from scipy.linalg import qr

from .balls import at, ball, below, fraction, precise
from .equalities import solvable
from .models import Atom, Model

WIDE = 1e4  # between bounds this far apart, rounding of a multiplier costs more than a balanced one


def lower_bound(model: Model, atoms: Sequence[Atom], *, objective: bool = True) -> Fraction | None:
    """A proven lower bound of the minimised objective, or None if these atoms prove none.

    Without the objective, that of the zero objective: when it is positive, no point is feasible.
    """
    with precise():
        lagrangian = _lagrangian(model, [a for a in atoms if isfinite(a.weight)], objective)
        rest = lagrangian.rest(lagrangian.weights)
        needed = [j for j in range(model.n) if lagrangian.unbalanced(j, rest[j])]
        wide = [j for j in range(model.n) if j not in needed and lagrangian.wide(j) and not rest[j].is_zero()]
        tried = [needed, needed + wide] if wide else [needed]
        bounds = [b for b in (lagrangian.best(balanced, rest) for balanced in tried) if b is not None]
    if not bounds:
        return None
    return max(bounds) + (Fraction(model.sign * model.constant) if objective else 0)


@dataclass(frozen=True)
class _Lagrangian:
    """Rows a <= b with their weights, as balls."""

    model: Model
    costs: list[Any]  # (n,)
    rows: list[tuple[list[Any], Any]]
    weights: list[Any]
    signed: list[bool]  # whether a weight may be negative

    def rest(self, weights: Sequence[Any]) -> list[Any]:
        """r = c + sum_i w_i a_i."""
        return [
            sum((w * a[j] for w, (a, _) in zip(weights, self.rows, strict=True)), cost)
            for j, cost in enumerate(self.costs)
        ]

    def _in_cone(self, j: int) -> bool:
        return self.model.cone is not None and j < self.model.cone.size

    def unbalanced(self, j: int, r: Any) -> bool:
        """Whether r x_j has no least value for a variable without bounds, as far as the ball knows."""
        if r.is_zero() or self._in_cone(j):
            return False
        down, up = isfinite(self.model.lower[j]), isfinite(self.model.upper[j])
        return not ((down and r >= 0) or (up and r <= 0) or (down and up))

    def wide(self, j: int) -> bool:
        """Whether the bounds are so far apart that r should vanish."""
        low, high = self.model.lower[j], self.model.upper[j]
        return isfinite(low) and isfinite(high) and high - low > WIDE

    def best(self, balanced: list[int], rest: list[Any]) -> Fraction | None:
        """The bound with multipliers for which r vanishes in these variables, and in those that it unbalances."""
        weights = list(self.weights)
        while balanced:
            found = self._balance(balanced, rest)
            if found is None:
                return None
            weights = found
            final = [arb(0) if j in balanced else r for j, r in enumerate(self.rest(weights))]
            more = [j for j, r in enumerate(final) if self.unbalanced(j, r)]
            if not more:
                return self._bound(weights, final)
            balanced = balanced + more
        return self._bound(weights, rest)

    def _balance(self, balanced: list[int], rest: list[Any]) -> list[Any] | None:
        """Multipliers for which r vanishes in these variables."""
        exact = self._exact_balance(balanced)
        if exact is not None:
            return exact
        chosen = self._basis(balanced)
        if chosen is None:
            return None
        system = arb_mat([[self.rows[i][0][j] for i in chosen] for j in balanced])
        try:
            step = system.solve(arb_mat([[-rest[j]] for j in balanced]))
        except ZeroDivisionError:
            return None
        weights = list(self.weights)
        for k, i in enumerate(chosen):
            weights[i] += step[k, 0]
        return weights

    def _exact_balance(self, balanced: list[int]) -> list[Any] | None:
        """The same in fractions, where all numbers are doubles: rows may depend on each other then."""
        entries = [[a[j] for a, _ in self.rows] for j in balanced]
        if not all(v.is_exact() for row in entries for v in row):
            return None
        weights = [fraction(w) for w in self.weights]
        rights = [-fraction(self.costs[j]) for j in balanced]
        a = [[fraction(v) for v in row] for row in entries]
        found = solvable(a, rights)
        step = found.correction(weights, [abs(w) for w in weights]) if found.contradiction == 0 else None
        return None if step is None else [ball(w + s) for w, s in zip(weights, step, strict=True)]

    def _bound(self, weights: list[Any], rest: list[Any]) -> Fraction | None:
        if not all(free or w >= 0 for w, free in zip(weights, self.signed, strict=True)):
            return None
        total = arb(0)
        for w, (_, b) in zip(weights, self.rows, strict=True):
            total -= w * b
        for j, r in enumerate(rest):
            least = arb(0) if self._in_cone(j) else self._least(j, r)
            if least is None:
                return None
            total += least
        return below(total + self._cone(rest))

    def _basis(self, balanced: list[int]) -> list[int] | None:
        """As many rows as variables, well apart from each other, those that weigh most before others."""
        if len(balanced) > len(self.rows):
            return None
        matrix = np.array([[float(a[j].mid()) for a, _ in self.rows] for j in balanced])
        size = np.abs(matrix).max(axis=1, keepdims=True)
        weight = np.sqrt(np.abs([float(w.mid()) for w in self.weights]))
        scaled = matrix / np.where(size > 0, size, 1.0)
        length = np.abs(scaled).max(axis=0)
        scaled = scaled * np.where(length > 0, 1 / np.where(length > 0, length, 1.0), 0.0)
        if not np.isfinite(scaled).all():
            return None
        share = weight * np.sqrt(length)
        order = qr(scaled * (share / max(share.max(), 1e-300) + 1e-12), mode="r", pivoting=True)[1]
        return [int(i) for i in order[: len(balanced)]]

    def _least(self, j: int, r: Any) -> Any | None:
        """The least r x_j between the bounds of x_j."""
        low, high = self.model.lower[j], self.model.upper[j]
        if r.is_zero():
            return arb(0)
        if r >= 0:
            return r * low if isfinite(low) else None
        if r <= 0:
            return r * high if isfinite(high) else None
        return (r * low).min(r * high) if isfinite(low) and isfinite(high) else None

    def _cone(self, rest: list[Any]) -> Any:
        """The least sum of r_j x_j over a ball."""
        cone = self.model.cone
        if cone is None:
            return arb(0)
        square = sum((r * r for r in rest[: cone.size]), arb(0))
        return -square.sqrt() * arb(cone.right) / arb(cone.scale)


def _lagrangian(model: Model, atoms: Sequence[Atom], objective: bool) -> _Lagrangian:
    signed = [a.point is None and model.rows[a.index].sense == "==" for a in atoms]
    return _Lagrangian(
        model,
        [arb(model.sign * c if objective else 0.0) for c in model.c],
        [_row(model, a) for a in atoms],
        [arb(a.weight if free else max(a.weight, 0.0)) for a, free in zip(atoms, signed, strict=True)],
        signed,
    )


def _row(model: Model, atom: Atom) -> tuple[list[Any], Any]:
    """A constraint as a x <= b."""
    if atom.point is None:
        row = model.rows[atom.index]
        turn = -1 if row.sense == ">=" else 1
        return [arb(turn * v) for v in row.a], arb(turn * row.b)
    family = model.families[atom.index]
    if not family.over.contains(atom.point):
        raise ValueError(f"{atom.point} is not in {family.over}.")
    turn = -1 if family.above else 1
    return [turn * at(a, atom.point) for a in family.a], turn * at(family.b, atom.point)
