"""Derivatives of an optimum in its parameters.

Let z = (x, λ, μ, y) be the variables, the multipliers of rows at their active index points y and of finite rows, and
the points themselves. Where the optimum is strictly complementary and its reduced system

    c + a(y)' λ + A' μ = 0,   a(y) x = b(y),   A x = b,   grad_y (a(y) x - b(y)) = 0

has a Jacobian that is not singular, z is a differentiable function of the parameters p: J dz/dp = - the derivative of
the system in p alone (A. V. Fiacco, Introduction to Sensitivity and Stability Analysis, 1983; R. Hettich and K. O.
Kortanek, Semi-infinite programming, 1993, section 6). J is that of Newton's method (`newton.py`), with the second
derivatives in the index. The value changes as the Lagrangian does, at x, y and multipliers that stay. How the data
change with p is measured by central differences of the compiled program, which need no solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from ..errors import ModelError
from ..expressions.affine import Variable
from ..expressions.interval import EPS, TINY
from ..expressions.parameter import Parameter
from ..model.problem import Problem
from ..model.program import Program
from ..proof.certificate import Support
from ..proof.dual import TUNING as WEIGHING
from ..reductions.chain import restate
from ..solution.active import TUNING as READING
from ..solution.solution import DRAWN, Solution
from ..solution.values import place_of
from ..validation import shown
from .newton import local_system, polish
from .state import Proposal
from .tuning import Tuning

Array = NDArray[np.float64]
NEAR = WEIGHING.slope  # of a multiplier or a slack, beside the largest one: what may as well be zero
APART = READING.near  # of an index set: how far another active point is from those that have multipliers
SINGULAR = float(np.sqrt(EPS))  # of the smallest singular value of a scaled system
STEP = float(np.cbrt(np.finfo(float).eps))  # of a central difference, relative to a parameter


@dataclass(frozen=True, eq=False)
class Optimum:
    """A strictly complementary optimum, and what is active there."""

    program: Program
    point: Proposal
    support: tuple[Support, ...]  # the active index points, family by family
    rows: NDArray[np.intp]  # the active finite rows
    low: NDArray[np.bool_]  # (n,), variables at their lower bound
    high: NDArray[np.bool_]

    @property
    def weights(self) -> Array:
        """The multipliers of index points, then of the active finite rows."""
        return np.append([s.multiplier for s in self.support], self.point.rows[self.rows])

    def local(self, program: Program) -> Local:
        """The reduced system of a program with these numbers in it."""
        x, places = self.point.x, []
        for f in sorted({s.family for s in self.support}):
            mine = [s for s in self.support if s.family == f]
            components = np.array([s.component for s in mine], dtype=np.intp)
            places.append((program.families[f], components, np.array([s.point for s in mine])))
        none = np.zeros((0, program.n))
        found = local_system(program.n, places, x, np.inf) if places else (none, np.zeros(0), none, np.zeros(0), [])
        if found is None:
            raise ModelError("A row without derivatives in its index is active, so nothing is known of its points.")
        a, g, jac, slopes, inverse = found
        finite = program.A[self.rows].toarray()
        side = np.where(self.point.rows > 0, program.row_upper, program.row_lower)[self.rows]
        rows = np.vstack([a, finite])
        return Local(
            float(program.c @ x + program.constant),
            program.c + rows.T @ self.weights,
            np.append(g, finite @ x - side),
            np.where(self.low, program.lower, np.where(self.high, program.upper, 0.0)),
            slopes,
            rows,
            jac,
            block_diag(*[b for part in inverse for b in part]) if inverse else np.zeros((0, 0)),
        )


class Local(NamedTuple):
    """The reduced system of a program at an optimum; its first five parts change with the parameters."""

    value: float
    stationary: Array  # (n,)
    violations: Array  # of index points, then of finite rows: (k,)
    bounds: Array  # (n,), of the variables at one
    slopes: Array  # of violations in the index, of all points
    rows: Array  # (k, n)
    jacobian: Array  # of slopes in x
    inverse: Array  # of minus the Hessians in the index, zero where a point stays


def sensitivity(solution: Solution, parameter: Parameter, variable: Variable | None = None) -> Array | float:
    """See `Solution.sensitivity`."""
    problem = solution.model
    if not isinstance(problem, Problem) or not any(parameter is p for p in problem.parameters):
        raise ModelError(f"`parameter` must be an lsip.Parameter of the problem; got {shown(parameter)}.")
    place = None if variable is None else place_of(solution, variable)
    optimum = _optimum(solution)
    here = optimum.local(optimum.program)
    if _stuck(optimum, here):
        raise ModelError("An active index point is at a kink, or at no strict maximum: how it moves is not known.")
    span, system = _jacobian(optimum, here)
    changes = [_change(problem, parameter, k, optimum, here) for k in range(parameter.size)]
    shape = parameter.shape
    if variable is None or place is None:
        found = np.array([solution.sign * _of_value(optimum, here, span, system, change) for change in changes])
        return found.reshape(shape) if shape else float(found[0])
    moves = np.array([_of_x(optimum, here, span, system, change) for change in changes])  # (P, n)
    return moves[:, place].T.reshape(variable.shape + shape)


def _optimum(solution: Solution) -> Optimum:
    """What is active at a solution, with its last digits; ModelError if its derivative is not known to exist."""
    program, certificate = solution.program, solution.certificate
    if not solution.status.has_point or (not certificate.support and not certificate.row_multipliers.size):
        raise ModelError(f"Only an optimum has a derivative; this solve ended with {solution.status.name}.")
    if program.integer.any() or program.cones is not None:
        raise ModelError("Derivatives are those of linear rows: this problem has integers, norms or other cones.")
    support = tuple(sorted(certificate.support, key=lambda s: s.family))
    first = Proposal(certificate.x, support=support, rows=certificate.row_multipliers)
    point = polish(program, first, 0.0, np.eye(program.n), Tuning().patience) or first
    x, size = point.x, 1 + np.abs(point.x)
    low, high = x <= program.lower + NEAR * size, x >= program.upper - NEAR * size
    most = max([abs(s.multiplier) for s in point.support] + [np.abs(point.rows).max(initial=0.0), TINY])
    optimum = Optimum(
        program,
        point,
        tuple(s for s in point.support if s.multiplier > NEAR * most),
        np.flatnonzero(np.abs(point.rows) > NEAR * most),
        low,
        high,
    )
    held = low | high
    loose = held & (np.abs(optimum.local(program).stationary) <= NEAR * (1 + np.abs(program.c).max()))
    activity, scale = program.A @ x, 1 + np.abs(program.A) @ np.abs(x)
    tight = np.minimum(program.row_upper - activity, activity - program.row_lower) <= NEAR * scale
    tight[optimum.rows] = False
    if (loose & (program.lower < program.upper)).any() or tight.any() or _idle(solution, optimum):
        raise ModelError(
            "The optimum is not strictly complementary: an active row or bound has the multiplier zero, so it has "
            "one-sided derivatives only."
        )
    return optimum


def _idle(solution: Solution, optimum: Optimum) -> bool:
    """Whether an index point of the last relaxation is active, and none with a multiplier is near."""
    x = optimum.point.x
    for cut in solution.cuts:
        family = optimum.program.families[cut.family]
        width = np.maximum(family.domain.upper - family.domain.lower, TINY)
        rivals = [s.point for s in optimum.support if (s.family, s.component) == (cut.family, cut.component)]
        if any((np.abs(cut.point - p) <= APART * width).all() for p in rivals):
            continue
        a, b = family.rows(cut.point[None])
        entries = a[0, cut.component] * x[family.columns[cut.component]]
        if entries.sum() - b[0, cut.component] > -NEAR * (np.abs(entries).sum() + abs(b[0, cut.component])):
            return True
    return False


def _jacobian(optimum: Optimum, here: Local) -> tuple[Array, Array]:
    """The free variables, as columns of the identity, and J with moving points eliminated."""
    span = np.eye(optimum.program.n)[:, ~(optimum.low | optimum.high)]
    rows, moved = here.rows @ span, here.jacobian @ span
    k, n = rows.shape
    scaled = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=TINY), TINY)
    if k and (k > n or np.linalg.svd(scaled, compute_uv=False)[-1] <= SINGULAR):
        raise ModelError(
            "The optimum is degenerate: several multipliers belong to it, so only one-sided derivatives exist."
        )
    system = np.zeros((n + k, n + k))
    system[:n, :n] = moved.T @ _moving(optimum, here) @ moved
    system[:n, n:], system[n:, :n] = rows.T, rows
    return span, system


def _moving(optimum: Optimum, here: Local) -> Array:
    """Inverses of minus the Hessians, times the multipliers of their points."""
    each = [np.full(len(s.point), s.multiplier) for s in optimum.support]
    weights: Array = np.concatenate(each)[:, None] if each else np.zeros((0, 1))
    return weights * here.inverse


def _change(problem: Problem, parameter: Parameter, k: int, optimum: Optimum, here: Local) -> list[Any]:
    """The derivatives of the first five parts of the reduced system in one entry of a parameter.

    Differences to both sides are equal up to a term that is proportional to the step, but for kinks.
    """
    before: Any = parameter.value
    flat = np.ravel(np.asarray(before, dtype=float))
    step = STEP * max(1.0, abs(flat[k]))
    sides: list[Local] = []
    try:
        for way in (step, -step, step / 4, -step / 4):
            moved = flat.copy()
            moved[k] += way
            parameter.value = moved.reshape(parameter.shape)
            program = restate(problem)
            if _shape(program) != _shape(optimum.program):
                raise ModelError("Rows leave each other no slack for this value of the parameter only.")
            if any(p.domain != f.domain for p, f in zip(program.families, optimum.program.families, strict=True)):
                raise ModelError("Index sets that depend on a parameter have no derivative here.")
            sides.append(optimum.local(program))
    finally:
        parameter.value = before
    changes = []
    for middle, up, down, *close in zip(here[:5], *(side[:5] for side in sides), strict=True):
        change, (wide, narrow) = (up - down) / (2 * step), (u + v - 2 * middle for u, v in ((up, down), close))
        size = 1 + max(np.abs(part).max(initial=0.0) for part in map(np.atleast_1d, (change, middle)))
        if (np.abs(wide - 16 * narrow) > 0.5 * np.abs(wide) + NEAR * size * step).any():
            raise ModelError(
                "The data have a kink at this value of the parameter, or a parameter has changed since the solve: no "
                "derivative is known."
            )
        changes.append(change)
    return changes


def _shape(program: Program) -> tuple[Any, ...]:
    """What rows a program has, after those that vanish at index points were divided."""
    return program.A.shape, program.row_labels, [family.labels for family in program.families]


def _of_value(optimum: Optimum, here: Local, span: Array, system: Array, change: list[Any]) -> float:
    """The derivative of the Lagrangian in the parameter alone."""
    value, stationary, violations, bounds, _ = change
    values, vectors = np.linalg.eigh(system)
    idle = vectors[: span.shape[1], np.abs(values) <= SINGULAR * np.abs(values).max(initial=TINY)]
    if np.abs(idle.T @ (span.T @ stationary)).max(initial=0.0) > NEAR * (1 + np.abs(stationary).max(initial=0.0)):
        raise ModelError("Several points are optimal, and the value changes differently at each: it has no derivative.")
    return float(value + violations @ optimum.weights + here.stationary @ bounds)


def _stuck(optimum: Optimum, here: Local) -> bool:
    """Whether an active index point within a box stays, for want of a proper Hessian."""
    still, start = np.diag(here.inverse) == 0, 0
    for s in optimum.support:
        domain = optimum.program.families[s.family].domain
        part = slice(start, start := start + len(s.point))
        width = NEAR * (domain.upper - domain.lower)
        inside = (s.point > domain.lower + width) & (s.point < domain.upper - width)
        if domain.bend(s.point[None]) is None and domain.measure[0] > 0 and (still[part] & inside).any():
            return True
    return False


def _of_x(optimum: Optimum, here: Local, span: Array, system: Array, change: list[Any]) -> Array:
    """The derivative of x in the parameter: (n,)."""
    _, stationary, violations, bounds, slopes = change
    scale = np.sqrt(np.maximum(np.abs(system).max(axis=1, initial=TINY), TINY))
    scaled = system / scale[:, None] / scale
    if len(scaled) and np.linalg.svd(scaled, compute_uv=False)[-1] <= SINGULAR:
        raise ModelError("The optimum is degenerate: x is not a differentiable function of the parameter.")
    slopes = slopes + here.jacobian @ bounds  # bounds move x, too
    left = span.T @ (stationary + here.jacobian.T @ (_moving(optimum, here) @ slopes))
    right = -np.concatenate([left, violations + here.rows @ bounds])
    solved = np.linalg.solve(scaled, right / scale) / scale if len(scaled) else right
    return np.asarray(span @ solved[: span.shape[1]] + bounds)


DRAWN["sensitivity"] = sensitivity
