"""Sums of squares and quadratic forms are written as they are, in objectives and constraints, for all y too."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import lsip
from lsip.expressions.directions import Quadratics
from lsip.expressions.quadratic_forms import factor, root
from lsip.expressions.squares import RotatedCone
from lsip.proof import checker

from .checks import assert_certified

x = lsip.Variable(3, name="x")
w = lsip.Variable(3, name="w", lower=0)
e = lsip.Variable(name="e")
t = lsip.Index("t", lsip.Interval(0, 1))
TARGET = np.array([1.0, 2.0, 3.0])
LAPLACIAN = np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]])
ROUNDED = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-15]])  # its determinant is negative
rng = np.random.default_rng(0)
A, b = rng.normal(size=(30, 12)), rng.normal(size=30)
z = lsip.Variable(12, name="z")
LEAST = float(np.linalg.lstsq(A, b)[1][0])
RIDGE = float(b @ b - b @ A @ np.linalg.solve(A.T @ A + 0.1 * np.eye(12), A.T @ b))
ERROR = 0.105933  # of exp on [0, 1] by a line, to six digits


def solved(problem, tol=1e-7, **options):
    solution = problem.solve(verbose=False, tol=tol, **options)
    assert solution.certified, solution.message
    if sum(v.size for v in problem.variables) <= 6:  # for all directions, which are sampled
        assert_certified(problem, solution, tol)
    solution.verify()
    return solution


MODELS = {  # the objective, the constraints, and the optimal value by hand or by linear algebra
    "sum_squares": (lambda: lsip.minimize(lsip.sum_squares(x - TARGET)), lambda: [x.sum() <= 3], 3.0),
    "sum of powers": (lambda: lsip.minimize(((x - TARGET) ** 2).sum()), lambda: [x.sum() == 0], 12.0),
    "np.square": (lambda: lsip.minimize(np.square(x - TARGET).sum()), lambda: [x.sum() == 0], 12.0),
    "r @ r": (lambda: lsip.minimize((x - TARGET) @ (x - TARGET)), lambda: [x.sum() == 0], 12.0),
    "r.T @ r": (lambda: lsip.minimize((x - TARGET).T @ (x - TARGET)), lambda: [x.sum() == 0], 12.0),
    "norm ** 2": (lambda: lsip.minimize(np.linalg.norm(x - TARGET) ** 2), lambda: [x.sum() == 0], 12.0),
    "abs ** 2": (lambda: lsip.minimize((np.abs(x - TARGET) ** 2).sum()), lambda: [x.sum() == 0], 12.0),
    "mean": (lambda: lsip.minimize(np.mean((x - TARGET) ** 2)), lambda: [x.sum() == 0], 4.0),
    "weights": (lambda: lsip.minimize(TARGET @ (x - 1) ** 2), lambda: [x.sum() == 0], 9 / (1 + 1 / 2 + 1 / 3)),
    "zero": (lambda: lsip.minimize(lsip.sum_squares(x - TARGET)), list, 0.0),
    "with affine": (lambda: lsip.minimize(x[0] ** 2 - x[0] + x[1] ** 2), list, -0.25),
    "concave": (lambda: lsip.maximize(x[0] - x[0] ** 2 + x @ -np.eye(3) @ x), list, 0.125),
    "bound": (lambda: lsip.maximize(x.sum()), lambda: [x @ x <= 1], np.sqrt(3)),
    "each": (lambda: lsip.maximize(x.sum()), lambda: [x**2 <= TARGET], float(np.sqrt(TARGET).sum())),
    "ellipse": (lambda: lsip.maximize(x @ TARGET), lambda: [x @ np.diag([1.0, 4.0, 9.0]) @ x <= 1], np.sqrt(3)),
    "singular": (lambda: lsip.minimize(x @ LAPLACIAN @ x), lambda: [x[0] >= 1, x[1] <= 0], 1.5),
    "x @ (P @ x)": (lambda: lsip.minimize(x @ (LAPLACIAN @ x)), lambda: [x[0] >= 1, x[1] <= 0], 1.5),
    "np.dot": (lambda: lsip.minimize(np.dot(x, np.dot(LAPLACIAN, x))), lambda: [x[0] >= 1, x[1] <= 0], 1.5),
    "shifted": (lambda: lsip.minimize((x - TARGET) @ np.eye(3) @ (x - TARGET)), lambda: [x.sum() == 0], 12.0),
    "beside others": (
        lambda: lsip.minimize(x[0] ** 2 + abs(x[0] - 1) + np.maximum(x[1], -x[1]) + np.linalg.norm(x[1:] - 3)),
        list,
        0.75 + 3,
    ),
    "least squares": (lambda: lsip.minimize(lsip.sum_squares(A @ z - b)), list, LEAST),
    "consistent": (lambda: lsip.minimize(lsip.sum_squares(A @ z - A @ np.arange(12.0))), list, 0.0),
    "far": (lambda: lsip.minimize(lsip.sum_squares(x)), lambda: [x[0] >= 1e3], 1e6),
    "near": (lambda: lsip.minimize(lsip.sum_squares(x)), lambda: [x[0] >= 1e-3], 1e-6),
    "large data": (lambda: lsip.minimize(lsip.sum_squares(1e6 * (A @ z) - 1e6 * b)), list, 1e12 * LEAST),
    "small data": (lambda: lsip.minimize(lsip.sum_squares(1e-6 * (A @ z) - 1e-6 * b)), list, 1e-12 * LEAST),
    "ridge": (lambda: lsip.minimize(lsip.sum_squares(A @ z - b) + 0.1 * lsip.sum_squares(z)), list, RIDGE),
    "forall": (
        lambda: lsip.minimize(e),
        lambda: [lsip.forall(t, (x[0] + x[1] * t - np.exp(t)) ** 2 <= e)],
        ERROR**2,
    ),
    "over": (lambda: lsip.minimize((x[0] + x[1] * t - np.exp(t)) ** 2, over=t), list, ERROR**2),
    "two under forall": (
        lambda: lsip.maximize(x[0] + x[1]),
        lambda: [lsip.forall(t, (x[0] * np.cos(t)) ** 2 + 2 * (x[1] * np.sin(t)) ** 2 <= 1), x[1] <= 1],
        1 + np.sqrt(0.5),  # cos^2 + 2 s sin^2 <= 1 for all t just where s <= 1/2
    ),
    "abs under forall": (
        lambda: lsip.maximize(x[0]),
        lambda: [lsip.forall(t, (x[0] * t) ** 2 + abs(x[0]) <= 2)],
        1.0,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_squares_are_certified(name):
    objective, constraints, value = MODELS[name]
    solution = solved(lsip.Problem(objective(), constraints()))
    assert solution.value == pytest.approx(value, rel=2e-5, abs=1e-10 if name == "near" else 1e-6 if value else 1e-7)


def test_squares_and_norms_are_one_problem():
    """The least distance, and the least square of it."""
    rows = [x.sum() <= 1, lsip.forall(t, x[0] + x[1] * t >= 0.2)]
    norm = solved(lsip.Problem(lsip.minimize(np.linalg.norm(x - TARGET)), rows))
    squares = solved(lsip.Problem(lsip.minimize(lsip.sum_squares(x - TARGET)), rows))
    assert squares.value == pytest.approx(norm.value**2, rel=1e-6)


def test_infeasible_squares_are_proven_to_be():
    for rows in ([lsip.sum_squares(x) <= -1], [x @ x <= 1, x[0] >= 2]):
        solution = lsip.Problem(lsip.minimize(e), [*rows, e >= 0]).solve(verbose=False)
        assert solution.status is lsip.Status.INFEASIBLE
        solution.verify()


def test_multipliers_are_those_of_what_was_written():
    """The value of (e - 1)^2 <= r is 1 - sqrt(r), which falls by 1 / (2 sqrt(r))."""
    for right in (4.0, 1e-4, 1e6):
        row = (e - 1) ** 2 <= right
        solution = solved(lsip.Problem(lsip.minimize(e), [row]))
        assert solution.dual(row) == pytest.approx(0.5 / np.sqrt(right), rel=1e-3)
    row = lsip.forall(t, (e - t) ** 2 <= 4)
    solution = solved(lsip.Problem(lsip.minimize(e), [row]))
    (atom,) = solution.dual(row)
    assert (atom.point[0], atom.multiplier) == pytest.approx((1.0, 0.25), rel=1e-3)


def test_print_value_and_files(tmp_path):
    rows = [lsip.forall(t, (x[0] + x[1] * t - np.exp(t)) ** 2 + x[2] ** 2 <= e), (x @ LAPLACIAN @ x <= 9).named("ball")]
    problem = lsip.Problem(lsip.minimize(e + 0.1 * lsip.sum_squares(x)), rows)
    assert "minimize e + 0.1 ‖x‖²" in str(problem)
    assert "(x[0] + x[1] t - exp(t))² + x[2]² ≤ e" in str(problem)
    assert r"\left\|x\right\|^2" in problem._repr_latex_()
    solution = solved(problem)
    assert solution[x @ x] == pytest.approx(float(solution[x] @ solution[x]))
    solution.report(tmp_path / "r.html")
    solution.save(tmp_path / "s.npz")
    assert lsip.load(tmp_path / "s.npz").value == solution.value
    problem.save(tmp_path / "p.json")
    again = lsip.load(tmp_path / "p.json")
    assert "exp(t))²" in str(again)
    assert solved(again).value == pytest.approx(solution.value, abs=1e-6)


def test_a_checker_that_shares_no_code_proves_it(tmp_path):
    solution = solved(lsip.Problem(lsip.minimize(e), [(e - 1) ** 2 <= 4]))
    solution.export(tmp_path / "proof.json")
    done = subprocess.run(
        [sys.executable, checker.__file__, str(tmp_path / "proof.json")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "proven" in done.stdout


def test_a_parameter_is_inside_of_the_square():
    weight = lsip.Parameter(name="lam")
    data, right = A[:9, :3], b[:9]
    problem = lsip.Problem(lsip.minimize(lsip.sum_squares(data @ x - right) + ((np.sqrt(weight) * x) ** 2).sum()))
    for value in (0.5, 2.0):
        weight.value = value
        best = right @ right - right @ data @ np.linalg.solve(data.T @ data + value * np.eye(3), data.T @ right)
        assert solved(problem).value == pytest.approx(best, rel=1e-6)


# ---- the mathematics ------------------------------------------------------------------------------------------------


def test_roots_are_enclosed():
    for ratio in (Fraction(4), Fraction(2), Fraction(1, 3), Fraction(2) ** -500, Fraction(10**40 + 1)):
        low, high = map(Fraction, root(ratio))
        assert low**2 <= ratio <= high**2 <= low**2 * (1 + Fraction(1, 2**50))
    assert root(Fraction(9, 4)) == (1.5, 1.5)


def test_factors_enclose_the_matrix():
    """R' R contains P, entry by entry, and not much more; whatever its condition."""
    hilbert = 1.0 / (np.arange(8)[:, None] + np.arange(8) + 1) + 1e-12 * np.eye(8)
    for matrix in (LAPLACIAN, np.diag([2.0, 0.0, 3.0]), hilbert, A.T @ A, np.ones((4, 4))):
        sign, found = factor(0.5 * matrix + 0.5 * matrix.T, "P")
        low, high = (np.asarray(getattr(found, end, found.value)) for end in ("lower", "upper"))
        assert sign == 1
        middle, radius = 0.5 * (low + high), 0.5 * (high - low)
        wide = 2 * np.abs(middle).T @ radius + 1e-14 * np.abs(middle).T @ np.abs(middle)
        assert (np.abs(middle.T @ middle - matrix) <= wide).all()
        assert (radius <= 1e-15 * np.abs(middle)).all()


def test_rotated_cones_are_what_they_say():
    """Rows are below the bounds, the worst of them has the sign of what is seen, and models are nowhere less."""
    kind, draw = RotatedCone(), np.random.default_rng(3)
    for _ in range(200):
        r, right = draw.normal(size=3) * 10.0 ** draw.integers(-3, 4), draw.normal() * 100
        unit = 4.0 ** draw.integers(-5, 6)
        q = np.concatenate([2 * np.sqrt(unit) * r, [right, -unit, -right, -unit]])
        seen = float(kind.value(q))
        assert seen == pytest.approx(float(r @ r - right), rel=1e-9, abs=1e-9)
        worst = kind.worst(q)
        row = float(worst[:-1] @ q[:-4] + (worst[-1] - 1) * right - (worst[-1] + 1) * unit)
        scale = abs(right) + unit + float(r @ r)
        assert np.sign(row) == np.sign(seen) or abs(row) < 1e-12 * scale
        assert row <= 2 * max(seen, 0.0) + 1e-12 * scale
        for other in draw.normal(size=(20, 4)):
            v = other / np.linalg.norm(other)
            assert v[:-1] @ q[:-4] + (v[-1] - 1) * right - (v[-1] + 1) * unit <= row + 1e-12 * scale
        doubt = np.abs(draw.normal(size=7)) * 0.01 * np.abs(q)
        top = float(kind.above(q, doubt))
        for step in draw.uniform(-1, 1, size=(20, 7)):
            moved = q + step * doubt
            scaled = moved[:-4] / (2 * np.sqrt(-moved[-3]))
            assert float(scaled @ scaled - moved[-4]) <= top


def test_models_of_rotated_cones_are_nowhere_less():
    kind, draw = RotatedCone(), np.random.default_rng(4)
    for _ in range(100):
        levels = draw.normal(size=(6, 6))  # two squares, b, -u, -b, -u; in two coordinates
        levels[3:] = [[-4.0, 0, 0, 0, 0, 0], -levels[2], [-4.0, 0, 0, 0, 0, 0]]
        doubt = np.append(np.abs(draw.normal(size=3)) * 0.1, np.zeros(3))
        table, rest = kind.model(Quadratics(levels, 2), doubt)
        for d in draw.uniform(-1, 1, size=(30, 2)):
            powers = np.array([1.0, *d, d[0] ** 2 / 2, d[0] * d[1], d[1] ** 2 / 2])
            q = levels @ powers + draw.uniform(-1, 1, size=6) * doubt
            assert float(kind.value(q)) <= float(table @ powers + rest) + 1e-12


# ---- refusals -------------------------------------------------------------------------------------------------------

REFUSED = {
    "lsip.maximize(x @ x)": "squares can be minimised",
    "x @ x >= 1": "smaller side",
    "x @ x == 1": "cannot be in an equality",
    "x @ np.diag([1.0, -1.0, 0.0]) @ x": r"smallest eigenvalue of P is -1\.",
    "x @ np.triu(np.ones((3, 3))) @ x": r"not symmetric: P\[0, 1\] = 1, P\[1, 0\] = 0",
    "x[:2] @ ROUNDED @ x[:2]": "by rounding",
    "np.maximum(x, 0) ** 2": "not known",
    "np.maximum(x @ x, 1)": "write a constraint each",
    "x ** 3": "not known",
    "t * x[0] ** 2": r"write the factor inside, as in \(np.sqrt\(t\)",
    "lsip.forall(t, x @ x + np.linalg.norm(t * x) <= e)": "squares beside norms",
}


@pytest.mark.parametrize("source", REFUSED)
def test_what_is_not_convex_is_refused_with_advice(source):
    with pytest.raises(lsip.NotConvexError, match=REFUSED[source]):
        eval(source, globals())


@pytest.mark.parametrize("source", ["x * w", "x @ w", "x[0] * x[1]", "x @ np.eye(3) @ w", "x[0] * (x[1] + t)"])
def test_products_of_different_variables_are_refused(source):
    with pytest.raises(lsip.NotAffineError, match=r"product of decision variables.*\n.*lsip.Parameter"):
        eval(source, globals())


def test_the_advice_works():
    """What the messages above say to write is accepted."""
    matrix = np.diag([1.0, -1.0, 0.0])
    values, vectors = np.linalg.eigh(matrix)
    root_of = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    solved(lsip.Problem(lsip.minimize(lsip.sum_squares(root_of @ x)), [x[0] >= 1]))
    upper = np.triu(np.ones((3, 3)))
    solved(lsip.Problem(lsip.minimize(x @ ((upper + upper.T) / 2) @ x), [x[0] >= 1]))
    solved(lsip.Problem(lsip.minimize(w[:2] @ (ROUNDED + 1e-12 * np.eye(2)) @ w[:2]), [w.sum() == 1]))
    solved(lsip.Problem(lsip.minimize(e), [lsip.forall(t, (np.sqrt(t) * (x[0] - 1)) ** 2 <= e)]))
    fixed = lsip.Parameter(3, name="fixed", value=np.ones(3))
    solved(lsip.Problem(lsip.minimize(fixed @ w), [w.sum() == 1]))
    s = lsip.Variable(name="s")
    rows = [lsip.forall(t, np.linalg.norm(t * x) <= s), lsip.sum_squares(x) <= e - s, x[0] >= 1]
    assert solved(lsip.Problem(lsip.minimize(e), rows)).value == pytest.approx(2.0, abs=1e-5)


def test_a_square_may_have_the_coefficient_zero() -> None:
    rows = [(x[0] + x[1]) ** 2 + 0.0 * x[1] ** 2 <= 1, 0.0 * x[2] ** 2 <= 1, x[1] == 0]
    assert solved(lsip.Problem(lsip.minimize(x[0]), rows)).value == pytest.approx(-1.0, abs=1e-6)
