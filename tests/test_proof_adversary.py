"""Attempts to have something false called proven: crafted certificates, lying oracles, the ends of doubles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip.expressions.interval import Interval
from lsip.expressions.tape import Tape
from lsip.model.status import Status
from lsip.oracles import Separation
from lsip.oracles.quadratic_bound import bound_quadratics
from lsip.proof.certificate import Certificate, DataAssumption, Support
from lsip.proof.equations import disagreement
from lsip.proof.families import family_bounds, never_positive
from lsip.proof.implied_bounds import UpperSides
from lsip.proof.linear_algebra import exact_sums, product, solve, vanishing
from lsip.proof.prove import infeasible
from lsip.proof.ray import prove_ray
from lsip.proof.rows import DualRows
from lsip.solution.verify import verify

EPS, TINY = 2.0**-52, 2.0**-1074
T = lsip.Interval(0, 1)


def refused(program: lsip.Program, certificate: Certificate, status: Status = Status.OPTIMAL) -> str:
    with pytest.raises(lsip.ProofError) as found:
        verify(program, certificate, status, 1e-6)
    return str(found.value)


# ---- crafted certificates --------------------------------------------------------------------------------------------


def test_an_optimum_without_bounds_is_refused() -> None:
    program = lsip.Program.from_arrays([1.0], bounds=(0, 10))
    assert "gap" in refused(program, Certificate("optimal", np.array([7.0]), -np.inf, np.inf))


def test_a_lower_bound_beside_a_large_constant_is_rounded_down() -> None:
    program = lsip.Program.from_arrays([1.0], A_ub=[[-1.0]], b_ub=[-1.7], bounds=(0, 10), constant=1e16)
    # The optimum is 1e16 + 1.7; the nearest double is above it.
    claim = Certificate("optimal", np.array([1.7]), 1e16 + 2, 1e16 + 8, row_multipliers=np.ones(1))
    assert "exceeds" in refused(program, claim)


def test_the_least_multiplier_counts() -> None:
    program = lsip.Program.from_arrays([1.0], A_ub=[[1.0], [0.0]], b_ub=[-1e10, 0.0], bounds=(None, None))
    claim = Certificate("infeasible", np.zeros(1), np.inf, np.inf, row_multipliers=np.array([TINY, 1.0]))
    assert "contradict" in refused(program, claim, Status.INFEASIBLE)


def inconsistent() -> lsip.Program:
    """x[0] + x[1] = 1, x = 1/2 twice, with 30 units in the last place too much; x[2] is at least 0."""
    rows, sides = [[1, 1, 0], [1, 0, 0], [0, 1, 0]], [1.0 + 30 * EPS, 0.5, 0.5]
    return lsip.Program.from_arrays([0.0, 0.0, 1.0], A_eq=rows, b_eq=sides, bounds=(0, 1))


def test_what_counts_as_rounding_proves_nothing() -> None:
    program = inconsistent()
    solution = program.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(0, abs=1e-9)
    solution.verify()
    found = solution.certificate
    forged = replace(
        found,
        x=np.append(found.x[:2], 1.0),
        box=np.append(found.box[:2], 0.0),
        lower=1.0,
        upper=1.0 + 1e-9,
        row_multipliers=np.array([-1e18, 1e18, 1e18]),
        balanced=np.array([0, 1]),
        basis=np.array([1, 2]),
    )
    assert "exceeds" in refused(program, forged)


def test_the_assumption_about_rounded_data_cannot_be_left_out() -> None:
    program = inconsistent()
    solution = program.solve(verbose=False)
    assert any(isinstance(a, DataAssumption) for a in solution.certificate.assumptions)
    assert "assumption" in refused(program, replace(solution.certificate, assumptions=()))


@pytest.mark.parametrize(
    "change", [{"violation": (0.0, 1.0)}, {"balanced": np.zeros((1, 1), int), "basis": np.zeros((1, 1), int)}]
)
@pytest.mark.parametrize("status", [Status.OPTIMAL, Status.UNCERTIFIED])
def test_shapes_that_do_not_fit_are_refused(change: dict[str, Any], status: Status) -> None:
    family = lsip.Family(T, lambda y: -1 + 0 * y, lambda y: -y[:, 0])
    program = lsip.Program.from_arrays([1.0], bounds=(0, 10), families=[family])
    certificate = program.solve(verbose=False).certificate
    refused(program, replace(certificate, upper=np.inf, **change), status)


# ---- trust -----------------------------------------------------------------------------------------------------------


class Liar:
    """An oracle that knows everything."""

    def __init__(self, bound: float) -> None:
        self.bound = bound

    def maximise(self, violation: Any, *, target: float = 0.0, seed: int = 0) -> Separation:
        return Separation(np.zeros((0, 1)), np.zeros(0), self.bound)


def opaque(value: Callable[[Any], float]) -> Callable[[Any], Any]:
    """A function that cannot be traced."""
    return lambda y: np.array([value([float(v) for v in point]) for point in np.asarray(y, dtype=float)])


@pytest.mark.parametrize("bound", [-np.inf, np.nan, -1.0])
def test_the_word_of_an_oracle_is_no_proof(bound: float) -> None:
    family = lsip.Family(T, lambda y: opaque(lambda p: 1.0)(y)[:, None], opaque(lambda p: p[0]))
    program = lsip.Program.from_arrays([-1.0], bounds=(0, 10), families=[family])
    solution = program.solve(oracle=Liar(bound), verbose=False)
    assert not solution.certified


def test_constants_between_points_are_no_proof_of_infeasibility() -> None:
    # b = 1 on the segment 3 y[0] + 7 y[1] = 1, and the constants are wrong beside it; doubles on it are scarce.
    line = lsip.Polytope([[3.0, 7.0], [-3.0, -7.0], [-1.0, 0], [0, -1.0]], [1.0, -1.0, 0, 0])
    b = opaque(lambda p: 1 - 1e17 * abs((3 * p[0] + 7 * p[1]) - 1))
    family = lsip.Family(line, lambda y: opaque(lambda p: 1.0)(y)[:, None], b, lipschitz=0.0)
    program = lsip.Program.from_arrays([-1.0], bounds=(0.5, 10), families=[family])
    lower, upper = line.witness(line.spread(1000))
    lower, upper = line.witness(0.5 * lower + 0.5 * upper)
    points = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
    worst = Support(0, 0, points[int(np.argmin(b(points)))], 1.0)
    assert b(worst.point[None])[0] < 0
    assert infeasible(program, (worst,), np.zeros(0), np.zeros(1)) is None
    claim = Certificate("infeasible", np.zeros(1), np.inf, np.inf, support=(worst,))
    assert "trust" in refused(program, claim, Status.INFEASIBLE)


def test_a_direction_is_not_proven_past_the_least_double() -> None:
    x, t = lsip.Variable(1, name="x", lower=0), lsip.Index("t", T)
    program = lsip.Problem(lsip.maximize(x[0]), [lsip.forall(t, TINY * x[0] <= 1 + t)]).compile()
    assert not never_positive(program, 0, np.ones(1))
    assert prove_ray(program, np.ones(1)) is None


# ---- mixtures --------------------------------------------------------------------------------------------------------


def disc() -> lsip.Decomposition:
    x, t = lsip.Variable(2, lower=-1, upper=1, name="x"), lsip.Index("t", T)
    problem = lsip.Problem(lsip.minimize(-x[0] - x[1]), [lsip.forall(t, t * x[0] + (1 - t) * x[1] <= 0.6 + t**2)])
    return lsip.decompose(
        problem, lambda w: lsip.Extreme(w / np.linalg.norm(w), float(np.linalg.norm(w)) * (1 + 1e-15))
    )


def test_a_mixture_is_checked_whatever_bound_is_claimed() -> None:
    solution = disc()
    solution.verify()
    proof = solution.certificate
    for claims in (
        {"upper": -np.inf},
        {"lower": np.inf},
        {"upper": proof.upper - 1e-11},
        {"box": np.zeros(0)},
        {"row_multipliers": np.zeros(3)},
    ):
        with pytest.raises(lsip.ProofError):
            replace(solution, certificate=replace(proof, **claims)).verify()


# ---- building blocks against rational numbers ------------------------------------------------------------------------


def numbers(rng: np.random.Generator, shape: tuple[int, ...], wide: float) -> Any:
    """Doubles of sizes from 2^-wide to 2^wide, alike, by columns, or all different; some are zero."""
    exponents = (
        np.zeros(shape),
        rng.uniform(-wide, wide, shape),
        np.broadcast_to(rng.uniform(-wide, wide, shape[-1]), shape),
        np.full(shape, rng.uniform(-wide, wide)),
    )[rng.integers(4)]
    values = rng.choice([-1, 1], shape) * rng.uniform(1, 2, shape) * 2.0 ** np.rint(exponents)
    return np.where(rng.random(shape) < 0.15, 0.0, values)


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(v)) for v in np.ravel(values)]


def holds(value: Fraction, low: float, high: float) -> bool:
    """Whether an enclosure contains a number; nan says that nothing is known."""
    if np.isnan(low) or np.isnan(high):
        return True
    return (low == -np.inf or (low < np.inf and Fraction(float(low)) <= value)) and (
        high == np.inf or (high > -np.inf and value <= Fraction(float(high)))
    )


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan, in rational numbers."""
    table, k = [[*row, v] for row, v in zip(matrix, right, strict=True)], len(right)
    for i in range(k):
        pivot = next(j for j in range(i, k) if table[j][i])
        table[i], table[pivot] = table[pivot], table[i]
        for j in range(k):
            if j != i and table[j][i]:
                factor = table[j][i] / table[i][i]
                table[j] = [u - factor * v for u, v in zip(table[j], table[i], strict=True)]
    return [table[i][k] / table[i][i] for i in range(k)]


WIDE = [5, 60, 500, 1020]


@pytest.mark.parametrize("seed", range(120))
def test_sums_and_products_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wide = WIDE[seed % 4]
    A, x, c = (numbers(rng, shape, wide) for shape in ((3, 4), (4,), (3,)))
    radius = np.abs(numbers(rng, (4,), wide))
    for matrix in (A, sparse.csr_matrix(A)):
        with np.errstate(all="ignore"):
            sums, products = exact_sums(c, matrix, x), product(matrix, x, radius)
        for i in range(3):
            value = sum((a * v for a, v in zip(exact(A[i]), exact(x), strict=True)), Fraction(0))
            reach = sum((abs(a) * r for a, r in zip(exact(A[i]), exact(radius), strict=True)), Fraction(0))
            assert holds(Fraction(float(c[i])) + value, sums.lo[i], sums.hi[i])
            assert holds(value - reach, products.lo[i], products.hi[i])
            assert holds(value + reach, products.lo[i], products.hi[i])


@pytest.mark.parametrize("seed", range(200))
def test_solutions_of_square_systems_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wide, k = WIDE[seed % 4], int(rng.integers(1, 5))
    A, b = numbers(rng, (k, k), wide), numbers(rng, (k,), wide)
    radius = np.abs(A) * 2.0 ** -rng.integers(20, 53) * (rng.random((k, k)) < 0.5)
    for mid, rad in ((A, radius), (sparse.csc_matrix(A), sparse.csc_matrix(radius))):
        with np.errstate(all="ignore"):
            found = solve(mid, rad, Interval(b, b))
        if found is None:
            continue
        signs = rng.integers(-1, 2, (k, k))
        matrix = [[Fraction(float(A[i, j])) + Fraction(float(radius[i, j])) * int(signs[i, j]) for j in range(k)]
                  for i in range(k)]  # fmt: skip
        for value, low, high in zip(solved(matrix, exact(b)), found.lo, found.hi, strict=True):
            assert holds(value, low, high)


def test_scaling_a_system_does_not_lose_entries() -> None:
    # The first row, scaled to size 1, has an entry below the least double, times a number of 2^1000.
    A, b = np.array([[2.0**1000, 2.0**-100], [0.0, 1.0]]), np.array([2.0**900, 2.0**1000])
    for mid in (A, sparse.csc_matrix(A)):
        with np.errstate(all="ignore"):
            found = solve(mid, None, Interval(b, b))
        assert found is None or found.lo[0] <= 0 <= found.hi[0]


@pytest.mark.parametrize("seed", range(120))
def test_combinations_and_slacks_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wide = WIDE[seed % 4]
    A, side, x, c = (numbers(rng, shape, wide) for shape in ((3, 4), (3,), (4,), (4,)))
    w = np.abs(numbers(rng, (3,), wide))
    w[rng.integers(3)] = TINY
    rad = np.abs(A) * 2.0**-30 * (rng.random((3, 4)) < 0.5)
    none, bounds = np.full(3, -np.inf), (np.full(4, -np.inf), np.full(4, np.inf))
    with np.errstate(all="ignore"):
        rows = DualRows(A, rad, Interval(none, none), Interval(side, side), 3, bounds)
        weight = Interval(w, w)
        combined, slack = rows.combined(c, weight), rows.slack(x, weight)
    signs = rng.integers(-1, 2, (3, 4))
    table = [[Fraction(float(A[i, j])) + Fraction(float(rad[i, j])) * int(signs[i, j]) for j in range(4)]
             for i in range(3)]  # fmt: skip
    for j in range(4):
        value = Fraction(float(c[j])) + sum((v * table[i][j] for i, v in enumerate(exact(w))), Fraction(0))
        assert holds(value, combined.lo[j], combined.hi[j])
    gaps = [s - sum((a * v for a, v in zip(row, exact(x), strict=True)), Fraction(0))
            for s, row in zip(exact(side), table, strict=True)]  # fmt: skip
    total = sum((v * gap for v, gap in zip(exact(w), gaps, strict=True)), Fraction(0))
    assert holds(total, -np.inf, float(slack.hi))


@pytest.mark.parametrize("seed", range(120))
def test_implied_bounds_hold_at_a_feasible_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wide = (5, 60, 400)[seed % 3]
    A, x = numbers(rng, (3, 4), wide), numbers(rng, (4,), wide)
    rad = np.abs(A) * 2.0**-30 * (rng.random((3, 4)) < 0.5)
    lower = np.where(rng.random(4) < 0.5, -np.inf, x - np.abs(numbers(rng, (4,), wide)))
    upper = np.where(rng.random(4) < 0.5, np.inf, x + np.abs(numbers(rng, (4,), wide)))
    values = [sum((a * v for a, v in zip(exact(row), exact(x), strict=True)), Fraction(0)) for row in A]
    above = np.array([np.nextafter(float(v), np.inf) for v in values])
    below = np.array([np.nextafter(float(v), -np.inf) for v in values])
    sides = UpperSides.of(A, rad, Interval(below, below), Interval(above, above))
    low, high, _ = sides.tightened(lower, upper)
    assert all(holds(v, a, b) for v, a, b in zip(exact(x), low, high, strict=True))


def test_a_sum_that_overflows_on_the_way_is_not_known() -> None:
    found = exact_sums(np.zeros(1), np.array([[1e300, 1e300, -1e300]]), np.full(3, 1.5e8))
    assert np.isnan(found.lo).all()


@pytest.mark.parametrize("seed", range(120))
def test_what_cancels_is_zero_only_if_nothing_is_in_doubt(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, unit = 4, 2.0 ** -float(rng.integers(0, (300, 1000)[seed % 2]))
    A = rng.integers(-3, 4, (rows, 6)).astype(float)
    w = 2.0 ** -rng.integers(2, 5, rows).astype(float)
    c = -unit * (w @ A) * (rng.random(6) < 0.7)
    rad = TINY * rng.integers(0, 3, (rows, 6)) * (rng.random((rows, 6)) < 0.2)
    spread = EPS * w * (rng.random(rows) < 0.2)
    none, bounds = np.full(rows, -np.inf), (np.full(6, -np.inf), np.full(6, np.inf))
    for turned in (np.asarray, sparse.csr_matrix):
        table = DualRows(turned(unit * A), turned(rad), Interval(none, none), Interval(w, w), rows, bounds)
        found = table.combined(c, Interval(w - spread, w + spread))
        for sign in (-1, 0, 1):
            for j in range(6):
                terms = [
                    (v + sign * s) * (Fraction(unit * a) + sign * r)
                    for v, s, a, r in zip(exact(w), exact(spread), A[:, j].tolist(), exact(rad[:, j]), strict=True)
                ]
                assert holds(Fraction(float(c[j])) + sum(terms, Fraction(0)), found.lo[j], found.hi[j])


def test_a_sum_that_overflows_does_not_vanish() -> None:
    c, table = np.array([1.7e308, 0.0]), np.array([[1e308, -1e308, -1.7e308], [1.0, -1.0, 0.0]])
    with np.errstate(all="ignore"):
        assert vanishing(c, table, np.ones(3)).tolist() == [False, True]


# ---- the least doubles -----------------------------------------------------------------------------------------------


def supremum(z: Any, constraint: Any, x: list[float], scale: float = 1.0) -> float:
    """What lsip proves about the violation of a family at z = x."""
    program = lsip.Problem(lsip.minimize(z.sum()), [constraint]).compile()
    return max(family_bounds(program, np.array(x), scale=scale, seconds=0.1).values)


@pytest.mark.parametrize("domain", [T, lsip.Simplex(2), lsip.Ball([0.0, 0.0], 1.0), lsip.Finite([0.5, 1.0])])
@pytest.mark.parametrize(("size", "x"), [(1e-320, 1e-10), (1e-200, 1e-200), (TINY, 0.4)])
@pytest.mark.parametrize("direction", [False, True])
def test_products_that_underflow_are_not_zero(domain: lsip.Domain, size: float, x: float, direction: bool) -> None:
    z, y = lsip.Variable(1, name="z"), lsip.Index("y", domain)
    u = y if domain.scalar else y[0]
    for coefficient in (size * (2 + u), size * np.exp(u)):
        assert supremum(z, lsip.forall(y, coefficient * z[0] <= 0), [x], 0.0 if direction else 1.0) > 0


@pytest.mark.parametrize("k", [2, 4, 7])
@pytest.mark.parametrize("size", [1e-163, 1e-200])
def test_coefficients_below_the_least_double_do_not_cancel(k: int, size: float) -> None:
    x, z, t = lsip.Variable(name="x"), lsip.Variable(k, name="z"), lsip.Index("t", lsip.Interval(1, 2))
    less = (size * t) * (size * t) * x  # as large as one likes, far out
    rows = [*(lsip.forall(t, less + z[i] >= 1) for i in range(k)), lsip.forall(t, less - z.sum() >= 1)]
    assert lsip.Problem(lsip.minimize(0 * z[0]), rows).solve(verbose=False).status is not Status.INFEASIBLE


def test_what_is_not_there_is_zero() -> None:
    z, y = lsip.Variable(2, name="z"), lsip.Index("y", lsip.Simplex(2))
    assert supremum(z, lsip.forall(y, (2 + y[0]) * z[0] + 0 * y[0] * z[1] <= 0), [0.0, 1.0], 0.0) == 0


def test_squares_of_small_radii_do_not_vanish_beside_large_curvatures() -> None:
    t = lsip.Index("t", lsip.Interval(-1, 1))
    tape = Tape(((1e20 * t) ** 2 * 1e267,), (t,))
    for order in (2, 3):
        for centre, radius in ((0.0, 1e-163), (0.0, 1.2e-162), (3e-162, 1e-162)):
            low, high = np.array([[centre - radius]]), np.array([[centre + radius]])
            with np.errstate(all="ignore"):
                found = tape.quadratics(low, high, order=order)[0]
            top = float(found.value[0, 0] + abs(found.gradient[0, 0, 0]) + found.error[0, 0])
            top += max(float(found.hessian[0, 0, 0]), 0.0) / 2 + float(np.abs(found.third).sum())
            assert Fraction(top) >= Fraction(1e267) * (Fraction(1e20) * Fraction(float(high[0, 0]))) ** 2


@pytest.mark.parametrize("size", [1.0, 1e-161, 1e-170, 1e-290])
def test_small_quadratics_are_bounded(size: float) -> None:
    for q, top in (([0, 1, 0], 1.0), ([1, 0, 0], 0.5), ([1, 1, 1], 2.0), ([1, -3, 1], 4.0), ([0, 1, -1], 0.5)):
        bound, _ = bound_quadratics(np.zeros(1), np.zeros((1, 2)), size * np.array([q], dtype=float))
        assert bound[0] >= top * size


def test_a_point_beside_a_ball_is_not_in_it() -> None:
    for centre, radius in ((-TINY, 1.0), (-1e-300, 1e90), (3 * TINY, 2.0)):
        ball = lsip.Ball([centre], radius)
        for rim in (radius, -radius):
            point = Fraction(float(ball.witness([[rim]])[0][0, 0]))
            assert abs(point - Fraction(centre)) <= Fraction(radius)


def test_points_of_a_finite_set_are_tried_however_near() -> None:
    near = lsip.Finite([[0.0], [1e-170]])
    family = lsip.Family(
        near, lambda y: -np.ones((len(y), 1)), lambda y: np.array([-5.0 if v > 0 else -1.0 for [v] in y])
    )
    program = lsip.Program.from_arrays([1.0], bounds=(0, 10), families=[family])
    assert max(family_bounds(program, np.array([1.5])).values) >= 3.5
    claim = Certificate("optimal", np.array([1.0]), 1.0, 1.0 + 1e-9, violation=(0.0,),
                        support=(Support(0, 0, np.zeros(1), 1.0),))  # fmt: skip
    assert "violation" in refused(program, claim)


@pytest.mark.parametrize("m", [1, 6, 40])
def test_small_affine_rows_at_an_atom(m: int) -> None:
    y, z = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m))), lsip.Variable(1, name="z")
    slopes, point = np.full(m, TINY), np.full(m, 0.4)
    program = lsip.Problem(lsip.minimize(z[0]), [lsip.forall(y, (slopes @ y) * z[0] <= 1)]).compile()
    found, _ = program.families[0].enclosed(point[None], point[None], np.zeros(1, dtype=np.intp))
    value = sum((a * v for a, v in zip(exact(slopes), exact(point), strict=True)), Fraction(0))
    assert holds(value, found.lo[0, 0], found.hi[0, 0])


def test_constants_are_not_multiplied_beforehand() -> None:
    rng, rounded, product, factors = np.random.default_rng(0), 1.1, Fraction(1.1), [1.1]
    while len(factors) < 60:  # whose running product is rounded up each time
        factor = float(rng.uniform(0.7, 1.4))
        if Fraction(rounded * factor) > Fraction(rounded) * Fraction(factor) * (1 + Fraction(EPS) / 4):
            factors.append(factor)
            rounded *= factor
            product *= Fraction(factor)
    y = lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    u: Any = y[[1, 0]]
    for factor in factors:
        u = factor * u
    box = Tape((sparse.csr_matrix(np.eye(2)) @ u,), (y,)).enclose(np.ones((1, 2)), np.ones((1, 2)))
    assert holds(product, box.lo[0, 0], box.hi[0, 0])


# ---- units at the ends of the doubles --------------------------------------------------------------------------------


def many(x: Any, other: Any) -> list[Any]:
    return [x + other <= 2 + k / 100 for k in range(400)]


def tiny_cost() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", T)
    return lsip.Problem(lsip.minimize(1e60 * x[0] + 1e-300 * x[1]), [lsip.forall(t, x[0] >= t)])  # unbounded


def tiny_entry() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x", lower=0, upper=[10, 5]), lsip.Index("t", T)
    rows = [lsip.forall(t, x[0] + x[1] * t <= 1), 1e3 * x[1] + 5e-324 * x[0] <= 0, *many(x[0], x[1])]
    return lsip.Problem(lsip.minimize(-x[0]), rows)  # the second row forces x = 0


def far_point() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x", lower=[0, -np.inf], upper=[np.inf, 10]), lsip.Index("t", T)
    rows = [1e60 * x[0] + x[1] >= -2 - k / 100 for k in range(400)]
    rows += [lsip.forall(t, x[1] * (1 + t) >= 1), 1e3 * x[1] - 1e-270 * x[0] <= 0]
    return lsip.Problem(lsip.minimize(x[1]), rows)  # (1e275, 1) is feasible


def tiny_bound() -> lsip.Problem:
    x, z = lsip.Variable(name="x", lower=0, upper=10), lsip.Variable(name="z", lower=-1e30, upper=-5e-324)
    t = lsip.Index("t", T)
    rows = [lsip.forall(t, x + 1e-30 * z >= t - 5), 1e-30 * z >= 0]
    return lsip.Problem(lsip.minimize(x - 1e-30 * z), rows)  # infeasible: z < 0


def huge_bound() -> lsip.Problem:
    t = lsip.Index("t", T)
    x = lsip.Variable(2, name="x", upper=1e280)
    z = lsip.Variable(4, name="z", lower=-1e-40, upper=1e-40)
    rows = [
        lsip.forall(t, 1e40 * x[0] - 1e40 * x[1] <= t + 1),
        lsip.forall(t, 1e40 * z.sum() * (1 + t) + 1e40 * x[0] - 1e40 * x[1] <= 10),
    ]
    return lsip.Problem(lsip.maximize(x[0]), rows)  # at most 1e280


def leaning_ray() -> lsip.Problem:
    t, x = lsip.Index("t", T), lsip.Variable(2, name="x")
    rows = [lsip.forall(t, 1e60 * x[0] - (1e60 - 1e-300 * t) * x[1] <= 1), x[1] - x[0] <= 0]
    return lsip.Problem(lsip.maximize(x[0]), rows)  # about 1e300


def tiny_side() -> lsip.Problem:
    t, x = lsip.Index("t", T), lsip.Variable(2, name="x", lower=0, upper=10)
    difference = 1e40 * x[0] - 1e40 * x[1]
    rows = [lsip.forall(t, x[0] + x[1] >= t), difference <= -5e-324, difference >= 0, 1e40 * x[0] + 1e40 * x[1] <= 1e41]
    return lsip.Problem(lsip.minimize(x[0] + x[1]), rows)  # infeasible


def tiny_slope() -> lsip.Problem:
    t, x = lsip.Index("t", T), lsip.Variable(2, name="x", lower=[-5, -np.inf], upper=[5, np.inf])
    rows = [lsip.forall(t, x[0] >= t), lsip.forall(t, 1e130 * x[1] * (1 + t) <= 1)]
    return lsip.Problem(lsip.minimize(x[0] + 1e-200 * x[1]), rows)  # unbounded


def tiny_point() -> lsip.Problem:
    t, x = lsip.Index("t", T), lsip.Variable(1, name="x")
    return lsip.Problem(lsip.minimize(1e300 * x[0]), [lsip.forall(t, 1e300 * x[0] * (1 + t) >= 1e-22 * (1 + t))])


def huge_point() -> lsip.Problem:
    t, x = lsip.Index("t", T), lsip.Variable(1, name="x")
    return lsip.Problem(lsip.minimize(1e-300 * x[0]), [lsip.forall(t, 1e-300 * x[0] * (1 + t) >= 1e10 * (1 + t))])


ENDS = {  # statuses that would be false
    tiny_cost: ("OPTIMAL", "INFEASIBLE"),
    tiny_entry: ("INFEASIBLE", "UNBOUNDED"),
    far_point: ("INFEASIBLE",),
    tiny_bound: ("OPTIMAL", "UNBOUNDED"),
    huge_bound: ("UNBOUNDED", "INFEASIBLE"),
    leaning_ray: ("UNBOUNDED", "INFEASIBLE"),
    tiny_side: ("OPTIMAL", "UNBOUNDED"),
    tiny_slope: ("OPTIMAL", "INFEASIBLE"),
    tiny_point: ("INFEASIBLE", "UNBOUNDED"),
    huge_point: ("INFEASIBLE", "UNBOUNDED"),
}


@pytest.mark.parametrize("build", ENDS, ids=lambda build: build.__name__)
def test_nothing_false_is_certified_where_units_over_or_underflow(build: Any) -> None:
    try:
        solution = build().solve(verbose=False, time_limit=5)
    except lsip.ModelError:
        return
    if not solution.certified:
        return
    assert solution.status.name not in ENDS[build]
    solution.verify()
    if build is tiny_entry:
        assert solution.upper >= 0
    if build is tiny_point:
        assert Fraction(1e300) * Fraction(float(solution.x[0])) >= Fraction(1e-22)
    assert np.isfinite(solution.x).all()


def test_inequalities_are_not_excused_up_to_rounding() -> None:
    t, x = lsip.Index("t", T), lsip.Variable(3, name="x", lower=0, upper=2)
    total, more = x[1] + x[2], 1 + 2.0**-52
    rows = [lsip.forall(t, x[0] >= t), total <= 1, total >= 1, total <= more, total >= more]
    assert lsip.Problem(lsip.minimize(x[0]), rows).solve(verbose=False).status is not lsip.Status.OPTIMAL


def test_large_shares_make_no_row_follow_from_others() -> None:
    x = lsip.Variable(2, name="x")
    rows = [x[0] == 1, x[0] + 2.0**-48 * x[1] == 1, x[1] == 1]
    program = lsip.Problem(lsip.minimize(-x[1]), rows).compile()
    assert disagreement(program, np.array([0, 1]), np.array([2])) is not None


@pytest.mark.parametrize("atol", [np.inf, np.nan, -1.0])
def test_a_gap_without_end_is_no_gap(atol: float) -> None:
    t, x = lsip.Index("t", T), lsip.Variable(name="x")
    with pytest.raises(lsip.ModelError, match="atol"):
        lsip.Problem(lsip.minimize(x), [lsip.forall(t, x >= t)]).solve(verbose=False, atol=atol)
