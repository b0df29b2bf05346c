"""Rows of norms and semidefinite matrices at directions, enclosed: sums of numbers times products of coordinates."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import lsip
from lsip.masters.base import ConeBlock, FiniteProgram
from lsip.masters.clarabel import CLARABEL
from lsip.model.bilinear import Terms, _sums

KINDS = ("usual", "spread", "signs", "tiny", "tiny directions")


def case(kind, rng):
    """Numbers with places and coordinates, index points and directions."""
    m, d, size = rng.integers(1, 4), rng.integers(1, 9), rng.integers(1, 60)
    number, y, v = rng.standard_normal(size), rng.standard_normal((3, m)), rng.standard_normal((3, d))
    if kind == "spread":
        number, v = number * 10.0 ** rng.integers(-20, 20, size), v * 10.0 ** rng.integers(-30, 3, (3, d))
    if kind == "signs":
        number, y, v = rng.integers(-9, 9, size) / 10, np.rint(4 * y) / 4, np.sign(v)
    if kind == "tiny":
        number = number * 10.0 ** rng.integers(-300, -240, size)
    if kind == "tiny directions":
        v = v * 10.0 ** rng.integers(-300, 3, (3, d))
    doubt = np.abs(number) * (rng.random(size) < 0.2) * 1e-16
    index, direction, place = rng.integers(-1, m, size), rng.integers(-1, d, (2, size)), rng.integers(0, 4, size)
    return number, doubt, index, direction, place, y, v


def exact(number, doubt, index, direction, place, y, v, at):
    """The sum and its doubt at one place, in rational numbers, and the size of its terms."""
    total, unsure, size = Fraction(0), Fraction(0), Fraction(0)
    for q in np.flatnonzero(place == at):
        factor = Fraction(y[index[q]]) if index[q] >= 0 else Fraction(1)
        for j in direction[:, q]:
            factor *= Fraction(v[j]) if j >= 0 else Fraction(1)
        total += Fraction(number[q]) * factor
        unsure += abs(factor) * Fraction(doubt[q])
        size += abs(Fraction(number[q]) * factor)
    return total, unsure, size


@pytest.mark.parametrize("kind", KINDS)
def test_enclosures_contain_what_exact_arithmetic_gives(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(12):
        *data, y, v = case(kind, rng)
        terms = Terms.of(*data)
        found = _sums(terms, *terms.products(y, v))
        for n in range(len(y)):
            for k, at in enumerate(terms.place):
                total, unsure, size = exact(*data, y[n], v[n], at)
                low, high = Fraction(found.lo[n, k]), Fraction(found.hi[n, k])
                assert low <= total - unsure
                assert total + unsure <= high
                if kind in ("usual", "signs"):
                    assert high - low <= 2 * unsure + Fraction(2.0**-50) * size


def test_sums_that_are_doubles_are_not_widened():
    number, places = np.array([0.1, -0.7, 0.6, 3.0]), np.array([0, 1, 1, 2])
    none, direction = np.full(4, -1), np.array([[0, 0, 0, 1], [-1, -1, -1, 1]])
    terms = Terms.of(number, np.zeros(4), none, direction, places)
    found = _sums(terms, *terms.products(np.zeros((1, 1)), np.array([[-1.0, 0.5]])))
    assert (found.lo[0, [0, 2]] == [-0.1, 0.75]).all()
    assert (found.hi[0, [0, 2]] == [-0.1, 0.75]).all()


def test_a_place_may_have_a_product_twice():
    terms = Terms.of(np.array([1.0, 2.0]), np.zeros(2), np.array([0, 0]), np.full((2, 2), -1), np.array([5, 5]))
    found = _sums(terms, *terms.products(np.array([[3.0]]), np.zeros((1, 1))))
    assert found.lo[0, 0] == found.hi[0, 0] == 9.0


@pytest.mark.parametrize(("rows", "n"), [(12, 4), (60, 30)])
def test_least_squares_are_certified_at_the_value_of_lstsq(rows, n):
    rng = np.random.default_rng(rows)
    A, b, x = rng.standard_normal((rows, n)), rng.standard_normal(rows), lsip.Variable(n, name="x")
    solution = lsip.Problem(lsip.minimize(np.linalg.norm(A @ x - b)), []).solve(verbose=False)
    assert solution.certified
    truth = np.linalg.norm(A @ np.linalg.lstsq(A, b, rcond=None)[0] - b)
    assert solution.lower <= truth * (1 + 1e-12)
    assert truth <= solution.upper * (1 + 1e-12)


def test_a_truss_is_certified():
    rng, k, m = np.random.default_rng(2), 8, 20
    bars, load = rng.standard_normal((m, k - 1)), rng.standard_normal(k - 1)
    area, t = lsip.Variable(m, name="a", lower=0), lsip.Variable(name="t")
    fixed, unit = np.zeros((k, k)), np.zeros((k, k))
    fixed[0, 1:], fixed[1:, 0], unit[0, 0] = load, load, 1.0
    matrix = fixed + t * unit
    for i, bar in enumerate(bars):
        stiff = np.zeros((k, k))
        stiff[1:, 1:] = np.outer(bar, bar)
        matrix = matrix + area[i] * stiff
    solution = lsip.Problem(lsip.minimize(t), [lsip.psd(matrix), area.sum() <= 10]).solve(verbose=False)
    assert solution.certified
    stiffness = np.einsum("i,ij,ik->jk", solution[area], bars, bars)
    assert solution.value == pytest.approx(load @ np.linalg.solve(stiffness, load), rel=1e-6)


def robust_least_squares(rows, n, m, index=None):
    """The residual that is smallest for the worst of all data: at index points of a box, or at its corners."""
    rng = np.random.default_rng(5)
    A, b, x, t = rng.normal(size=(rows, n)), rng.normal(size=rows), lsip.Variable(n, name="x"), lsip.Variable(name="t")
    moves = 0.1 * rng.normal(size=(m, rows, n))

    def kept(u):
        return np.linalg.norm(A @ x - b + sum(u[i] * (moves[i] @ x) for i in range(m))) <= t

    if index is not None:
        return lsip.Problem(lsip.minimize(t), [lsip.forall(index, kept(index))])
    corners = np.stack(np.meshgrid(*[[-1.0, 1.0]] * m), axis=-1).reshape(-1, m)
    return lsip.Problem(lsip.minimize(t), [kept(u) for u in corners])


def test_robust_least_squares_take_a_cone_for_each_index_point():
    index = lsip.Index("u", lsip.Box([-1.0] * 2, [1.0] * 2))
    solution = robust_least_squares(50, 20, 2, index).solve(verbose=False)
    assert solution.certified
    assert len(solution.history) < 10  # by tangents, it took hundreds of steps
    assert solution.verify().certified
    corners = robust_least_squares(50, 20, 2).solve(verbose=False)
    assert corners.certified
    assert solution.lower <= corners.upper
    assert corners.lower <= solution.upper


def test_norms_at_points_of_a_ball_are_certified_and_hold_elsewhere():
    rng, index = np.random.default_rng(1), lsip.Index("u", lsip.Ball(np.zeros(2), 1.0))
    solution = robust_least_squares(12, 5, 2, index).solve(verbose=False)
    assert solution.certified
    x, t = solution.x[:5], solution.value
    data = np.random.default_rng(5)
    A, b, moves = data.normal(size=(12, 5)), data.normal(size=12), 0.1 * data.normal(size=(2, 12, 5))
    for angle in rng.uniform(0, 2 * np.pi, 2000):
        u = np.array([np.cos(angle), np.sin(angle)])
        assert np.linalg.norm(A @ x - b + np.tensordot(u, moves, 1) @ x) <= t * (1 + 1e-12)


def test_norms_that_nothing_keeps_are_proven_infeasible():
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    parts = np.stack([x[0] - t, x[1] + t, x[0] - x[1], x[0] + 2 * t])
    solution = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, np.linalg.norm(parts) <= 0.1)]).solve(verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE


def test_clarabel_solves_arrays_whose_factors_its_own_regularisation_spoils():
    n, points = 33, np.concatenate([np.linspace(0.2, np.pi, 50), np.linspace(-np.pi, -0.2, 50)])
    places = np.arange(n) - (n - 1) / 2 + 0.13 * np.sin(3 * np.arange(n))
    total = np.concatenate([np.ones(n), np.zeros(n + 1)])
    rows, blocks = [total, np.roll(total, n)], []
    for u in points:
        c, s = np.cos(places * u), np.sin(places * u)
        top = np.append(np.zeros(2 * n), -1.0)
        blocks.append(ConeBlock(np.arange(len(rows), len(rows) + 3)))
        rows += [top, np.concatenate([-c, s, [0.0]]), np.concatenate([-s, -c, [0.0]])]
    A, right = sparse.csr_matrix(np.array(rows)), np.append(1.0, np.zeros(len(rows) - 1))
    free, lower = np.full(2 * n + 1, np.inf), np.where(np.arange(len(rows)) < 2, right, -np.inf)
    program = FiniteProgram(np.append(np.zeros(2 * n), 1.0), -free, free, A, lower, right, cones=blocks)
    found = CLARABEL.open(program, 1e-8).solve()
    assert found.status == "optimal"
    worst = max(np.hypot(*(A[block.rows[1:]] @ found.x)) for block in blocks)
    assert worst <= found.x[-1] + 1e-7
    assert found.x[-1] == pytest.approx(0.0850522, rel=1e-5)
