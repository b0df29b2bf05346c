"""One-shot discretisation, as people do it in CVXPY and in Pyomo: how many points, and how long, to a given accuracy.

Grids grow until the largest violation over all of Y, proven by us, is at most the target; the time of the last one
counts. Ours is the time of a solve that proves a gap of the same size.
"""

from __future__ import annotations

import numpy as np

import lsip
from lsip import catalogue

PROBLEMS = ("tfi2_tan_n3", "abs_d2", "fir_linear", "watson8_2d", "robust_disc")
TARGET = 1e-6
POINTS = {1: (10, 30, 100, 300, 1000, 3000, 10_000), 2: (5, 10, 20, 40, 80, 160)}  # along an axis


def violation(problem: lsip.Problem, x: np.ndarray) -> float:
    """The largest violation over all families, proven up to a hundredth of the target."""
    program = problem.compile()
    return max(
        lsip.oracles.supremum(program.violation(f, x), tol=1e-2 * TARGET).worst for f in range(len(program.families))
    )


def by_cvxpy(name: str, points: int) -> tuple[float, np.ndarray]:
    """The finite problem through CVXPY and HiGHS: value and x."""
    import cvxpy as cp

    problem = catalogue.get(name).build()
    finite = problem.to_cvxpy(points)
    finite.solve(solver=cp.HIGHS)
    x = np.concatenate([np.ravel(v.value) for v in finite.variables()])
    return float(finite.value), x


def by_pyomo(points: int) -> tuple[float, np.ndarray]:
    """The first model of the README in Pyomo, its ContinuousSet discretised by pyomo.dae."""
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet

    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3))
    m.t = ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.x[0] + m.x[1] / 2 + m.x[2] / 3)
    m.above = pyo.Constraint(m.t, rule=lambda m, t: m.x[0] + m.x[1] * t + m.x[2] * t**2 >= pyo.tan(t))
    pyo.TransformationFactory("dae.finite_difference").apply_to(m, nfe=points - 1, wrt=m.t)
    pyo.SolverFactory("appsi_highs").solve(m)
    return float(pyo.value(m.cost)), np.array([m.x[j].value for j in range(3)])
