"""Convex pieces are written as they are: absolute values, maxima, norms, semidefinite matrices, for all y too."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

import lsip
from lsip.expressions.directions import Definite, Euclidean, Largest, Magnitude, Quadratics, WorstDirection
from lsip.oracles import BranchAndBound

from .checks import assert_certified

TOL = 1e-7
KINDS = (Magnitude(), Largest(), Euclidean(), Definite())
x = lsip.Variable(3, name="x")
e = lsip.Variable(name="e")
t = lsip.Index("t", lsip.Interval(0, 1))
y = lsip.Index("y", lsip.Box([-1, -1], [1, 1]))
TARGET = np.array([1.0, 2.0, 3.0])


def solved(objective, constraints=(), **options):
    """A proven optimum, which survives a check that shares nothing with the solve."""
    problem = lsip.Problem(objective, constraints)
    solution = problem.solve(verbose=False, **options)
    assert solution.certified, solution.message
    if solution.status is lsip.Status.OPTIMAL:
        assert_certified(problem, solution, solution.tol)
    solution.verify()
    return solution


FINITE = {  # the objective, the constraints, and the optimal value by hand
    "abs": (lambda: lsip.minimize(abs(x[0] - 2)), lambda: [np.abs(x[0]) <= 1], 1.0),
    "np.maximum": (lambda: lsip.minimize(np.maximum(x[0], 1 - x[0])), list, 0.5),
    "np.max": (lambda: lsip.minimize(np.max(x)), lambda: [x.sum() == 6], 2.0),
    "x.max": (lambda: lsip.minimize(x.max() - x.min()), lambda: [x[0] == 1, x[1] == 4], 3.0),
    "np.minimum": (lambda: lsip.maximize(np.minimum(x[0], 4 - 3 * x[0])), list, 1.0),
    "np.min": (lambda: lsip.maximize(np.min(x)), lambda: [x @ TARGET <= 12], 2.0),
    "minimum >=": (lambda: lsip.minimize(x.sum()), lambda: [np.minimum(x, 2 * x) >= TARGET], 6.0),
    "norm1": (lambda: lsip.minimize(lsip.norm1(x - TARGET)), lambda: [x.sum() == 1], 5.0),
    "norm1 <=": (lambda: lsip.maximize(x @ TARGET), lambda: [lsip.norm1(x) <= 2], 6.0),
    "linalg 1": (lambda: lsip.minimize(np.linalg.norm(x - TARGET, 1)), lambda: [x.sum() == 1], 5.0),
    "norm_inf": (lambda: lsip.minimize(lsip.norm_inf(x - TARGET)), lambda: [x.sum() == 0], 2.0),
    "linalg inf": (lambda: lsip.maximize(x.sum()), lambda: [np.linalg.norm(x, np.inf) <= 2], 6.0),
    "nested": (lambda: lsip.minimize(np.max(np.abs(x - TARGET))), lambda: [x.sum() == 0], 2.0),
    "sums": (
        lambda: lsip.minimize(2 * np.abs(x[0] - 1) + np.maximum(x[1], 3) / 2 - np.min(x) + 1),
        lambda: [x >= 0, x <= 4],
        1.5,
    ),
    "weights @ abs": (lambda: lsip.minimize(TARGET @ np.abs(x - 1)), lambda: [x.sum() == 0], 3.0),
    "norm": (lambda: lsip.minimize(np.linalg.norm(x - TARGET)), lambda: [x.sum() == 0], 6 / np.sqrt(3)),
    "norm <=": (lambda: lsip.maximize(x.sum()), lambda: [np.linalg.norm(x) <= 1], np.sqrt(3)),
    "hypot": (lambda: lsip.maximize(x[0] + x[1]), lambda: [np.hypot(x[0], x[1]) <= 1], np.sqrt(2)),
    "cumsum": (
        lambda: lsip.maximize(x.sum()),
        lambda: [np.cumsum(np.abs(x)) <= np.array([1.0, 3.0, np.inf]), x <= 5],
        8.0,
    ),
    "infinite": (lambda: lsip.maximize(x.sum()), lambda: [np.abs(x) <= np.array([1, np.inf, 2]), x[1] <= 5], 8.0),
    "einsum": (lambda: lsip.maximize(x.sum()), lambda: [np.einsum("i,i->", TARGET, np.abs(x)) <= 6], 6.0),
    "norms": (
        lambda: lsip.maximize(x[0] + x[1]),
        lambda: [np.linalg.norm(x[:2]) + np.abs(x[2]) <= 1, x[2] >= 0.5],
        0.5 * np.sqrt(2),
    ),
    "psd": (
        lambda: lsip.minimize(x[0] + x[1]),
        lambda: [lsip.psd(np.stack([np.stack([x[0], 2.0]), np.stack([2.0, x[1]])]))],
        4.0,
    ),
}


@pytest.mark.parametrize("name", FINITE)
def test_finite_models(name):
    objective, constraints, value = FINITE[name]
    solution = solved(objective(), constraints())
    assert solution.value == pytest.approx(value, abs=TOL)


def test_sum_by_a_grid():
    """The value of the model "sums" above, found without lsip."""
    axis = np.linspace(0, 4, 41)
    a, b, c = np.meshgrid(axis, axis, axis)
    found = 2 * np.abs(a - 1) + np.maximum(b, 3) / 2 - np.minimum(np.minimum(a, b), c) + 1
    assert found.min() == pytest.approx(FINITE["sums"][2])


NOT_CONVEX = {
    "np.abs(x) >= 1": r"\|x\| ≥ 1 is not convex.*smaller side",
    "1 <= np.linalg.norm(x)": "smaller side",
    "np.maximum(x[0], 1) >= x[1]": "smaller side",
    "np.minimum(x[0], 1) <= x[1]": "on the larger side",
    "np.abs(x[0]) - np.abs(x[1]) <= 1": "smaller side",
    "np.abs(x) == 1": "cannot be in an equality",
    "lsip.minimize(np.min(x))": "can be minimised",
    "lsip.maximize(lsip.norm1(x))": "can be minimised",
    "t * np.abs(x[0])": "write the factor inside",
    "x[0] * np.abs(x[1])": "use numbers",
    "np.exp(np.abs(x))": r"np.exp\(\|x\|\) is not known",
    "np.abs(np.abs(x))": "not known",
    "np.maximum(np.linalg.norm(x), 1)": "write a constraint each",
    "np.clip(x[0], 0, 1)": "not known",
    "np.where(t <= 0.5, np.abs(x[0]), 1)": "not known",
    "np.hypot(np.abs(x[0]), 1)": "not known",
    "x ** 3": r"np.power\(x, 3\) is not known",
    "2 ** x": r"np.power\(2, x\) is not known",
    "t ** x": r"np.power\(t, x\) is not known",
    "np.abs(x) ** 3": "not known",
}


@pytest.mark.parametrize("source", NOT_CONVEX)
def test_what_is_not_convex_is_refused_where_it_is_written(source):
    with pytest.raises(lsip.NotConvexError, match=NOT_CONVEX[source]):
        eval(source, {"np": np, "lsip": lsip, "x": x, "t": t})


OTHER_REFUSALS = {
    "lsip.minimize(np.abs(x))": "one number",
    "lsip.minimize(np.abs(t * x[0]))": "depends on the index t; say `over=t`",
    "lsip.minimize(np.abs(x[0]), over=t)": "does not depend on t",
    "lsip.minimize(np.abs(t * x[0]), over=3)": "needs an Index",
    "np.abs(x) < 1": "Strict.*np.maximum",
    "np.abs(x) <= -np.inf": "cannot hold",
    "np.linalg.norm(x) <= np.inf": "always holds",
    "np.maximum(x, x[:2])": "broadcast",
    "np.abs(x) * np.ones(2)": "broadcast",
    "np.abs(x) / 0": "Division by zero",
    "np.max(x[:0])": "no element",
    "lsip.psd(x)": "square matrix",
    "lsip.psd(np.eye(2) * t)": "no decision variable",
    "lsip.Problem(lsip.minimize(e), [np.abs(x[0] * t) <= e])": "wrap it in forall",
    "lsip.forall(t, np.linalg.norm(x) <= e)": "does not depend on t",
    "lsip.forall(lsip.Index('s', lsip.Interval(0, np.inf)), np.abs(x[0]) <= e)": "does not depend on s",
}


@pytest.mark.parametrize("source", OTHER_REFUSALS)
def test_bad_input_is_refused(source):
    with pytest.raises(lsip.ModelError, match=OTHER_REFUSALS[source]):
        eval(source, {"np": np, "lsip": lsip, "x": x, "t": t, "e": e})


def test_norms_over_unbounded_sets_are_refused():
    s = lsip.Index("s", lsip.Interval(0, np.inf))
    with pytest.raises(lsip.ModelError, match="cannot be proven over an unbounded set"):
        lsip.forall(s, np.linalg.norm(np.stack([x[0] * s, x[1]])) <= e)


def test_what_people_see_is_what_they_wrote():
    objective = lsip.minimize(lsip.norm1(x - TARGET) + 0.5 * np.max(np.abs(x)))
    problem = lsip.Problem(objective, [np.linalg.norm(x) <= 10, lsip.forall(t, np.linalg.norm(x - t) <= 5)])
    assert str(problem).splitlines() == [
        "minimize ‖x - [1 2 3]‖₁ + 0.5 max(|x|)",
        "subject to ‖x‖ ≤ 10",
        "           ‖x - t‖ ≤ 5   for all t ∈ [0, 1]",
    ]
    assert r"\left\|x - (1, 2, 3)\right\|_{1} + 0.5 \max\left(\left|x\right|\right)" in problem._repr_latex_()
    assert [v.name for v in problem.variables] == ["x"]
    solution = problem.solve(verbose=False)
    assert solution.x.shape == (3,)
    assert solution["x"] == pytest.approx(solution.x)
    assert solution.value == pytest.approx(solution[lsip.norm1(x - TARGET)] + solution[np.max(np.abs(x))] / 2, abs=TOL)
    assert all(len(a.point) == 1 for a in solution.dual(problem.constraints[1]))
    assert "psd" not in str(lsip.psd(x[0] * np.eye(2)))
    assert str(lsip.psd(x[0] * np.eye(2))).endswith("⪰ 0")


def test_expressions_have_values():
    at = {x: [1.0, -2.0, 3.0], t: [0.0, 0.5, 1.0]}
    assert np.abs(x).at(at) == pytest.approx([1, 2, 3])
    assert (np.linalg.norm(x) - np.max(x) / 2).at(at) == pytest.approx(np.sqrt(14) - 1.5)
    moving = np.linalg.norm(np.stack([x[0] * t, x[1]])) + np.abs(x)
    found = np.array([np.hypot(s, 2) + np.array([1, 2, 3]) for s in (0, 0.5, 1)])
    assert moving.at(at) == pytest.approx(found)
    assert (np.abs(x) <= 2).violation({x: [1.0, -2.5, 3.0]}) == pytest.approx([0, 0.5, 1])


def test_multipliers_have_the_shape_of_the_constraint():
    cap = np.abs(x) <= np.array([1.0, 2.0, 5.0])
    total = lsip.norm1(np.ones((9, 3)) @ x) <= 100  # epigraph variables
    ball = np.linalg.norm(x) <= 100
    solution = solved(lsip.maximize(x[0] - 2 * x[1]), [cap, total, ball, x[2] == 0])
    assert solution.dual(cap) == pytest.approx([1, 2, 0], abs=TOL)
    assert solution.dual(total) == pytest.approx(0, abs=TOL)
    tight = np.linalg.norm(x) <= 1
    solution = solved(lsip.maximize(x @ TARGET), [tight])
    assert solution.dual(tight) == pytest.approx(np.sqrt(14), abs=1e-4)


def test_rows_or_epigraphs_as_it_pays():
    assert (np.max(np.ones((40, 3)) @ x) <= 1).body.size == 40
    assert (np.abs(x[0]) + np.abs(x[1]) <= 1).body.size == 4
    long = lsip.norm1(np.ones((10, 3)) @ x) <= 1
    assert long.body.size == 1 + 20  # the sum, and two for each of its parts
    assert (np.max(np.ones((40, 3)) @ x * t) <= 1).body.size == 40


def test_a_chebyshev_approximation():
    """The line next to exp on [0, 1]: its slope is e - 1, and the error is known."""
    solution = solved(lsip.minimize(e), [lsip.forall(t, np.abs(x[0] + x[1] * t - np.exp(t)) <= e)])
    slope = np.e - 1
    assert solution.value == pytest.approx((1 - slope + slope * np.log(slope)) / 2, abs=TOL)


def test_the_worst_value_over_an_index():
    """minimize(…, over=t) is a variable bounded by forall, which nobody has to write."""
    error = x[0] + x[1] * t - np.exp(t)
    slope = np.e - 1
    problem = lsip.Problem(lsip.minimize(np.abs(error), over=t))
    assert str(problem) == "minimize |x[0] + x[1] t - exp(t)|   at its worst over t ∈ [0, 1]"
    assert r"\min \quad & \max_{t \in [0, 1]} \left|" in problem._repr_latex_()
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, solution.tol)
    assert solution.value == pytest.approx((1 - slope + slope * np.log(slope)) / 2, abs=TOL)
    assert solution.x.shape == (3,)
    assert str(solution.active[0]).startswith("|x[0] + x[1] t - exp(t)| at (")
    assert problem.constraints == []
    worst = solved(lsip.maximize(t - np.abs(x[0] - t), over=t), [x[1:] == 1])
    assert worst.value == pytest.approx(0, abs=TOL)
    circle = solved(lsip.minimize(np.linalg.norm(x[:2] - y) + 1, over=y), [x[2] == 0])
    assert circle.value == pytest.approx(1 + np.sqrt(2), abs=TOL)
    line = solved(lsip.minimize(x[0] + x[1] * t, over=t), [x >= 1])
    assert line.value == pytest.approx(2, abs=TOL)


def test_many_absolute_values_for_all_t():
    """sum |x - sin(k t)| has its worst sign in closed form; the reference is a fine grid with cvxpy."""
    cp = pytest.importorskip("cvxpy")
    k = np.arange(1, 8)
    r = x @ np.stack([1 + 0 * t, t, t**2]) - np.sin(k * t)
    solution = solved(lsip.minimize(e), [lsip.forall(t, lsip.norm1(r) <= e)])
    z, points = cp.Variable(3), np.linspace(0, 1, 2001)
    waves = np.sin(np.outer(points, k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy multiplies infinite bounds by zero
        rows = [cp.abs(np.vander(points, 3, increasing=True) @ z - wave) for wave in waves.T]
        reference = cp.Problem(cp.Minimize(cp.max(sum(rows)))).solve(solver="HIGHS")
    assert solution.value == pytest.approx(reference, abs=1e-5)
    assert solution.value >= reference - TOL


def test_the_smallest_circle_around_an_arc():
    a = lsip.Index("a", lsip.Interval(0, np.pi / 2))
    centre = lsip.Variable(2, name="c")
    inside = lsip.forall(a, np.linalg.norm(centre - np.stack([np.cos(a), np.sin(a)])) <= e, name="inside")
    solution = solved(lsip.minimize(e), [inside])
    assert solution.value == pytest.approx(np.sqrt(0.5), abs=TOL)
    assert solution[centre] == pytest.approx([0.5, 0.5], abs=1e-3)
    ends = sorted(float(p.point[0]) for p in solution.dual("inside"))
    assert ends == pytest.approx([0, np.pi / 2], abs=1e-3)
    assert inside.violation().bound <= 0


def test_a_fir_filter_with_complex_modulus():
    """A lowpass with a delay that is not linear phase: |H| in the stopband, |H - exp(-i D w)| in the passband."""
    cp = pytest.importorskip("cvxpy")
    n, delay = 8, 2.5
    h, d = lsip.Variable(n, name="h"), lsip.Variable(name="d")
    low, high = lsip.Index("v", lsip.Interval(0, 0.8)), lsip.Index("w", lsip.Interval(1.4, np.pi))

    def response(w):
        k = np.arange(n)
        return np.stack([np.cos(k * w) @ h, -np.sin(k * w) @ h])

    ideal = np.stack([np.cos(delay * low), -np.sin(delay * low)])
    bands = [
        lsip.forall(low, np.linalg.norm(response(low) - ideal) <= d),
        lsip.forall(high, np.linalg.norm(response(high)) <= d),
    ]
    solution = solved(lsip.minimize(d), bands)
    z, v, w = cp.Variable(n), np.linspace(0, 0.8, 400), np.linspace(1.4, np.pi, 800)
    waves = [np.exp(-1j * np.outer(band, np.arange(n))) for band in (v, w)]
    errors = cp.hstack([cp.abs(waves[0] @ z - np.exp(-1j * delay * v)), cp.abs(waves[1] @ z)])
    reference = cp.Problem(cp.Minimize(cp.max(errors))).solve(solver="CLARABEL")
    assert solution.value == pytest.approx(reference, abs=1e-5)
    assert solution.value >= reference - 1e-6


def test_a_robust_cone_over_a_disc():
    """‖x + y‖ over the unit disc of y is ‖x‖ + 1: the nearest point of a line to the origin, and one more."""
    u = lsip.Index("u", lsip.Ball([0, 0], 1))
    constraints = [lsip.forall(u, np.linalg.norm(x[:2] + u) <= e), x[0] + x[1] == 2, x[2] == 0]
    solution = solved(lsip.minimize(e), constraints, tol=1e-6)
    assert solution.value == pytest.approx(1 + np.sqrt(2), abs=1e-5)


def test_a_matrix_over_an_ellipse():
    """[[u, v], [v, -u]] has the eigenvalues ±|(u, v)|: slopes cancel in the trace; boxes are cut along both axes."""
    shape = np.array([[4.0, 1.0], [1.0, 1.0]])
    u = lsip.Index("u", lsip.Ellipsoid([0, 0], shape))
    M = np.stack([np.stack([u[0], u[1]]), np.stack([u[1], -u[0]])])
    solution = solved(lsip.minimize(x[0]), [lsip.forall(u, lsip.psd(x[0] * np.eye(2) - M)), x[1:] == 0])
    assert solution.value == pytest.approx(np.sqrt(np.linalg.eigvalsh(shape)[-1]), abs=TOL)


def lyapunov(A, index, k):
    """The least trace of P >= I that makes V = x'Px decrease along every x' = A(y) x."""
    P = lsip.Variable((k, k), name="P")
    i, j = np.triu_indices(k, 1)
    decrease = lsip.forall(index, lsip.psd(-(A.T @ P + P @ A) - np.eye(k)))
    return lsip.minimize(np.trace(P)), [P[i, j] == P[j, i], lsip.psd(P - np.eye(k)), decrease]


def lyapunov_reference(matrices, k):
    cp = pytest.importorskip("cvxpy")
    P = cp.Variable((k, k), symmetric=True)
    rows = [P >> np.eye(k), *(-(M.T @ P + P @ M) - np.eye(k) >> 0 for M in matrices)]
    return cp.Problem(cp.Minimize(cp.trace(P)), rows).solve(solver="CLARABEL")


def test_a_lyapunov_function_on_an_interval():
    A0, A1 = np.array([[-1.0, 2.0], [0.0, -2.0]]), np.array([[0.0, 0.0], [-3.0, 0.0]])
    solution = solved(*lyapunov(A0 + t * A1, t, 2))
    assert solution.value == pytest.approx(13 / 6, abs=TOL)
    assert solution.value == pytest.approx(lyapunov_reference([A0, A0 + A1], 2), abs=1e-5)


def test_a_lyapunov_function_on_a_box():
    """Affine in y: the corners are all that matters, which cvxpy is told and lsip is not."""
    rng = np.random.default_rng(0)
    A0, As = -2 * np.eye(4) + np.triu(rng.normal(size=(4, 4)), 1), 0.3 * rng.normal(size=(2, 4, 4))
    solution = solved(*lyapunov(A0 + y[0] * As[0] + y[1] * As[1], y, 4))
    corners = [A0 + a * As[0] + b * As[1] for a in (-1, 1) for b in (-1, 1)]
    assert solution.value == pytest.approx(lyapunov_reference(corners, 4), abs=1e-5)


def test_a_matrix_that_bends_with_t():
    """[[x, sin 3t], [sin 3t, 1]] is semidefinite where x >= sin² 3t: at the top of the wave, inside the interval."""
    M = np.stack([np.stack([x[0], np.sin(3 * t)]), np.stack([np.sin(3 * t), 1.0])])
    solution = solved(lsip.minimize(x[0]), [lsip.forall(t, lsip.psd(M), name="cone")])
    assert solution.value == pytest.approx(1.0, abs=TOL)
    assert solution.active[0].point == pytest.approx([np.pi / 6], abs=1e-3)


def test_what_cannot_be_is_proven_so():
    M = np.stack([np.stack([x[0], 2.0]), np.stack([2.0, t - 0.5])])
    solution = solved(lsip.minimize(x[0]), [lsip.forall(t, lsip.psd(M)), x[0] <= 10])
    assert solution.status is lsip.Status.INFEASIBLE
    solution = solved(lsip.minimize(-x[1]), [lsip.forall(t, np.linalg.norm(np.stack([x[1] * t / 2, x[2]])) <= x[1])])
    assert solution.status is lsip.Status.UNBOUNDED


@pytest.mark.parametrize("power", [0, -400, -946, 400])
def test_squares_that_underflow_prove_nothing(power):
    """A right-hand side that is the double below √2: too little, by a unit in the last place, in any units."""
    unit, one = 2.0**power, lsip.Variable(name="one", lower=1, upper=1)
    y = lsip.Index("y", lsip.Interval(-1, 1))
    row = lsip.forall(y, np.linalg.norm(np.stack([unit * one, unit * y * one])) <= 1.414213562373095 * unit)
    solution = lsip.Problem(lsip.minimize(one), [row]).solve(verbose=False, time_limit=5)
    assert solution.status is not lsip.Status.OPTIMAL
    assert row.violation({one: 1.0}).bound > 0


def test_parameters_enter():
    radius = lsip.Parameter(name="radius", value=1.0)
    problem = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(t, np.linalg.norm((1 + t) * x) <= radius)])
    for value in (1.0, 2.0, 0.5):
        radius.value = value
        solution = problem.solve(verbose=False)
        assert solution.certified
        assert solution.value == pytest.approx(value * np.sqrt(3) / 2, abs=TOL)
        solution.verify()


def test_files_and_pictures(tmp_path):
    problem = lsip.Problem(
        lsip.minimize(lsip.norm1(np.ones((9, 3)) @ x - 1) + e),
        [lsip.forall(t, np.linalg.norm(x - t) <= e), np.linalg.norm(x) <= 4],
    )
    solution = problem.solve(verbose=False)
    solution.save(tmp_path / "s.npz")
    again = lsip.Solution.load(tmp_path / "s.npz", problem)
    assert again.certified
    assert (again.x == solution.x).all()
    page = solution.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "direction" not in page.lower().replace("direction d", "")
    assert "‖x - t‖ ≤ e" in page
    pytest.importorskip("matplotlib")
    solution.plot(tmp_path / "p.png")
    with pytest.raises(lsip.ModelError, match="continuum of rows at every index point"):
        problem.discretise(5)


def test_the_checker_agrees(tmp_path):
    """A program that shares no code with lsip, and does not know of worst directions, proves the same."""
    pytest.importorskip("flint")
    from lsip.proof.checker import main

    M = np.stack([np.stack([x[0], t]), np.stack([t, 2.0])])
    solution = solved(lsip.minimize(x[0]), [lsip.forall(t, lsip.psd(M))])
    solution.export(tmp_path / "proof.json")
    assert main([str(tmp_path / "proof.json")]) == 0


def test_nothing_is_proven_that_is_not_so():
    """Just below what is needed, the bound of a violation is positive, however fine the boxes."""
    cases = [
        (lsip.forall(t, np.linalg.norm(np.stack([x[0] * np.cos(9 * t), x[0] * np.sin(9 * t)])) <= 1), [1.0, 0, 0]),
        (lsip.forall(t, lsip.psd(np.stack([np.stack([x[0], t]), np.stack([t, 1.0])]))), [1.0, 0, 0]),
        (lsip.forall(y, lsip.norm1(np.stack([x[0] * y[0] * k - y[1] for k in range(6)])) <= x[1]), [1.0, 21.0, 0]),
    ]
    for constraint, values in cases:
        for room, broken in ((1e-9, False), (-1e-9, True)):
            point = np.array(values)
            point[0 if values[1] == 0 else 1] += room * (-1 if constraint is cases[0][0] else 1)
            found = constraint.violation({x: point})
            assert found.certified
            assert (found.bound > 0) == broken
            assert found.value <= found.bound


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_between_boxes(seed):
    """The bound of a branch-and-bound that is stopped at once still holds at random points and directions."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3))
    r = np.stack([np.sin(3 * y[0] * (k + 1)) * (a[0, k] @ x) + np.exp(y[1]) * b[0, k] for k in range(3)])
    M = np.stack([r, r[::-1], r * y[0] + 1])
    for constraint in (np.linalg.norm(r) + np.abs(x[0]) <= e + np.sum(x * y[0]), lsip.psd(M + M.T)):
        family = lsip.Problem(lsip.minimize(e), [lsip.forall(y, constraint)]).compile().families[0]
        violation = lsip.model.FamilyViolation(family, rng.normal(size=4))
        found = BranchAndBound(max_boxes=1).maximise(violation, target=-1e9)
        points = family.domain.sample(4000, seed)
        assert violation.values(points).max() <= found.bound
        worst: WorstDirection = family.source.worst
        entries, rhs = family.source.entries.rows(points[:, :2])
        q = np.einsum("npk,pk->np", entries, violation.x[family.source.entries.columns]) - rhs
        directed = np.concatenate([points[:, :2], worst.worst(q)[:, 0]], axis=1)
        assert violation.values(directed).max() <= found.bound
        most = worst.stretched(worst.value(q))
        assert (most >= violation.values(directed) - 1e-9).all()
        assert (most >= violation.values(points) - 1e-9).all()  # no direction is worse


def test_norms_are_bounded_above_in_exact_arithmetic():
    rng = np.random.default_rng(0)
    for size in (1e-200, 1e-160, 1.0, 1e200):
        for q in rng.normal(size=(50, 5)) * size * 10.0 ** rng.uniform(-8, 0, size=(50, 5)):
            doubt = np.abs(q) * rng.choice([0.0, 1e-3])
            above = Fraction(float(Euclidean().above(q, doubt)))
            exact = sum((abs(Fraction(float(v))) + Fraction(float(d))) ** 2 for v, d in zip(q, doubt, strict=True))
            assert above**2 >= exact
            assert above**2 <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**600)


def test_eigenvalues_are_bounded_above_in_exact_arithmetic():
    """No Rayleigh quotient exceeds the bound, of nearly singular matrices in particular; and it is sharp."""
    rng = np.random.default_rng(0)
    for scale in (1e-150, 1.0, 1e150):
        for _ in range(40):
            basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
            matrix = scale * (basis * -(10.0 ** rng.uniform(-16, 0, size=4))) @ basis.T
            matrix = (matrix + matrix.T) / 2
            above = float(Definite().above(matrix.ravel(), np.zeros(16)))
            for v in (*np.linalg.eigh(matrix)[1].T, *rng.normal(size=(3, 4))):
                u = [Fraction(float(c)) for c in v]
                form = sum(u[i] * Fraction(float(matrix[i, j])) * u[j] for i in range(4) for j in range(4))
                assert Fraction(above) * sum(c * c for c in u) >= form
            assert above <= np.linalg.eigvalsh(matrix)[-1] + 1e-13 * scale


@pytest.mark.parametrize("kind", KINDS, ids=[type(kind).__name__ for kind in KINDS])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_models_are_nowhere_less_and_of_third_order(kind, m):
    """At random points of small and of large boxes; with what is left shrinking like the third power of the size."""
    rng = np.random.default_rng(m)
    size = {Magnitude: 1, Definite: 9}.get(type(kind), 3)
    left = []
    for width in (1.0, 0.1, 0.01):
        levels = rng.normal(size=(200, size, 1 + m + m * (m + 1) // 2))
        levels[..., 1 : 1 + m] *= width
        levels[..., 1 + m :] *= width**2
        doubt = width**3 * rng.uniform(size=(200, size))
        found, rest = kind.model(Quadratics(levels, m), doubt)
        d = np.concatenate([rng.uniform(-1, 1, size=(100, m)), rng.choice([-1.0, 1.0], size=(20, m))])
        i, j = np.triu_indices(m)
        basis = np.concatenate([np.ones((120, 1)), d, np.where(i == j, 0.5, 1.0) * d[:, i] * d[:, j]], axis=1)
        q = np.einsum("nsl,dl->nds", levels, basis)
        q = q + doubt[:, None] * rng.choice([-1.0, 1.0], size=q.shape)
        value = kind.value(q)
        model = found @ basis.T + rest[:, None]
        assert (value <= model + 1e-12)[np.isfinite(rest)].all()
        left.append(np.median(rest))
    assert left[2] <= 2e-3 * left[1]


def test_a_certificate_for_another_point_is_refused():
    from dataclasses import replace

    solution = solved(lsip.minimize(e), [lsip.forall(t, np.linalg.norm(x - np.stack([t, t**2, 1 + t])) <= e)])
    certificate = replace(solution.certificate, x=solution.certificate.x - 1e-3)
    with pytest.raises(lsip.ProofError):
        replace(solution, certificate=certificate).verify()


def test_matrices_may_be_lists_of_lists() -> None:
    a, t = lsip.Variable(2, name="a"), lsip.Index("t", lsip.Interval(0, 1))
    constraint = lsip.forall(t, lsip.psd([[a[0], t], [t, a[1]]]))
    assert str(constraint) == "((a[0], t), (t, a[1])) ⪰ 0   for all t ∈ [0, 1]"
    solution = lsip.Problem(lsip.minimize(a.sum()), [constraint]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(2.0, abs=1e-7)


# ---- cones without an index -----------------------------------------------------------------------------------------


def test_least_squares_are_proven_at_once():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(100, 40)), rng.normal(size=100)
    x = lsip.Variable(40, name="x")
    solution = lsip.Problem(lsip.minimize(np.linalg.norm(A @ x - b))).solve(verbose=False)
    assert solution.certified
    assert len(solution.history) == 1
    best = np.sqrt(np.linalg.lstsq(A, b)[1][0])
    assert solution.lower - 1e-12 <= best <= solution.upper + 1e-12
    solution.verify()


def test_the_largest_eigenvalue_of_twenty_rows():
    M = np.random.default_rng(1).normal(size=(6, 20, 20))
    M = M + M.transpose(0, 2, 1)
    x, e = lsip.Variable(5, name="x", lower=-1, upper=1), lsip.Variable(name="e")
    matrix = M[0] + sum(x[i] * M[i + 1] for i in range(5))
    solution = lsip.Problem(lsip.minimize(e), [lsip.psd(e * np.eye(20) - matrix)]).solve(verbose=False)
    assert solution.certified
    assert len(solution.history) <= 2
    at = M[0] + np.einsum("i,ijk->jk", solution[x], M[1:])
    assert solution.value == pytest.approx(np.linalg.eigvalsh(at)[-1], rel=1e-7)
    solution.verify()


def test_sums_of_norms_with_an_index_beside_them():
    rng = np.random.default_rng(2)
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    lengths = sum(np.linalg.norm(x - p) for p in rng.normal(size=(5, 3)))
    rows = [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.sin(t) + 0.1), np.linalg.norm(x) + np.abs(x[0]) <= 2]
    problem = lsip.Problem(lsip.minimize(lengths), rows)
    conic, cut = (problem.solve(oracle=oracle, verbose=False) for oracle in (None, lsip.oracles.BranchAndBound()))
    assert conic.certified
    assert cut.certified
    assert max(conic.lower, cut.lower) <= min(conic.upper, cut.upper)
    assert len(conic.history) < len(cut.history)
    conic.verify()


def test_cones_that_contradict_each_other():
    x = lsip.Variable(2, name="x")
    rows = [np.linalg.norm(x - 1) <= 0.5, np.linalg.norm(x + 1) <= 0.5]
    solution = lsip.Problem(lsip.minimize(x[0]), rows).solve(verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE
    solution.verify()


def test_an_optimum_of_zero_falls_back_to_cuts():
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    rows = [lsip.forall(t, np.linalg.norm(np.stack([x[0] - t, x[1]])) <= 1 + x[0])]
    solution = lsip.Problem(lsip.minimize(np.linalg.norm(x)), rows).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(0, abs=1e-9)
