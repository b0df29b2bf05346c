"""Lower bounds from multipliers that hold for every x, however far out.

For weights w on rows (nonnegative on those at index points, on finite rows with the sign of the side that they push
against), every feasible x has

    c x >= c z - sum w (side - row z) + sum_j r_j (x_j - z_j),     r = c + sum w row,

whatever the point z around which this is written. The last sum has to be bounded for all x. A column whose variable has
the bound that the sign of r_j asks for is paid there. In every other column r_j has to vanish exactly, which floats
never do: so some of the multipliers, a `basis` with as many rows as there are such columns, stand for the exact
solution of that square system, and are enclosed (`linear_algebra.solve`). They are of the right sign if their
enclosures are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy import sparse

from ..deadline import EFFORT, check
from ..expressions.interval import EPS, Interval, down, up
from ..expressions.polynomials import neighbours
from ..masters.base import Matrix, is_sparse
from .certificate import Array, Ints, Support, nowhere
from .exact_systems import ExactSystem
from .linear_algebra import UNDERFLOW, exact_sums, product, solve
from .rows import DualRows, Mask, centres


@dataclass(frozen=True)
class DualTuning:
    """What is compared, and how much is looked at, when multipliers are weighed.

    Parameters
    ----------
    likely
        What floats take for zero before rational numbers decide, which take long: what is left of a combination or of a
        row beside others, relative to its size, and the weight of a row beside the heaviest.
    slope
        What is left over in a column, relative to its terms, beyond which it is a reduced cost and no rounding; and how
        near to a bound a variable counts as being there, relative to the largest.
    """

    likely: float = 1e-9
    slope: float = 1e-6


TUNING = DualTuning()


@dataclass(frozen=True, eq=False)
class Dual:
    """Multipliers of atoms and finite rows, and which of them make up for rounding in which columns."""

    support: tuple[Support, ...]
    row_multipliers: Array
    balanced: Ints = field(default_factory=nowhere)
    basis: Ints = field(default_factory=nowhere)

    @property
    def weights(self) -> Array:
        """All multipliers, atoms first."""
        return np.concatenate([[s.multiplier for s in self.support], self.row_multipliers])

    def reweighted(self, weights: Array) -> Dual:
        """The same rows with other multipliers; what underflows in other units is none."""
        k, weights = len(self.support), np.where(np.abs(weights) < UNDERFLOW, 0.0, weights)
        atoms = zip(self.support, weights[:k].tolist(), strict=True)
        support = tuple(s.weighing(w) for s, w in atoms)
        return Dual(support, weights[k:], self.balanced, self.basis)


@dataclass(frozen=True, eq=False)
class LagrangianBound:
    """What a combination of rows proves: c x >= `base` + the least of r (x - z), which is at least -`charge`."""

    base: float
    reduced: Interval  # (n,), r
    charge: Array  # (n,), >= 0; inf in a column that nothing pays for
    weight: Interval  # the exact multipliers, enclosed
    size: float = 0.0  # of all the terms that were added up

    def stands_for(self, dual: Dual) -> bool:
        """Whether the multipliers of the dual are next to the exact ones."""
        weights = dual.weights
        far = np.abs(centres(self.weight) - weights).max(initial=0.0)
        # Where that is not so, the stored ones say something else.
        return bool(far <= 1e-6 * np.abs(weights).max(initial=0.0))

    @property
    def lower(self) -> float:
        """What is proven for all x; -inf where something is left over that no bound pays for."""
        total = float(self.charge.sum())
        if not (np.isfinite(self.base) and np.isfinite(total)):
            return -np.inf
        return float(down(np.asarray(self.base - total * (1 + (len(self.charge) + 4) * EPS)), 2.0))


def enclosed_weights(rows: DualRows, c: Array, dual: Dual, exactly: bool = True) -> Interval | None:
    """The exact multipliers that the dual stands for; None if they are not proven to exist with the right signs.

    Where intervals do not prove it, what is left over is computed in rational numbers, if the rows are known so and
    that is wanted. Of atoms that lie close together intervals hardly know how to share a weight among them.
    """
    weights = dual.weights
    point = Interval(weights, weights)
    if not len(dual.balanced):
        return point if rows.usable(point) else None
    if len(dual.basis) != len(dual.balanced):
        return None
    enclosed = _corrected(rows, c, dual)
    if exactly and (enclosed is None or not rows.usable(enclosed)):
        enclosed = _refined(rows, c, dual)
    return enclosed if enclosed is not None and rows.usable(enclosed) else None


def _corrected(rows: DualRows, c: Array, dual: Dual) -> Interval | None:
    """The multipliers, with corrections that are enclosed."""
    weights = dual.weights
    left = exact_sums(c[dual.balanced], rows.mid[:, dual.balanced].T, weights)
    doubt = up((rows.rad[:, dual.balanced].T @ np.abs(weights)) * (1 + (len(rows) + 4) * EPS))
    left = Interval(down(left.lo - doubt), up(left.hi + doubt))
    correction = solve(*_block(rows, dual), -left)
    if correction is None:
        return None
    lo, hi = weights.copy(), weights.copy()
    lo[dual.basis] = down(weights[dual.basis] + correction.lo)
    hi[dual.basis] = up(weights[dual.basis] + correction.hi)
    return Interval(lo, hi)


def _refined(rows: DualRows, c: Array, dual: Dual) -> Interval | None:
    """The same, where rows are known as fractions: corrections again and again, of what is left over exactly.

    A correction is enclosed to so many digits, however small it is, so that each leaves less to the next. Together they
    are the exact solution, whatever was added up before the last.
    """
    if len(dual.balanced) ** 3 > EFFORT.exact:
        return None
    weights = dual.weights
    used = np.union1d(np.flatnonzero(weights != 0), dual.basis)
    table = rows.fractions(used)
    if table is None:
        return None
    exact = {i: Fraction(float(weights[i])) for i in used.tolist()}
    basis, columns = dual.basis.tolist(), dual.balanced.tolist()
    known = dict(zip(used.tolist(), table, strict=True))
    system = ExactSystem.of([[known[i].get(j, Fraction(0)) for i in basis] for j in columns])
    correction: Interval | None = None
    for step in range(6):  # each correction is smaller than the one before
        if step and correction is not None:
            for i, v in zip(basis, centres(correction).tolist(), strict=True):
                exact[i] += Fraction(v)
        left = [Fraction(float(c[j])) + _column(table, exact, j) for j in columns]
        if not any(left):  # they are the exact ones
            correction = Interval(np.zeros(len(basis)), np.zeros(len(basis)))
            break
        correction = system.solve([-v for v in left])
        if correction is None:
            return None
    lower, upper = weights.copy(), weights.copy()
    assert correction is not None
    ends = zip(basis, correction.lo.tolist(), correction.hi.tolist(), strict=True)
    for i, low, high in ends:
        lower[i] = neighbours(*(exact[i] + Fraction(low)).as_integer_ratio())[0]
        upper[i] = neighbours(*(exact[i] + Fraction(high)).as_integer_ratio())[1]
    return Interval(lower, upper)


def left_over(rows: DualRows, c: Array, weights: Array, columns: Ints) -> Array | None:
    """What weighted rows leave over of the objective in some columns, computed in rational numbers, if they are known.

    It is none if there are too many columns for that.
    """
    used = np.flatnonzero(weights != 0)
    table = rows.fractions(used) if len(columns) ** 3 <= EFFORT.exact else None
    if table is None:
        return None
    exact = {i: Fraction(float(weights[i])) for i in used.tolist()}
    return np.array([float(Fraction(float(c[j])) + _column(table, exact, j)) for j in columns.tolist()])


def _column(table: list[dict[int, Fraction]], weights: dict[int, Fraction], column: int) -> Fraction:
    """What weighted rows add up to in a column."""
    terms = (w * row[column] for w, row in zip(weights.values(), table, strict=True) if column in row)
    return sum(terms, Fraction(0))


def _block(rows: DualRows, dual: Dual) -> tuple[Matrix, Matrix]:
    """The square system of the corrections, a row for every column that has to balance, and the doubt about it."""
    mid, rad = (m[dual.basis][:, dual.balanced].T for m in (rows.mid, rows.rad))
    return (sparse.csc_matrix(mid), sparse.csc_matrix(rad)) if is_sparse(mid) else (mid, rad)


def lagrangian_bound(
    c: Array, rows: DualRows, dual: Dual, centre: Array, exactly: bool = True
) -> LagrangianBound | None:
    """What the dual proves about the objective c x, written around `centre`; None if its multipliers do not exist.

    `exactly` looks for more than intervals prove at once. In columns where r vanishes, any number is as good a centre
    as another: around that of a solution, next to nothing is left of what wide multipliers are multiplied with; around
    zero, there are fewer terms to round.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        weight = enclosed_weights(rows, c, dual, exactly)
        if weight is None:
            return None
        base, size = base_of(c, rows, dual, weight, centre)
        if exactly and len(dual.balanced):
            other = centre.copy()
            other[dual.balanced] = 0.0
            base, size = max((base, size), base_of(c, rows, dual, weight, other))
        reduced = rows.combined(c, weight)
        charge = _charged(rows.bounds, reduced, centre, dual)
        if not np.isfinite(charge).all():
            charge = _charged(rows.implied[:2], reduced, centre, dual)
    if len(dual.balanced):
        charge[_implied(rows, c, dual, np.flatnonzero(~np.isfinite(charge)))] = 0.0
    return LagrangianBound(base, reduced, charge, weight, size)


def base_of(c: Array, rows: DualRows, dual: Dual, weight: Interval, centre: Array) -> tuple[float, float]:
    """c z - sum w (side - row z) around z, rounded down, and the size of all its terms; -inf if it has no bounds."""
    slack, value = rows.slack(centre, weight), product(c[None, :], centre)
    # Of the objective, that rounding may take.
    few = rows.mid.nnz <= EFFORT.exact if is_sparse(rows.mid) else rows.mid.size <= EFFORT.entries
    if few and slack.hi - slack.lo > 1e-10 * abs(value.lo[0]):
        slack = rows.slack(centre, weight, exactly=True)
    base = float(down(value.lo[0] - slack.hi, 2.0))
    sizes = rows.size @ np.abs(centre) + _sides(rows, dual)
    size = float(np.abs(c) @ np.abs(centre) + np.abs(dual.weights) @ sizes)
    return base if np.isfinite(base) else -np.inf, size


def _sides(rows: DualRows, dual: Dual) -> Array:
    """The sizes of the right-hand sides that multipliers push against."""
    side = np.abs(np.where(dual.weights < 0, rows.below.lo, rows.above.hi))
    return np.where((dual.weights != 0) & np.isfinite(side), side, 0.0)


def charges(lower: Array, upper: Array, r: Interval, centre: Array) -> Array:
    """The most that r_j (x_j - centre_j) can fall below zero for x_j between its bounds; inf if that has no end."""
    left = np.where(centre > lower, up(centre - lower), 0.0)  # how far x_j can be on either side
    right = np.where(centre < upper, up(upper - centre), 0.0)
    rise, fall = np.maximum(r.hi, 0.0), np.maximum(-r.lo, 0.0)
    towards_left = np.where((rise > 0) & (left > 0), up(rise * left, 2.0), 0.0)
    towards_right = np.where((fall > 0) & (right > 0), up(fall * right, 2.0), 0.0)
    charge = np.maximum(towards_left, towards_right)
    return np.where(np.isnan(charge) | np.isnan(r.lo) | np.isnan(r.hi), np.inf, charge)


def _charged(bounds: tuple[Array, Array], reduced: Interval, centre: Array, dual: Dual) -> Array:
    """What bounds of variables are charged; nothing where r vanishes."""
    charge = charges(*bounds, reduced, centre)
    charge[dual.balanced] = 0.0
    return charge


def _implied(rows: DualRows, c: Array, dual: Dual, columns: Ints) -> Ints:
    """Which columns are rational combinations of balanced ones, in the objective and in all rows with weight, exactly.

    If r vanishes in those, it vanishes in these. Only columns whose entries are known without rounding can be shown to
    be such combinations.
    """
    if not 0 < len(columns) <= 500:
        return nowhere()
    used = np.union1d(np.flatnonzero(dual.weights != 0), dual.basis)
    if len(used) * len(c) > EFFORT.entries:
        return nowhere()
    part, doubt = (m[used].toarray() if is_sparse(m) else m[used] for m in (rows.mid, rows.rad))
    table = np.vstack([part, c])
    exact: Mask = np.logical_not(doubt.any(axis=0))
    known, asked = dual.balanced[exact[dual.balanced]], columns[exact[columns]]
    if not len(known) or not len(asked):
        return nowhere()
    shares = np.linalg.lstsq(table[:, known], table[:, asked], rcond=1e-12)[0]
    shares = np.where(np.abs(shares) > TUNING.likely, shares, 0.0)
    near = np.abs(table[:, known] @ shares - table[:, asked]).max(axis=0)
    likely = near <= TUNING.likely * np.abs(table[:, asked]).max(axis=0)  # to be looked at in rational numbers
    found = [_is_combination(table, j, known, v) for j, v in zip(asked[likely], shares.T[likely], strict=True)]
    return asked[likely][np.array(found, dtype=bool)]


def _is_combination(table: Array, column: int, known: Ints, shares: Array) -> bool:
    """Whether a column is, exactly, the sum of known ones times the simple fractions next to `shares`."""
    check("lower bound")
    left: dict[int, Fraction] = {}
    simple = [Fraction(float(v)).limit_denominator(1000) for v in shares]
    if any(abs(float(s) - v) > TUNING.likely * (1 + abs(v)) for s, v in zip(simple, shares.tolist(), strict=True)):
        return False
    for k, factor in [(int(column), Fraction(-1)), *zip(known.tolist(), simple, strict=True)]:
        for i in np.flatnonzero(table[:, k]).tolist() if factor else ():
            left[i] = left.get(i, Fraction(0)) + factor * Fraction(float(table[i, k]))
    return not any(left.values())


def loose_columns(weighed: LagrangianBound, allowed: float) -> Mask:
    """The columns with the largest charges, such that all others together cost no more than can be afforded."""
    order = np.argsort(weighed.charge, kind="stable")
    mask: Mask = np.zeros(len(order), dtype=bool)
    mask[order] = np.cumsum(weighed.charge[order]) > allowed
    return mask
