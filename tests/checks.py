"""What a certified solution must satisfy, recomputed in plain NumPy from points that the solver never saw."""

from __future__ import annotations

import numpy as np

import lsip
from lsip.model.program import Program
from lsip.proof import closed


def fresh_points(domain: lsip.Domain, near: np.ndarray, seed: int = 20_240_607) -> np.ndarray:
    """Random points, corners, and neighbours of `near`, where the worst violations are to be expected."""
    rng = np.random.default_rng(seed)
    points = [domain.sample(2000, seed), domain.grid(2 if domain.dim > 6 else 3)]
    width = domain.upper - domain.lower
    for size in (1e-1, 1e-2, 1e-3, 1e-5):
        away = near[rng.integers(len(near), size=50)] if len(near) else domain.sample(50, seed + 1)
        points.append(domain.project(away + size * width * rng.uniform(-1, 1, away.shape)))
    return np.concatenate(points)


def assert_feasible(program: Program, solution: lsip.Solution) -> None:
    """No fresh index point violates its constraint, up to the rounding of floats; finite rows and bounds hold."""
    x = solution.certificate.x  # with what stands for convex parts, which people do not see
    for f, family in enumerate(program.families):
        near = np.array([s.point for s in solution.certificate.support if s.family == f]).reshape(-1, family.domain.dim)
        y = fresh_points(family.domain, near)
        for part in np.array_split(y, max(1, len(y) * family.columns.size // 2_000_000)):
            a, b = family.rows(part)
            terms = np.abs(a) * np.abs(x[family.columns])
            size = terms.sum(axis=-1) + np.abs(b)
            excess = np.einsum("npk,pk->np", a, x[family.columns]) - b - 1e-12 * (1 + size)
            worst = np.unravel_index(excess.argmax(), excess.shape)
            assert excess.max() <= 0, f"{family.legend.name} is violated by {excess.max():.3g} at {part[worst[0]]}"
    scale = 1 + np.abs(x).max(initial=0.0)
    assert program.finite_violation(x) <= 1e-9 * scale


def dual_bound(program: Program, solution: lsip.Solution) -> float:
    """The Lagrangian bound of the dual measure; multipliers of the wrong sign or a residual that matters fail."""
    certificate, n = solution.certificate, program.n
    reduced, size = program.c.copy(), np.abs(program.c)
    value = program.constant
    for s in certificate.support:
        assert s.multiplier >= 0
        family = program.families[s.family]
        assert family.domain.contains(s.point[None])[0]
        a, b = family.rows(s.point[None])
        row = np.bincount(family.columns[s.component], weights=a[0, s.component], minlength=n)
        reduced += s.multiplier * row
        size += s.multiplier * np.abs(row)
        value -= s.multiplier * b[0, s.component]
    mu = certificate.row_multipliers if len(certificate.row_multipliers) else np.zeros(program.A.shape[0])
    assert np.isfinite(program.row_upper[mu > 0]).all()
    assert np.isfinite(program.row_lower[mu < 0]).all()
    reduced += program.A.T @ mu
    size += abs(program.A).T @ np.abs(mu)
    value -= mu[mu > 0] @ program.row_upper[mu > 0] + mu[mu < 0] @ program.row_lower[mu < 0]
    # A reduced cost is paid at a bound of its variable; where there is none it has to vanish.
    end = np.where(reduced > 0, program.lower, program.upper)
    paid = np.isfinite(end)
    value += reduced[paid] @ end[paid]
    left = np.abs(reduced[~paid])
    assert (left <= 1e-7 * (1 + size[~paid])).all(), f"dual residual {left.max():.3g}"
    # What is left over is charged ten times as far out as the solution, or as where a term becomes 1.
    return float(value - 10 * left @ (np.abs(certificate.x) + 1 / sizes(program))[~paid])


def sizes(program: Program) -> np.ndarray:
    """The largest coefficient of each variable, in the objective and in a sample of the rows; 1 where there is none."""
    size = np.abs(program.c)
    for family in program.families:
        a, _ = family.rows(family.domain.sample(30, seed=3))
        np.maximum.at(size, family.columns, np.abs(a).max(axis=0))
    return np.where(size > 0, size, 1.0)


def assert_certified(problem: lsip.Problem | Program, solution: lsip.Solution, tol: float) -> None:
    """Primal feasibility on points the solver never saw, dual feasibility, and a gap of at most `tol`, from scratch."""
    program = problem if isinstance(problem, Program) else problem.compile()
    assert solution.status is lsip.Status.OPTIMAL, solution.status
    assert solution.certified
    assert closed(solution.lower, solution.upper, tol, solution.atol)
    assert solution.lower <= solution.value <= solution.upper
    x = solution.certificate.x
    assert solution.max_violation <= 1e-9 * (1 + np.abs(x).max(initial=0.0))
    rounding = 1e-12 * (1 + np.abs(program.c) @ np.abs(x))
    assert_feasible(program, solution)
    objective = float(program.c @ x) + program.constant
    gap = objective - dual_bound(program, solution)
    assert gap <= max(tol * max(1.0, abs(objective)), solution.atol) + 10 * rounding, f"the gap is {gap:.3g}"
    solution.verify()
