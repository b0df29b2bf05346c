"""Constraints over unbounded sets, and equalities for all index points: rewritten exactly, or refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lsip
from lsip.errors import LSIPError

inf = np.inf
X = lsip.Variable(3, name="x", lower=-10, upper=10)
Z = lsip.Variable(name="z", lower=-100, upper=100)
T = lsip.Index("t", lsip.Interval(0, inf))
Q = lsip.Index("q", lsip.Interval(0, 1))


def solved(objective: object, *constraints: object) -> lsip.Solution:
    return lsip.Problem(objective, list(constraints)).solve(verbose=False)


def test_a_parabola_over_a_half_line() -> None:
    problem = lsip.Problem(lsip.minimize(Z), [lsip.forall(T, Z + T**2 - 2 * T >= 0)])
    assert [c.indices[0].name for c in problem.constraints] == ["t", "1/t"]
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(1)
    solution.verify()


def test_a_quartic_over_the_line() -> None:
    r = lsip.Index("r", lsip.Interval(-inf, inf))
    least = np.poly1d([1, -4, 0, 2, 0])
    solution = solved(lsip.minimize(Z), lsip.forall(r, r**4 - 4 * r**3 + 2 * r + Z >= 0))
    assert solution.certified
    assert solution.value == pytest.approx(-min(least(v.real) for v in least.deriv().roots), rel=1e-7)


def test_what_happens_far_out_counts() -> None:
    """z t² >= t² + 1 asks for z >= 1 far out, and for more nearer to 0."""
    u = lsip.Index("u", lsip.Interval(2, inf))
    assert solved(lsip.minimize(Z), lsip.forall(u, Z * u**2 >= u**2 + 1)).value == pytest.approx(1.25)
    assert solved(lsip.minimize(Z), lsip.forall(u, Z * u**2 >= u**2 - 1)).value == pytest.approx(1)
    assert solved(lsip.minimize(Z), lsip.forall(T, Z * T**2 >= T**2 + 1)).status.name == "INFEASIBLE"
    below = lsip.Index("b", lsip.Interval(-inf, -1))
    assert solved(lsip.minimize(Z), lsip.forall(below, Z * below <= 3 * below + 1)).value == pytest.approx(3)


def test_a_half_plane_and_a_bounded_coordinate() -> None:
    y = lsip.Index("y", lsip.Box([-inf, 0], [inf, inf]))
    solution = solved(lsip.minimize(Z), lsip.forall(y, y[0] ** 2 + y[1] ** 2 + Z * y[0] * y[1] + 1 >= 0))
    assert solution.certified
    assert solution.value == pytest.approx(-2)
    strip = lsip.Index("s", lsip.Box([0, -inf], [1, inf]))
    solution = solved(lsip.minimize(Z), lsip.forall(strip, strip[1] ** 2 + 2 * strip[0] * strip[1] + Z >= 0))
    assert solution.value == pytest.approx(1)
    mixed = solved(lsip.minimize(Z), lsip.forall((T, Q), T**2 - 2 * T * Q + Z >= 0))
    assert mixed.value == pytest.approx(1)


def test_random_polynomials_agree_with_the_definition() -> None:
    """Bounds over the half line hold at many points, near and far, and are attained."""
    rng = np.random.default_rng(3)
    points = np.concatenate([np.linspace(0, 10, 20_001), 10.0 ** np.linspace(1, 6, 2000)])
    for _ in range(10):
        c = rng.normal(size=5)
        c[-1] = abs(c[-1]) + 0.1
        solution = solved(lsip.minimize(Z), lsip.forall(T, Z + sum(v * T**k for k, v in enumerate(c)) >= 0))
        assert solution.certified
        least = np.polynomial.polynomial.polyval(points, c).min()
        assert solution.value >= -least - 1e-9
        assert solution.value == pytest.approx(-least, abs=1e-5)


def test_coefficients_are_matched() -> None:
    fit = lsip.forall(Q, X[0] + X[1] * Q + X[2] * Q**2 == (1 + Q) * (2 - 3 * Q))
    solution = solved(lsip.minimize(X[0]), fit, lsip.forall(Q, Z >= Q))
    assert solution.certified
    assert solution[X] == pytest.approx([2, -1, -3])


def test_equalities_of_vectors_and_of_several_indices() -> None:
    y = lsip.Index("y", lsip.Ball([0, 0], 1))
    A = lsip.Variable((2, 2), name="A")
    rows = lsip.forall(y, A @ y == np.array([[1.0, 2.0], [3.0, 4.0]]) @ y)
    solution = solved(lsip.minimize(A[0, 0]), rows, lsip.forall(Q, Z >= Q))
    assert solution[A] == pytest.approx(np.array([[1, 2], [3, 4]]))
    both = lsip.forall((Q, y), X[0] * Q * y[0] + X[1] == 3 * Q * y[0] - 1)
    assert solved(lsip.minimize(X[0]), both, lsip.forall(Q, Z >= Q))[X][:2] == pytest.approx([3, -1])


def test_equalities_over_flat_and_finite_sets_mean_less() -> None:
    """On the simplex, x · y = 2 says that all x are 2; on three points, anything can be matched with three numbers."""
    w = lsip.Index("w", lsip.Simplex(3))
    assert solved(lsip.minimize(X[0]), lsip.forall(w, X @ w == 2), lsip.forall(Q, Z >= Q))[X] == pytest.approx(
        [2, 2, 2]
    )
    f = lsip.Index("f", lsip.Finite([0, 1, 2]))
    fit = lsip.forall(f, X[0] + X[1] * f[0] + X[2] * f[0] ** 2 == np.exp(f[0]))
    solution = solved(lsip.minimize(X[0]), fit, lsip.forall(Q, Z >= Q))
    assert np.polynomial.polynomial.polyval([0, 1, 2], solution[X]) == pytest.approx(np.exp([0, 1, 2]))


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: lsip.forall(T, Z >= np.exp(-T)), "have to be polynomials in the index, of which the highest powers"),
        (lambda: lsip.forall((T, lsip.Index("u", lsip.Interval(0, inf))), Z >= T), "only one index may be unbounded"),
        (lambda: lsip.Interval(0, inf) * lsip.Ball([0, 0], 1), "must be finite, because index sets are bounded"),
        (lambda: lsip.forall(Q, X[0] + X[1] * Q == np.exp(Q)), "matched coefficient by coefficient where both sides"),
        (lambda: lsip.forall(Q, X[0] * Q == Q**2), "cannot hold for all index points: the power 2"),
        (lambda: lsip.forall(Q, (X[0] - X[0]) * Q == 0), "whatever the variables are: leave it out"),
        (lambda: lsip.forall((Q, lsip.Index("q", lsip.Interval(0, 1))), X[0] >= Q), "two of one name: q, q"),
        (lambda: lsip.forall((Q, Q), X[0] >= Q), "same index twice"),
        (lambda: lsip.forall(Q, X[0] >= 1), "does not depend on q: leave it outside of forall"),
        (lambda: lsip.Interval(0, inf).where(lambda t: t >= 1), "is unbounded"),
        (lambda: lsip.linsip([1.0], [lsip.Family(lsip.Interval(0, inf), lambda y: y, lambda y: y[:, 0])]), "unbounded"),
    ],
)
def test_what_cannot_be_proven_is_refused(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(LSIPError, match=message):
        attempt()
