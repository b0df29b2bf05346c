"""Symmetric and complex variables, and the names that users of other tools type first."""

from __future__ import annotations

import numpy as np
import pytest

import lsip

from .checks import assert_certified

t = lsip.Index("t", lsip.Interval(0, np.pi))
M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])


def solved(problem, tol=1e-6):
    solution = problem.solve(verbose=False, tol=tol)
    assert solution.certified, solution.message
    solution.verify()
    return solution


# ---- symmetric ------------------------------------------------------------------------------------------------------


def test_a_symmetric_matrix_is_one_triangle(tmp_path):
    X = lsip.Variable((3, 3), name="X", symmetric=True)
    problem = lsip.Problem(lsip.maximize((M * X).sum()), [lsip.psd(X), np.trace(X) <= 1])
    solution = solved(problem)
    assert solution.value == pytest.approx(np.linalg.eigvalsh(M)[-1], rel=1e-5)
    assert solution[X].shape == (3, 3)
    np.testing.assert_array_equal(solution[X], solution[X].T)
    np.testing.assert_array_equal(X.value, solution["X"])
    assert sum(v.size for v in problem.variables) == 6
    problem.save(tmp_path / "p.json")
    again = lsip.load(tmp_path / "p.json")
    assert solved(again).value == pytest.approx(solution.value, rel=1e-5)
    assert again.solution["X"].shape == (3, 3)
    assert list(solution.to_frame()["name"]).count("X") == 6 if "name" in solution.to_frame() else True


def test_the_diagonal_of_a_symmetric_matrix():
    """The largest correlation that semidefiniteness allows."""
    X = lsip.Variable((3, 3), name="X", symmetric=True)
    rows = [lsip.psd(X), np.diag(X) == 1, X[0, 1] == 0.9, X[1, 2] == 0.9]
    solution = solved(lsip.Problem(lsip.minimize(X[0, 2]), rows))
    assert solution.value == pytest.approx(2 * 0.81 - 1, abs=1e-5)


def test_bounds_of_a_symmetric_matrix():
    upper = np.array([[1.0, 2.0], [2.0, 3.0]])
    X = lsip.Variable((2, 2), symmetric=True, lower=0, upper=upper)
    assert solved(lsip.Problem(lsip.maximize(X.sum()))).value == pytest.approx(8.0)
    for bad in (np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros(3), "a"):
        with pytest.raises(lsip.ModelError):
            lsip.Variable((2, 2), symmetric=True, upper=bad)
    for shape in (3, (2, 3), ()):
        with pytest.raises(lsip.ModelError, match="square matrix"):
            lsip.Variable(shape, symmetric=True)
    with pytest.raises(lsip.ModelError, match="not both"):
        lsip.Variable((2, 2), symmetric=True, complex=True)
    with pytest.raises(lsip.ModelError, match="True or False"):
        lsip.Variable((2, 2), symmetric="yes")


def test_psd_of_a_variable_that_is_not_symmetric_says_what_to_write():
    X = lsip.Variable((2, 2), name="X")
    with pytest.raises(lsip.ModelError, match=r"X is not symmetric.*\n.*symmetric=True, name='X'"):
        lsip.psd(X)
    lsip.psd(X + X.T)
    lsip.psd(lsip.Variable((2, 2), symmetric=True, name="X"))
    lsip.psd(lsip.Variable((1, 1)))


def test_np_diag():
    x = lsip.Variable(2, name="x")
    assert np.diag(x).at({x: [1.0, 2.0]}).tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert np.diag(x, 1).shape == (3, 3)
    assert np.diag(np.stack([t, 2 * t])).at({t: 1.0}).tolist() == [[1.0, 0.0], [0.0, 2.0]]


# ---- complex --------------------------------------------------------------------------------------------------------

STEERING = np.exp(1j * np.pi * np.arange(4) * np.cos(np.pi / 3))


def test_an_antenna_array_as_it_is_thought():
    """The least sidelobe of a beam at 60 degrees; real and imaginary parts by hand give the same."""
    w = lsip.Variable(4, name="w", complex=True)
    angle = lsip.Index("a", lsip.Interval(0, 0.5))
    a = np.exp(1j * np.pi * np.arange(4) * np.cos(angle))
    level = lsip.Variable(name="level")
    problem = lsip.Problem(
        lsip.minimize(level), [STEERING.conj() @ w == 1, lsip.forall(angle, abs(a.conj() @ w) <= level)]
    )
    solution = solved(problem)
    assert np.iscomplexobj(solution[w])
    assert solution[w].shape == (4,)
    np.testing.assert_array_equal(solution[w], solution["w"])
    np.testing.assert_array_equal(w.value, solution[w])
    assert abs(STEERING.conj() @ solution[w] - 1) < 1e-8
    points = np.linspace(0, 0.5, 501)
    response = np.exp(-1j * np.pi * np.cos(points)[:, None] * np.arange(4)) @ solution[w]
    assert np.abs(response).max() == pytest.approx(solution.value, rel=1e-4)
    re, im = lsip.Variable(4, name="re"), lsip.Variable(4, name="im")
    phase = np.pi * np.arange(4) * np.cos(angle)
    c, s = np.cos(phase), np.sin(phase)
    rows = [STEERING.real @ re + STEERING.imag @ im == 1, STEERING.real @ im - STEERING.imag @ re == 0]
    beam = np.hypot(c @ re + s @ im, c @ im - s @ re)
    assert solved(lsip.Problem(lsip.minimize(beam, over=angle), rows)).value == pytest.approx(solution.value, rel=1e-5)


def test_complex_arithmetic_is_that_of_numpy():
    w, x = lsip.Variable(3, name="w", complex=True), lsip.Variable(3, name="x")
    value, real = np.array([1 + 2j, -1j, 3.0]), np.array([1.0, 2.0, -1.0])
    at = {w.real: value.real, w.imag: value.imag, x: real, t: 0.7}
    P = np.array([[1, 2j, 0], [1 - 1j, 0, 3], [0, 1, 1j]])
    k = np.arange(3)
    for expression, expected in (
        (w + x, value + real),
        (x - 1j * w, real - 1j * value),
        (w * (1 + 2j), value * (1 + 2j)),
        ((1 + 2j) * x, (1 + 2j) * real),
        (np.array([1j, 2, 3]) * x, np.array([1j, 2, 3]) * real),
        (w / (1 + 2j), value / (1 + 2j)),
        (w / 4, value / 4),
        (P @ w, P @ value),
        (w @ P, value @ P),
        (P.conj().T @ x, P.conj().T @ real),
        (w.conj(), value.conj()),
        (np.conj(w), value.conj()),
        (w.sum(), value.sum()),
        (np.mean(w), value.mean()),
        (w[1:], value[1:]),
        (w.reshape(3, 1), value.reshape(3, 1)),
        (np.stack([w[0], x[0]]), np.array([value[0], real[0]])),
        (np.concatenate([x, w]), np.concatenate([real, value])),
        (np.exp(1j * k * t) @ w, np.exp(0.7j * k) @ value),
        (np.exp((1 + 2j) * t) * x, np.exp((1 + 2j) * 0.7) * real),
        (1 / (1 + 1j * t) * x, real / (1 + 0.7j)),
        ((1 + 1j * t) ** 2 * x, (1 + 0.7j) ** 2 * real),
        (np.vdot(P[0], w), np.vdot(P[0], value)),
        (w.T, value),
        (-w, -value),
    ):
        np.testing.assert_allclose(expression.at(at), expected, rtol=1e-12)
    for expression, expected in (
        (abs(w), np.abs(value)),
        (np.abs(w - 1j), np.abs(value - 1j)),
        ((P @ w).real, (P @ value).real),
        (np.imag(P @ w), (P @ value).imag),
        (np.linalg.norm(w), np.linalg.norm(value)),
        (lsip.sum_squares(w), np.linalg.norm(value) ** 2),
        ((w.conj() @ w).real, np.linalg.norm(value) ** 2),
        (np.vdot(w, w).real, np.linalg.norm(value) ** 2),
        (abs(w) ** 2, np.abs(value) ** 2),
        (abs(np.exp(1j * t) + 1) * x, abs(np.exp(0.7j) + 1) * real),
        (x.real, real),
        (x.conj(), real),
    ):
        np.testing.assert_allclose(expression.at(at), expected, rtol=1e-12)


def test_hermitian_forms():
    """The beamformer of least power: R^-1 a / (a^* R^-1 a)."""
    R = np.array([[2.0, 1j, 0, 0], [-1j, 3.0, 0, 0], [0, 0, 1.0, 0.5], [0, 0, 0.5, 1.0]])
    w = lsip.Variable(4, name="w", complex=True)
    power = (w.conj() @ R @ w).real
    solution = solved(lsip.Problem(lsip.minimize(power), [STEERING.conj() @ w == 1]))
    best = np.linalg.solve(R, STEERING)
    assert solution.value == pytest.approx(1 / (STEERING.conj() @ best).real, rel=1e-5)
    with pytest.raises(lsip.NotConvexError, match="eigenvalue"):
        w.conj() @ (R - 2.5 * np.eye(4)) @ w


def test_complex_variables_in_files_and_print(tmp_path):
    w = lsip.Variable(2, name="w", complex=True)
    problem = lsip.Problem(lsip.minimize(abs(w[0]) + abs(w[1] - 1j)), [w.sum() == 2])
    assert "w.real" in str(problem)
    solution = solved(problem)
    solution.save(tmp_path / "s.npz")
    problem.save(tmp_path / "p.json")
    assert lsip.load(tmp_path / "s.npz")["w"].dtype == complex
    again = solved(lsip.load(tmp_path / "p.json"))
    assert again.value == pytest.approx(solution.value, abs=1e-5)
    assert np.iscomplexobj(again["w"])
    solution.report(tmp_path / "r.html")


@pytest.mark.parametrize("source", ["w <= 1", "w >= 1j", "1j <= w", "x <= 1j"])
def test_complex_numbers_have_no_order(source):
    names = {"w": lsip.Variable(2, name="w", complex=True), "x": lsip.Variable(2, name="x")}
    with pytest.raises(lsip.ModelError, match=r"neither larger nor smaller.*\n.*abs"):
        eval(source, names)


def test_refused_with_complex_operands():
    w = lsip.Variable(2, name="w", complex=True)
    for attempt in (
        lambda: np.sin(w),
        lambda: w * w,
        lambda: w @ w,
        lambda: np.max(w),
        lambda: lsip.Variable(2, complex=True, lower=0),
        lambda: np.linalg.norm(w, 1),
        lambda: lsip.minimize(w[0]),
        lambda: w * np.inf * 1j,
        lambda: lsip.Variable("a", complex=True),
    ):
        with pytest.raises(lsip.ModelError):
            attempt()


# ---- names ----------------------------------------------------------------------------------------------------------

NAMES = {
    "lsip.Variable(3, nonneg=True)": "lower=0",
    "lsip.Variable(3, nonpos=True)": "upper=0",
    "lsip.Variable(3, lb=0)": "lower=",
    "lsip.Variable((2, 2), PSD=True)": "lsip.psd",
    "lsip.Variable((2, 2), hermitian=True)": "complex=True",
    "lsip.Variable(3, vtype='B')": "boolean=True",
    "lsip.Minimize": "lsip.minimize",
    "lsip.Maximize": "lsip.maximize",
    "lsip.norm(x)": "np.linalg.norm",
    "lsip.quad_form(x, P)": "x @ P @ x",
    "lsip.square(x)": "x\\*\\*2",
    "lsip.Model()": "lsip.Problem",
    "X >> 0": "lsip.psd",
    "X << 0": "lsip.psd",
    "problem.solve(solver='CLARABEL')": "master=",
    "problem.solve(eps=1e-6)": "tol=1e-6",
    "problem.solve(max_iters=10)": "max_iterations",
    "problem.solve(TimeLimit=10)": "time_limit",
}


@pytest.mark.parametrize("source", NAMES)
def test_names_of_other_tools_point_to_ours(source):
    x, X = lsip.Variable(2, name="x"), lsip.Variable((2, 2), name="X", symmetric=True)
    problem = lsip.Problem(lsip.minimize(x.sum()), [x >= 1])
    with pytest.raises((lsip.LSIPError, AttributeError), match=NAMES[source]) as caught:
        eval(source, {"lsip": lsip, "np": np, "x": x, "X": X, "P": np.eye(2), "problem": problem})
    assert str(caught.value).count("\n") <= 2


SPLINES = (
    "BSpline(KNOTS, c, 3)",
    "PPoly(c.reshape(3, 2), [0, 0.5, 1])",
    "CubicSpline(POINTS, c)",
    "interp1d(POINTS, c)",
    "PchipInterpolator(POINTS, c)",
    "make_interp_spline(POINTS, c)",
    "CubicSpline(POINTS, POINTS)(t)",
    "interp1d(POINTS, POINTS)(t)",
)
KNOTS = np.concatenate([np.zeros(3), np.linspace(0, np.pi, 4), np.full(3, np.pi)])
POINTS = np.linspace(0, np.pi, 6)


@pytest.mark.parametrize("source", SPLINES)
def test_splines_of_scipy_with_variables_say_what_to_write(source):
    from scipy import interpolate

    with pytest.raises(lsip.ModelError, match=r"takes numbers only.*\n.*bases.bspline.*\n.*np.eye") as caught:
        eval(source, {**globals(), **vars(interpolate), "c": lsip.Variable(6, name="c")})
    assert str(caught.value).count("\n") <= 2
    with pytest.raises(lsip.ModelError, match=r"np\.interp"):
        lsip.spline(interpolate.interp1d(POINTS, POINTS), t)


def test_splines_with_variables_as_the_advice_says():
    from scipy.interpolate import BSpline, CubicSpline

    c, value = lsip.Variable(6, name="c"), np.array([0.0, 1.0, 0.5, -1.0, 2.0, 0.0])
    for expression, expected in (
        (lsip.bases.bspline(t, KNOTS, 3) @ c, BSpline(KNOTS, value, 3)),
        (lsip.spline(BSpline(KNOTS, np.eye(6), 3), t) @ c, BSpline(KNOTS, value, 3)),
        (lsip.spline(CubicSpline(POINTS, np.eye(6)), t) @ c, CubicSpline(POINTS, value)),
        (np.interp(t, POINTS, c), lambda u: np.interp(u, POINTS, value)),
    ):
        for u in (0.1, 1.7, 3.0):
            assert expression.at({t: u, c: value}) == pytest.approx(float(expected(u)), abs=1e-9)
    hat = lsip.Problem(lsip.minimize(c.sum()), [lsip.forall(t, np.interp(t, POINTS, c) >= np.sin(t))])
    assert solved(hat).value >= np.sin(POINTS).sum()


def test_values_after_a_solve():
    x = lsip.Variable(2, name="x")
    problem = lsip.Problem(lsip.minimize(x.sum()), [x >= 1])
    assert (problem.value, x.value) == (None, None)
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, 1e-8)
    assert problem.value == pytest.approx(2.0)
    assert x.value == pytest.approx([1.0, 1.0])
