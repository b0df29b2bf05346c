"""Rows that are equalities at some index points whatever x is: quotients in their place, which have room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip
from lsip.expressions.ring import division
from lsip.model.coefficients import fractions
from lsip.proof import checker
from lsip.reductions.affine_hull import AffineHull
from lsip.reductions.chain import restate

UNIT = lsip.Interval(0, 1)


def power_sum(c: Sequence[object], t: object) -> object:
    return sum(c[k] * t**k for k in range(len(c)))  # type: ignore[operator]


def slope(c: Sequence[object], t: object) -> object:
    return sum(k * c[k] * t ** (k - 1) for k in range(1, len(c)))  # type: ignore[operator]


def smooth_step(degree: int) -> lsip.Problem:
    """From 0 to 1 without ever falling, at rest at both ends, as slowly as possible."""
    t, c, h = lsip.Index("t", UNIT), lsip.Variable(degree + 1, name="c"), lsip.Variable(name="h")
    p = [c[k] for k in range(degree + 1)]
    ends = [p[0] == 0, power_sum(p, 1) == 1, p[1] == 0, slope(p, 1) == 0]
    return lsip.Problem(lsip.minimize(h), [lsip.forall(t, [slope(p, t) >= 0, slope(p, t) <= h]), *ends])


def window(degree: int) -> lsip.Problem:
    """A density on [0, 1] that vanishes at both ends, as low as possible."""
    t, c, h = lsip.Index("t", UNIT), lsip.Variable(degree + 1, name="c"), lsip.Variable(name="h")
    p = [c[k] for k in range(degree + 1)]
    whole = sum(p[k] / (k + 1) for k in range(degree + 1)) == 1
    return lsip.Problem(
        lsip.minimize(h),
        [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= h]), p[0] == 0, power_sum(p, 1) == 0, whole],
    )


def bump() -> lsip.Problem:
    """The smallest area under a curve between 0 and 1 that is 1 in the middle: there, its slope has to vanish."""
    t, c = lsip.Index("t", lsip.Interval(-1, 1)), lsip.Variable(5, name="c")
    p = [c[k] for k in range(5)]
    area = sum(p[k] * (2 / (k + 1)) for k in (0, 2, 4))
    ends = [p[0] == 1, power_sum(p, 1) == 0, power_sum(p, -1) == 0]
    return lsip.Problem(lsip.minimize(area), [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= 1]), *ends])


def without_constant_term() -> lsip.Problem:
    t, c = lsip.Index("t", lsip.Interval(-1, 1)), lsip.Variable(4, name="c")
    p = [0, *(c[k] for k in range(4))]
    return lsip.Problem(
        lsip.minimize(power_sum(p, 0.5)),
        [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= 1]), power_sum(p, 1) == 1],
    )


def between_curves_that_meet() -> lsip.Problem:
    t, c = lsip.Index("t", UNIT), lsip.Variable(5, name="c")
    p = [c[k] for k in range(5)]
    return lsip.Problem(
        lsip.maximize(power_sum(p, 0.25)), [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= t * (1 - t)])]
    )


def with_a_finite_row() -> lsip.Problem:
    t, c = lsip.Index("t", UNIT), lsip.Variable(3, name="c")
    p = [c[k] for k in range(3)]
    return lsip.Problem(
        lsip.maximize(power_sum(p, 0.5)), [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= t]), p[0] <= 0]
    )


def natural_convex_fit() -> lsip.Problem:
    """Beside rows with kinks: the second derivative is nonnegative, and vanishes at both ends."""
    t, c, h = lsip.Index("t", UNIT), lsip.Variable(4, name="c"), lsip.Variable(name="h")
    bend = 2 * c[2] + 6 * c[3] * t
    error = np.abs(power_sum([c[k] for k in range(4)], t) - np.abs(t - 0.5))
    return lsip.Problem(
        lsip.minimize(h), [lsip.forall(t, [error <= h, bend >= 0]), c[2] == 0, 2 * c[2] + 6 * c[3] == 0]
    )


def auction() -> lsip.Problem:
    """The best revenue p(v) of a good whose share q(v) a buyer of value v gets, if nobody gains by saying s instead."""
    y, v = lsip.Index("y", lsip.Box([0, 0], [1, 1])), lsip.Index("v", UNIT)
    q, p = lsip.Variable(3, name="q"), lsip.Variable(4, name="p")
    share, price = [q[k] for k in range(3)], [p[k] for k in range(4)]
    truth = y[0] * power_sum(share, y[0]) - power_sum(price, y[0])
    lie = y[0] * power_sum(share, y[1]) - power_sum(price, y[1])
    return lsip.Problem(
        lsip.maximize(sum(price[k] / (k + 1) for k in range(4))),
        [
            lsip.forall(y, truth >= lie),
            lsip.forall(v, v * power_sum(share, v) - power_sum(price, v) >= 0),
            lsip.forall(v, [power_sum(share, v) >= 0, power_sum(share, v) <= 1]),
        ],
    )


def membrane() -> lsip.Problem:
    """A surface over a square that vanishes on all of its boundary, below another one that does."""
    y, c = lsip.Index("y", lsip.Box([0, 0], [1, 1])), lsip.Variable(3, name="c")
    edge = y[0] * (1 - y[0]) * y[1] * (1 - y[1])
    u = edge * (c[0] + c[1] * y[0] + c[2] * y[1])
    return lsip.Problem(
        lsip.maximize(c[0] + c[1] / 4 + c[2] / 4), [lsip.forall(y, [u >= 0, u <= 16 * edge]), c[1] + c[2] == 0]
    )


def two_bands() -> lsip.Problem:
    t, c = lsip.Index("t", lsip.Interval(0, 0.25) | lsip.Interval(0.5, 1)), lsip.Variable(3, name="c")
    p = [c[k] for k in range(3)]
    return lsip.Problem(
        lsip.minimize(power_sum(p, 0.375)),
        [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= 1]), p[0] == 0, power_sum(p, 1) == 1],
    )


def squeezed_at_a_corner() -> lsip.Problem:
    y, x = lsip.Index("y", lsip.Box([0, 0], [1, 1])), lsip.Variable(2, name="x", lower=0)
    return lsip.Problem(
        lsip.minimize(x[0] + 2 * x[1]), [lsip.forall(y, x[0] + x[1] >= y[0] + y[1]), x[0] + x[1] <= 2, x[0] <= 1.5]
    )


def touching_inside() -> lsip.Problem:
    """p(1.5) <= 0 and p >= (t - 1.5)² (t - 3) make p and p' vanish at 1.5, p' <= (t - 1.5)² also p''."""
    t, c = lsip.Index("t", lsip.Interval(1, 3)), lsip.Variable(4, name="c", lower=-1, upper=1)
    p = [c[k] for k in range(4)]
    rows = [slope(p, t) <= (t - 1.5) ** 2, power_sum(p, t) >= (t - 1.5) ** 2 * (t - 3)]
    cost = 0.23 * c[0] - 0.43 * c[1] + 0.12 * c[2] - 0.55 * c[3]
    return lsip.Problem(lsip.minimize(cost), [power_sum(p, 1.5) <= 0, lsip.forall(t, rows)])


def touching_at_a_rounded_point() -> lsip.Problem:
    """Powers of 0.4 are rounded; p is a multiple of (t - 0.4)² all the same."""
    t, c = lsip.Index("t", lsip.Interval(0.1, 0.7)), lsip.Variable(3, name="c", lower=-10, upper=10)
    powers = 0.4 ** np.arange(3.0)
    row = c @ t ** np.arange(3) >= -((t - 0.4) ** 2)
    return lsip.Problem(lsip.minimize(0.7 ** np.arange(3.0) @ c), [powers @ c == 0, lsip.forall(t, row)])


def three_rows_together() -> lsip.Problem:
    """p >= 0 and p(0) + p(1) <= 0: no two of the three rows are opposite to each other."""
    t, c = lsip.Index("t", UNIT), lsip.Variable(3, name="c")
    p = [c[k] for k in range(3)]
    rows = [power_sum(p, t) >= 0, power_sum(p, t) <= t]
    return lsip.Problem(lsip.maximize(power_sum(p, 0.5)), [lsip.forall(t, rows), p[0] + power_sum(p, 1) <= 0])


def nothing_but_zero() -> lsip.Problem:
    """p >= 0 falls nowhere below p(0.25) = 0 and rises nowhere: it is zero."""
    t, c = lsip.Index("t", UNIT), lsip.Variable(5, name="c", lower=-1, upper=1)
    p = [c[k] for k in range(5)]
    rows = [power_sum(p, t) >= 0, slope(p, t) <= 0]
    return lsip.Problem(lsip.minimize(1 + c[0] - c[4]), [lsip.forall(t, rows), power_sum(p, 0.25) <= 0])


MODELS: list[tuple[Callable[[], lsip.Problem], float]] = [
    (lambda: smooth_step(3), 1.5),  # 3 t² - 2 t³ is the only one
    (lambda: smooth_step(5), 1.2),
    (lambda: window(2), 1.5),
    (lambda: window(4), 1.2),
    (bump, 16 / 15),  # (1 - t²)²
    (without_constant_term, 0.0625),  # t⁴
    (between_curves_that_meet, 0.1875),
    (with_a_finite_row, 0.5),
    (natural_convex_fit, 0.25),  # a constant
    (auction, 1 / 6),
    (membrane, 16.0),
    (two_bands, 0.140625),  # t²
    (squeezed_at_a_corner, 2.5),
    (touching_inside, -4.76875 / 6.75),  # (t - 1.5)³ / 6.75
    (touching_at_a_rounded_point, -0.09),  # -(t - 0.4)²
    (three_rows_together, 0.25),  # t (1 - t)
    (nothing_but_zero, 1.0),
]


@pytest.mark.parametrize(("build", "value"), MODELS)
def test_models_without_a_strictly_feasible_point_are_certified(
    build: Callable[[], lsip.Problem], value: float
) -> None:
    solution = build().solve(verbose=False)
    assert solution.certified, solution.message
    assert solution.value == pytest.approx(value, rel=1e-7)
    slack = 1e-9 * (1 + abs(value))
    assert solution.lower <= value + slack
    assert solution.upper >= value - slack
    solution.verify()


@pytest.mark.parametrize(("build", "value"), [MODELS[k] for k in (1, 4, 6, 9, 13, 14, 15)])
def test_they_are_saved_loaded_and_checked_like_others(
    build: Callable[[], lsip.Problem], value: float, tmp_path: Path
) -> None:
    solution = build().solve(verbose=False)
    solution.save(tmp_path / "solution.npz")
    assert lsip.Solution.load(tmp_path / "solution.npz", build()).certified
    solution.export(tmp_path / "proof.json")
    assert checker.main([str(tmp_path / "proof.json")]) == 0
    again = build().solve(verbose=False, warm_start=solution)
    assert again.certified
    assert again.value == pytest.approx(value, rel=1e-7)


def test_every_finite_subsystem_is_feasible_and_yet_it_is_proven_that_the_whole_is_not() -> None:
    """t² x + (1 - t)² z >= 2 t (1 - t) and x <= 0: x is 0 then, and what is left of it at t = 1 is 0 >= 2."""
    solution = lsip.catalogue.get("weakly_infeasible").build().solve(verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE
    assert solution.certified
    solution.verify()


def test_the_rows_that_are_shown_are_the_quotients() -> None:
    program = restate(smooth_step(3).compile())
    assert program.families[0].labels == (
        "(c[1] + 2 c[2] t + 3 c[3] t² ≥ 0) / (t (1 - t))",
        "h ≥ c[1] + 2 c[2] t + 3 c[3] t²",
    )
    implied = restate(without_constant_term().compile())
    assert implied.row_labels[1:] == ("c[0] t + c[1] t² + c[2] t³ + c[3] t⁴ ≥ 0 where t = 0",)
    np.testing.assert_array_equal(np.abs(implied.A[1].toarray()), [[1, 0, 0, 0]])


@pytest.mark.parametrize(("build", "value"), MODELS)
def test_the_violation_that_is_told_is_that_of_the_rows_as_they_were_written(
    build: Callable[[], lsip.Problem], value: float
) -> None:
    problem = build()
    solution = problem.solve(verbose=False)
    for found in (solution, solution.verify()):
        for written, bound in zip(problem.compile().families, found.certificate.violation, strict=True):
            points = written.domain.grid(4)
            a, b = written.rows(points)
            g = np.einsum("npk,pk->np", a, found.x[written.columns]) - b
            assert g.max() <= bound + 1e-13 * (1 + abs(value))


def test_what_is_taken_for_rounding_is_said() -> None:
    solution = touching_at_a_rounded_point().solve(verbose=False)
    assert any("rounding of the data" in a for a in solution.certificate.assumptions)
    assert not touching_inside().solve(verbose=False).certificate.assumptions


def test_inequalities_are_not_excused_by_rounding() -> None:
    """z[0] - a z[1] >= 0 and z[0] - b z[1] <= 0 with a > b: z[1] <= 0, though a and b differ in the last place only."""
    t, z = lsip.Index("t", UNIT), lsip.Variable(3, name="z", lower=-1, upper=1)
    assert Fraction(0.1) ** 2 > Fraction(0.01)
    rows = [lsip.forall(t, z[0] + z[1] * (t**2 - 0.2 * t) + (z[2] + 1) * (t - 0.1) ** 2 >= 0), z[0] <= 0.01 * z[1]]
    solution = lsip.Problem(lsip.minimize(-z[1]), rows).solve(verbose=False)
    assert not solution.certified or solution.lower <= 0 <= solution.upper


def test_a_contradiction_needs_no_equations() -> None:
    t, z = lsip.Index("t", UNIT), lsip.Variable(2, name="z")
    rows = [lsip.forall(t, z[0] >= t * (1 - t) + 0.1), z[0] + z[1] <= 0.3, z[1] >= 0]
    problem = lsip.Problem(lsip.minimize(z[0]), rows)
    solution = problem.solve(verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE
    assert not solution.certificate.assumptions
    assert restate(problem.compile()).A.shape == problem.compile().A.shape


def test_right_hand_sides_without_a_value_are_refused() -> None:
    h, z = lsip.Index("h", UNIT), lsip.Variable(name="z", lower=-1, upper=1)
    with pytest.raises(lsip.ModelError, match="not defined at h = 0"):
        lsip.Problem(lsip.minimize(z), [lsip.forall(h, z >= np.sqrt(h) / h)]).solve(verbose=False)


def test_an_equation_that_contradicts_the_others_proves_nothing_feasible() -> None:
    """p(0) = 0 and p'(0) = 1 cannot be kept by a curve that is nonnegative on both sides of 0."""
    t, c = lsip.Index("t", lsip.Interval(-1, 1)), lsip.Variable(3, name="c")
    rows = [lsip.forall(t, c[0] + c[1] * t + c[2] * t**2 >= 0), c[0] == 0, c[1] == 1]
    solution = lsip.Problem(lsip.minimize(c[2]), rows).solve(verbose=False, time_limit=2)
    assert not solution.certified or solution.status is lsip.Status.INFEASIBLE
    assert solution.upper == np.inf


def test_what_is_no_polynomial_is_said_to_be_divided_by_hand() -> None:
    t, c = lsip.Index("t", UNIT), lsip.Variable(4, name="c")
    p = [c[k] for k in range(4)]
    area = sum(p[k] / (k + 1) for k in range(4))
    solution = lsip.Problem(lsip.minimize(area), [lsip.forall(t, power_sum(p, t) >= np.exp(t)), c[0] == 1]).solve(
        verbose=False
    )
    assert solution.status is lsip.Status.NO_INTERIOR
    assert "≥ exp(t) seems to be an equality where t = 0, whatever x is: divide it by t." in solution.message
    by_hand = power_sum(p[1:], t) >= (np.exp(t) - 1) / t
    better = lsip.Problem(lsip.minimize(area), [lsip.forall(t, by_hand), c[0] == 1]).solve(verbose=False)
    assert better.certified
    assert better.value == pytest.approx(solution.value, rel=1e-7)


@pytest.mark.parametrize(
    "domain",
    [lsip.Finite([[0.0], [0.5], [1.0]]), lsip.Interval(0.5, 1) | lsip.Finite([[0.0]])],
    ids=["finite", "mixed"],
)
def test_points_that_are_apart_from_others_are_left_as_they_are(domain: lsip.Domain) -> None:
    t, c = lsip.Index("t", domain), lsip.Variable(2, name="c")
    program = lsip.Problem(lsip.minimize(c[1]), [lsip.forall(t, c[0] + c[1] * t >= 0), c[0] == 0]).compile()
    assert restate(program) is program


@pytest.mark.parametrize("end", [1.0000001, 1 - 2**-52])
def test_what_nearly_vanishes_is_left_as_it_is(end: float) -> None:
    t, c = lsip.Index("t", UNIT), lsip.Variable(3, name="c")
    p = [c[k] for k in range(3)]
    program = lsip.Problem(
        lsip.minimize(c[1]), [lsip.forall(t, power_sum(p, t) >= 0), power_sum(p, end) == 0]
    ).compile()
    assert restate(program) is program


def test_other_values_of_parameters_are_other_quotients() -> None:
    t, c, start = lsip.Index("t", UNIT), lsip.Variable(3, name="c"), lsip.Parameter(name="start", value=0.0)
    p = [c[k] for k in range(3)]
    problem = lsip.Problem(
        lsip.minimize(power_sum(p, 0.5)),
        [lsip.forall(t, [power_sum(p, t) >= 0, power_sum(p, t) <= 2]), c[0] == start, power_sum(p, 1) == 1],
    )
    found = {}
    for value in (0.0, 0.25, 0.0):
        start.value = value
        solution = problem.solve(verbose=False)
        assert solution.certified, solution.message
        found[value] = solution.value
        solution.verify()
    assert found[0.25] == pytest.approx(0.0625, rel=1e-7)  # the parabola that touches 0 at t = 1/3
    assert found[0.0] == pytest.approx(0.25, rel=1e-7)  # t²
    assert any(" / " in label for label in solution.program.families[0].labels)


def test_parameters_of_the_rows_are_at_their_values() -> None:
    t, c, least = lsip.Index("t", UNIT), lsip.Variable(3, name="c"), lsip.Parameter(name="least", value=1.0)
    p = [c[k] for k in range(3)]
    rows = [lsip.forall(t, power_sum(p, t) >= least * t), c[0] == 0, power_sum(p, 1) == 4, c[1] <= 100]
    problem = lsip.Problem(lsip.minimize(power_sum(p, 0.5)), rows)
    for value in (1.0, 3.0, 2.0):
        least.value = value
        solution = problem.solve(verbose=False)
        assert solution.certified, solution.message
        assert solution.value == pytest.approx(0.5 * value + 0.25 * (4 - value), rel=1e-7)
        assert " / t" in solution.program.families[0].labels[0]
        solution.verify()


def test_sets_without_width_are_left_as_they_are() -> None:
    """On a box of one value of y[0], c y[0] >= 0 holds for all c, and c >= 0 would be more."""
    y, c = lsip.Index("y", lsip.Box([0, 0], [0, 1])), lsip.Variable(name="c", lower=-1)
    flat = lsip.Box([-1, 0], [0, 1]) & lsip.Box([0, 0], [1, 1])
    for index in (y, lsip.Index("y", flat)):
        solution = lsip.Problem(lsip.minimize(c), [lsip.forall(index, c * index[0] >= 0)]).solve(verbose=False)
        assert solution.lower <= -1


def test_cvxpy_models_are_divided_and_have_their_dual_values() -> None:
    """The least area under a nonnegative curve through 0, which is in proportion to its value at t = 1."""
    cp = pytest.importorskip("cvxpy")
    from lsip.interop.cvxpy import Index, Problem, forall

    t, c = Index("t", lsip.Interval(-1, 1)), cp.Variable(4)
    curve, total = forall(t, sum(c[k] * t ** (k + 1) for k in range(4)) >= 0), cp.sum(c) == 3
    problem = Problem(cp.Minimize(2 / 3 * c[1] + 2 / 5 * c[3]), [curve, total, c <= 100])
    solution = problem.solve()
    assert solution.certified
    assert problem.value > 0.01
    assert total.dual_value == pytest.approx(-problem.value / 3, rel=1e-6)
    solution.verify()


def test_pyomo_models_are_divided() -> None:
    pyo = pytest.importorskip("pyomo.environ")
    from pyomo.dae import ContinuousSet

    import lsip.interop.pyomo  # noqa: F401

    m = pyo.ConcreteModel()
    m.t, m.c, m.h = ContinuousSet(bounds=(0, 1)), pyo.Var(range(4)), pyo.Var()
    m.cost = pyo.Objective(expr=m.h)
    m.ends = pyo.ConstraintList()
    for row in (m.c[0] == 0, m.c[1] == 0, sum(m.c[k] for k in range(4)) == 1, sum(k * m.c[k] for k in range(4)) == 0):
        m.ends.add(row)
    m.rises = pyo.Constraint(m.t, rule=lambda m, t: m.c[1] + 2 * m.c[2] * t + 3 * m.c[3] * t**2 >= 0)
    m.slow = pyo.Constraint(m.t, rule=lambda m, t: m.c[1] + 2 * m.c[2] * t + 3 * m.c[3] * t**2 <= m.h)
    results = pyo.SolverFactory("lsip").solve(m)
    assert results.lsip.certified
    assert pyo.value(m.h) == pytest.approx(1.5, rel=1e-7)


Coefficients = st.lists(st.integers(-4, 4), min_size=1, max_size=5)


@given(Coefficients, st.fractions(-3, 3, max_denominator=8))
def test_a_polynomial_is_quotient_times_factor_and_rest(coefficients: list[int], root: Fraction) -> None:
    p = {(k,): Fraction(c) for k, c in enumerate(coefficients) if c}
    quotient, rest = division(p, 0, {(0,): root} if root else {})
    assert all(e == (0,) for e in rest)
    for t in (Fraction(0), Fraction(1, 3), Fraction(-2), root):
        at = {e: t ** e[0] for e in {*p, *quotient, *rest}}
        total = (t - root) * sum(c * at[e] for e, c in quotient.items()) + sum(rest.values())
        assert sum(c * at[e] for e, c in p.items()) == total


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=5, max_size=5),
    st.sampled_from([0.0, 1.0]),
    st.integers(0, 2),
    st.lists(st.fractions(-2, 2, max_denominator=4), min_size=5, max_size=5),
)
def test_rows_are_quotients_times_their_factor_for_all_x_that_keep_the_equalities(
    rhs: list[int], end: float, times: int, x: list[Fraction]
) -> None:
    """p(t) >= r(t) with p and r equal at an end, together with some of their derivatives."""
    t, c = lsip.Index("t", UNIT), lsip.Variable(5, name="c")
    factor = [Fraction(1)]
    for _ in range(times):
        factor = [a * -Fraction(end) + b for a, b in zip([*factor, 0], [0, *factor], strict=True)]
    equalities, left = [], [c[k] - rhs[k] for k in range(5)]
    for _ in range(times):
        equalities.append(sum(left[k] * end**k for k in range(5)) == 0)
        left = [sum(left[j] * end ** (j - k - 1) for j in range(k + 1, 5)) for k in range(4)] + [0 * c[0]]
    curve = power_sum([c[k] for k in range(5)], t) >= power_sum(rhs, t)
    program = lsip.Problem(lsip.minimize(c[0]), [lsip.forall(t, curve), *equalities]).compile()
    made, hull = restate(program), AffineHull.of(program)
    family, given_family = made.families[0], program.families[0]
    # A point of the affine hull: columns that equations are solved for follow from the others.
    point = dict(enumerate(x))
    for column, row in hull._solved.items():
        point[column] = row.get(5, Fraction(0)) - sum(v * point[j] for j, v in row.items() if j not in (column, 5))
    place = np.array([0], dtype=np.intp)
    sign = Fraction(1 if end == 0 else -1) ** times
    for value in (0.0, 0.25, 0.7, 1.0):
        y = np.array([[value]])
        rows = [fractions(f, y, place) for f in (given_family, family)]
        assert rows[0] is not None
        assert rows[1] is not None
        sides = [f.source.polynomials.fractions(y, [[5]])[0][0] for f in (given_family, family)]
        g, h = (
            sum(a * point[j] for a, j in zip(row[0], f.columns[0].tolist(), strict=True)) - side
            for row, f, side in zip(rows, (given_family, family), sides, strict=True)
        )
        assert g == sign * sum(a * Fraction(value) ** k for k, a in enumerate(factor)) * h
    assert (family is given_family) == (times == 0)
