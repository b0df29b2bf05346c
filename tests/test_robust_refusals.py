"""Robust models that mean nothing: one clear sentence each, in the language and through both doors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
from lsip import Ball, Box, Budget, Ellipsoid, Finite, Index, Interval, Polytope, Problem, Rule, Simplex, Variable
from lsip.ambiguity import Moments, Wasserstein, chance, cvar, hoeffding, scenario_count, worst_expectation

SQUARE = Box([0, 0], [1, 1])
Z, U, HALF = Index("z", SQUARE), Index("u", Interval(0, 1)), Index("h", Interval(0, np.inf))
X, R = Variable(name="x"), Rule(of=Z, name="r")
SAMPLES = np.array([[0.2, 0.4], [0.6, 0.1]])
NAN = float("nan")


def loss() -> Any:
    return worst_expectation(X - Z[0], SAMPLES)


LANGUAGE: dict[str, tuple[Any, str]] = {
    "outside of forall": (lambda: Problem(lsip.minimize(X), [R <= X]), r"depends on the index z: wrap it in forall"),
    "in the objective": (lambda: Problem(lsip.minimize(R)), "objective depends on the index z; say `over=z`"),
    "the future": (lambda: lsip.forall(U, R <= X), "depends on z too; list every index"),
    "an index of the same name": (lambda: lsip.forall(Index("z", SQUARE), R <= X), "another index that is called z"),
    "a product of rules": (lambda: lsip.forall(Z, R * (R + X) <= X), "product of decision variables"),
    "empty polytope": (lambda: Polytope([[1.0], [-1.0]], [0, -1]), "is empty: .* says 0 <= -1"),
    "unbounded polytope": (lambda: Polytope([[1.0]], [0]), "is unbounded: .* Add inequalities"),
    "empty intersection": (lambda: Ball([0, 0], 1) & Box([2, 2], [3, 3]), "is empty"),
    "reversed interval": (lambda: Interval(1, 0), "needs lower <= upper; got"),
    "reversed box": (lambda: Box([0, 1], [1, 0]), "needs lower <= upper; got 1 and 0 in coordinate 1"),
    "nan in a box": (lambda: Box([0, NAN], [1, 1]), "must be finite"),
    "negative radius": (lambda: Ball([0, 0], -1), "positive radius; got -1"),
    "negative budget": (lambda: Budget(2, -1), "0 < budget <= m; got m=2 and budget=-1"),
    "simplex of nothing": (lambda: Simplex(0), "at least one coordinate; got m=0"),
    "no points": (lambda: Finite(np.zeros((0, 2))), r"not empty; got shape \(0, 2\)"),
    "shape not definite": (lambda: Ellipsoid([0, 0], [[1, 2], [2, 1]]), "positive definite `shape`; .* eigenvalues"),
    "shape not symmetric": (lambda: Ellipsoid([0, 0], [[1, 2], [0, 1]]), "symmetric `shape`"),
    "negative degree": (lambda: Rule(of=Z, degree=-1), "degree of a rule is a whole number, .* got -1"),
    "degree zero": (lambda: Rule(of=Z, degree=0), "degree of a rule is a whole number, .* got 0"),
    "broken degree": (lambda: Rule(of=Z, degree=1.5), "degree of a rule is a whole number, .* got 1.5"),  # type: ignore[arg-type]
    "truth for a degree": (lambda: Rule(of=Z, degree=True), "degree of a rule is a whole number, .* got True"),
    "huge degree": (lambda: Rule(of=Z, degree=10**9), "lower the degree, or let it see less"),
    "no pieces": (lambda: Rule(of=Z, pieces=0), "how many there are .* got 0"),
    "truth for pieces": (lambda: Rule(of=Z, pieces=True), "how many there are .* got True"),
    "broken pieces": (lambda: Rule(of=Z, pieces=1.5), "how many there are .* got 1.5"),
    "pieces out of order": (lambda: Rule(of=Z, pieces=[0.5, 0.2]), r"each more than the one before; got \[0.5, 0.2\]"),
    "a point twice": (lambda: Rule(of=Z, pieces=[0.5, 0.5]), "each more than the one before"),
    "pieces at no points": (lambda: Rule(of=Z, pieces=[]), r"a list of the points .* got \[\]"),
    "a table of pieces": (lambda: Rule(of=Z, pieces=[[0.2], [0.4]]), "a list of the points"),
    "pieces out of range": (lambda: Rule(of=Z, pieces=[0.5, 3]), "around the point 3 .* range from 0 to 1"),
    "pieces at infinity": (lambda: Rule(of=Z, pieces=[0.5, np.inf]), "around the point inf"),
    "pieces at nan": (lambda: Rule(of=Z, pieces=[NAN]), "must be numbers; got nan"),
    "text for pieces": (lambda: Rule(of=Z, pieces="two"), "must be real numbers; got text"),  # type: ignore[arg-type]
    "pieces of a half line": (lambda: Rule(of=HALF, pieces=2), "of data in a bounded set; got"),
    "pieces of a union": (
        lambda: Rule(of=Index("v", Interval(0, 1) | Interval(2, 3)), pieces=2),
        "of data in a convex set",
    ),
    "pieces and a degree": (lambda: Rule(of=Z, pieces=2, degree=2), "not both"),
    "whole numbers": (lambda: Rule(of=Z, integer=True), "got integer. Bounds are .* whole numbers"),  # type: ignore[arg-type]
    "bounds": (lambda: Rule(of=Z, lower=0), r"got lower. Bounds are constraints, such as forall\(z, rule >= 0\)"),  # type: ignore[arg-type]
    "of a variable": (lambda: Rule(of=X), "has entries of an index, such as z"),  # type: ignore[arg-type]
    "of a rule": (lambda: Rule(of=R), "has entries of an index, such as z"),  # type: ignore[arg-type]
    "of a set": (lambda: Rule(of=SQUARE), "has entries of an index, such as z"),  # type: ignore[arg-type]
    "negative size": (lambda: Rule(-1, of=Z), "positive whole size"),
    "samples with nan": (lambda: Wasserstein([[1, NAN]], 0.1), "`samples` must be numbers; got nan"),
    "no samples": (lambda: Wasserstein(np.zeros((0, 2)), 0.1), r"one sample or more; got \(0, 2\)"),
    "negative Wasserstein radius": (lambda: Wasserstein(SAMPLES, -1), "`radius` is a number >= 0; got -1"),
    "nan for a radius": (lambda: Wasserstein(SAMPLES, NAN), "`radius` is a number >= 0; got nan"),
    "covariance not semidefinite": (lambda: Moments([0, 0], [[1, 2], [2, 1]]), "least eigenvalue is -1, below 0"),
    "covariance not symmetric": (lambda: Moments([0, 0], [[1, 2], [0, 1]]), "must be symmetric; got"),
    "covariance of another size": (lambda: Moments([0, 0], [[1]]), r"shape \(2, 2\).* got \(1, 1\)"),
    "level of a CVaR": (lambda: cvar([X - Z[0]], 1.5, SAMPLES), "got 1.5"),
    "probability": (lambda: chance([X - Z[0]], 1.0, SAMPLES), "got 1.0"),
    "negative probability": (lambda: chance([X - Z[0]], -0.1, SAMPLES), "got -0.1"),
    "risk": (lambda: hoeffding(3, 2.0), "got 2.0"),
    "confidence": (lambda: scenario_count(3, 0.1, 1.5), "got 1.5"),
    "mean over nan": (lambda: lsip.expectation(R, Z, [[NAN, 0.0]]), "must be numbers; got nan"),
    "mean over nothing": (lambda: lsip.expectation(R, Z, np.zeros((0, 2))), "at least one sample"),
    "mean outside": (lambda: lsip.expectation(R, Z, [[5.0, 5.0]]), "lies outside of"),
}


@pytest.mark.parametrize("name", LANGUAGE)
def test_in_the_language(name: str) -> None:
    attempt, said = LANGUAGE[name]
    with pytest.raises(lsip.LSIPError, match=said):
        attempt()


THROUGH_CVXPY: dict[str, tuple[Any, str]] = {
    "the future": (lambda d, z, r, x: d.forall(d.Index("u", Interval(0, 1)), r <= x), "list every index"),
    "outside of forall": (lambda d, z, r, x: _cvxpy_problem(d, x, [r <= x]), "depends on the index z: wrap it"),
    "negative degree": (lambda d, z, r, x: d.Rule(of=z, degree=-1), "whole number, .* got -1"),
    "no pieces": (lambda d, z, r, x: d.Rule(of=z, pieces=0), "how many there are .* got 0"),
    "pieces out of order": (lambda d, z, r, x: d.Rule(of=z, pieces=[0.5, 0.2]), "each more than the one before"),
    "pieces out of range": (lambda d, z, r, x: d.Rule(of=z, pieces=[3]), "around the point 3"),
    "whole numbers": (lambda d, z, r, x: d.Rule(of=z, integer=True), "got integer. Bounds are"),
    "an attribute": (lambda d, z, r, x: d.Rule(of=z, nonneg=True), "got nonneg. Bounds are constraints"),
    "an index of the language": (lambda d, z, r, x: d.Rule(of=Z), "is one of lsip itself"),
    "empty set": (lambda d, z, r, x: d.Index("v", Polytope([[1.0], [-1.0]], [0, -1])), "empty"),
}


def _cvxpy_problem(door: Any, x: Any, rows: list[Any]) -> Any:
    import cvxpy as cp

    return door.Problem(cp.Minimize(x), rows)


@pytest.mark.parametrize("name", THROUGH_CVXPY)
def test_through_cvxpy(name: str) -> None:
    cp = pytest.importorskip("cvxpy")
    from lsip.interop import cvxpy as door

    attempt, said = THROUGH_CVXPY[name]
    z = door.Index("z", SQUARE)
    with pytest.raises(lsip.LSIPError, match=said):
        attempt(door, z, door.Rule(of=z, name="r"), cp.Variable(name="x"))


def pyros_model(**given: Any) -> Any:
    pyo = pytest.importorskip("pyomo.environ")
    from pyomo.contrib import pyros

    import lsip.interop.pyomo  # noqa: F401 - registers the solver

    m = pyo.ConcreteModel()
    m.q = pyo.Param(range(2), initialize=0.5, mutable=True)
    m.y, m.w = pyo.Var(bounds=(0, 9)), pyo.Var(bounds=(0, 9))
    m.above, m.below = pyo.Constraint(expr=m.y >= m.q[0]), pyo.Constraint(expr=m.y <= m.w)
    m.cost = pyo.Objective(expr=m.w)
    options: dict[str, Any] = {
        "uncertain_params": m.q,
        "uncertainty_set": pyros.BoxSet([(0, 1)] * 2),
        "first_stage_variables": m.w,
        "second_stage_variables": m.y,
        "decision_rule_order": 1,
    }
    options |= {key: value(pyros) if callable(value) else value for key, value in given.items()}
    return pyo.SolverFactory("lsip").solve(m, **options)


def polyhedron(rows: list[list[float]], sides: list[float]) -> Any:
    return lambda pyros: pyros.PolyhedralSet(rows, sides)


BOX_ROWS = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
THROUGH_PYOMO: dict[str, tuple[dict[str, Any], str]] = {
    "empty set": ({"uncertainty_set": polyhedron(BOX_ROWS, [0, -1, 1, 1])}, "cannot be read: The polytope is empty"),
    "unbounded set": ({"uncertainty_set": polyhedron([[1.0, 0.0]], [1])}, "is unbounded"),
    "shape not definite": (
        {"uncertainty_set": lambda pyros: pyros.EllipsoidalSet([0, 0], [[1, 2], [2, 1]])},
        "positive definite",
    ),
    "a set of the language": ({"uncertainty_set": SQUARE}, "is a set of pyomo.contrib.pyros, .* got Box"),
    "dimensions": ({"uncertainty_set": lambda pyros: pyros.BoxSet([(0, 1)])}, "2 uncertain parameters"),
    "nominal nan": ({"nominal_uncertain_param_vals": [NAN, 0]}, "are 2 finite numbers; got"),
    "negative order": ({"decision_rule_order": -1}, "is 0, 1 or 2, .* got -1"),
    "text for an order": ({"decision_rule_order": "affine"}, "is 0, 1 or 2, .* got 'affine'"),
    "no pieces": ({"decision_rule_pieces": 0}, "how many there are .* got 0"),
    "pieces out of order": ({"decision_rule_pieces": [0.5, 0.2]}, "each more than the one before"),
    "pieces out of range": ({"decision_rule_pieces": [7]}, "around the point 7 .* range from 0 to 1"),
    "pieces of degree 2": ({"decision_rule_pieces": 2, "decision_rule_order": 2}, "solve with decision_rule_order=1"),
    "pieces of factors": (
        {
            "uncertainty_set": lambda pyros: pyros.FactorModelSet([0.5, 0.5], 2, [[0.1, 0.05], [0, 0.1]], 0.5),
            "decision_rule_pieces": 2,
        },
        "every uncertain parameter moves by itself",
    ),
    "focus": ({"objective_focus": "best"}, "is nominal or worst_case; got 'best'"),
    "parameters": ({"uncertain_params": [3]}, "takes components of the model, or a list of such; got 3"),
    "unknown option": ({"decision_rule_bends": 2}, "Unknown option decision_rule_bends"),
}


@pytest.mark.parametrize("name", THROUGH_PYOMO)
def test_through_pyomo(name: str) -> None:
    given, said = THROUGH_PYOMO[name]
    pyros_model()  # as it is, it means something
    with pytest.raises(lsip.LSIPError, match=said):
        pyros_model(**given)
