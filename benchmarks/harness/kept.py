"""Thirty kinds of small model, each built and solved anew; what is returned has to be gone when nobody holds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import lsip

Watched = tuple[Any, ...]
KINDS: dict[str, Callable[[], Watched]] = {}


def kind(build: Callable[[], Watched]) -> Callable[[], Watched]:
    """Add a kind under the name of its function."""
    KINDS[build.__name__] = build
    return build


def _solved(problem: Any, *others: Any, **options: Any) -> Watched:
    solution = problem.solve(verbose=False, **options)
    return problem, solution, *others


def _fit(domain: lsip.Domain, function: Callable[[Any], Any]) -> Watched:
    """The smallest affine function above another one, on average at the corners."""
    y = lsip.Index("y", domain)
    first, m = (y, 1) if domain.scalar else (y.sum(), domain.dim)
    x = lsip.Variable(2, name="x", lower=-50, upper=50)
    return _solved(
        lsip.Problem(lsip.minimize(x[0] + m * x[1] / 2), [lsip.forall(y, x[0] + x[1] * first >= function(first))]), x, y
    )


@kind
def interval() -> Watched:
    return _fit(lsip.Interval(0, 1), np.tan)


@kind
def box() -> Watched:
    return _fit(lsip.Box([0, 0], [1, 1]), np.exp)


@kind
def ball() -> Watched:
    return _fit(lsip.Ball([0, 0], 1), np.sin)


@kind
def ellipsoid() -> Watched:
    return _fit(lsip.Ellipsoid([0, 0], [[1, 0.2], [0.2, 1]]), np.cos)


@kind
def polytope() -> Watched:
    return _fit(lsip.Polytope([[1.0, 1], [-1, 0], [0, -1]], [1.0, 0, 0]), np.exp)


@kind
def simplex() -> Watched:
    y, x = lsip.Index("y", lsip.Simplex(3)), lsip.Variable(3, name="x", upper=9)
    return _solved(lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(y, x @ y >= np.exp(y[0] - y[1]))]), x, y)


@kind
def budget() -> Watched:
    y, x = lsip.Index("y", lsip.Budget(4, 2)), lsip.Variable(4, name="x", lower=0, upper=9)
    return _solved(lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, x @ (1 + 0.1 * y) <= 5)]), x, y)


@kind
def finite() -> Watched:
    return _fit(lsip.Finite(np.linspace(0, 1, 30)[:, None]), np.sqrt)


@kind
def product() -> Watched:
    return _fit(lsip.Product(lsip.Interval(0, 1), lsip.Ball([0, 0], 1)), np.exp)


@kind
def union() -> Watched:
    return _fit(lsip.Interval(0, 1) | lsip.Interval(2, 3), np.sin)


@kind
def region() -> Watched:
    return _fit(lsip.Box([0, 0], [1, 1]).where(lambda y: y[0] * y[1] <= 0.5), np.exp)


@kind
def unbounded_set() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, np.inf)), lsip.Variable(3, name="x", upper=9)
    return _solved(lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= t)]), x, t)


@kind
def two_indices() -> Watched:
    s, t = lsip.Index("s", lsip.Interval(0, 1)), lsip.Index("t", lsip.Interval(0, 1))
    x = lsip.Variable(2, name="x", lower=-9, upper=9)
    return _solved(
        lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall((s, t), x[0] + x[1] * s >= np.exp(s * t))]), x, s
    )


@kind
def equality() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(3, name="x", lower=-9, upper=9)
    return _solved(
        lsip.Problem(lsip.minimize(x[2]), [lsip.forall(t, x[0] + x[1] * t == 1 + t), x[2] >= x.sum() / 2]), x, t
    )


@kind
def jumps() -> Watched:
    return _fit(lsip.Interval(0, 1), lambda t: np.where(t >= 0.4, t + 1, abs(t - 0.2)))


@kind
def absolute_values() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(3, name="x", lower=-9, upper=9)
    error = abs(x[0] + x[1] * t - np.exp(t))
    return _solved(lsip.Problem(lsip.minimize(x[2]), [lsip.forall(t, error <= x[2])]), x, t)


@kind
def norm() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    bounded = lsip.forall(t, np.linalg.norm(np.stack([x[0] * t, x[1]])) <= 1 + t)
    return _solved(lsip.Problem(lsip.maximize(x[0] + x[1]), [bounded]), x, t, tol=1e-6)


@kind
def semidefinite() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    matrix = np.stack([np.stack([x[0], t * 1.0 + 0 * x[0]]), np.stack([t * 1.0 + 0 * x[0], x[1]])])
    return _solved(lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall(t, lsip.psd(matrix))]), x, t, tol=1e-5)


@kind
def decision_rule() -> Watched:
    z = lsip.Index("z", lsip.Box([0, 0], [1, 1]))
    x, later = lsip.Variable(name="x", lower=0, upper=9), lsip.Rule(of=z[:1], name="later")
    rows = [lsip.forall(z, x + later >= 1 + z[0] + z[1]), lsip.forall(z, later >= 0), lsip.forall(z, later <= 1)]
    return _solved(lsip.Problem(lsip.minimize(x), rows), x, z)


@kind
def integers() -> Watched:
    t, k = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="k", lower=0, upper=9, integer=True)
    return _solved(lsip.Problem(lsip.minimize(k.sum()), [lsip.forall(t, k[0] + k[1] * t >= np.exp(t))]), k, t)


@kind
def integral() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    mean = lsip.integral(x[0] + x[1] * t, t)
    return _solved(lsip.Problem(lsip.minimize(mean), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))]), x, t)


@kind
def ambiguity() -> Watched:
    x, y = lsip.Variable(name="x", lower=0, upper=30), lsip.Index("y", lsip.Interval(0, 30))
    sold = lsip.worst_expectation([-y, -x], lsip.ambiguity.Wasserstein(np.array([4.0, 7, 8]), radius=0.5))
    return _solved(lsip.Problem(lsip.minimize(x + 3 * sold.value), sold.constraints), x, y)


@kind
def parameters() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x", lower=-9, upper=9)
    height = lsip.Parameter(name="height", value=1.0)
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= height * np.exp(t))])
    first = problem.solve(verbose=False)
    height.value = 1.5
    return _solved(problem, first, x, t, height, warm_start=first)


@kind
def black_box() -> Watched:
    family = lsip.Family(lsip.Interval(0, 1), lambda y: _rows(y), lambda y: -np.cos(y[:, 0].tolist()), lipschitz=1.0)
    return family, lsip.linsip([1.0, 0.5], [family], bounds=(-9, 9), tol=1e-2)


def _rows(y: Any) -> Any:
    return -np.column_stack([np.ones(len(y)), np.array(y[:, 0].tolist())])


@kind
def infeasible() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="x", lower=0, upper=1)
    return _solved(lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= 1 + t)]), x, t)


@kind
def unbounded() -> Watched:
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x")
    return _solved(lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, x[1] * (1 + t) >= x[0])]), x, t)


@kind
def saved_and_loaded() -> Watched:
    problem, solution, *_ = interval()
    with TemporaryDirectory() as folder:
        problem.save(Path(folder) / "problem.json")
        solution.save(Path(folder) / "solution.npz")
        solution.export(Path(folder) / "proof.json")
        loaded = lsip.load(Path(folder) / "problem.json")
        return (
            problem,
            solution,
            loaded,
            lsip.Solution.load(Path(folder) / "solution.npz", problem),
            loaded.solve(verbose=False),
        )


@kind
def told() -> Watched:
    """Whatever can be asked of a solution."""
    problem, solution, *others = interval()
    solution.verify()
    str(problem), str(solution), problem._repr_latex_(), solution._repr_html_()
    with TemporaryDirectory() as folder:
        solution.report(Path(folder) / "report.html")
        solution.plot(Path(folder) / "picture.png")
    return problem, solution, *others


@kind
def cvxpy() -> Watched:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    t, x = Index("t", lsip.Interval(0, 1)), cp.Variable(2, name="x")
    problem = Problem(cp.Minimize(cp.norm(x)), [forall(t, x[0] + x[1] * t >= np.exp(t))])
    return problem, problem.solve(verbose=False), x


@kind
def pyomo() -> Watched:
    import pyomo.environ as pyo
    from pyomo.dae import ContinuousSet

    import lsip.interop.pyomo  # noqa: F401 (it registers the solver)

    m = pyo.ConcreteModel()
    m.t = ContinuousSet(bounds=(0, 1))
    m.x = pyo.Var([0, 1], bounds=(-9, 9))
    m.cost = pyo.Objective(expr=m.x[0] + m.x[1] / 2)
    m.above = pyo.Constraint(m.t, rule=lambda m, t: m.x[0] + m.x[1] * t >= pyo.exp(t))
    results = pyo.SolverFactory("lsip").solve(m)
    return m, results.lsip
