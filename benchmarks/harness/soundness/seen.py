"""What users see of a dual solution, judged: active points, their multipliers, those of finite rows, reduced costs.

At an optimum of a minimum, c + sum_i w_i a(y_i) equals the reduced costs, each belongs to a bound that its variable is
at, and the combination of the right-hand sides is the optimal value. All of it is evaluated in balls at the points that
users see, with the model as it is written; how lsip came to them plays no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from .balls import at, fraction, precise
from .models import Model, Vector

NEAR = 1e-3  # relative to all terms: active points are the middle of atoms that lie close together
ROUNDING = 2.0**-50  # relative to the terms of a reduced cost: four units in the last place


@dataclass(frozen=True)
class Seen:
    """A multiplier of a family at an index point."""

    family: int
    point: Vector
    weight: float
    divided_by: str = ""


@dataclass(frozen=True)
class Duals:
    """All that users see; rows in the order of the model."""

    points: tuple[Seen, ...]
    rows: Vector
    reduced: Vector


def seen_by_users(model: Model, solution: Any) -> Duals | None:
    """What a declared model's solution says of its constraints; None where the model asks for no judgement."""
    if not model.duals or solution.status.name != "OPTIMAL":
        return None
    statements = solution.problem.constraints
    points = [
        Seen(i, tuple(map(float, a.point)), float(a.multiplier), a.divided_by)
        for i in range(len(model.families))
        for a in solution.dual(statements[i])
    ]
    rows = tuple(float(solution.dual(s)) for s in statements[len(model.families) :])
    return Duals(tuple(points), rows, tuple(map(float, solution.reduced_costs(solution.variables[0]))))


def judge_duals(model: Model, duals: Duals, x: Vector, value: float, gap: float) -> Iterator[str]:
    """What is wrong with them, in words, where the bounds of the optimum differ by `gap`."""
    if any(s.weight < 0 for s in duals.points):
        yield "a multiplier of an inequality is negative"
    outside = [s for s in duals.points if not _inside(model, s)]
    if outside:
        yield f"the active point {outside[0].point} is not in its index set"
        return
    near = max(NEAR, 10 * model.tol)
    with precise():
        rows = [(*_row(model, s), Fraction(s.weight)) for s in duals.points]
        for row, w in zip(model.rows, duals.rows, strict=True):
            turn = -1 if row.sense == ">=" else 1
            if w < 0 and row.sense != "==":
                yield "a multiplier of a finite inequality is negative"
            rows.append(([turn * Fraction(a) for a in row.a], turn * Fraction(row.b), Fraction(w)))
        yield from _stationary(model, rows, duals.reduced, near)
        yield from _attained(model, rows, duals.reduced, x, value, near, gap)


def _inside(model: Model, s: Seen) -> bool:
    """Whether an active point is one of its set, up to rounding."""
    over = model.families[s.family].over
    if len(s.point) != over.dim:
        return False
    if not all(map(isfinite, s.point)):
        return model.limit is not None and bool(s.divided_by)
    member = over.exact(s.point)
    return all(abs(float(v) - p) <= 1e-6 * (1 + abs(p)) for v, p in zip(member, s.point, strict=True))


def _row(model: Model, s: Seen) -> tuple[list[Fraction], Fraction]:
    """a x <= b at the point, or in the limit that `divided_by` names."""
    family = model.families[s.family]
    turn = -1 if family.above else 1
    if s.divided_by:
        assert model.limit is not None, s
        a, b = model.limit(s.family, s.point, s.divided_by)
        return [turn * v for v in a], turn * b
    y = family.over.exact(s.point)
    return [turn * fraction(at(f, y).mid()) for f in family.a], turn * fraction(at(family.b, y).mid())


def _stationary(model: Model, rows: list[Any], reduced: Vector, near: float) -> Iterator[str]:
    """Whether the combination of rows and costs is what reduced costs say."""
    for j in range(model.n):
        terms = [model.sign * Fraction(model.c[j]), *(w * a[j] for a, _, w in rows), -model.sign * Fraction(reduced[j])]
        size, left = sum(map(abs, terms)), abs(sum(terms))
        if left > near * size:
            yield f"the multipliers leave {float(left):.3g} of {float(size):.3g} in variable {j}"


def _attained(
    model: Model, rows: list[Any], reduced: Vector, x: Vector, value: float, near: float, gap: float
) -> Iterator[str]:
    """Whether the dual value is that of the objective."""
    terms = [model.sign * Fraction(model.constant), *(-w * b for _, b, w in rows)]
    for j, r in enumerate(reduced):
        r = model.sign * r
        end = model.lower[j] if r > 0 else model.upper[j]
        scale = max(abs(model.c[j]), *(abs(float(w * a[j])) for a, _, w in rows), 1e-300) if rows else abs(model.c[j])
        if abs(r) <= ROUNDING * scale:  # a zero in doubles, also beside a bound of 1e12
            continue
        if isfinite(end):
            terms.append(Fraction(r) * Fraction(end))
        elif abs(r) > near * scale:
            yield f"variable {j} has the reduced cost {r:.3g}, and no such bound"
    size = sum(map(abs, terms)) + sum(abs(Fraction(c) * Fraction(v)) for c, v in zip(model.c, x, strict=True))
    off = abs(sum(terms) - model.sign * Fraction(value))
    if off > near * size + 2 * Fraction(gap):
        yield f"the dual value {float(sum(terms)):.6g} is not the optimum {model.sign * value:.6g}"
