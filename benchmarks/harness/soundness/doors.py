"""The same plain model, written for lsip: in its language, as functions for `linsip`, or through CVXPY."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import lsip

from .balls import rounded
from .formulas import Formula
from .models import Family, Model, Row


def solve(model: Model, seconds: float, **others: Any) -> Any:
    """What lsip makes of the model."""
    options = {"tol": model.tol, "time_limit": seconds, **others}
    if model.written is not None:
        return model.written(model, options)
    return {"declared": _declared, "functions": _functions, "cvxpy": _cvxpy, "decomposed": _decomposed}[model.door](
        model, options
    )


def problem(model: Model) -> lsip.Problem:
    """The model in lsip's own language."""
    x = lsip.Variable(model.n, name="x", lower=np.array(model.lower), upper=np.array(model.upper))
    families = [_forall(lsip, family, f"y{i}", x) for i, family in enumerate(model.families)]
    objective = np.array(model.c) @ x + model.constant
    sense = lsip.maximize if model.maximise else lsip.minimize
    return lsip.Problem(sense(objective), [*families, *(finite(row, x) for row in model.rows)])


def _declared(model: Model, options: dict[str, Any]) -> Any:
    return problem(model).solve(verbose=False, **options)


def _forall(language: Any, family: Family, name: str, x: Any) -> Any:
    index = language.Index(name, family.over.write())
    y = [index] if family.over.scalar else [index[k] for k in range(family.over.dim)]
    terms = [a(y) * x[j] for j, a in enumerate(family.a) if a.varies or a.number != 0]
    left, right = sum(terms[1:], terms[0]), family.b(y)
    return language.forall(index, left >= right if family.above else left <= right)


def finite(row: Row, x: Any) -> Any:
    """A row, for a variable of lsip or of CVXPY."""
    left = np.array(row.a) @ x
    if row.sense == "==":
        return left == row.b
    return left <= row.b if row.sense == "<=" else left >= row.b


def _functions(model: Model, options: dict[str, Any]) -> Any:
    """`linsip`: arrays, and functions of a batch of index points."""
    turned = [(-np.array(r.a), -r.b) if r.sense == ">=" else (np.array(r.a), r.b) for r in model.rows]
    at_most = [row for row, r in zip(turned, model.rows, strict=True) if r.sense != "=="]
    equal = [row for row, r in zip(turned, model.rows, strict=True) if r.sense == "=="]
    return lsip.linsip(
        np.array(model.c),
        [lsip.Family(f.over.write(), rows(f), rights(f)) for f in model.families],
        *_stacked(at_most),
        *_stacked(equal),
        bounds=[
            (low if np.isfinite(low) else None, high if np.isfinite(high) else None)
            for low, high in zip(model.lower, model.upper, strict=True)
        ],
        sense="max" if model.maximise else "min",
        method=lsip.Exchange(**options),
    )


def _stacked(rows: list[tuple[Any, float]]) -> tuple[Any, Any]:
    return (np.array([a for a, _ in rows]), np.array([b for _, b in rows])) if rows else (None, None)


def rows(family: Family) -> Any:
    """Points (N, m) -> coefficients (N, n) of a x <= b."""
    turn = -1.0 if family.above else 1.0
    return lambda y: np.stack([turn * _batch(a, y) for a in family.a], axis=-1)


def rights(family: Family) -> Any:
    """Points (N, m) -> right-hand sides (N,) of a x <= b."""
    turn = -1.0 if family.above else 1.0
    return lambda y: turn * _batch(family.b, y)


def _batch(formula: Formula, y: Any) -> Any:
    """A column of values; a constant is one for every point."""
    values = formula([y[:, k] for k in range(y.shape[1])])
    return values if formula.varies else values + 0.0 * y[:, 0]


def _cvxpy(model: Model, options: dict[str, Any]) -> Any:
    """CVXPY, where a Euclidean norm may be a constraint."""
    import cvxpy

    from lsip.interop import cvxpy as door

    x = cvxpy.Variable(model.n, name="x")
    constraints = [_forall(door, family, f"y{i}", x) for i, family in enumerate(model.families)]
    constraints += [finite(row, x) for row in model.rows]
    constraints += [x[j] >= low for j, low in enumerate(model.lower) if np.isfinite(low)]
    constraints += [x[j] <= high for j, high in enumerate(model.upper) if np.isfinite(high)]
    if model.cone is not None:
        constraints.append(model.cone.scale * cvxpy.norm(x[: model.cone.size]) <= model.cone.right)
    sense = cvxpy.Maximize if model.maximise else cvxpy.Minimize
    return door.Problem(sense(np.array(model.c) @ x + model.constant), constraints).solve(**options)


def values(model: Model, solution: Any) -> Any:
    """The variables of the model among those of the solve: CVXPY's canonical form adds its own after them."""
    return solution.x[: model.n] if model.door == "cvxpy" else solution.x


def _decomposed(model: Model, options: dict[str, Any]) -> Any:
    """`decompose`, with the bounds of the variables as the set that is known by its linear maximisation only."""
    low, high = np.array(model.lower), np.array(model.upper)

    def corner(direction: Any) -> Any:
        x = np.where(direction > 0, high, low)
        bound = sum((Fraction(float(d)) * Fraction(float(v)) for d, v in zip(direction, x, strict=True)), Fraction(0))
        return lsip.Extreme(x, rounded(bound, up=True))

    return lsip.decompose(problem(model), corner, tol=max(model.tol, 1e-6), time_limit=options["time_limit"])
