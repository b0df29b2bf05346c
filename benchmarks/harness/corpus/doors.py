"""Random models through CVXPY and Pyomo, and random decision processes."""

from __future__ import annotations

from typing import Any

import numpy as np

import lsip

from .drawn import Rng, drawn
from .items import ITERATIONS


def _solved(problem: Any) -> Any:
    return problem.solve(verbose=False, max_iterations=ITERATIONS)


@drawn(20, _solved)
def cvxpy_door(rng: Rng) -> Any:
    """A polynomial above a function, with the least norm, largest entry or sum of squares of coefficients."""
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    n = int(rng.integers(2, 6))
    x, t = cp.Variable(n, name="x"), Index("t", lsip.Interval(0, 1))
    cost = [cp.norm(x), cp.norm_inf(x), cp.sum_squares(x), cp.sum(x), cp.norm1(x)][int(rng.integers(5))]
    above = t ** np.arange(n) @ x >= np.tan(t) * rng.uniform(0.5, 2) + rng.uniform(-1, 1)
    return Problem(cp.Minimize(cost), [forall(t, above), x >= -3, x <= 10])


@drawn(12, _solved)
def nothing_to_pay(rng: Rng) -> Any:
    """A norm or a sum of squares whose least value is zero, or next to it, where all constraints hold."""
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    n = int(rng.integers(2, 4))
    x, shift, root = cp.Variable(n, name="x"), rng.normal(size=n), rng.normal(size=(n, n)) + 2 * np.eye(n)
    t, rate, phase = Index("t", lsip.Interval(0, 1)), rng.uniform(1, 6, n), rng.uniform(0, 6, n)
    cost = cp.norm(root @ (x - shift)) if rng.random() < 0.3 else cp.sum_squares(root @ (x - shift))
    below = np.sin(rate * t + phase) @ x <= rng.uniform(0.4, 1) + 0.3 * np.cos(5 * t)
    return Problem(cp.Minimize(cost), [forall(t, below), cp.norm(x) <= 10])


def _by_pyomo(model: Any) -> Any:
    import pyomo.environ as pyo

    import lsip.interop.pyomo  # noqa: F401 - registers the solver

    solver = pyo.SolverFactory("lsip")
    return solver.solve(model, load_solutions=False, options={"max_iterations": ITERATIONS}).lsip


@drawn(20, _by_pyomo)
def pyomo_door(rng: Rng) -> Any:
    """The same kind of model, with a ContinuousSet."""
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet

    n, rate, shift = int(rng.integers(2, 6)), rng.uniform(1, 5), rng.uniform(-1, 1)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=(-20, 20))
    m.t = ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=sum(m.x[k] / (k + 1) for k in range(n)))
    m.above = pyo.Constraint(m.t, rule=lambda m, t: sum(m.x[k] * t**k for k in range(n)) >= pyo.sin(rate * t) + shift)
    return m


def _planned(mdp: Any) -> Any:
    import rl

    return rl.plan(mdp, max_iterations=ITERATIONS).solution


@drawn(20, _planned)
def plan(rng: Rng) -> Any:
    """A decision process of the paper's first experiment, small or large enough to be decomposed."""
    import envs

    states = int(rng.choice([4, 6, 8, 12, 20, 40]))
    return envs.sewage(states=states, actions=int(rng.integers(2, 5)), seed=int(rng.integers(1000)))
