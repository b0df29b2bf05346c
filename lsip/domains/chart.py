"""Points that are proven to lie in a polytope {y : A y <= b}, near given ones.

Some coordinates z of y are free, and the others are affine functions of them. Where the polytope has an interior, all
are free; where it is flat (or so thin that floats can hardly tell), equations take some away, in rational arithmetic.
Given z, it is then decided by inequalities that leave room whether the point is in the polytope, and a point that is
not is pulled a little towards an anchor, deep inside. Rows that are solved exactly need no room.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .halfspaces import Halfspaces
from .proven import LOST, above, add_down, add_up, dot_bounds
from .rational import Deepest, Form, deepest, substitute

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Affine:
    """Functions slopes z + constants, whose coefficients are known up to errors."""

    slopes: Array  # (r, k)
    constants: Array  # (r,)
    slope_errors: Array | None = None  # None: there are no errors at all
    constant_errors: Array | None = None

    @classmethod
    def of(cls, forms: list[Form], k: int) -> Affine:
        """Exact forms in k coordinates, rounded."""
        table = np.array([[float(a) for a in form] for form in forms]).reshape(-1, k + 1)
        errors = np.array(
            [
                [above(abs(a - Fraction(v))) for a, v in zip(form, row, strict=True)]
                for form, row in zip(forms, table, strict=True)
            ]
        ).reshape(-1, k + 1)
        if not errors.any():
            return cls(table[:, :-1], table[:, -1])
        return cls(table[:, :-1], table[:, -1], errors[:, :-1], errors[:, -1])

    def bounds(self, z: Array) -> tuple[Array, Array]:
        """Lower and upper bounds (N, r) at points (N, k)."""
        n, r = len(z), len(self.slopes)
        points = np.broadcast_to(np.column_stack([z, np.ones(n)])[:, None], (n, r, z.shape[1] + 1))
        table = np.broadcast_to(np.column_stack([self.slopes, self.constants]), points.shape)
        low, high = dot_bounds(points, table)
        doubt = self._doubt(z)
        return add_down(low, -doubt), add_up(high, doubt)

    def least(self, z: Array) -> Array:
        """Lower bounds (N, r) at points (N, k), sharp where that decides whether they are negative."""
        value, size = z @ self.slopes.T + self.constants, np.abs(z) @ np.abs(self.slopes).T + np.abs(self.constants)
        operations = z.shape[1] + 4
        room = operations * (2.0**-52 * size + LOST) + self._doubt(z)
        low: Array = value - room
        i, j = np.nonzero((low < 0) & (value + room >= 0))
        if len(i):
            points, table = np.column_stack([z[i], np.ones(len(i))]), np.column_stack([self.slopes, self.constants])
            low[i, j] = add_down(dot_bounds(points, table[j])[0], -np.broadcast_to(self._doubt(z), low.shape)[i, j])
        return low

    def _doubt(self, z: Array) -> Array:
        """What the errors of the coefficients amount to, at most: (N, r), or 0."""
        if self.slope_errors is None or self.constant_errors is None:
            return np.zeros((1, 1))
        size: Array = np.abs(z) @ self.slope_errors.T + self.constant_errors
        return size * (1 + (z.shape[1] + 2) * 2.0**-51) + LOST * (size > 0)


@dataclass(frozen=True, eq=False)
class Chart:
    """Where a polytope is proven to have points: wherever all slacks are >= 0."""

    free: NDArray[np.intp]  # (k,), coordinates of y that may be chosen
    fixed: NDArray[np.intp]  # (m - k,), the others
    solved: Affine  # the fixed coordinates as functions of the free ones
    slacks: Affine  # of the rows that are not solved
    anchor: Array  # (k,), where all slacks are positive
    depths: Array  # (r,), they are at least this there

    def witness(self, y: Array) -> tuple[Array, Array]:
        """Boxes (N, m) near the points y (N, m), each with a point of the polytope."""
        z = self._pulled(y[:, self.free])
        lower, upper = np.empty_like(y), np.empty_like(y)
        lower[:, self.free] = upper[:, self.free] = z
        if len(self.fixed):
            lower[:, self.fixed], upper[:, self.fixed] = self.solved.bounds(z)
        return lower, upper

    def _pulled(self, z: Array) -> Array:
        """The points (N, k), those that are not proven to lie inside moved towards the anchor as little as possible."""
        z = z.copy()
        slack = self.slacks.least(z)
        todo = np.flatnonzero(~(slack >= 0).all(axis=1))
        need = np.maximum(-slack[todo], 0.0)
        start, step = z[todo], np.maximum((need / (need + self.depths)).max(axis=1, initial=0.0), 2.0**-53)
        for _ in range(64):  # doublings lead from an ulp to the whole way
            if not len(todo):
                break
            whole = step >= 1
            z[todo] = np.where(whole[:, None], self.anchor, start + step[:, None] * (self.anchor - start))
            left = ~whole & ~(self.slacks.least(z[todo]) >= 0).all(axis=1)
            todo, start, step = todo[left], start[left], 2 * step[left]
        z[todo] = self.anchor
        return z


def find_chart(system: Halfspaces, lower: Array, upper: Array) -> Chart | None:
    """A chart of a polytope in a bounding box; None if that would take too long. Raise if the polytope is empty."""
    everything = np.arange(system.dim)
    slacks = Affine(-system.rows, system.sides)
    nothing = Affine(np.zeros((0, system.dim)), np.zeros(0))
    anchor = _anchor(slacks, lower, upper)
    if anchor is not None:
        return Chart(everything, everything[:0], nothing, slacks, *anchor)
    if not system.small:
        return None
    try:
        return _flat_chart(system, lower, upper)
    except OverflowError:  # a coefficient is no float
        return None


def _anchor(slacks: Affine, lower: Array, upper: Array) -> tuple[Array, Array] | None:
    """A point deep inside, and the slacks there; None if there is none, or none can be proven."""
    sloped = (slacks.slopes != 0).any(axis=1)
    system = Halfspaces.read(-slacks.slopes[sloped], slacks.constants[sloped])
    frame = system.box_frame(lower, upper)
    ball = frame.largest_ball()
    if ball is None or ball[1] <= 1e-8:  # of the bounding box: floats have no room
        return None
    anchor = frame.to_points(ball[0])
    depths = slacks.least(anchor[None])[0]
    return (anchor, depths) if (depths > 0).all() else None


def _flat_chart(system: Halfspaces, lower: Array, upper: Array) -> Chart:
    """Take equations off until the rest leaves room; first those that are there as two opposite rows."""
    start = lower + (upper - lower) / 2
    m, free = system.dim, list(range(system.dim))
    rows = system.forms()
    forms = [[Fraction(i == j) for i in range(m + 1)] for j in range(m)] + rows  # coordinates, then slacks
    levels = dict.fromkeys(_opposite(rows), Fraction(0))
    while True:
        for i, level in levels.items():
            equation = [*forms[m + i][:-1], forms[m + i][-1] - level]
            if any(equation[:-1]):
                pivot = max(range(len(free)), key=lambda j: abs(equation[j]))
                forms = substitute(forms, equation, pivot)
                del free[pivot]
            elif equation[-1]:
                raise system.clash(_proof(system, start))
        left = [form for form in forms[m:] if any(form[:-1])]
        if any(form[-1] < 0 for form in forms[m:] if not any(form[:-1])):
            raise system.clash(_proof(system, start))
        solved = Affine.of([forms[j] for j in range(m) if j not in free], len(free))
        slacks = Affine.of(left, len(free))
        chosen = np.array(free, dtype=np.intp)
        anchor = (np.zeros(0), np.zeros(0)) if not free else None
        if free and levels:
            anchor = _anchor(slacks, lower[chosen], upper[chosen])
        if anchor is not None:
            return Chart(chosen, np.setdiff1d(np.arange(m), chosen), solved, slacks, *anchor)
        found = deepest(left, start[chosen])
        assert found is not None, "a bounded polytope holds no ball of any size"
        if found.depth < 0:
            raise system.clash(_proof(system, start))
        # At the deepest point these rows have no more slack than that: there they become equations.
        which = [i for i, form in enumerate(forms[m:]) if any(form[:-1])]
        levels = {which[i]: found.depth for i, w in enumerate(found.multipliers) if w > 0}


def _opposite(slacks: list[Form]) -> list[int]:
    """Rows whose opposite is there too: the two are an equation. One of each pair."""
    seen: dict[tuple[Fraction, ...], int] = {}
    found = []
    for i, form in enumerate(slacks):
        size = abs(next(a for a in form if a))
        key = tuple(a / size for a in form)
        if tuple(-a for a in key) in seen:
            found.append(i)
        seen[key] = i
    return found


def _proof(system: Halfspaces, start: Array) -> Deepest:
    """The combination of rows that proves a polytope empty."""
    found = deepest(system.forms(), start)
    assert found is not None
    assert found.depth < 0, "the polytope is empty"
    return found
