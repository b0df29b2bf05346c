"""The CVXPY door: convex models, their proofs, and what is not proven."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import brentq

import lsip

cp = pytest.importorskip("cvxpy")

from lsip.cones import ConeRows, Exponential, Power, SecondOrder, Semidefinite  # noqa: E402
from lsip.expressions.interval import Interval  # noqa: E402
from lsip.interop.cvxpy import ConvexSolution, Index, Problem, forall  # noqa: E402

T = Index("t", lsip.Interval(0, 1))
Y = Index("y", lsip.Box([0, 0], [1, 1]))


def above_tan(x):
    return forall(T, x[0] + x[1] * T + x[2] * T**2 >= np.tan(T))


def certified(problem, **options):
    """Solve, and check what must hold for every certified answer."""
    solution = problem.solve(**options)
    assert solution.status is lsip.Status.OPTIMAL, solution.message
    assert isinstance(solution, ConvexSolution)
    assert solution.lower <= solution.value <= solution.upper or solution.upper == pytest.approx(solution.value)
    assert solution.gap <= solution.tol or solution.upper - solution.lower <= solution.atol <= 1e-9
    assert all(v <= 0 for v in solution.certificate.violation)
    assert solution.certified
    assert np.isinf(solution.certificate.radius)
    assert problem.status == "optimal"
    assert problem.value == solution.value
    solution.verify()
    return solution


# ---- optima that are known ------------------------------------------------------------------------------------------


def test_smallest_norm_above_tan():
    """Only t = 1 matters, where x0 + x1 + x2 >= tan 1."""
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(cp.norm(x)), [above_tan(x), x <= 10])
    solution = certified(problem)
    assert solution.lower <= np.tan(1) / np.sqrt(3) <= solution.upper
    np.testing.assert_allclose(x.value, np.tan(1) / 3, atol=1e-5)
    ((point, weight),) = problem.constraints[0].dual_value
    assert (point, weight) == (1.0, pytest.approx(1 / np.sqrt(3), abs=1e-6))
    assert problem.constraints[0].violation() == 0
    np.testing.assert_array_equal(solution[x], x.value)
    assert solution[cp.norm(x)] == pytest.approx(solution.value)


def test_greatest_entropy_with_a_mean():
    """The constraint binds at t = 1, where it says that the mean is at least 2.5: p_k ~ exp(θ k)."""
    p, k = cp.Variable(5, name="p"), np.arange(5)
    problem = Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, forall(T, T * (k @ p) >= 2.6 * T - 0.1)])
    theta = brentq(lambda v: np.exp(v * k) @ k / np.exp(v * k).sum() - 2.5, -5, 5)
    best = np.exp(theta * k) / np.exp(theta * k).sum()
    solution = certified(problem)
    assert solution.lower - 1e-9 <= -(best @ np.log(best)) <= solution.upper + 1e-9
    np.testing.assert_allclose(p.value, best, atol=1e-4)
    assert solution.certificate.finite_violation <= 1e-8


def test_matrix_above_the_identity():
    """c' X c >= 1 for every unit vector c means X >= I, so that the trace is at least 2."""
    X = cp.Variable((2, 2), PSD=True, name="X")
    t = Index("t", lsip.Interval(0, np.pi))
    c = np.stack([np.cos(t), np.sin(t)])
    solution = certified(Problem(cp.Minimize(cp.trace(X)), [forall(t, c @ X @ c >= 1)]))
    assert solution.lower <= 2 <= solution.upper
    assert np.linalg.eigvalsh(X.value)[0] >= 1 - 1e-12


def test_smallest_ellipse_around_an_ellipse():
    """log det over X with c' X c <= 1 on the curve (2 cos t, sin t): X = diag(1/4, 1)."""
    X = cp.Variable((2, 2), symmetric=True, name="X")
    t = Index("t", lsip.Interval(0, np.pi))
    c = np.stack([2 * np.cos(t), np.sin(t)])
    solution = certified(Problem(cp.Maximize(cp.log_det(X)), [forall(t, c @ X @ c <= 1)]))
    assert solution.lower <= -np.log(4) <= solution.upper
    np.testing.assert_allclose(X.value, np.diag([0.25, 1]), atol=1e-3)


@pytest.mark.parametrize("weights", [[0.5, 0.5], [0.2, 0.3, 0.5]])
def test_power_cones(weights):
    """x_i <= 1 follows from the corners of a simplex of weights; the geometric mean is then 1."""
    n = len(weights)
    x, y = cp.Variable(n, name="x"), Index("y", lsip.Simplex(n))
    objective = cp.geo_mean(x, weights, approx=False)
    solution = certified(Problem(cp.Maximize(objective), [forall(y, y @ x <= 1)]))
    assert solution.lower <= 1 <= solution.upper


def test_a_quadratic_objective_and_several_solvers():
    q = cp.Variable(6, name="q")
    problem = Problem(cp.Minimize(cp.sum_squares(q) + q[0]), [forall(T, T ** np.arange(6) @ q >= np.exp(T))])
    found = [certified(problem)]
    found.append(certified(problem, solver=cp.SCS, eps=1e-9))
    assert problem.solver_stats.solver_name == "SCS"
    found.append(certified(problem, solver=cp.OSQP, eps_abs=1e-9, eps_rel=1e-9, max_iter=100_000))
    assert max(s.lower for s in found) <= min(s.upper for s in found)


def test_a_linear_model_with_a_named_solver():
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(x[0] + x[1] / 2 + x[2] / 3), [above_tan(x), x <= 10])
    exact = problem.solve().value
    solution = certified(problem, solver=cp.CLARABEL, tol=1e-5)
    assert solution.lower <= exact + 1e-8
    assert exact <= solution.upper + 1e-8


def test_attributes_of_variables_hold():
    w, b = cp.Variable(3, nonneg=True, name="w"), cp.Variable(2, bounds=[-1, 2], name="b")
    d = cp.Variable((2, 2), diag=True, name="d")
    features = np.stack([Y[0], Y[1], 1 + 0 * Y[0]])
    cover = forall(Y, w @ features + b @ Y + cp.trace(d) * Y[0] >= np.exp(Y[0] * Y[1]))
    certified(Problem(cp.Minimize(cp.sum_squares(w) + 0.1 * cp.sum_squares(b)), [cover, d <= 0.2]))
    assert (w.value >= 0).all()
    assert ((b.value >= -1) & (b.value <= 2)).all()
    assert cover.violation() == 0


def test_parameters_may_change_between_solves():
    x, level = cp.Variable(3, name="x"), cp.Parameter(nonneg=True, name="level")
    above = forall(T, x[0] + x[1] * T + x[2] * T**2 >= level * np.tan(T))
    problem = Problem(cp.Minimize(level * cp.norm(x)), [above])
    first = None
    for level.value in (1.0, 2.0):
        solution = certified(problem)
        assert solution.value == pytest.approx(level.value**2 * np.tan(1) / np.sqrt(3), rel=1e-6)
        first = first or solution
    first.verify()  # with the parameter as it was then


def test_dual_values_agree_with_a_discretised_model():
    x, t = cp.Variable(3, name="x"), np.linspace(0, 1, 501)
    finite = [x[0] >= 0.2, cp.norm(x) <= 5, x[1] == 0.3, cp.bmat([[x[1], x[2]], [x[2], 1]]) >> 0]
    for sense, sign in ((cp.Minimize, 1), (cp.Maximize, -1)):
        objective = sense(sign * (cp.norm(x) + 3 * x[0]))
        above = above_tan(x)
        solution = certified(Problem(objective, [*finite, above]))
        mine = [np.array(c.dual_value) for c in finite]
        cuts = x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)
        grid = cp.Problem(objective, [*finite, cuts])
        assert grid.solve(cp.CLARABEL) == pytest.approx(solution.value, abs=1e-5)
        for got, constraint in zip(mine, finite, strict=True):
            np.testing.assert_allclose(got, constraint.dual_value, atol=1e-3)
        assert sum(m for _, m in above.dual_value) == pytest.approx(cuts.dual_value.sum(), abs=1e-3)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 5), norm=st.booleans())
@settings(max_examples=10, deadline=None)
def test_random_convex_models_against_fine_grids(seed, n, norm):
    rng = np.random.default_rng(seed)
    x, shift, root = cp.Variable(n, name="x"), rng.normal(size=n), rng.normal(size=(n, n)) + 2 * np.eye(n)
    phase, speed, level = rng.uniform(0, 6, n), rng.uniform(1, 6, n), rng.uniform(0.4, 1)
    objective = cp.norm(root @ (x - shift)) if norm else cp.sum_squares(root @ (x - shift))
    constraint = forall(T, np.sin(speed * T + phase) @ x <= level + 0.3 * np.cos(5 * T))
    problem = Problem(cp.Minimize(objective), [constraint, cp.norm(x) <= 10])
    solution = certified(problem)
    best, t = x.value.copy(), np.linspace(0, 1, 1001)[:, None]
    rows, rhs = np.sin(speed * t + phase), level + 0.3 * np.cos(5 * t[:, 0])
    assert (rows @ best <= rhs + 1e-12).all()
    grid = cp.Problem(cp.Minimize(objective), [rows @ x <= rhs, cp.norm(x) <= 10])
    value = grid.solve(cp.CLARABEL)
    size = max(1.0, abs(value))
    assert value <= solution.upper + 1e-6 * size  # a grid relaxes
    assert solution.lower <= value + 1e-3 * size  # by no more than its spacing allows


def test_rows_that_vanish_do_no_harm():
    """All coefficients are zero at y = 0, and the right-hand side is not."""
    x = cp.Variable(2, name="x")
    problem = Problem(cp.Minimize(cp.sum_squares(x - 3)), [forall(Y, np.sin(Y) @ x <= 0.5 + Y[0] * Y[1])])
    solution = certified(problem)
    y = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2), axis=-1).reshape(-1, 2)
    grid = cp.Problem(problem.objective, [np.sin(y) @ x <= 0.5 + y.prod(axis=1)]).solve(cp.CLARABEL)
    assert solution.lower - 1e-3 <= grid <= solution.upper + 1e-6


# ---- other ends ------------------------------------------------------------------------------------------------------


def test_infeasible_models_are_proven_so():
    x = cp.Variable(3, name="x")
    constraint = forall(T, x[0] + x[1] * T >= 1)
    problem = Problem(cp.Minimize(cp.norm(x)), [constraint, cp.norm(x) <= 0.1])
    solution = problem.solve()
    assert solution.status is lsip.Status.INFEASIBLE
    solution.verify()
    assert (problem.status, problem.value, x.value) == ("infeasible", np.inf, None)
    assert math.isnan(solution.value)
    c = solution.certificate
    for wrong, message in (
        ({"radius": 1e6}, "without any region"),
        ({"support": tuple(replace(s, multiplier=0.5 * s.multiplier) for s in c.support)}, "contradict|balance"),
    ):
        with pytest.raises(lsip.ProofError, match=message):
            replace(solution, certificate=replace(c, **wrong)).verify()


def test_unbounded_models_are_proven_so():
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(x[0] + cp.norm(x[1:])), [forall(T, x[1] * T + x[2] >= T)])
    solution = problem.solve()
    assert solution.status is lsip.Status.UNBOUNDED
    solution.verify()
    assert (problem.status, problem.value, x.value) == ("unbounded", -np.inf, None)
    back = replace(solution.certificate, direction=-solution.certificate.direction)
    with pytest.raises(lsip.ProofError, match="not proven to improve"):
        replace(solution, certificate=back).verify()


def test_an_unbounded_relaxation_is_not_the_problem():
    """x0 is held only for t near 0.377, which no first point sees: x0 <= (1 + t - x1) / 0.01 there."""
    x = cp.Variable(3, name="x")
    bump = np.maximum(0.01 - (T - 0.377) ** 2, 0)
    problem = Problem(cp.Minimize(-x[0] + 200 * cp.norm(x[1:])), [forall(T, x[0] * bump + x[1] <= 1 + T)])
    solution = certified(problem)
    t = np.linspace(0.27, 0.48, 100_001)
    with np.errstate(divide="ignore"):
        best = -np.min((1 + t) / np.maximum(0.01 - (t - 0.377) ** 2, 0))
    assert solution.lower - 1e-4 <= best <= solution.upper + 1e-4


def test_models_without_interior_say_so():
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(cp.norm(x)), [forall(T, x[0] * (T - 0.5) ** 2 <= 0), x[0] >= 0, x[1] >= 1])
    solution = problem.solve()
    assert solution.status is lsip.Status.NO_INTERIOR
    assert not solution.certified
    assert problem.status == "optimal_inaccurate"
    assert solution.lower <= 1


def test_limits_and_callbacks():
    q = cp.Variable(6, name="q")
    problem = Problem(cp.Minimize(cp.sum_squares(q)), [forall(T, T ** np.arange(6) @ q >= np.exp(T) + np.sin(9 * T))])
    full = certified(problem)
    assert len(full.history) > 2
    stopped = problem.solve(max_iterations=2)
    assert stopped.status is lsip.Status.ITERATION_LIMIT
    assert problem.status == "user_limit"
    assert stopped.lower <= full.upper
    assert stopped.upper >= full.lower
    assert problem.solve(callback=lambda iterate: iterate.iteration == 1).status is lsip.Status.INTERRUPTED
    assert problem.solve(time_limit=1e-9).status is lsip.Status.TIME_LIMIT


def test_an_inaccurate_solver_is_not_called_optimal():
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(cp.norm(x)), [above_tan(x), cp.sum(x) + 7 * x[0] == 9])
    solution = problem.solve(solver=cp.SCS, eps=1e-2, max_iterations=20)
    assert not solution.certified or solution.certificate.finite_violation <= 1e-6
    solution.verify()


def test_solvers_and_options_that_do_not_fit_are_refused():
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(cp.norm(x)), [above_tan(x)])
    for options, message in (
        ({"solver": "HIGHS"}, "HIGHS cannot be used for this model"),
        ({"solver": "NOBODY"}, "NOBODY cannot be used"),
        ({"nonsense": 1}, "CLARABEL cannot be used with these options"),
        ({"tol": 2.0}, "`tol` is a relative gap"),
        ({"max_iterations": 0}, "at least 1"),
        ({"oracle": 3}, "`oracle` is a name, such as 'grid', or must have"),
    ):
        with pytest.raises(lsip.ModelError, match=message):
            problem.solve(**options)
    with pytest.raises(lsip.ModelError, match="convex, not linear"):
        problem.compile()


# ---- black boxes -----------------------------------------------------------------------------------------------------


def test_rules_are_traced_when_they_can_be():
    x = cp.Variable(3, name="x")
    masts = np.array([[0.2, 0.3], [0.4, 0.7], [0.9, 0.6]])
    rule = forall(lsip.Box([0, 0], [1, 1]), lambda y: x @ (1 / (1 + ((y - masts) ** 2).sum(axis=-1))) <= 1 + y[0])
    assert rule.traced
    solution = certified(Problem(cp.Maximize(cp.sum(cp.sqrt(x))), [rule]))
    assert repr(solution).startswith("OPTIMAL: Proven")


def test_a_rule_that_sees_through_the_trace_is_a_black_box():
    x = cp.Variable(name="x")
    rule = forall(lsip.Interval(0, 1), lambda t: x >= (t if isinstance(t, Index) else 2 * t))
    assert not rule.traced


def test_black_boxes_are_honest():
    x = cp.Variable(3, name="x")

    def rule(t):
        return x[0] + x[1] * t + x[2] * t**2 >= math.tan(t)

    unknown = forall(lsip.Interval(0, 1), rule)
    assert not unknown.traced
    problem = Problem(cp.Minimize(cp.norm(x)), [unknown])
    solution = problem.solve()
    assert solution.status is lsip.Status.UNCERTIFIED
    assert problem.value == pytest.approx(np.tan(1) / np.sqrt(3), abs=1e-5)
    assert unknown.violation() == np.inf
    lipschitz = forall(lsip.Interval(0, 1), rule, lipschitz=(2, 4))
    trusted = Problem(cp.Minimize(cp.norm(x)), [lipschitz]).solve(tol=1e-2)
    assert trusted.status is lsip.Status.UNCERTIFIED
    assert trusted.gap <= 1e-2
    assert "Lipschitz constants given for rule(y)" in trusted.message
    finite = forall(lsip.Finite([[0.0], [0.3], [1.0]]), lambda y: rule(float(y[0])))
    certified(Problem(cp.Minimize(cp.norm(x)), [finite]))
    both = forall(lsip.Interval(0, 1), lambda t: [rule(t), x <= np.full(3, 5.0) * math.exp(t)])
    assert [c.size for c in both] == [1, 3]
    listed = Problem(cp.Minimize(cp.norm(x)), [both]).solve(oracle=lsip.oracles.Grid(21))
    assert listed.value == pytest.approx(np.tan(1) / np.sqrt(3), abs=1e-5)


# ---- proofs that are not ---------------------------------------------------------------------------------------------


def test_tampered_certificates_are_refused():
    x = cp.Variable(3, name="x")
    problem = Problem(cp.Minimize(cp.norm(x)), [above_tan(x), x <= 10])
    solution = certified(problem)
    c = solution.certificate
    for wrong, message in (
        ({"lower": c.lower + 1e-4}, "exceeds what the multipliers prove"),
        ({"upper": c.upper - 1e-4}, "below the objective"),
        ({"row_multipliers": -c.row_multipliers}, "do not balance|exceeds"),
        ({"support": tuple(replace(s, multiplier=2 * s.multiplier) for s in c.support)}, "do not balance|exceeds"),
        ({"support": tuple(replace(s, multiplier=-s.multiplier) for s in c.support)}, "is negative"),
        ({"support": tuple(replace(s, point=s.point + 1) for s in c.support)}, "is not in"),
        ({"radius": 1.0}, "in a region only"),
        ({"x": c.x - 1e-3}, "misses a finite constraint"),
    ):
        with pytest.raises(lsip.ProofError, match=message):
            replace(solution, certificate=replace(c, **wrong)).verify()
    with pytest.raises(lsip.ProofError, match="gap"):
        replace(solution, tol=1e-9).verify()


# ---- cones -----------------------------------------------------------------------------------------------------------


CONES = {
    "soc": SecondOrder(4),
    "psd": Semidefinite(3),
    "exp": Exponential(),
    "power": Power((0.3, 0.7)),
    "powers": Power((0.2, 0.3, 0.5)),
}


def rows_of(cone):
    """One block of that cone, as rows of a program."""
    return ConeRows(sparse.csr_matrix((cone.size, 1)), np.zeros(cone.size), (cone,))


def proven(cone, y):
    return rows_of(cone).proves_dual(Interval(y, y.copy()))


def member(kind, rng):
    """A random point of the cone itself, on its boundary or inside."""
    u = rng.normal(size=3) * 10.0 ** rng.uniform(-3, 3)
    more = 1 + rng.uniform() * rng.integers(2)
    if kind == "soc":
        return np.append(np.linalg.norm(u) * more, u)
    if kind == "psd":
        half = rng.normal(size=(3, rng.integers(1, 4)))
        full = half @ half.T
        return np.array([full[i, j] * (1 if i == j else np.sqrt(2)) for j in range(3) for i in range(j + 1)])
    if kind == "exp":
        y, ratio = np.exp(rng.normal()), rng.normal() * 3
        return np.array([ratio * y, y, y * np.exp(ratio) * more])
    a = np.array([0.3, 0.7] if kind == "power" else [0.2, 0.3, 0.5])
    x = np.exp(rng.normal(size=len(a)))
    return np.append(x, rng.choice([-1, 1]) * np.prod(x**a) / more)


@pytest.mark.parametrize("kind", CONES)
@given(seed=st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_points_moved_into_the_dual_cone_lie_in_it(kind, seed):
    rng, cone = np.random.default_rng(seed), CONES[kind]
    y = rows_of(cone).dual_point(rng.normal(size=cone.size) * 10.0 ** rng.uniform(-6, 3))
    assert proven(cone, y)
    for _ in range(20):
        s = member(kind, rng)
        assert cone.shortfall(s[None, :])[0] <= 1e-9 * np.abs(s).max()
        assert y @ s >= -1e-13 * (np.abs(y) @ np.abs(s))
    again = rows_of(cone).dual_point(y)
    np.testing.assert_allclose(again, y, rtol=1e-9, atol=1e-12 * np.abs(y).max())


@pytest.mark.parametrize("kind", CONES)
def test_points_outside_the_dual_cone_are_not_proven(kind):
    outside = {
        "soc": [np.linalg.norm([1, 2, 3]) * (1 - 1e-9), 1, 2, 3],
        "psd": [1, np.sqrt(2) * (1 + 1e-9), 1, 0, 0, 1],
        "exp": [-1.0, 0.5, np.exp(-1.5) * (1 - 1e-9)],
        "power": [0.3, 0.7, 1 + 1e-9],
        "powers": [0.2, 0.3, 0.5, -1 - 1e-9],
    }[kind]
    y, cone = np.array(outside, dtype=float), CONES[kind]
    assert not proven(cone, y)
    assert proven(cone, rows_of(cone).dual_point(y))


def test_triangles_are_read_as_cvxpy_writes_them():
    X = cp.Variable((3, 3), symmetric=True)
    value = np.arange(9.0).reshape(3, 3)
    value = value + value.T
    data, _, _ = cp.Problem(cp.Minimize(cp.trace(X)), [X >> value]).get_problem_data(cp.CLARABEL)
    np.testing.assert_allclose(Semidefinite(3).matrices(-data["b"][None, :])[0], value)
