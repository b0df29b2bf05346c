"""Systems of inequalities A y <= b: linear programs over them, and what their multipliers prove.

A linear program is only ever a guess here. Multipliers w >= 0 prove d · y <= w · b + (d - w A) · y for every y with
A y <= b, whatever they are and however they were found, and the right-hand side is bounded with outward rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..errors import ModelError
from .furthest import furthest
from .proven import SMALL_PRODUCT, add_up, dot_bounds, raised, two_product
from .rational import Deepest, Form, as_form, deepest

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HalfspacesTuning:
    """How polytopes are scaled, bounded and judged.

    Parameters
    ----------
    most_exact
        Numbers in A up to which questions are settled in rational arithmetic, within about a second.
    """

    most_exact: int = 2000


TUNING = HalfspacesTuning()


@dataclass(frozen=True, eq=False)
class Halfspaces:
    """Rows of A y <= b, small ones multiplied by powers of two; none is zero."""

    rows: Array  # (q, m), the largest entry of each is at least 1/2
    sides: Array  # (q,)
    names: NDArray[np.intp]  # (q,), which rows of the given A these are
    exponents: NDArray[np.intc]  # (q,), they are multiplied by two to the power of minus this

    @classmethod
    def read(cls, rows: Array, sides: Array) -> Halfspaces:
        """Scale the rows exactly, and drop those that say nothing (0 <= 1)."""
        trivial = (rows == 0).all(axis=1)
        if (trivial & (sides < 0)).any():
            bad = int(np.argmax(trivial & (sides < 0)))
            raise ModelError(f"The polytope is empty: row {bad} of A y <= b says 0 <= {sides[bad]:g}.")
        if trivial.all():
            raise ModelError("The polytope is unbounded: all rows of `A` are zero.")
        names = np.flatnonzero(~trivial)
        rows, sides = rows[names], sides[names]
        exponents = np.frexp(np.abs(rows).max(axis=1))[1]
        # Large rows stay as they are, so that none of their entries underflows; no right-hand side overflows.
        exponents = np.clip(exponents, np.frexp(sides)[1] - 1000, 0)
        return cls(np.ldexp(rows, -exponents[:, None]), np.ldexp(sides, -exponents), names, exponents)

    @property
    def dim(self) -> int:
        """The number m of coordinates."""
        return int(self.rows.shape[1])

    @property
    def small(self) -> bool:
        """Whether rational arithmetic is quick enough."""
        return self.rows.size <= TUNING.most_exact

    def forms(self) -> list[Form]:
        """The slacks b - A y as exact forms."""
        return [as_form(-row, side) for row, side in zip(self.rows, self.sides, strict=True)]

    def unit_frame(self) -> Frame:
        """Coordinates in which the right-hand sides are at most 1."""
        largest = float(np.abs(self.sides / np.abs(self.rows).max(axis=1)).max())
        return Frame.of(self, np.zeros(self.dim), np.full(self.dim, largest if largest > 0 else 1.0))

    def box_frame(self, lower: Array, upper: Array) -> Frame:
        """Coordinates in which a bounding box has its centre at 0 and widths of about 1."""
        width = upper - lower
        point = 1e-200  # what is smaller is a point
        largest = max(float(width.max() or np.abs(lower).max()), point)
        thin = (width < 1e-3 * largest) & (width > point)
        return Frame.of(self, lower + width / 2, np.where(thin, width, largest))

    def single(self) -> tuple[Array, Array]:
        """The box of the rows that bound one coordinate alone, rounded outward; infinite where there are none."""
        lower, upper = np.full(self.dim, -np.inf), np.full(self.dim, np.inf)
        alone = np.flatnonzero((self.rows != 0).sum(axis=1) == 1)
        which = np.abs(self.rows[alone]).argmax(axis=1)
        entries = self.rows[alone, which]
        with np.errstate(over="ignore", invalid="ignore"):
            quotients = self.sides[alone] / entries
            product, error = two_product(quotients, entries)
        exact = (quotients == 0) & (self.sides[alone] == 0) | (product == self.sides[alone]) & (error == 0)
        exact &= (np.abs(product) > SMALL_PRODUCT) | (quotients == 0)  # where the error itself is sure
        above, below = np.nextafter(quotients, np.inf), np.nextafter(quotients, -np.inf)
        np.minimum.at(upper, which[entries > 0], np.where(exact, quotients, above)[entries > 0])
        np.maximum.at(lower, which[entries < 0], np.where(exact, quotients, below)[entries < 0])
        return lower, upper

    def bound(self, d: Array, w: Array) -> Bound:
        """What multipliers w >= 0 (N, q) prove about d[n] · y."""
        used = w != 0
        most = int(used.sum(axis=1).max(initial=0))
        every = max(EFFORT.batch // ((most + 1) * (self.dim + 1)), 1)
        parts = [self._bound(d[n : n + every], w[n : n + every], most) for n in range(0, max(len(d), 1), every)]
        low, high = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        return Bound(low[:, :-1], high[:, :-1], high[:, -1])

    def _bound(self, d: Array, w: Array, most: int) -> tuple[Array, Array]:
        """d - w A and, behind it, w · b, (N, m + 1), enclosed; at most so many of the weights are not zero."""
        used = np.argsort(w == 0, axis=1, kind="stable")[:, :most]  # and others, where there are fewer
        weights = np.take_along_axis(w, used, axis=1)
        terms = np.where(weights[..., None] != 0, self._table[used], 0.0)  # (N, most, m + 1)
        factors = np.column_stack([weights, np.ones(len(d))])[:, None]
        own = np.column_stack([d, np.zeros(len(d))])[:, None]
        return dot_bounds(factors, np.concatenate([terms, own], axis=1).transpose(0, 2, 1))

    @cached_property
    def _table(self) -> Array:
        """What a unit of each multiplier adds to d - w A and to w · b, (q, m + 1)."""
        return np.column_stack([-self.rows, self.sides])

    def clash(self, proof: Deepest) -> ModelError:
        """That the polytope is empty, with the combination of rows that proves it."""
        weights = {
            int(name): w / Fraction(2) ** int(e)
            for name, e, w in zip(self.names, self.exponents, proof.multipliers, strict=True)
            if w > 0
        }
        largest = max(weights.values())
        terms = [f"{float(w / largest):.6g} × row {i}" for i, w in sorted(weights.items())]
        if (others := len(terms) - 6) > 0:
            terms[6:] = [f"{others} others"]
        return ModelError(
            f"The polytope is empty: of A y <= b, {' + '.join(terms)} says 0 <= {float(proof.depth / largest):.6g}."
        )


@dataclass(frozen=True, eq=False)
class Bound:
    """For every y with A y <= b there is an r between `low` and `high` with d · y <= value + r · y."""

    low: Array  # (N, m)
    high: Array  # (N, m)
    value: Array  # (N,)

    def over(self, lower: Array, upper: Array) -> Array:
        """Upper bounds (N,) of d · y, where all y lie in a box."""
        corners = np.stack([self.low * lower, self.low * upper, self.high * lower, self.high * upper])
        zero = (self.low == 0) & (self.high == 0)
        rest, size = np.where(zero, 0.0, corners.max(axis=0)), np.where(zero, 0.0, np.abs(corners).max(axis=0))
        extra = raised(rest.sum(axis=1), size.sum(axis=1), self.low.shape[1] + 4)
        return add_up(self.value, np.where(zero.all(axis=1), 0.0, extra))


@dataclass(frozen=True, eq=False)
class Frame:
    """The inequalities in coordinates z, y = centre + extent z, in which linear programs are well scaled."""

    centre: Array  # (m,)
    extent: Array  # (m,), powers of two
    rows: Array  # (q, m), largest entries in [1/2, 1)
    sides: Array  # (q,), rounded; those that are far away are only said to be so
    factors: Array  # (q,), powers of two: A extent / factors = rows

    @classmethod
    def of(cls, system: Halfspaces, centre: Array, extent: Array) -> Frame:
        """The frame around a centre, with an extent rounded to powers of two."""
        extent = np.ldexp(1.0, np.frexp(extent)[1])
        rows = system.rows * extent
        factors = np.ldexp(1.0, np.frexp(np.abs(rows).max(axis=1))[1])
        terms = np.column_stack([system.rows, system.sides])
        low, high = dot_bounds(np.tile(np.append(-centre, 1.0), (len(terms), 1)), terms)
        with np.errstate(over="ignore"):
            sides = np.minimum((low / 2 + high / 2) / factors, 1e30)  # far away is all that is said
        return cls(centre, extent, rows / factors[:, None], sides, factors)

    @property
    def dim(self) -> int:
        """The number m of coordinates."""
        return len(self.centre)

    def to_points(self, z: Array) -> Array:
        """From z to y."""
        return self.centre + self.extent * z

    def same(self, other: Frame) -> bool:
        """Whether another frame would make little difference to a linear program."""
        moved = np.abs(self.centre - other.centre).max() > 64 * other.extent.max()
        ratio = self.extent / other.extent
        return bool(not moved and ratio.max() <= 64 and ratio.min() >= 1 / 64)

    def furthest(self, towards: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """The points y that are furthest in directions (N, m), multipliers (N, q) of the rows of A, and which exist."""
        cost = towards * self.extent
        size = np.abs(cost).max(axis=1, keepdims=True)
        scale = np.where(size > 0, size, 1.0)
        z, multipliers, found = furthest(self.rows, self.sides, cost / scale)
        return self.to_points(z), multipliers * scale / self.factors, found

    @property
    def near(self) -> NDArray[np.bool_]:
        """Which rows can matter where no |z[j]| exceeds 1."""
        return self.sides <= 4.0 * self.dim

    def largest_ball(self) -> tuple[Array, float] | None:
        """Centre z and radius (negative if there is none) of the largest ball in z; None if that fails."""
        return largest_ball(self.rows[self.near], self.sides[self.near])


def outer_box(system: Halfspaces) -> tuple[Array, Array]:
    """A box that is proven to hold the polytope, tight up to rounding; raise if the polytope is empty or unbounded."""
    told = system.single()
    if _reached(system, *told):
        return told
    frame, box = system.unit_frame(), None
    for _ in range(4):  # in ever smaller frames
        towards = np.concatenate([-np.eye(system.dim), np.eye(system.dim)])
        _, multipliers, found = frame.furthest(towards)
        if not found.all():
            if box is None:
                raise _diagnosed(system, int(np.argmin(found)))
            break
        tighter = _tightened(system, towards, multipliers, frame.extent, box)
        if tighter is None:
            if box is None:
                raise ModelError("The bounding box of the polytope could not be proven; rescale its inequalities.")
            break
        box = tighter
        if (box[0] > box[1]).any():
            raise _crossed(system, *box)
        finer = system.box_frame(*box)
        if frame.same(finer):
            break
        frame = finer
    assert box is not None
    return box


def _reached(system: Halfspaces, lower: Array, upper: Array) -> bool:
    """Whether a box that single rows prove is tight: its lowest corner and the corners next to it are points inside."""
    if not (np.isfinite(lower) & np.isfinite(upper) & (lower < upper)).all():
        return False
    corners = lower + np.concatenate([np.zeros((1, system.dim)), np.diag(upper - lower)])
    others = (system.rows != 0).sum(axis=1) > 1
    rows, sides = system.rows[others], system.sides[others]
    size = np.abs(corners) @ np.abs(rows).T + np.abs(sides)
    return bool((corners @ rows.T + 1e-12 * size <= sides).all())  # of sums in floats


def _tightened(
    system: Halfspaces, towards: Array, w: Array, extent: Array, box: tuple[Array, Array] | None
) -> tuple[Array, Array] | None:
    """A proven box from multipliers for -y and +y; None if they prove nothing.

    If the remainders r = d - w A, in units of `extent`, have ||r||_1 <= rho < 1, every |y[j]| / extent[j] is at most
    the largest w · b / extent, divided by 1 - rho. With that box the multipliers give a better one.
    """
    bound = system.bound(towards, w)
    if box is None:
        units = np.tile(extent, 2)
        rest = np.maximum(np.abs(bound.low), np.abs(bound.high)) @ extent
        rho = float((rest / units).max()) * (1 + 1e-12)
        if not rho < 0.5:
            return None
        reach = float(np.maximum(bound.value / units, 0.0).max()) / (1 - rho) * (1 + 1e-12) + 1e-290
        if not np.isfinite(reach):
            return None
        lower, upper = system.single()
        box = np.maximum(-reach * extent, lower), np.minimum(reach * extent, upper)
    for _ in range(2):
        tops = bound.over(*box)
        box = np.fmax(box[0], -tops[: system.dim]), np.fmin(box[1], tops[system.dim :])  # nan proves nothing
    return box


def _crossed(system: Halfspaces, lower: Array, upper: Array) -> ModelError:
    """That a polytope is empty, because its bounding box is."""
    if system.small:
        proof = deepest(system.forms(), np.zeros(system.dim))
        if proof is not None and proof.depth < 0:
            return system.clash(proof)
    j = int(np.argmax(lower - upper))
    return ModelError(
        f"The polytope is empty: it follows from A y <= b that {float(lower[j])!r} <= y[{j}] <= {float(upper[j])!r}."
    )


def _diagnosed(system: Halfspaces, which: int) -> ModelError:
    """Why a polytope has no bounding box: it is empty, or unbounded in the first direction that failed."""
    if system.small:
        proof = deepest(system.forms(), np.zeros(system.dim))
        if proof is not None and proof.depth < 0:
            return system.clash(proof)
    else:
        ball = system.unit_frame().largest_ball()
        if ball is None or ball[1] < 0:
            return ModelError("The polytope seems to be empty: a linear program finds no point of it.")
    side, j = ("below", which) if which < system.dim else ("above", which - system.dim)
    return ModelError(f"The polytope is unbounded: y[{j}] has no bound {side}. Add inequalities, e.g. a box.")


def largest_ball(rows: Array, sides: Array) -> tuple[Array, float] | None:
    """Centre and radius of the largest ball in {z : rows z <= sides}, of size 1 at most, about; None if that fails."""
    q, dim = rows.shape
    ball = np.zeros((q + 1, dim + 1))
    ball[:q, :dim], ball[:, dim] = rows, np.append(np.linalg.norm(rows, axis=1), 1.0)
    points, _, found = furthest(ball, np.append(sides, 8.0 * dim), np.eye(1, dim + 1, dim))
    return (points[0, :-1], float(points[0, -1])) if found[0] else None
