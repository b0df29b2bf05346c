"""Newton's method on the reduced problem: once the active index points are known, a few steps reach machine precision.

Near the solution, the continuum of constraints is equivalent to finitely many: g(y_i(x); x) <= -margin, where y_i(x)
is the local maximiser that moves with x. The first-order conditions of that problem,

    c + sum lambda_i a(y_i) + A' mu = 0,    g(y_i; x) = -margin,    grad_y g(y_i; x) = 0 in the directions y_i can move,

are solved for x, the multipliers and the points at once; each step eliminates the points through their Hessians.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .certificate import Support
from .expressions.jets import triangle
from .program import Program

Array = NDArray[np.float64]
STEPS = 6
LARGEST = 300  # variables; the reduced system is dense


@dataclass(frozen=True, eq=False)
class Polished:
    """A stationary point of the reduced problem."""

    x: Array
    support: tuple[Support, ...]
    row_multipliers: Array


def polish(
    program: Program, x: Array, support: tuple[Support, ...], row_multipliers: Array, margin: float, basis: Array
) -> Polished | None:
    """Polish an approximate solution; None when the reduced system is not well posed.

    `basis` (n, n) gives well-scaled coordinates: x = basis z.
    """
    points = [s.point.copy() for s in support]
    weight = np.array([s.multiplier for s in support])
    if not support or program.n > LARGEST:
        return None
    movable = _movable(program, x)
    active = np.flatnonzero(np.abs(row_multipliers) > 1e-9 * (1 + np.abs(row_multipliers).max(initial=0.0)))
    finite = program.A[active].toarray()
    side = np.where(row_multipliers[active] > 0, program.row_upper[active], program.row_lower[active])
    free = basis[:, movable]
    mu = row_multipliers[active]
    best: tuple[float, Polished] | None = None
    x = x.copy()
    for _ in range(STEPS):
        local = _local(program, support, points, x)
        if local is None:
            return None
        a, g, jac, grad, inverse = local
        # W = sum lambda_i (da_i/dy) (-H_i)^-1 (da_i/dy)' is the curvature that moving points give to x.
        moved = [inverse[i] @ jac[i] for i in range(len(points))]
        w = sum((weight[i] * jac[i].T @ moved[i] for i in range(len(points))), np.zeros((program.n, program.n)))
        shift = sum((weight[i] * jac[i].T @ (inverse[i] @ grad[i]) for i in range(len(points))), np.zeros(program.n))
        rows = np.vstack([a, finite])
        residual = np.concatenate([-margin - g, side - finite @ x])
        stationary = program.c + a.T @ weight + finite.T @ mu
        error = max(np.abs(free.T @ stationary).max(initial=0.0), np.abs(residual).max(initial=0.0)) + max(
            (float(np.abs(inverse[i] @ grad[i]).max(initial=0.0)) for i in range(len(points))), default=0.0
        )
        if np.isfinite(error) and (best is None or error < best[0]) and weight.min(initial=0.0) >= -1e-9 * weight.max():
            mult = row_multipliers * 0.0
            mult[active] = mu
            atoms = tuple(
                Support(s.family, s.component, y.copy(), max(float(v), 0.0))
                for s, y, v in zip(support, points, weight, strict=True)
            )
            best = (error, Polished(x.copy(), atoms, mult))
        elif best is not None:
            break
        if error <= 1e-13 * (1 + np.abs(program.c).max(initial=0.0) + np.abs(g).max(initial=0.0)):
            break
        k, n = len(rows), free.shape[1]
        system = np.zeros((n + k, n + k))
        system[:n, :n] = free.T @ w @ free
        system[:n, n:] = (rows @ free).T
        system[n:, :n] = rows @ free
        right = np.concatenate([-free.T @ (program.c + shift), residual])
        step = _solve(system, right)
        if step is None:
            return None
        dz = step[:n]
        dx = free @ dz
        weight, mu = step[n : n + len(points)], step[n + len(points) :]
        for i, s in enumerate(support):
            domain = program.families[s.family].domain
            y = points[i] + inverse[i] @ (grad[i] + jac[i] @ dx)
            points[i] = np.clip(y, domain.lower, domain.upper)
        x = np.clip(x + dx, program.lower, program.upper)
    return None if best is None else best[1]


def _solve(system: Array, right: Array) -> Array | None:
    """Solve an equilibrated system; degenerate problems have many multipliers, and least squares takes the smallest."""
    if not (np.isfinite(system).all() and np.isfinite(right).all()):
        return None
    size = np.sqrt(np.maximum(np.abs(system).max(axis=1), 1e-300))
    scaled = system / size[:, None] / size[None, :]
    try:
        solution = np.linalg.solve(scaled, right / size)
        if (
            np.isfinite(solution).all()
            and np.abs(scaled @ solution - right / size).max() <= 1e-9 * np.abs(right / size).max()
        ):
            return solution / size
    except np.linalg.LinAlgError:
        pass
    try:
        solution = np.linalg.lstsq(scaled, right / size, rcond=1e-13)[0]
    except np.linalg.LinAlgError:
        return None
    return solution / size


def _movable(program: Program, x: Array) -> NDArray[np.bool_]:
    """Variables that do not sit at one of their bounds."""
    near = 1e-9 * (1 + np.abs(x))
    return (x > program.lower + near) & (x < program.upper - near)


def _local(
    program: Program, support: tuple[Support, ...], points: list[Array], x: Array
) -> tuple[Array, Array, list[Array], list[Array], list[Array]] | None:
    """Rows (k, n), values g (k,), and for each point: da/dy (m, n), grad_y g (m,), (-H)^-1 where it can move."""
    k, n = len(support), program.n
    rows, g = np.zeros((k, n)), np.zeros(k)
    jac: list[Array] = [np.zeros((0, n))] * k
    grad: list[Array] = [np.zeros(0)] * k
    inverse: list[Array] = [np.zeros((0, 0))] * k
    for f, family in enumerate(program.families):
        mine = [i for i, s in enumerate(support) if s.family == f]
        if not mine:
            continue
        y = np.array([points[i] for i in mine])
        parts = family.derivatives(y)
        if parts is None:
            return None
        v, d, h = parts
        m = y.shape[1]
        ti, tj = triangle(m)
        lower, upper = family.domain.lower, family.domain.upper
        for at, i in enumerate(mine):
            component = support[i].component
            columns = family.columns[component]
            weights = np.append(x[columns], -1.0)
            np.add.at(rows[i], columns, v[at, component, :-1])
            g[i] = v[at, component] @ weights
            slope = d[:, at, component] @ weights
            hessian = np.zeros((m, m))
            hessian[ti, tj] = hessian[tj, ti] = h[:, at, component] @ weights
            jac[i] = np.zeros((m, n))
            inverse[i] = _move(y[at], slope, hessian, lower, upper)
            if not np.isfinite(d[:, at, component]).all():  # no derivative at this point: it stays where it is
                inverse[i], grad[i] = np.zeros((m, m)), np.zeros(m)
                continue
            np.add.at(jac[i].T, columns, d[:, at, component, :-1].T)
            grad[i] = slope
    return rows, g, jac, grad, inverse


def _move(y: Array, slope: Array, hessian: Array, lower: Array, upper: Array) -> Array:
    """(-H)^-1 on the coordinates inside their range, if the point is a proper maximum; zero where it must stay."""
    m = len(y)
    width = upper - lower
    inside = (y > lower + 1e-9 * width) & (y < upper - 1e-9 * width)
    result = np.zeros((m, m))
    if not inside.any() or not (np.isfinite(hessian).all() and np.isfinite(slope).all()):
        return result
    h = hessian[np.ix_(inside, inside)]
    w, v = np.linalg.eigh(-h)
    if w[0] <= 1e-10 * max(abs(w[-1]), 1e-300):
        return result
    inverse = (v / w) @ v.T
    # A slope that would carry the point far away belongs to a kink or a curved boundary: such points stay.
    if (np.abs(inverse @ slope[inside]) > 0.25 * width[inside]).any():
        return result
    result[np.ix_(inside, inside)] = inverse
    return result
