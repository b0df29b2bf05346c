"""What a type checker knows of models and solutions; `tests/test_typing.py` has it checked."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import lsip
from lsip.expressions import Affine
from lsip.expressions.graph import Condition
from lsip.model.method import Answer
from lsip.model.statements import ForAll

Array = NDArray[np.float64]

x, z = lsip.Variable(3, name="x"), lsip.Variable(name="z", lower=0)
t, y = lsip.Index("t", lsip.Interval(0, 1)), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
p, c = lsip.Parameter(name="p", value=1.0), np.ones(3)

# Whatever has a variable in it is affine, wherever that stands.
assert_type(x[0] + 1, Affine)
assert_type(1 - x[0], Affine)
assert_type(-x, Affine)
assert_type(x * t, Affine)
assert_type(t * x, Affine)
assert_type(p * x, Affine)
assert_type(c @ x, Affine)
assert_type(x @ c, Affine)
assert_type(c * x, Affine)
assert_type(np.float64(2) * x, Affine)
assert_type(x * np.sin(t), Affine)
assert_type(x.sum(), Affine)
assert_type(x.T, Affine)
assert_type([1.0, 2.0, 3.0] @ x, Affine)
for element in x:
    assert_type(element, Affine)

# Without one, it is an expression in the index.
assert_type(t * t + 1, lsip.Expression)
assert_type(2 * y[0] ** 2, lsip.Expression)
assert_type(p * t, lsip.Expression)
assert_type(c * t, lsip.Expression)

# Comparisons are constraints, or conditions.
assert_type(x[0] >= t, lsip.Constraint)
assert_type(t <= x[0], lsip.Constraint)
assert_type(x == 1, lsip.Constraint)
assert_type(c <= x, lsip.Constraint)
assert_type((c @ x <= 1).named("cap"), lsip.Constraint)
assert_type(x[0] + x[1] * t >= np.tan(t), lsip.Constraint)
assert_type(t >= 0.5, Condition)

# What NumPy's functions give is an array to its annotations; models take it.
problem = lsip.Problem(
    lsip.minimize(np.sum(x) + z), [lsip.forall(t, np.sin(t) <= x[0]), lsip.forall(t, x[1] + x[2] * t >= t), c @ x <= 9]
)
assert_type(lsip.forall(t, x[0] >= t), ForAll | Any)
assert_type(lsip.forall(t, [x[0] >= t, x[1] >= t]), list[Any])

# Solutions know what a variable is worth.
solution = problem.solve(verbose=False, tol=1e-6, time_limit=5.0)
assert_type(solution, Answer)
assert_type(solution[x], Array)
assert_type(solution[z], float)
assert_type(solution[2 * x + 1], Array | Any)
assert_type(solution["x"], Array | Any)
assert_type(solution.value, float)
assert_type(x.value, Array | None)
assert_type(z.value, float | None)
assert_type(solution.dual("cap"), Array | float | tuple[Any, ...])
assert_type(lsip.Exchange().solve(problem), lsip.Solution)
assert_type(lsip.Exchange().solve(problem)[x], Array)
assert_type(lsip.load("model.json"), lsip.Problem | lsip.Solution)
assert_type(lsip.Problem.load("model.json"), lsip.Problem)


def twice(variable: lsip.Variable) -> Affine:
    """A bare `Variable` in an annotation is any of them."""
    return 2 * variable


assert_type(twice(x), Affine)
assert_type(twice(z), Affine)
