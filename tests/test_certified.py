"""Certified means certified: what an answer calls proven is true of the doubles of the model, without any allowance."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import lsip
from lsip.proof.certificate import DataAssumption, TrustAssumption
from lsip.proof.equations import disagreement

T = lsip.Interval(0, 1)


def index() -> lsip.Index:
    return lsip.Index("t", T)


def assert_keeps_finite_rows(solution: lsip.Solution) -> None:
    """Every inequality and bound holds at x exactly; an exact solution of the equalities lies in the box."""
    program, x = solution.program, solution.x
    box = solution.certificate.box if len(solution.certificate.box) else np.zeros(program.n)
    ends = [(Fraction(float(v)), Fraction(float(r))) for v, r in zip(x, box, strict=True)]
    corners = [(v - r, v + r) for v, r in ends]
    for (low, high), lower, upper in zip(corners, program.lower, program.upper, strict=True):
        assert lower == -np.inf or low >= Fraction(float(lower))
        assert upper == np.inf or high <= Fraction(float(upper))
    for i in range(program.A.shape[0]):
        row = program.A[[i]].tocoo()
        terms = [(Fraction(float(a)), corners[j]) for a, j in zip(row.data, row.col, strict=True)]
        least = sum((min(a * low, a * high) for a, (low, high) in terms), Fraction(0))
        most = sum((max(a * low, a * high) for a, (low, high) in terms), Fraction(0))
        if program.row_lower[i] == program.row_upper[i]:
            if i not in solution.certificate.dependent:
                assert least <= Fraction(float(program.row_upper[i])) <= most
            continue
        assert program.row_upper[i] == np.inf or most <= Fraction(float(program.row_upper[i]))
        assert program.row_lower[i] == -np.inf or least >= Fraction(float(program.row_lower[i]))


# ---- finite rows are rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e-12, 1e-7, 1.0, 1e9])
def test_a_small_finite_row_is_a_row(size: float) -> None:
    x, t = lsip.Variable(2, name="x", lower=0, upper=10), index()
    limit = size * (x[0] + x[1]) <= size
    solution = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(t, x[0] * t + x[1] <= 3), limit]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(1, rel=1e-7)
    assert solution.lower <= 1 <= solution.upper
    assert_keeps_finite_rows(solution)
    solution.verify()


def test_newton_does_not_cross_a_row_beside_a_large_variable() -> None:
    x, v, t = lsip.Variable(4, name="x", lower=-50, upper=50), lsip.Variable(1, name="v", lower=0, upper=1e12), index()
    fit = x[0] + x[1] * t + x[2] * t**2 + x[3] * t**3 >= np.sin(6.02 * t + 1.68)
    row = np.array([-1.11, 2.01, 0.92, -0.36]) @ x <= -13.7131
    objective = lsip.minimize(x[0] + x[1] / 2 + x[2] / 3 + x[3] / 4)
    solution = lsip.Problem(objective, [lsip.forall(t, fit), row, v[0] >= 1e12]).solve(verbose=False)
    assert solution.certified
    assert_keeps_finite_rows(solution)
    plain = lsip.Problem(objective, [lsip.forall(t, fit), row]).solve(verbose=False)
    assert solution.lower <= plain.upper
    assert plain.lower <= solution.upper


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0])
def test_an_infeasible_row_is_never_optimal(size: float) -> None:
    x, t = lsip.Variable(2, name="x", lower=0, upper=10), index()
    row = size * (x[0] + x[1]) <= size * (1 - 1e-9)
    problem = lsip.Problem(lsip.minimize(x[0] - x[1]), [lsip.forall(t, x[0] + x[1] * t >= np.sin(3 * t)), row])
    solution = problem.solve(verbose=False)
    assert solution.status is not lsip.Status.OPTIMAL
    if solution.certified:
        solution.verify()


@settings(max_examples=25)
@given(
    st.lists(st.floats(-2, 2), min_size=3, max_size=3),
    st.integers(-16, 9),
    st.floats(0.2, 3),
)
def test_random_rows_of_any_size_hold_exactly(coefficients: list[float], power: int, side: float) -> None:
    x, t = lsip.Variable(3, name="x", lower=-5, upper=5), index()
    a = 10.0**power * np.array(coefficients)
    problem = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3),
        [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.cos(3 * t)), a @ x <= 10.0**power * side],
    )
    solution = problem.solve(verbose=False, time_limit=10)
    if solution.status is lsip.Status.OPTIMAL:
        assert_keeps_finite_rows(solution)


def test_equalities_hold_in_a_tiny_box() -> None:
    x, t = lsip.Variable(3, name="x"), index()
    problem = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 3),
        [lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t)), x[0] / 3 + x[1] / 7 == x[2] / 10],
    )
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert 0 < solution.certificate.box.max() < 1e-12
    assert_keeps_finite_rows(solution)
    for change in ({"box": np.zeros(3)}, {"box": 1e-3 * solution.certificate.box}):
        forged = dataclasses.replace(solution, certificate=dataclasses.replace(solution.certificate, **change))
        with pytest.raises(lsip.ProofError):
            forged.verify()


def test_dependent_equalities_are_named_where_they_agree_and_contradict_where_they_do_not() -> None:
    x, t = lsip.Variable(2, name="x", lower=0), index()
    constraints = [lsip.forall(t, x[0] + x[1] * t <= 1), x[0] + x[1] == 0.3]
    twice = lsip.Problem(lsip.minimize(x[0] + 2 * x[1]), [*constraints, x[0] + x[1] == 0.1 + 0.2])
    solution = twice.solve(verbose=False)
    assert solution.certified
    assert len(solution.certificate.dependent) == 1
    (sentence,) = solution.certificate.assumptions
    assert isinstance(sentence, DataAssumption)
    assert "x[0] + x[1] = 0.3" in sentence
    solution.verify()
    clash = lsip.Problem(lsip.minimize(x[0] + 2 * x[1]), [*constraints, x[0] + x[1] == 0.3 + 1e-12]).solve(
        verbose=False
    )
    assert clash.status is not lsip.Status.OPTIMAL
    if clash.certified:
        assert clash.status is lsip.Status.INFEASIBLE
        clash.verify()


def test_balanced_transport_has_one_equality_too_many() -> None:
    flow = lsip.Variable((3, 4), name="flow", lower=0)
    supply, demand = np.array([0.1, 0.2, 0.7]), np.array([0.3, 0.3, 0.2, 0.2])
    assert supply.sum() == demand.sum()
    assert sum(map(Fraction, supply.tolist())) != sum(map(Fraction, demand.tolist()))
    t = index()
    problem = lsip.Problem(
        lsip.minimize((np.arange(12.0).reshape(3, 4) % 5 * flow).sum()),
        [flow.sum(axis=1) == supply, flow.sum(axis=0) == demand, lsip.forall(t, flow[0, 0] + t * flow[1, 1] <= 2)],
    )
    solution = problem.solve(verbose=False)
    assert solution.certified, solution.message
    assert len(solution.certificate.dependent) == 1
    assert_keeps_finite_rows(solution)
    solution.verify()


def test_rows_that_follow_from_others_are_compared_in_the_units_of_every_entry() -> None:
    rows = np.array(  # shares of a whole, the second column times 1/64, the second row times 64
        [
            [0.5291920602029871, -0.007356374059328327, -0.4708079397970129],
            [-0.778925586432716, 0.9878292877119889, -0.778925586432716],
            [-0.5170213479149757, -0.008078458561171495, 0.48297865208502433],
        ]
    )
    part = lsip.Variable(3, name="part")
    program = lsip.Problem(lsip.minimize(part[0]), [rows @ part == np.zeros(3)]).compile()
    assert disagreement(program, np.array([0, 1]), np.array([2])) is None
    rows[1, 1] *= 1 + 1e-11
    other = lsip.Problem(lsip.minimize(part[0]), [rows @ part == np.zeros(3)]).compile()
    assert disagreement(other, np.array([0, 1]), np.array([2])) is not None


# ---- sums are rounded once -------------------------------------------------------------------------------------------


def proven(objective: Any, *constraints: Any) -> lsip.Solution:
    solution = lsip.Problem(objective, [*constraints]).solve(verbose=False, time_limit=20)
    assert solution.certified, solution.message
    solution.verify()
    return solution


@pytest.mark.parametrize("times", [1.0, 2.0, -0.5])
def test_coefficients_of_one_variable_are_added_up_exactly(times: float) -> None:
    x, t = lsip.Variable(2, name="x", lower=-1e17, upper=1e17), index()
    left = 0.1 * x[0] + 0.2 * x[0] - 0.3 * x[0]
    side, family = (times, lsip.forall(t, x[1] * t <= 1))
    row = times * left <= side if times > 0 else times * left >= side
    solution = proven(lsip.maximize(x[0]), row, family)
    exact = 1 / (Fraction(0.1) + Fraction(0.2) - Fraction(0.3))
    assert solution.lower <= exact <= solution.upper
    assert solution.value == pytest.approx(float(exact))


@pytest.mark.parametrize(
    "spelled",
    [
        lambda x: 1e16 * x[0] + x[0] - 1e16 * x[0],
        lambda x: sum([1e16 * x[0], x[0], -1e16 * x[0]]),
        lambda x: np.array([1e16, 1, -1e16]) @ np.stack([x[0], x[0], x[0]]),
        lambda x: np.array([1e16, 1, -1e16]) @ x[[0, 0, 0]],
        lambda x: (np.array([1e16, 1, -1e16]) * x[0]).sum(),
        lambda x: np.sum(np.stack([1e16 * x[0], x[0], -1e16 * x[0]])),
        lambda x: 3 * np.mean(np.stack([1e16 * x[0], x[0], -1e16 * x[0]])),
        lambda x: np.cumsum(np.stack([1e16 * x[0], x[0], -1e16 * x[0]]))[2],
        lambda x: sparse.csr_array([[1e16, 1, -1e16]]) @ x[[0, 0, 0]],
        lambda x: sparse.coo_array(([1e16, 1, -1e16], ([0, 0, 0], [0, 0, 0])), shape=(1, 2)) @ x,
        lambda x: ((1e16 + 2) * x[0] - 1e16 * x[0]) * 0.1 * 5,
        lambda x: ((1e16 + 2) * x[0] - 1e16 * x[0]) / 10 * 5,
        lambda x: 0.1 * (1e16 * x[0] + 10 * x[0]) - 0.1 * (1e16 * x[0]),
        lambda x: (1e16 * x[0] + 3 * x[0]) / 3 - 1e16 * x[0] / 3,
    ],
)
def test_sums_of_terms_are_those_that_were_written(spelled: Any) -> None:
    x, t = lsip.Variable(2, name="x", lower=-5, upper=5), index()
    row = proven(lsip.maximize(x[0]), spelled(x) <= 1, lsip.forall(t, x[1] * t <= 1))
    assert row.value == pytest.approx(1)
    objective = proven(lsip.maximize(spelled(x).sum()), x[0] <= 1, lsip.forall(t, x[1] * t <= 1))
    assert objective.value == pytest.approx(1)
    family = proven(lsip.maximize(x[0]), lsip.forall(t, np.atleast_1d(spelled(x))[0] + x[1] * t <= 1), x[1] == 0)
    assert family.value == pytest.approx(1)


@pytest.mark.parametrize(
    "spelled",
    [
        lambda x, t: (x[0] + 1e16) + 1.0 <= 1e16,
        lambda x, t: -x[0] - 1e16 - 1.0 >= -1e16,
        lambda x, t: sum([x[0], 1e16, 1.0, -1e16]) <= 0,
        lambda x, t: np.stack([x[0] * 1.0, 1e16, 1.0, -1e16]).sum() <= 0,
        lambda x, t: np.ones((1, 4)) @ np.stack([x[0] * 1.0, 1e16, 1.0, -1e16]) <= 0,
        lambda x, t: sparse.csr_array(np.ones((1, 4))) @ np.stack([x[0] * 1.0, 1e16, 1.0, -1e16]) <= 0,
        lambda x, t: 2 * (x[0] + 1e16 + 1.0) - 2e16 <= 0,
        lambda x, t: ((x[0] - 1e308) - 1e308) + 1.5e308 + 1.0 <= -0.5e308,
        lambda x, t: lsip.forall(t, x[0] + 1e16 + 1.0 <= t + 1e16),
        lambda x, t: lsip.forall(t, 1e16 + t >= x[0] + 1e16 + 1.0),
        lambda x, t: lsip.forall(t, x[0] + np.stack([t, 1e16, 1 - t, -1e16]).sum() <= t),
        lambda x, t: lsip.forall(t, np.sum(x[0] + 1e16 + 1.0 - (t + 1e16)) <= 0),
        lambda x, t: lsip.forall(t, [x[0] <= 5 + t, x[0] + 1e16 - (t - 1.0 + 1e16) <= 0]),
    ],
)
def test_numbers_on_both_sides_are_added_up_exactly(spelled: Any) -> None:
    x, t = lsip.Variable(2, name="x", lower=-5, upper=5), index()
    solution = proven(lsip.maximize(x[0]), spelled(x, t), lsip.forall(t, x[1] * t <= 1))
    assert solution.value == pytest.approx(-1)
    assert solution.lower <= -1 <= solution.upper


@pytest.mark.parametrize(
    "spelled",
    [
        lambda x, t: x[0] + 1e16 + 1.0 <= 2 * (t + 0.5e16),
        lambda x, t: (x[0] + 1e16 + 1.0) * (1 + t) <= 1e16 * (1 + t),
        lambda x, t: (1e16 * x[0] + x[0]) * (1 + t) + (1 + t) <= 1e16 * (1 + t) * x[0],
    ],
)
def test_numbers_that_cannot_be_added_up_are_enclosed(spelled: Any) -> None:
    x, t = lsip.Variable(2, name="x", lower=-5, upper=5), index()
    solution = lsip.Problem(lsip.maximize(x[0]), [lsip.forall(t, spelled(x, t))]).solve(verbose=False, time_limit=5)
    assert solution.lower <= -1 <= solution.upper


def test_the_constant_of_an_objective_is_added_up_exactly() -> None:
    x, t = lsip.Variable(2, name="x", lower=-5, upper=5), index()
    for goal, optimum in ((lsip.maximize, 6.0), (lsip.minimize, -4.0)):
        solution = proven(goal(x[0] + 1e16 + 1.0 - 1e16), lsip.forall(t, x[1] * t <= 1))
        assert solution.value == pytest.approx(optimum)


def test_sides_beyond_all_doubles_are_refused_and_not_left_out() -> None:
    x, t = lsip.Variable(2, name="x"), index()
    family = lsip.forall(t, x[1] * t <= 1)
    large = lsip.Problem(lsip.maximize(x[0]), [((x[0] - 1e308) - 1e308) + 1.5e308 <= 0, family])
    assert large.compile().row_upper.tolist() == [5e307]
    assert large.solve(verbose=False, time_limit=5).status is not lsip.Status.UNBOUNDED
    with pytest.raises(lsip.ModelError, match="larger units"):
        lsip.Problem(lsip.maximize(x[0]), [(x[0] - 1e308) - 1e308 <= 0, family]).compile()
    with pytest.raises(lsip.ModelError, match="larger units"):
        lsip.Problem(lsip.maximize(x[0]), [lsip.forall(t, (x[0] - 1e308) - 1e308 <= t)]).compile()
    with pytest.raises(lsip.ModelError, match="more than any double"):
        lsip.Problem(lsip.maximize(1e308 * x[0] + 1e308 * x[0]), [family]).compile()
    assert lsip.Problem(lsip.maximize(x[0]), [x[0] + 1 <= np.inf, family]).compile().row_upper[0] == np.inf


NUMBERS = st.sampled_from([1.0, -1.0, 0.1, 0.3, 3.0, 1e16, -1e16, 1e-17, 2.0**53, 0.7])


def spelled_out() -> st.SearchStrategy[Any]:
    """Trees of sums, differences, products and quotients of numbers and two variables."""
    leaf = st.tuples(st.just("x"), st.integers(0, 1))
    return st.recursive(
        leaf,
        lambda below: st.one_of(
            st.tuples(st.sampled_from(["+", "-"]), below, below),
            st.tuples(st.sampled_from(["shift", "times", "over"]), below, NUMBERS),
        ),
        max_leaves=8,
    )


def written(tree: Any, x: lsip.Variable) -> tuple[Any, list[Fraction]]:
    """The expression, and its exact coefficients and constant."""
    if tree[0] == "x":
        return x[tree[1]], [Fraction(int(k == tree[1])) for k in range(3)]
    left, exact = written(tree[1], x)
    if tree[0] in "+-":
        right, other = written(tree[2], x)
        sign = 1 if tree[0] == "+" else -1
        return (left + right if sign > 0 else left - right), [a + sign * b for a, b in zip(exact, other, strict=True)]
    number = tree[2]
    if tree[0] == "shift":
        return left + number, [*exact[:2], exact[2] + Fraction(number)]
    factor = Fraction(number) if tree[0] == "times" else 1 / Fraction(number)
    return (left * number if tree[0] == "times" else left / number), [a * factor for a in exact]


@settings(max_examples=150)
@given(spelled_out(), spelled_out())
def test_compiled_numbers_are_those_that_were_written_but_for_one_rounding(left: Any, right: Any) -> None:
    x, t = lsip.Variable(2, name="x"), index()
    (a, exact), (b, other) = written(left, x), written(right, x)
    want = [p - q for p, q in zip(exact, other, strict=True)]
    constraints = [a <= b, lsip.forall(t, a + t <= b + x[0] * t)]
    program = lsip.Problem(lsip.minimize(a - b + x.sum() - x.sum()), constraints).compile()
    ends = [*program.A.toarray()[0], -program.row_upper[0]]
    for got in (ends, [*program.c, program.constant]):
        assert all(abs(Fraction(float(g)) - w) <= abs(w) * Fraction(2) ** -52 for g, w in zip(got, want, strict=True))
    family, half = program.families[0], np.array([[0.5]])
    coefficients, side = family.enclosed(half, half, np.array([0]))
    seen = dict.fromkeys((0, 1), (Fraction(0), Fraction(0)))
    for column, low, high in zip(family.columns[0].tolist(), coefficients.lo[0], coefficients.hi[0], strict=True):
        seen[column] = (seen[column][0] + Fraction(float(low)), seen[column][1] + Fraction(float(high)))
    halves = [want[0] - Fraction(1, 2), want[1], -want[2] - Fraction(1, 2)]
    seen[2] = (Fraction(float(side.lo[0])), Fraction(float(side.hi[0])))
    for (low, high), w in zip(seen.values(), halves, strict=True):
        once = abs(w) * Fraction(2) ** -52  # what a single product or quotient of numbers may be off by
        assert low - once <= w <= high + once


def test_values_of_expressions_are_added_up_exactly_too() -> None:
    x, t = lsip.Variable(2, name="x", lower=-5, upper=5), index()
    solution = proven(lsip.maximize(x[0]), x[0] <= 1, lsip.forall(t, x[1] * t <= 1))
    assert solution[1e16 * x[0] + x[0] - 1e16 * x[0] + 1e16 + 1.0 - 1e16] == pytest.approx(2)


# ---- lower bounds hold for all x -------------------------------------------------------------------------------------


def test_a_bound_within_a_region_is_not_called_certified() -> None:
    x, t = lsip.Variable(3, name="x"), index()
    problem = lsip.Problem(
        lsip.minimize(x[0]),
        [
            lsip.forall(t, x[0] + (1 + 1e-10) * x[1] - x[2] >= 1 + t * (1 - t)),
            x[1] - x[2] == 0,
            x[1] + x[2] <= 2e12,
        ],
    )  # the optimum is -98.75, at x[1] = x[2] = 1e12
    solution = problem.solve(verbose=False, tol=1e-3, time_limit=20)
    assert not solution.certified or solution.lower <= -98.75 <= solution.upper
    if not solution.certified and np.isfinite(solution.certificate.radius):
        assert any(isinstance(a, TrustAssumption) for a in solution.certificate.assumptions)
        assert "bounds" in solution.message


def test_feasible_points_far_out_are_not_called_infeasible() -> None:
    x, t = lsip.Variable(2, name="x"), index()
    constraints = [lsip.forall(t, x[0] * (1 + 1e-14 * t) - x[1] >= t), x[0] - x[1] <= 0]  # (2e14, 2e14) is feasible
    solution = lsip.Problem(lsip.minimize(x[0]), constraints).solve(verbose=False, time_limit=20)
    assert solution.status is not lsip.Status.INFEASIBLE


def test_directions_that_leave_slowly_are_not_called_unbounded() -> None:
    x, t = lsip.Variable(2, name="x"), index()
    constraints = [lsip.forall(t, x[0] - (1 - 1e-17 * t) * x[1] <= 1), x[1] - x[0] <= 0]  # the optimum is 1e17
    solution = lsip.Problem(lsip.maximize(x[0]), constraints).solve(verbose=False, time_limit=20)
    assert solution.status is not lsip.Status.UNBOUNDED


def test_variables_that_nothing_tells_apart_are_balanced_together() -> None:
    x, t = lsip.Variable(3, name="x"), index()
    solution = lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall(t, x[0] + x[1] >= t)]).solve(verbose=False)
    assert solution.certified
    assert np.isinf(solution.certificate.radius)
    assert solution.lower <= 1 <= solution.upper


def test_free_variables_have_bounds_for_every_x() -> None:
    solution = lsip.catalogue.get("tfi2_tan_n3").build().solve(verbose=False)
    certificate = solution.certificate
    assert solution.certified
    assert np.isinf(certificate.radius)
    assert len(certificate.balanced) == len(certificate.basis) == 3
    for change in (
        {"basis": certificate.basis[:2]},
        {"balanced": certificate.balanced[:2]},
        {"basis": certificate.basis[:0]},
    ):
        with pytest.raises(lsip.ProofError):
            dataclasses.replace(solution, certificate=dataclasses.replace(certificate, **change)).verify()


# ---- atoms lie in Y, and sets may be empty ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e8, 1e14])
def test_atoms_on_a_circle_are_points_of_the_disc(size: float) -> None:
    x, y = lsip.Variable(1, name="x", lower=-100, upper=100), lsip.Index("y", lsip.Ball([0, 0], 1))
    rim = size * (1 - y[0] ** 2 - y[1] ** 2)
    field = 1 + (y[0] - 0.6) ** 2 + (y[1] - 0.8) ** 2 + rim
    solution = lsip.Problem(lsip.maximize(x[0]), [lsip.forall(y, x[0] <= field)]).solve(verbose=False, time_limit=5)
    assert solution.upper >= 1  # x = 1 is feasible


def test_an_empty_polytope_is_refused() -> None:
    with pytest.raises(lsip.ModelError, match="empty"):
        lsip.Polytope([[1.0], [-1.0]], [0.0, -1e-10])


# ---- trust is not proof ----------------------------------------------------------------------------------------------


class Confident:
    """An oracle whose bound is its own word."""

    def maximise(self, violation, *, target=0.0, seed=0):
        y = violation.domain.grid(1001)
        values = violation.values(y)
        worst = values.argmax(axis=0)
        points = y[worst]
        top = values[worst, np.arange(values.shape[1])]
        return lsip.oracles.Separation(points, top, float(top.max()), np.arange(values.shape[1]))


def black_box(lipschitz: float | None = None) -> lsip.Program:
    def rows(y):
        return np.array([[-1.0, -float(v)] for v in np.asarray(y, dtype=float)[:, 0]])

    def side(y):
        return np.array([-(float(v) ** 2) for v in np.asarray(y, dtype=float)[:, 0]])

    family = lsip.Family(T, rows, side, lipschitz=lipschitz)
    return lsip.Program.from_arrays([1.0, 0.5], bounds=(-10, 10), families=[family])


def test_the_word_of_a_users_oracle_is_no_proof() -> None:
    solution = black_box().solve(verbose=False, oracle=Confident(), tol=1e-6)
    assert not solution.certified
    assert solution.status is lsip.Status.UNCERTIFIED
    assert "oracle" in solution.message
    solution.verify()  # asks the oracle of the solve


def test_a_users_oracle_is_not_needed_where_there_is_a_formula() -> None:
    x, t = lsip.Variable(2, name="x"), index()
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
    solution = problem.solve(verbose=False, oracle=Confident())
    if solution.certified:
        solution.verify()
        assert not solution.certificate.trusts


def test_lipschitz_constants_are_taken_on_trust() -> None:
    solution = black_box(3.0).solve(verbose=False, tol=1e-2)
    assert not solution.certified
    assert np.isfinite(solution.upper)
    assert np.isfinite(solution.lower)
    assert any("Lipschitz" in a for a in solution.certificate.assumptions)
    solution.verify()


# ---- files -----------------------------------------------------------------------------------------------------------


def solved() -> tuple[lsip.Problem, lsip.Solution]:
    x, t = lsip.Variable(2, name="x"), index()
    problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.exp(t))])
    return problem, problem.solve(verbose=False)


@pytest.mark.parametrize("tol", [1e9, 1.0, 0.0, -1.0, np.nan, np.inf])
def test_verify_does_not_believe_a_tolerance(tol: float) -> None:
    with pytest.raises(lsip.ProofError):
        dataclasses.replace(solved()[1], tol=tol).verify()


@pytest.mark.parametrize(
    "change",
    [
        {"x": np.full(2, np.nan)},
        {"finite_violation": np.nan},
        {"finite_violation": -1.0},
        {"lower": np.nan},
        {"upper": -np.inf},
        {"radius": 5.0},
        {"box": np.full(2, np.nan)},
        {"box": np.ones(3)},
        {"violation": (np.nan,)},
        {"violation": ()},
        {"basis": np.array([0, 0])},
        {"basis": np.array([99, 98])},
        {"balanced": np.array([-1, 0])},
        {"assumptions": (TrustAssumption("whatever."),)},
    ],
)
def test_verify_and_load_believe_no_number(change: dict, tmp_path) -> None:
    problem, solution = solved()
    forged = dataclasses.replace(solution, certificate=dataclasses.replace(solution.certificate, **change))
    with pytest.raises(lsip.ProofError):
        forged.verify()
    path = tmp_path / "forged.npz"
    forged.save(path)
    with pytest.raises((lsip.ModelError, lsip.ProofError)):
        lsip.Solution.load(path, problem)
    try:
        loaded = lsip.Solution.load(path, problem, verify=False)
    except lsip.ModelError:
        return
    assert np.isfinite(loaded.x).all()
    assert not loaded.certified
    with pytest.raises(lsip.ProofError):
        loaded.verify()


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-np.inf, np.inf), (np.inf, 0.0), (-np.inf, -np.inf)])
def test_forged_bounds_of_infeasible_and_unbounded_problems_are_refused(bounds: tuple[float, float]) -> None:
    z, x, t = lsip.Variable(2, name="z", lower=-10, upper=10), lsip.Variable(2, name="x"), index()
    clash = lsip.Problem(
        lsip.minimize(z[1]), [lsip.forall(t, z[0] >= t * (1 - t) + 0.1), z[0] + z[1] <= 0.3, z[1] >= 0]
    ).solve(verbose=False)
    ray = lsip.Problem(lsip.minimize(-x[0]), [lsip.forall(t, x[1] * t - x[0] <= 1)]).solve(verbose=False)
    for solution in (clash, ray):
        assert solution.certified
        solution.verify()
        proof = dataclasses.replace(solution.certificate, lower=bounds[0], upper=bounds[1])
        if (proof.lower, proof.upper) == (solution.certificate.lower, solution.certificate.upper):
            continue
        if solution is ray and bounds == (-np.inf, np.inf):
            continue  # weaker, and true
        with pytest.raises(lsip.ProofError):
            dataclasses.replace(solution, certificate=proof).verify()


@pytest.mark.parametrize(("side", "certified"), [(0.1, True), (0.1 + 2.0**-56, False)])
def test_an_equality_of_variables_that_cannot_move_holds_as_it_is(side: float, certified: bool) -> None:
    w = lsip.Variable(3, name="w", lower=[0.1, -5, -5], upper=[0.1, 5, 5])
    t = lsip.Index("t", lsip.Interval(0, 1))
    above = lsip.forall(t, w[0] + w[1] + w[2] * t >= np.sin(5 * t))
    for more in ([], [w[1] + w[2] == 4]):
        solution = lsip.Problem(lsip.minimize(w[1]), [above, w[0] == side, *more]).solve(verbose=False)
        assert solution.certified is certified
        if certified:
            solution.verify()


def test_narrow_plumes() -> None:
    """Stacks on a square, and no place with too much of what they emit: ridges that are thin across the wind."""
    y, emission = lsip.Index("y", lsip.Box([0, 0], [12, 12])), lsip.Variable(4, name="e", lower=0, upper=1)
    places, heights = np.random.default_rng(0).uniform(2, 10, (4, 2)), [0.08, 0.05, 0.17, 0.17]
    total: Any = 0.0
    for k, (height, place) in enumerate(zip(heights, places, strict=True)):
        along = np.maximum((y[0] - place[0]) * 0.92 + (y[1] - place[1]) * 0.39, 0.1)
        across = (y[1] - place[1]) * 0.92 - (y[0] - place[0]) * 0.39
        wide, deep = 0.08 * along / np.sqrt(1 + 0.1 * along), 0.06 * along / np.sqrt(1 + 1.5 * along)
        plume = np.exp(-0.5 * (across / wide) ** 2 - 0.5 * (height / deep) ** 2) / (10 * np.pi * wide * deep)
        total = total + plume * emission[k]
    solution = lsip.Problem(lsip.maximize(emission.sum()), [lsip.forall(y, total <= 0.5)]).solve(verbose=False)
    assert solution.certified
    solution.verify()


def test_an_equaliser_written_with_an_angle() -> None:
    """Mutapcic's example for CVX (2006): |G(w) H(w) - exp(-10jw)| <= e, as its part in every direction."""
    channel = 0.5 * np.array([0.6526, 0.2157, -0.2639, 1.8024, -0.6430, 0.1096, -0.7190, 0.4206, -0.0193, 0.6603])
    taps, delay = 30, 10
    h, e = lsip.Variable(taps, name="h"), lsip.Variable(name="e")
    together = sum(np.eye(taps + 9, taps, -k) * g for k, g in enumerate(channel))
    y = lsip.Index("y", lsip.Box([0, 0], [np.pi, 2 * np.pi]))
    row = np.cos(y[1] - (np.arange(taps + 9) - delay) * y[0]) @ together
    problem = lsip.Problem(lsip.minimize(e), [lsip.forall(y, row @ h - np.cos(y[1]) <= e)])
    first, second = problem.solve(verbose=False), problem.solve(verbose=False)
    assert first.certified
    assert first.value == pytest.approx(0.0964331933, rel=1e-8)
    assert first.value == pytest.approx(second.value, rel=1e-8)


@pytest.mark.parametrize("size", [1e8, 1e16, 1e200])
def test_the_inverse_sine_of_a_large_number_is_defined(size: float) -> None:
    t, x = index(), lsip.Variable(2, name="x")
    problem = lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= np.arcsinh(-size * (1 + t)))]
    )
    solution = problem.solve(verbose=False)
    assert solution.certified
    touched = (np.arcsinh(-size) + np.arcsinh(-2 * size)) / 2  # convex: the best line above it is the chord
    assert solution.value == pytest.approx(touched, rel=1e-7)


# ---- values at a point: objectives on the boundary of the cone of all rows -------------------------------------------


def value_at(place: float, degree: int) -> lsip.Problem:
    """The smallest value at a place of a polynomial above exp; what it is multiplied with there is rounded."""
    x, t = lsip.Variable(degree + 1, name="x"), index()
    powers = np.array([place**k for k in range(degree + 1)])
    return lsip.Problem(lsip.minimize(powers @ x), [lsip.forall(t, t ** np.arange(degree + 1) @ x >= np.exp(t))])


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 0.95))
def test_a_value_at_a_point_is_certified_if_the_rounded_powers_are_moments(place: float) -> None:
    """If the square is rounded down, no measure has these moments, and parabolas go down without limit."""
    solution = value_at(place, 2).solve(verbose=False)
    possible = Fraction(place**2) >= Fraction(place) ** 2
    assert bool(solution.certified) <= possible
    assert solution.value == pytest.approx(np.exp(place), rel=1e-7)
    if possible:
        assert solution.certified, solution.message
        assert solution.lower <= np.exp(place) * (1 + 1e-15)
        assert solution.upper >= np.exp(place) * (1 - 1e-15)
        solution.verify()


@pytest.mark.parametrize(("place", "degree"), [(0.5, 2), (0.375, 4), (0.25, 4)])
def test_a_value_at_a_point_whose_powers_are_exact_is_certified(place: float, degree: int) -> None:
    solution = value_at(place, degree).solve(verbose=False)
    assert solution.certified, solution.message
    assert solution.lower <= np.exp(place) <= solution.upper
    solution.verify()
