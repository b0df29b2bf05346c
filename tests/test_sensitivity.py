"""Derivatives of optima: against differences of solves, against closed forms, and refused where there are none."""

import numpy as np
import pytest

import lsip

t = lsip.Index("t", lsip.Interval(0, 1))


def approximation():
    """tan from above by a parabola, whose touching point moves with the data."""
    z = lsip.Variable(3, name="z")
    q, w = lsip.Parameter(3, name="q", value=[1.0, 0.5, 1 / 3]), lsip.Parameter(name="w", value=1.1)
    rows = lsip.forall(t, z[0] + z[1] * t + z[2] * t**2 >= np.tan(w * t))
    return lsip.Problem(lsip.minimize(q @ z), [rows]), z, (q, w)


def plane():
    """A maximum over a box with a bound, a finite row and a disc that all depend on parameters."""
    x = lsip.Variable(3, name="x")
    y = lsip.Index("y", lsip.Box([0, 0], [6.4, 1]))
    c, b = lsip.Parameter(3, name="c", value=[1.0, 2.0, 1.0]), lsip.Parameter(2, name="b", value=[1.5, 0.25])
    rows = lsip.forall(y, np.cos(y[0]) * x[0] + np.sin(y[0]) * x[1] + x[2] / 4 <= b[0] + (y[1] - 0.3) ** 2)
    return lsip.Problem(lsip.maximize(c @ x), [rows, x[2] <= b[1]]), x, (c, b)


@pytest.mark.parametrize("make", [approximation, plane])
def test_derivatives_against_differences_of_solves(make):
    problem, x, parameters = make()
    solution = problem.solve(tol=1e-10, verbose=False)
    for p in parameters:
        start, step = np.array(p.value, dtype=float), 1e-4
        value, moved = np.ravel(solution.sensitivity(p)), solution.sensitivity(p, x).reshape(x.size, -1)
        for k in range(start.size):
            ends = []
            for way in (step, -step):
                there = start.copy()
                there.flat[k] += way
                p.value = there
                other = problem.solve(tol=1e-10, verbose=False)
                ends.append((other.value, other[x]))
            p.value = start
            assert value[k] == pytest.approx((ends[0][0] - ends[1][0]) / (2 * step), rel=1e-4, abs=1e-4)
            np.testing.assert_allclose(moved[:, k], (ends[0][1] - ends[1][1]) / (2 * step), rtol=1e-3, atol=1e-3)
        assert np.array_equal(p.value, start), "the parameter is as it was"


def test_a_bound_that_moves():
    p = lsip.Parameter(name="p", value=2.0)
    x = lsip.Variable(2, name="x", upper=3.0)
    problem = lsip.Problem(lsip.maximize(x[0] + x[1]), [lsip.forall(t, x[1] * t <= p + (t - 1) ** 2)])
    solution = problem.solve(tol=1e-9, verbose=False)
    assert solution.sensitivity(p) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(solution.sensitivity(p, x), [0.0, 1.0], atol=1e-6)


def degenerate():
    """Three rows meet in a point of the plane."""
    x, p = lsip.Variable(2, name="x"), lsip.Parameter(name="p", value=1.0)
    return lsip.Problem(
        lsip.maximize(x[0] + x[1]), [x[0] <= p, x[1] <= 1, x[0] + x[1] <= 2, lsip.forall(t, t * x[0] <= 5)]
    ), p


def loose():
    """A row that is active with the multiplier zero."""
    x, p = lsip.Variable(2, name="x"), lsip.Parameter(name="p", value=1.0)
    return lsip.Problem(
        lsip.maximize(x[0]), [x[0] <= p, lsip.forall(t, x[0] + t * x[1] <= 1), x[1] <= 4, x[1] >= -4]
    ), p


def test_a_kink_that_moves_is_refused():
    """The value is 1/2 - p, but the Lagrangian at a point that stays does not change."""
    x, p = lsip.Variable(2, name="x"), lsip.Parameter(name="p", value=0.4)
    rows = lsip.forall(t, x[0] + x[1] * t + 2 * abs(t - p) >= 0)
    problem = lsip.Problem(lsip.minimize(x[0] + 0.5 * x[1]), [rows, x[1] == 1])
    solution = problem.solve(tol=1e-9, verbose=False)
    for what in ((p,), (p, x)):
        with pytest.raises(lsip.ModelError, match="kink"):
            solution.sensitivity(*what)


@pytest.mark.parametrize("formula", [lambda p: abs(p) + t, lambda p: -np.maximum(p, t), lambda p: np.minimum(p + 1, t)])
def test_a_kink_in_the_parameter_is_refused(formula):
    x, p = lsip.Variable(name="x"), lsip.Parameter(name="p", value=0.0)
    solution = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= formula(p))]).solve(verbose=False)
    for what in ((p,), (p, x)):
        with pytest.raises(lsip.ModelError, match="kink"):
            solution.sensitivity(*what)


def test_a_parameter_that_has_changed_since_the_solve_is_refused():
    x, p = lsip.Variable(name="x"), lsip.Parameter(name="p", value=1.0)
    solution = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= p**2 * t)]).solve(verbose=False)
    assert solution.sensitivity(p) == pytest.approx(2.0, abs=1e-6)
    p.value = 3.0
    with pytest.raises(lsip.ModelError, match="changed since the solve"):
        solution.sensitivity(p)


def test_rows_that_are_divided_by_what_vanishes():
    """c = (p, 4 p, -3 p): the row is divided by t, and its multipliers are those of the quotient."""
    c, p = lsip.Variable(3, name="c"), lsip.Parameter(name="p", value=0.7)
    curve = lsip.forall(t, c @ t ** np.arange(3) >= p + p * t * (2 - t) ** 2)
    problem = lsip.Problem(lsip.minimize(c[0] + 0.3 * c[1] + 0.2 * c[2]), [c[0] == p, curve])
    solution = problem.solve(verbose=False)
    assert solution.sensitivity(p) == pytest.approx(1.6, abs=1e-6)
    np.testing.assert_allclose(solution.sensitivity(p, c), [1.0, 4.0, -3.0], atol=1e-6)


def test_rows_that_leave_no_slack_for_one_value_only_are_refused():
    x, p = lsip.Variable(name="x", lower=-10, upper=10), lsip.Parameter(name="p", value=1.0)
    solution = lsip.Problem(lsip.minimize(x), [x >= p, x <= 1]).solve(verbose=False)
    with pytest.raises(lsip.ModelError, match="no slack"):
        solution.sensitivity(p)


def whole():
    x, p = lsip.Variable(integer=True, name="x"), lsip.Parameter(name="p", value=1.5)
    return lsip.Problem(lsip.maximize(x), [lsip.forall(t, t * x <= p)]), p


@pytest.mark.parametrize("make", [degenerate, loose, whole])
def test_where_there_is_no_derivative_it_is_said(make):
    problem, p = make()
    solution = problem.solve(verbose=False)
    with pytest.raises(lsip.ModelError) as caught:
        solution.sensitivity(p)
    assert str(caught.value).count("\n") <= 2


def test_wrong_arguments_are_refused():
    problem, _, (q, _) = approximation()
    solution = problem.solve(verbose=False)
    for wrong in (3.0, "q", lsip.Parameter(name="other", value=1.0)):
        with pytest.raises(lsip.ModelError, match=r"lsip\.Parameter"):
            solution.sensitivity(wrong)
    with pytest.raises(lsip.ModelError, match="not a variable"):
        solution.sensitivity(q, lsip.Variable(name="v"))


def test_the_layer_passes_gradcheck():
    torch = pytest.importorskip("torch")
    from lsip.interop.torch import layer

    problem, z, (q, w) = approximation()
    best = layer(problem, [q, w], [z])
    many = torch.tensor([[1.0, 0.5, 1 / 3], [1.0, 0.45, 0.3]], dtype=torch.float64, requires_grad=True)
    one = torch.tensor(1.1, dtype=torch.float64, requires_grad=True)
    assert best(many, one)[0].shape == (2, 3)
    assert best(many[0], one)[0].shape == (3,)
    assert torch.autograd.gradcheck(lambda a, b: best(a, b, tol=1e-11)[0], (many, one), eps=1e-4, atol=1e-3, rtol=1e-3)
    with pytest.raises(lsip.ModelError, match="2 tensors"):
        best(many)
    with pytest.raises(lsip.ModelError, match="shape"):
        best(many[:, :2], one)
    with pytest.raises(lsip.ModelError, match="all of them"):
        layer(problem, [q], [z])


def test_the_layer_says_where_there_is_no_derivative():
    torch = pytest.importorskip("torch")
    from lsip.interop.torch import layer

    problem, p = degenerate()
    given = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    (x,) = layer(problem, [p], [problem.variables[0]])(given)
    with pytest.raises(lsip.ModelError, match="derivative"):
        x.sum().backward()
