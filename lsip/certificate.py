"""Proofs: bounds from multipliers, feasibility over the whole index set, infeasibility, unboundedness.

Everything here is computed with outward rounding from the data that a `Certificate` holds, and from nothing that the
solver believed on the way. All statements are about the minimisation form of a `Program`.

A lower bound from multipliers needs c + sum lambda_i a(y_i) = 0 in every free variable, which floats meet only up to
rounding. What is left over is charged against a region |x_j| <= radius units_j that is made as large as the tolerance
allows; the bound holds for every x in it, and for every x at all when the radius is infinite (as it is when all
variables are bounded).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg

from .errors import ProofError
from .expressions.interval import EPS, Interval
from .oracles import BranchAndBound, prover
from .program import DENSE, Program

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
FINITE = 1e-7  # how far finite rows may be broken, relative to the size of x: the accuracy of LP solvers
LEAK = 8 * EPS  # how far a(y) d may exceed zero, relative to the size of its terms: what rounding the data means
INFEASIBLE_RADIUS = 1e6  # how far from the origin a contradiction must hold to be called one
SIZED = 64  # index points at which the size of terms is measured
ROUNDS = 2000  # of an iterative least-squares solver, at most
TILT = 1e-3  # what a combination may leave over in all, relative to its terms, and still be called a bound
LEAST_RADIUS = 10.0  # a bound that holds only nearer than this proves nothing worth the name


@dataclass(frozen=True, eq=False)
class Support:
    """One atom of the dual measure."""

    family: int
    component: int
    point: Array  # (m,)
    multiplier: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proven, with the data that proves it; `kind` says which of the fields matter."""

    kind: str  # "optimal", "infeasible", "unbounded" or "none"
    x: Array
    lower: float
    upper: float
    radius: float = np.inf
    support: tuple[Support, ...] = ()
    row_multipliers: Array = field(default_factory=lambda: np.zeros(0))
    violation: tuple[float, ...] = ()  # a family: sup over Y of a(y) x - b(y) is at most this; inf if unproven
    finite_violation: float = 0.0  # measured, to rounding: finite rows and bounds
    units: Array = field(default_factory=lambda: np.zeros(0))  # (n,), the shape of the region that `radius` scales
    direction: Array | None = None  # of unboundedness
    drift: tuple[float, ...] = ()  # a family: sup over Y of a(y) d for the direction d


def point_rows(program: Program, support: tuple[Support, ...]) -> tuple[Any, Any, Interval]:
    """Enclosures of the rows at the support: midpoints and radii (k, n), sparse if large, and the rhs."""
    shape = (len(support), program.n)
    entries: list[tuple[Array, Array, Any, Any]] = []
    low, high = np.zeros(shape[0]), np.zeros(shape[0])
    for f, family in enumerate(program.families):
        mine = [i for i, s in enumerate(support) if s.family == f]
        if not mine:
            continue
        y = np.array([support[i].point for i in mine])
        component = np.array([support[i].component for i in mine])
        a, b = family.enclosed(y, component)
        a_lo, a_hi = a.lo, a.hi
        with np.errstate(invalid="ignore"):  # at a pole; whoever reads the rows finds nan there
            centre = 0.5 * a_lo + 0.5 * a_hi
            radius = np.maximum(a_hi - centre, centre - a_lo)
        columns = family.columns[component]
        place = np.broadcast_to(np.array(mine)[:, None], columns.shape)
        entries.append((centre.ravel(), radius.ravel(), place.ravel(), columns.ravel()))
        low[mine], high[mine] = b.lo, b.hi
    if not entries:
        empty = np.zeros(shape) if program.n <= DENSE else sparse.csr_matrix(shape)
        return empty, empty, Interval(low, high)
    mid, rad, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    if program.n <= DENSE:
        dense = np.zeros((2, *shape))
        np.add.at(dense[0], (i, j), mid)
        np.add.at(dense[1], (i, j), rad)
        return dense[0], dense[1], Interval(low, high)
    used = (mid != 0) | (rad != 0)  # padding repeats column 0 with a zero
    at_used = (i[used], j[used])
    return (
        sparse.csr_matrix((mid[used], at_used), shape),
        sparse.csr_matrix((rad[used], at_used), shape),
        Interval(low, high),
    )


def combination(
    program: Program, c: Array, support: tuple[Support, ...], row_multipliers: Array
) -> tuple[float, Array, Array, Array]:
    """(base, low, high, size): every feasible x has c x >= base + l x for some l, the same for all x, in [low, high].

    `size` is what the terms of l add up to without their signs.
    """
    weight = np.array([s.multiplier for s in support])
    if len(weight) and weight.min() < 0:
        raise ProofError(f"A multiplier is negative: {weight.min()}.")
    mid, rad, b = point_rows(program, support)
    mu = row_multipliers if len(row_multipliers) else np.zeros(program.A.shape[0])
    plus = np.where(np.isfinite(program.row_upper), np.maximum(mu, 0.0), 0.0)
    minus = np.where(np.isfinite(program.row_lower), np.maximum(-mu, 0.0), 0.0)
    mu = plus - minus
    terms = len(support) + program.A.shape[0] + 8
    reduced = c + mid.T @ weight
    size = np.abs(c) + abs(mid).T @ weight
    # Half a unit in the last place for every product and every sum that a column takes part in.
    column_terms = 8 + (mid.getnnz(axis=0) if sparse.issparse(mid) else len(mid))
    if program.A.shape[0]:
        reduced, size = reduced + program.A.T @ mu, size + abs(program.A).T @ np.abs(mu)
        column_terms = column_terms + program.A.getnnz(axis=0)
    doubt = (rad.T @ weight) * (1 + terms * EPS) + column_terms * EPS * size
    products = [
        weight * b.hi,
        plus * np.where(plus > 0, program.row_upper, 0.0),
        -minus * np.where(minus > 0, program.row_lower, 0.0),
    ]
    base = -sum(float(v.sum()) for v in products)
    base -= terms * EPS * sum(float(np.abs(v).sum()) for v in products)
    return base, reduced - doubt, reduced + doubt, size


def lagrangian(
    program: Program, c: Array, support: tuple[Support, ...], row_multipliers: Array, units: Array
) -> tuple[float, float, float]:
    """(base, drift, terms): c x >= base - radius drift for every feasible x in the region of that radius >= 1.

    `terms` is the size of what cancelled to leave the drift.
    """
    base, low, high, size = combination(program, c, support, row_multipliers)
    if not (np.isfinite(base) and np.isfinite(low).all() and np.isfinite(high).all()):  # a pole, or an overflow
        return -np.inf, np.inf, 0.0
    # min over the box of l . x: an end that is finite is used, the rest is charged to the radius.
    rise, fall = np.maximum(high, 0.0), np.maximum(-low, 0.0)
    with np.errstate(invalid="ignore"):
        at_lower = np.where(np.isfinite(program.lower), np.minimum(low * program.lower, high * program.lower), 0.0)
        at_upper = np.where(np.isfinite(program.upper), np.minimum(low * program.upper, high * program.upper), 0.0)
    only_low, only_high, neither = _unbounded_sides(program)
    gain = np.where(only_low | only_high | neither, 0.0, np.minimum(at_lower, at_upper))
    charge = np.zeros(program.n)
    gain = np.where(only_low & (low >= 0), at_lower, gain)
    gain = np.where(only_high & (high <= 0), at_upper, gain)
    charge = np.where(only_low & (low < 0), fall * (units + np.abs(np.where(only_low, program.lower, 0.0))), charge)
    gain = np.where(only_low & (low < 0), np.minimum(at_lower, 0.0), gain)
    charge = np.where(only_high & (high > 0), rise * (units + np.abs(np.where(only_high, program.upper, 0.0))), charge)
    gain = np.where(only_high & (high > 0), np.minimum(at_upper, 0.0), gain)
    charge = np.where(neither, np.maximum(rise, fall) * units, charge)
    total = base + float(gain.sum()) - (program.n + 4) * EPS * (float(np.abs(gain).sum()) + abs(base))
    terms = float((size * units)[charge > 0].sum())
    return total, float(charge.sum()) * (1 + (program.n + 4) * EPS), terms


def _unbounded_sides(program: Program) -> tuple[Mask, Mask, Mask]:
    """Masks of the variables that have only a lower bound, only an upper one, and none."""
    low, high = np.isfinite(program.lower), np.isfinite(program.upper)
    return low & ~high, high & ~low, ~low & ~high


def lower_bound(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, units: Array, slack: float
) -> tuple[float, float]:
    """(lower, radius): no feasible x within the radius is below `lower`; at most `slack` is given up for reach."""
    base, drift, terms = lagrangian(program, program.c, support, row_multipliers, units)
    base += program.constant
    if drift == 0:
        return base, np.inf
    if drift > max(TILT * terms, 1e-300):
        return -np.inf, LEAST_RADIUS
    radius = max(slack / drift, LEAST_RADIUS)
    return base - radius * drift, radius


def lower_at(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, units: Array, radius: float
) -> float:
    """What multipliers prove within a given radius; -inf if what they leave over is no rounding, but a slope."""
    base, drift, terms = lagrangian(program, program.c, support, row_multipliers, units)
    if drift > max(TILT * terms, 1e-300):
        return -np.inf
    return base + program.constant - (radius * drift if drift else 0.0)


def refit(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, x: Array
) -> tuple[tuple[Support, ...], Array]:
    """The heavier atoms, and the finite rows, with multipliers corrected so that they balance the objective better.

    What c + sum lambda a + A' mu leaves over in the variables that are away from their bounds at x should be zero. A
    relaxation that leans on far-away bounds carries light atoms only for their sake; without them the measure may be
    exact.
    """
    near = 1e-9 * (1 + np.abs(x))
    free = (x > program.lower + near) & (x < program.upper - near)
    return _balance(program, program.c, support, row_multipliers, free, exactly=False)


def contradiction(
    program: Program, support: tuple[Support, ...], row_multipliers: Array
) -> tuple[tuple[Support, ...], Array]:
    """A Farkas combination with multipliers corrected so that it balances in the variables without bounds."""
    zero = np.zeros(program.n)
    _, low, high, _ = combination(program, zero, support, row_multipliers)
    only_low, only_high, neither = _unbounded_sides(program)
    free = neither | (only_low & (low < 0)) | (only_high & (high > 0))
    return _balance(program, zero, support, row_multipliers, free, exactly=True)


def _balance(
    program: Program, c: Array, support: tuple[Support, ...], row_multipliers: Array, free: Mask, exactly: bool
) -> tuple[tuple[Support, ...], Array]:
    """The heavier atoms and the finite rows, such that they cancel c in the variables that are `free`.

    Where that has to be exact, every variable's equation counts in its own units.
    """
    heaviest = max((s.multiplier for s in support), default=0.0)
    kept = tuple(s for s in support if s.multiplier > 1e-4 * heaviest)
    mid, _, _ = point_rows(program, kept)
    held = np.flatnonzero(row_multipliers)
    matrix = sparse.csc_matrix(sparse.vstack([sparse.csr_matrix(mid), program.A[held]]))[:, free]
    weight = np.concatenate([[s.multiplier for s in kept], row_multipliers[held]])
    size = np.maximum(np.abs(weight), 1e-3 * heaviest)  # corrections are sought in proportion
    terms = np.abs(c[free]) + abs(matrix).T @ np.abs(weight)
    per = 1.0 / np.where((terms > 1e-290) & exactly, terms, 1.0)
    correct = _least_squares(sparse.diags(per) @ matrix.T @ sparse.diags(size))
    for _ in range(3):
        weight = weight - size * correct((c[free] + matrix.T @ weight) * per)
    rows = row_multipliers.copy()
    rows[held] = weight[len(kept) :]
    atoms = tuple(replace(s, multiplier=max(float(w), 0.0)) for s, w in zip(kept, weight, strict=False))
    return atoms, admissible(program, rows)


def _least_squares(matrix: Any) -> Callable[[Array], Array]:
    """b -> the least x that comes closest to `matrix` x = b."""
    if min(matrix.shape) <= DENSE and matrix.shape[0] * matrix.shape[1] <= 4 * DENSE**2:
        dense = matrix.toarray()
        return lambda b: np.linalg.lstsq(dense, b, rcond=None)[0]
    return lambda b: linalg.lsmr(matrix, b, atol=EPS, btol=EPS, maxiter=ROUNDS)[0]


def infeasibility(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, units: Array, balance: float = 0.0
) -> tuple[float, float]:
    """(gap, radius): a positive lower bound on the zero objective leaves no feasible x within the radius.

    Where a bound is missing, the combination has to balance, up to rounding and `balance` times its terms: a
    coefficient that is small, but is not zero, only says that feasible points are far away. The radius is 0 then.
    """
    zero = np.zeros(program.n)
    base, drift, _ = lagrangian(program, zero, support, row_multipliers, units)
    if not base > 0:
        return base, 0.0
    _, low, high, size = combination(program, zero, support, row_multipliers)
    only_low, only_high, neither = _unbounded_sides(program)
    tilted = ((only_low | neither) & (high < -balance * size)) | ((only_high | neither) & (low > balance * size))
    if tilted.any():
        return base, 0.0
    return base, np.inf if drift == 0 else 0.5 * base / drift


def upper_bound(program: Program, x: Array) -> float:
    """c x, rounded up."""
    terms = program.c * x
    return float(terms.sum() + program.constant + (program.n + 4) * EPS * (np.abs(terms).sum() + abs(program.constant)))


def prove_feasible(
    program: Program,
    x: Array,
    scale: float = 1.0,
    target: float | tuple[float, ...] = 0.0,
    seconds: float = np.inf,
) -> tuple[float, ...]:
    """A proven bound of the violation over each family's whole index set; inf where nothing can be proven.

    Boxes are split until the bound is at most the `target`, one for all families or one for each. With less time than
    a proof takes, the bounds are valid but not tight.
    """
    bounds = []
    targets = np.broadcast_to(target, len(program.families)).tolist()
    for f, (family, goal) in enumerate(zip(program.families, targets, strict=True)):
        asked = prover(family)
        if isinstance(asked, BranchAndBound):
            asked = replace(asked, seconds=seconds)
        found = asked.maximise(program.violation(f, x, scale), family.domain, target=goal) if asked else None
        bounds.append(found.bound if found else np.inf)
    return tuple(bounds)


def leaks(program: Program, d: Array) -> tuple[float, ...]:
    """How far a(y) d may exceed zero, a family, before it is more than rounding: `LEAK` times the size of its terms."""
    found = []
    for family in program.families:
        a, _ = family.rows(family.domain.spread(SIZED))
        sizes = (np.abs(a) * np.abs(d)[family.columns]).sum(axis=-1)
        found.append(LEAK * float(sizes.max(initial=0.0)))
    return tuple(found)


def leaves(program: Program, d: Array) -> bool:
    """Whether moving along d breaks a finite row or a bound sooner or later, by more than the rounding of A d."""
    rows = program.A @ d
    room = (program.A.getnnz(axis=1) + 4) * EPS * (abs(program.A) @ np.abs(d))
    return bool(
        (np.isfinite(program.lower) & (d < 0)).any()
        or (np.isfinite(program.upper) & (d > 0)).any()
        or (np.isfinite(program.row_upper) & (rows > room)).any()
        or (np.isfinite(program.row_lower) & (rows < -room)).any()
    )


def admissible(program: Program, row_multipliers: Array) -> Array:
    """Multipliers of finite rows without those that push against a side the row does not have."""
    usable = np.where(row_multipliers > 0, np.isfinite(program.row_upper), np.isfinite(program.row_lower))
    return np.where(usable, row_multipliers, 0.0)
