"""One small model of every kind that can be written, solved once each and shared by the tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lsip
from lsip import forall, maximize, minimize

inf = np.inf
KINDS: dict[str, Callable[[], Any]] = {}  # each gives a solution


def kind(make: Callable[[], Any]) -> Callable[[], Any]:
    """Register a model under the name of its function."""
    KINDS[make.__name__] = make
    return make


@cache
def solved(name: str) -> Any:
    """The solution of a kind, the same for all tests."""
    return KINDS[name]()


def x(n: int = 2, **bounds: Any) -> lsip.Variable[Any]:
    return lsip.Variable(n, name="x", **({"lower": -5, "upper": 5} | bounds))


def answer(objective: Any, *constraints: Any, **options: Any) -> Any:
    return lsip.Problem(objective, list(constraints)).solve(verbose=False, **options)


def over(domain: lsip.Domain) -> Callable[[], Any]:
    """A cover of a smooth function of the index, over any set."""

    def make() -> Any:
        y, v = lsip.Index("y", domain), x()
        first = y[0] if y.shape else y
        return answer(minimize(v[0] + v[1] / 3), forall(y, v[0] + v[1] * first >= np.exp(first) / 4, name="above"))

    return make


DOMAINS = {
    "interval": lsip.Interval(0, 1),
    "box": lsip.Box([0, -1], [1, 1]),
    "ball": lsip.Ball([0, 0], 1),
    "ellipsoid": lsip.Ellipsoid([0, 0], [[2, 0.3], [0.3, 1]]),
    "simplex": lsip.Simplex(3),
    "polytope": lsip.Polytope([[1, 1], [-1, 0], [0, -1]], [1, 0, 0]),
    "budget": lsip.Budget(3, 1.5),
    "finite": lsip.Finite([[0.0], [1e-4], [1.0]]),
    "union": lsip.Interval(0, 1) | lsip.Interval(2, 3),
    "union_of_boxes": lsip.Box([0, 0], [1, 1]) | lsip.Box([2, 0], [3, 1]),
    "intersection": lsip.Box([0, 0], [1, 1]) & lsip.Ball([0, 0], 1),
    "product": lsip.Interval(0, 1) * lsip.Ball([0, 0], 1),
    "region": lsip.Box([-1, -1], [1, 1]).where(lambda y: y[0] + y[1] ** 2 <= 1),
}
KINDS |= {f"over_{name}": over(domain) for name, domain in DOMAINS.items()}


@kind
def two_indices() -> Any:
    t, u, v = lsip.Index("t", lsip.Interval(0, 1)), lsip.Index("u", lsip.Interval(0, 2)), x()
    return answer(minimize(v[0] + v[1]), forall((t, u), v[0] + v[1] * t * u >= np.sin(t + u)))


@kind
def several_families() -> Any:
    t, u, v = lsip.Index("t", lsip.Interval(0, 1)), lsip.Index("u", lsip.Box([0, 0], [1, 1])), x()
    rows = [forall(t, [v[0] + v[1] * t >= t**2, v[1] * t <= 3], name="both"), forall(u, v[0] >= u[0] * u[1])]
    return answer(minimize(v[0] + v[1]), rows, v.sum() <= 9, v[0] == v[1] + 0.25)


@kind
def half_line() -> Any:
    u, z = lsip.Index("u", lsip.Interval(2, inf)), x(1)
    return answer(minimize(z[0]), forall(u, z[0] * u**2 >= u**2 + 1, name="tail"))


@kind
def at_infinity() -> Any:
    u, z = lsip.Index("u", lsip.Interval(-inf, -1)), x(1)
    return answer(minimize(z[0]), forall(u, z[0] * u**2 >= u**2 - 1, name="tail"))


@kind
def whole_line() -> Any:
    r, z = lsip.Index("r", lsip.Interval(-inf, inf)), x(1, lower=-99, upper=99)
    return answer(minimize(z[0]), forall(r, r**4 - 4 * r**3 + 2 * r + z[0] >= 0))


@kind
def half_plane() -> Any:
    y, z = lsip.Index("y", lsip.Box([-inf, 0], [inf, inf])), x(1)
    return answer(minimize(z[0]), forall(y, y[0] ** 2 + y[1] ** 2 + z[0] * y[0] * y[1] + 1 >= 0))


@kind
def half_line_and_interval() -> Any:
    t, q, z = lsip.Index("t", lsip.Interval(0, inf)), lsip.Index("q", lsip.Interval(0, 1)), x(1)
    return answer(minimize(z[0]), forall((t, q), t**2 - 2 * t * q + z[0] >= 0))


@kind
def equality_for_all() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    match = forall(t, v[0] + v[1] * t == 1 + 2 * t, name="match")
    return answer(minimize(v[2]), match, forall(t, v[2] >= t * v[1]))


@kind
def divided() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    return answer(minimize(v[1] + 0.3 * v[2]), v[0] == 0, forall(t, v[0] + v[1] * t + v[2] * t**2 >= t * (1 - t)))


@kind
def squeezed() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    p = v[0] + v[1] * t + v[2] * t**2
    return answer(maximize(v[1] - 0.2 * v[2]), forall(t, p >= 0, name="low"), forall(t, p <= t, name="high"))


@kind
def touching_inside() -> Any:
    t, v = lsip.Index("t", lsip.Interval(-1, 1)), x(4)
    return answer(minimize(v[2] + 0.1 * v[3]), v[0] == 0, forall(t, v @ t ** np.arange(4) >= t**2 * np.array(0.5)))


@kind
def absolute_values() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x()
    fit = v[0] + v[1] * t
    return answer(minimize(np.abs(fit - np.exp(t)), over=t), np.abs(v).sum() <= 4)


@kind
def absolute_objective() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    return answer(minimize(np.abs(v).sum()), forall(t, v @ t ** np.arange(3) >= np.exp(t)))


@kind
def long_norm() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(12)
    return answer(minimize(v[0] + np.abs(v).sum()), forall(t, v[0] + v[1] * t >= t), np.abs(v).sum() <= 9)


@kind
def maxima() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x()
    return answer(maximize(np.minimum(v[0], 2 * v[1])), forall(t, np.maximum(v[0] * t, v[1]) <= 1 + t, name="most"))


@kind
def norms() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    moved = np.stack([v[0] - t, v[1] + t**2])
    return answer(minimize(v[2]), forall(t, np.linalg.norm(moved) <= v[2], name="reach"), tol=1e-6)


@kind
def finite_norms() -> Any:
    v = x(3)
    t = lsip.Index("t", lsip.Interval(0, 1))
    rows = [(np.linalg.norm(v - np.array([1, 2, 3])) <= 2).named("ball"), forall(t, v[0] >= t * v[1])]
    return answer(minimize(v.sum()), rows, tol=1e-5)


@kind
def least_norm() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(2)
    return answer(minimize(np.linalg.norm(v)), forall(t, v[0] + v[1] * t >= 1 + t, name="above"), tol=1e-5)


@kind
def cones() -> Any:
    t, v = lsip.Index("t", lsip.Interval(-1, 1)), lsip.Variable(name="v", lower=-9, upper=9)
    return answer(minimize(v), forall(t, lsip.psd(np.stack([np.stack([v, t]), np.stack([t, 2.0])]))))


@kind
def finite_cone() -> Any:
    v = x(2)
    matrix = np.stack([np.stack([v[0], 1.0 + 0 * v[0]]), np.stack([1.0 + 0 * v[0], v[1]])])
    t = lsip.Index("t", lsip.Interval(0, 1))
    return answer(minimize(v.sum()), lsip.psd(matrix), forall(t, v[0] >= t / 9), tol=1e-5)


@kind
def rules() -> Any:
    z, v = lsip.Index("z", lsip.Box([0, 0], [1, 1])), x(1)
    order = lsip.Rule(name="order", of=z)
    return answer(minimize(v[0]), forall(z, [v[0] >= order, order >= z[0] + z[1] / 2], name="orders"))


@kind
def rules_in_pieces() -> Any:
    z, v = lsip.Index("z", lsip.Interval(-1, 1)), x(1)
    order = lsip.Rule(name="order", of=z, pieces=2)
    low = forall(z, [order >= z, order >= -z], name="low")
    return answer(minimize(v[0]), low, forall(z, v[0] >= order + z / 4, name="high"))


@kind
def counterpart() -> Any:
    v, z = x(3, lower=0), lsip.Index("z", lsip.Budget(3, 1.5))
    return answer(maximize(v.sum()), forall(z, (2 + z) @ v <= 1), method=lsip.Counterpart())


@kind
def integers() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(2, lower=-3, upper=3, integer=True)
    w = lsip.Variable(name="w", lower=-9, upper=9)
    return answer(minimize(v.sum() + w), forall(t, v[0] + v[1] * t + w >= np.exp(t)), v[0] <= 2)


@kind
def integer_counterpart() -> Any:
    v, z = x(3, lower=0, upper=3, integer=True), lsip.Index("z", lsip.Budget(3, 1.5))
    return answer(maximize(v.sum()), forall(z, (2 + z) @ v <= 9), method=lsip.Counterpart())


@kind
def integrals() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    fit = t ** np.arange(3) @ v
    mean = lsip.integral(fit * np.exp(-t), t) <= 2
    return answer(minimize(lsip.integral(fit - np.tan(t), t)), forall(t, fit >= np.tan(t)), mean.named("mean"))


@kind
def fractions() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    fit = t ** np.arange(3) @ v
    return answer(minimize(v[0]), (lsip.integral(fit, t) == 1).named("area"), forall(t, fit >= t / 3, name="above"))


@kind
def expectations() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(2)
    normal = lsip.Index("n", lsip.Interval(-inf, inf))
    mean = lsip.expectation(v[0] * np.cos(normal) + v[1], normal, stats.norm(1, 2))
    return answer(minimize(mean), forall(t, v[0] * t + v[1] >= np.exp(t)), v[0] >= 0.5)


@kind
def wasserstein() -> Any:
    order, demand = lsip.Variable(name="order", lower=0), lsip.Index("demand", lsip.Interval(0, 30))
    near = lsip.ambiguity.Wasserstein(np.array([4.0, 7, 12]), radius=0.5)
    sales = lsip.worst_expectation([-demand, -order], near)
    return answer(minimize(order + 3 * sales.value), sales.constraints)


@kind
def moments() -> Any:
    order, demand = lsip.Variable(name="order", lower=0), lsip.Index("demand", lsip.Interval(0, 30))
    sales = lsip.worst_expectation([-demand, -order], lsip.ambiguity.Moments(9.0, 14.0))
    return answer(minimize(order + 3 * sales.value), sales.constraints)


@kind
def cvar() -> Any:
    share, r = lsip.Variable(2, name="share", lower=0), lsip.Index("r", lsip.Box([-1, -1], [1, 1]))
    data = np.array([[0.05, 0.12], [0.02, -0.1], [0.04, 0.2]])
    risk = lsip.cvar(-(share @ r), 0.5, lsip.ambiguity.Wasserstein(data, 0.001))
    return answer(minimize(risk.value), risk.constraints, share.sum() == 1)


@kind
def parameters() -> Any:
    p, t, v = lsip.Parameter(name="p", value=2.0), lsip.Index("t", lsip.Interval(0, 1)), x()
    problem = lsip.Problem(minimize(v[0] + v[1]), [forall(t, v[0] + v[1] * t >= p * t**2, name="above"), v[0] >= p / 9])
    problem.solve(verbose=False)
    p.value = 3.0
    return problem.solve(verbose=False)


@kind
def added_later() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x()
    problem = lsip.Problem(minimize(v[0] + v[1]), [forall(t, v[0] + v[1] * t >= t**2)])
    problem.solve(verbose=False)
    problem.add(forall(t, v[0] >= np.sin(t), name="later"))
    return problem.solve(verbose=False)


@kind
def splines_and_jumps() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x()
    return answer(minimize(v[0] + v[1]), forall(t, v[0] + v[1] * t >= np.where(t < 0.5, t, t**2) + np.maximum(t, 0.3)))


@kind
def functions() -> Any:
    """Traced callables, by way of `linsip`."""
    above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
    return lsip.linsip([1, 1 / 2, 1 / 3], [above], [[1, 0, 0]], [9], bounds=(None, None))


def opaque(y: Any) -> Any:
    """Right-hand sides that cannot be traced."""
    return np.array([-(float(v) ** 2) for v in np.asarray(y)[:, 0]])


def powers(y: Any) -> Any:
    """Coefficients that cannot be traced."""
    return -np.array([[1.0, float(v)] for v in np.asarray(y)[:, 0]])


def line(y: Any) -> Any:
    """Coefficients that can be traced."""
    return -(y ** np.arange(2))


def tangent(y: Any) -> Any:
    """Right-hand sides that can be traced."""
    return -np.tan(y[:, 0])


@kind
def black_box() -> Any:
    """Without constants, nothing is proven."""
    return lsip.linsip([1, 1 / 2], [lsip.Family(lsip.Interval(0, 1), powers, opaque)], bounds=(-3, 3))


@kind
def black_box_with_constants() -> Any:
    family = lsip.Family(lsip.Interval(0, 1), powers, opaque, lipschitz=(1.0, 2.0))
    return lsip.linsip([1, 1 / 2], [family], bounds=(-3, 3), tol=1e-3)


@kind
def functions_in_a_problem() -> Any:
    v, t = x(), lsip.Index("t", lsip.Interval(0, 1))
    return answer(
        minimize(v[0] + v[1]), lsip.Family(lsip.Interval(0, 1), line, tangent).on(v), forall(t, v[0] >= t / 9)
    )


@kind
def finite_only() -> Any:
    v = x(2, lower=0)
    return answer(minimize(v.sum()), v[0] + 2 * v[1] >= 1, np.abs(v[0] - v[1]) <= 1)


@kind
def infeasible() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x()
    return answer(minimize(v[0]), forall(t, v[0] * t >= 1, name="above"), v[1] == v[0])


@kind
def infeasible_half_line() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, inf)), x()
    return answer(minimize(v[0]), forall(t, v[0] * t**2 >= t**2 + 1, name="above"))


@kind
def unbounded() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x")
    return answer(minimize(v[0] - v[1]), forall(t, v[0] + v[1] * t >= t))


@kind
def unbounded_convex() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x")
    return answer(minimize(np.maximum(v[0], v[0] / 2 - 1) - v[1]), forall(t, v[0] + v[1] * t >= t))


@kind
def no_time() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(3)
    return answer(minimize(v.sum()), forall(t, v @ t ** np.arange(3) >= np.exp(t)), time_limit=0)


@kind
def one_iteration() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(4, lower=-99, upper=99)
    return answer(minimize(np.abs(v @ t ** np.arange(4) - np.exp(5 * t)), over=t), max_iterations=1, polish=False)


def disc(w: Any) -> lsip.Extreme:
    """The point of the unit disc farthest in a direction."""
    return lsip.Extreme(w / np.linalg.norm(w), float(np.linalg.norm(w)) * (1 + 1e-15))


@kind
def decomposed() -> Any:
    t, v = lsip.Index("t", lsip.Interval(0, 1)), x(2, lower=-1, upper=1)
    rows = [forall(t, t * v[0] + (1 - t) * v[1] <= 0.6 + t**2, name="below")]
    return lsip.decompose(lsip.Problem(maximize(v[0] + v[1]), rows), disc)


@kind
def through_cvxpy() -> Any:
    cp = pytest.importorskip("cvxpy")
    door = pytest.importorskip("lsip.interop.cvxpy")
    v, t = cp.Variable(3, name="v"), door.Index("t", lsip.Interval(0, 1))
    problem = door.Problem(cp.Minimize(v[0] + v[1] / 2), [door.forall(t, v[0] + v[1] * t >= np.exp(t)), v[2] == 1])
    problem.solve()
    return problem.solution


@kind
def through_cvxpy_convex() -> Any:
    cp = pytest.importorskip("cvxpy")
    door = pytest.importorskip("lsip.interop.cvxpy")
    v, t = cp.Variable(2, name="v"), door.Index("t", lsip.Interval(0, 1))
    problem = door.Problem(cp.Minimize(cp.norm(v)), [door.forall(t, v[0] + v[1] * t >= np.exp(t))])
    problem.solve()
    return problem.solution


@kind
def through_pyomo() -> Any:
    pyo = pytest.importorskip("pyomo.environ")
    dae = pytest.importorskip("pyomo.dae")
    pytest.importorskip("lsip.interop.pyomo")
    m = pyo.ConcreteModel()
    m.v = pyo.Var(range(3), bounds=(-9, 9))
    m.t = dae.ContinuousSet(bounds=(0, 1))
    m.cost = pyo.Objective(expr=m.v[0] + m.v[1] / 2 + m.v[2] / 3)
    m.above = pyo.Constraint(m.t, rule=lambda m, t: m.v[0] + m.v[1] * t + m.v[2] * t**2 >= pyo.tan(t))
    m.floor = pyo.Constraint(expr=m.v[0] >= -1)
    return pyo.SolverFactory("lsip").solve(m).lsip
