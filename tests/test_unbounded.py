"""Constraints over unbounded sets, and equalities for all index points: rewritten exactly, or refused."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from scipy import special

import lsip
from lsip.errors import LSIPError
from lsip.expressions import far
from lsip.expressions.interval import Interval

inf = np.inf
x = lsip.Variable(3, name="x", lower=-10, upper=10)
z = lsip.Variable(name="z", lower=-100, upper=100)
t = lsip.Index("t", lsip.Interval(0, inf))
q = lsip.Index("q", lsip.Interval(0, 1))


QUADRANT = lsip.Index("y", lsip.Box([0, 0], [inf, inf]))


def solved(objective: object, *constraints: object) -> lsip.Solution:
    return lsip.Problem(objective, list(constraints)).solve(verbose=False)


def test_a_parabola_over_a_half_line() -> None:
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z + t**2 - 2 * t >= 0)])
    assert [family.legend.coordinates for family in problem.compile().families] == [("t",), ("1/t",)]
    assert str(problem.constraints[0]) == "z + t² - 2 t ≥ 0   for all t ∈ [0, ∞)"
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(1)
    solution.verify()


def test_a_quartic_over_the_line() -> None:
    r = lsip.Index("r", lsip.Interval(-inf, inf))
    least = np.poly1d([1, -4, 0, 2, 0])
    solution = solved(lsip.minimize(z), lsip.forall(r, r**4 - 4 * r**3 + 2 * r + z >= 0))
    assert solution.certified
    assert solution.value == pytest.approx(-min(least(v.real) for v in least.deriv().roots), rel=1e-7)


def test_what_happens_far_out_counts() -> None:
    """z t² >= t² + 1 asks for z >= 1 far out, and for more nearer to 0."""
    u = lsip.Index("u", lsip.Interval(2, inf))
    assert solved(lsip.minimize(z), lsip.forall(u, z * u**2 >= u**2 + 1)).value == pytest.approx(1.25)
    assert solved(lsip.minimize(z), lsip.forall(u, z * u**2 >= u**2 - 1)).value == pytest.approx(1)
    assert solved(lsip.minimize(z), lsip.forall(t, z * t**2 >= t**2 + 1)).status.name == "INFEASIBLE"
    below = lsip.Index("b", lsip.Interval(-inf, -1))
    assert solved(lsip.minimize(z), lsip.forall(below, z * below <= 3 * below + 1)).value == pytest.approx(3)


def test_a_half_plane_and_a_bounded_coordinate() -> None:
    y = lsip.Index("y", lsip.Box([-inf, 0], [inf, inf]))
    solution = solved(lsip.minimize(z), lsip.forall(y, y[0] ** 2 + y[1] ** 2 + z * y[0] * y[1] + 1 >= 0))
    assert solution.certified
    assert solution.value == pytest.approx(-2)
    strip = lsip.Index("s", lsip.Box([0, -inf], [1, inf]))
    solution = solved(lsip.minimize(z), lsip.forall(strip, strip[1] ** 2 + 2 * strip[0] * strip[1] + z >= 0))
    assert solution.value == pytest.approx(1)
    mixed = solved(lsip.minimize(z), lsip.forall((t, q), t**2 - 2 * t * q + z >= 0))
    assert mixed.value == pytest.approx(1)


def test_random_polynomials_agree_with_the_definition() -> None:
    """Bounds over the half line hold at many points, near and far, and are attained."""
    rng = np.random.default_rng(3)
    points = np.concatenate([np.linspace(0, 10, 20_001), 10.0 ** np.linspace(1, 6, 2000)])
    for _ in range(10):
        c = rng.normal(size=5)
        c[-1] = abs(c[-1]) + 0.1
        solution = solved(lsip.minimize(z), lsip.forall(t, z + sum(v * t**k for k, v in enumerate(c)) >= 0))
        assert solution.certified
        least = np.polynomial.polynomial.polyval(points, c).min()
        assert solution.value >= -least - 1e-9
        assert solution.value == pytest.approx(-least, abs=1e-5)


@pytest.mark.parametrize("unit", [2.0**-20, 1e-3, 1.0, 300.0, 1e7])
def test_the_unit_of_an_unbounded_index_does_not_matter(unit: float) -> None:
    """c0 + c1 s² >= s far out and near needs c0 + 2 c1 >= √2, and s⁴ is dearer."""
    c, u = lsip.Variable(3, name="c"), lsip.Index("u", lsip.Interval(unit, inf))
    s = u / unit
    solution = solved(lsip.minimize(c @ np.array([1.0, 2.0, 7.0])), lsip.forall(u, c @ s ** np.array([0, 2, 4]) >= s))
    assert solution.certified
    solution.verify()
    assert solution.value == pytest.approx(np.sqrt(2), rel=1e-6)


def test_parts_are_named_after_their_length() -> None:
    u = lsip.Index("u", lsip.Interval(0, inf))
    rows = [lsip.forall(u, z + u**2 >= 60 * u - 900), lsip.forall(u, z + u**2 >= u)]
    names = [family.legend.coordinates[0] for family in lsip.Problem(lsip.minimize(z), rows).compile().families]
    assert names == ["u/32", "32/u", "u", "1/u"]
    assert solved(lsip.minimize(z), *rows).value == pytest.approx(0.25)


def test_coefficients_are_matched() -> None:
    fit = lsip.forall(q, x[0] + x[1] * q + x[2] * q**2 == (1 + q) * (2 - 3 * q))
    solution = solved(lsip.minimize(x[0]), fit, lsip.forall(q, z >= q))
    assert solution.certified
    assert solution[x] == pytest.approx([2, -1, -3])


def test_equalities_of_vectors_and_of_several_indices() -> None:
    y = lsip.Index("y", lsip.Ball([0, 0], 1))
    A = lsip.Variable((2, 2), name="A")
    rows = lsip.forall(y, A @ y == np.array([[1.0, 2.0], [3.0, 4.0]]) @ y)
    solution = solved(lsip.minimize(A[0, 0]), rows, lsip.forall(q, z >= q))
    assert solution[A] == pytest.approx(np.array([[1, 2], [3, 4]]))
    both = lsip.forall((q, y), x[0] * q * y[0] + x[1] == 3 * q * y[0] - 1)
    assert solved(lsip.minimize(x[0]), both, lsip.forall(q, z >= q))[x][:2] == pytest.approx([3, -1])


def test_equalities_over_flat_and_finite_sets_mean_less() -> None:
    """On the simplex, x · y = 2 says that all x are 2; on three points, anything can be matched with three numbers."""
    w = lsip.Index("w", lsip.Simplex(3))
    assert solved(lsip.minimize(x[0]), lsip.forall(w, x @ w == 2), lsip.forall(q, z >= q))[x] == pytest.approx(
        [2, 2, 2]
    )
    f = lsip.Index("f", lsip.Finite([0, 1, 2]))
    fit = lsip.forall(f, x[0] + x[1] * f[0] + x[2] * f[0] ** 2 == np.exp(f[0]))
    solution = solved(lsip.minimize(x[0]), fit, lsip.forall(q, z >= q))
    assert np.polynomial.polynomial.polyval([0, 1, 2], solution[x]) == pytest.approx(np.exp([0, 1, 2]))


LINE, LATE = lsip.Index("l", lsip.Interval(-inf, inf)), lsip.Index("u", lsip.Interval(1, inf))
OUTSIDE = lsip.Index("o", lsip.Interval(-inf, -2) | lsip.Interval(2, inf))
PLANE = lsip.Index("p", lsip.Box([-inf, -inf], [inf, inf]))


@pytest.mark.parametrize(
    ("index", "function", "value"),
    [
        (t, lambda t: t * np.exp(-t), np.exp(-1)),
        (t, lambda t: t**4 * np.exp(-t), 256 * np.exp(-4)),
        (t, lambda t: (t * np.exp(-np.array([1.0, 2.0]) * t))[1], np.exp(-1) / 2),
        (t, lambda t: np.exp2(-t) + np.expm1(-t) + 1, 2.0),
        (t, lambda t: np.exp(-t) * np.sin(t), np.exp(-np.pi / 4) / np.sqrt(2)),
        (t, lambda t: np.exp(-t) * np.log1p(t) * 0 + t / (1 + t**2), 0.5),
        (t, lambda t: np.log1p(t) / (1 + t), np.exp(-1)),
        (t, lambda t: -np.sin(t) / t, 0.21723362821122166),
        (t, lambda t: -special.j0(t), 0.40275939570255297),
        (t, np.arctan, np.pi / 2),
        (t, lambda t: np.tanh(t - 3), 1.0),
        (t, special.erf, 1.0),
        (LINE, special.expit, 1.0),
        (LINE, lambda u: -special.ndtr(u), 0.0),
        (LINE, lambda u: 1 / (1 + u**2), 1.0),
        (LINE, lambda u: u * np.exp(-(u**2)), np.exp(-0.5) / np.sqrt(2)),
        (LINE, lambda u: np.exp(-(u**2) / 2 + 3 * u), np.exp(4.5)),
        (LINE, lambda u: np.exp(-np.abs(u - 1)), 1.0),
        (LATE, lambda u: np.sin(u) / u, np.sin(1)),
        (LATE, lambda u: np.sqrt(u - 1) / u, 0.5),
        (QUADRANT, lambda y: (y[0] + y[1]) * np.exp(-y[0] - y[1]), np.exp(-1)),
        (PLANE, lambda y: y[0] * np.exp(-(y[0] ** 2) - y[1] ** 2), np.exp(-0.5) / np.sqrt(2)),
        (PLANE, lambda y: y[1] / (1 + y @ y), 0.5),
        (OUTSIDE, lambda u: 4 / u**2, 1.0),
        (OUTSIDE, lambda u: 3 - u**2, -1.0),
        (OUTSIDE, lambda u: u * np.exp(-np.abs(u)), 2 * np.exp(-2)),
        (lsip.Index("b", lsip.Interval(0, 1) | lsip.Interval(2, inf)), lambda u: u * (3 - u), 2.0),
        (lsip.Index("b", lsip.Interval(0, 0.5) | lsip.Interval(2, inf)), lambda u: u * np.exp(-u), np.exp(-0.5) / 2),
    ],
)
def test_functions_with_limits(index: lsip.Index, function: Callable, value: float) -> None:
    bound = lsip.Variable(name="z", lower=-100, upper=100)
    problem = lsip.Problem(lsip.minimize(bound), [lsip.forall(index, bound >= function(index))])
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.verify()
    assert solution.value == pytest.approx(value, abs=1e-7, rel=1e-7)
    for point in solution.active:
        assert (point.direction is None) == bool(np.isfinite(point.point).all())
    assert "~" not in str(problem)


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        (lambda t, x: x[0] + x[1] * t >= np.maximum(t - 2, 0), 1.0),
        (lambda t, x: x[0] + x[1] * t >= np.sqrt(1 + t**2), 2.0),
        (lambda t, x: x[0] + x[1] * t >= np.sqrt(t), 1.0),
        (lambda t, x: x[0] + x[1] * t >= np.log(1 + t), np.log(2)),
        (lambda t, x: (x[0] + x[1]) / (1 + t**2) >= 1 / (2 + t**2), 1.0),
        (lambda t, x: x[0] + x[1] * np.exp(-t) >= np.arctan(t) * 2 / np.pi, 1.0),
    ],
)
def test_rows_that_grow_or_vanish(rows: Callable, value: float) -> None:
    w = lsip.Variable(2, name="w", lower=0, upper=50)
    problem = lsip.Problem(lsip.minimize(w.sum()), [lsip.forall(t, rows(t, w))])
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(value, abs=1e-6)
    assert pickle.loads(pickle.dumps(problem)).solve(verbose=False).value == solution.value
    seen = np.concatenate([np.linspace(0, 50, 5000), 10.0 ** np.linspace(1, 5, 500)])
    x_found = {w: solution[w]}
    shift = rows(t, w).body.at({t: seen, **x_found})
    assert (shift <= 1e-6 * (1 + seen**2)).all()


@pytest.mark.parametrize("k", [0.0, 0.5, 1.0, 3.0, 12.0])
def test_powers_and_decays_are_enclosed(k: float) -> None:
    """r^-k exp(-1 / r) and three derivatives, against balls."""
    flint = pytest.importorskip("flint")
    rng, f = np.random.default_rng(0), far.decay(k)
    with flint.ctx.workprec(4000):
        for _ in range(60):
            low = 10 ** rng.uniform(-3.5, 1)
            u = np.array([[low], [low * (1 + 10 ** rng.uniform(-6, 1))]])
            v = float(rng.uniform(u[0, 0], u[1, 0]))
            x = flint.arb_series([flint.arb(v), 1], 4)
            exact = (-1 / x).exp() * (-k * x.log()).exp()
            box = Interval(u[:1], u[1:])
            value = f(box)
            for n, found in enumerate((value, f.first(box, value), f.second(box, value), f.third(box, value))):
                assert found.lo.item() <= exact[n] * math.factorial(n) <= found.hi.item(), (k, n, u)
    assert f(Interval(np.zeros((1, 1)), np.zeros((1, 1)))).hi.item() <= 1e-100 or k == 0


@pytest.mark.parametrize("of", list(far.TAILS))
def test_tails_are_enclosed(of: str) -> None:
    """f(1 / r) and its derivatives, against balls."""
    flint = pytest.importorskip("flint")
    rng = np.random.default_rng(0)
    reference = {
        "sin": lambda u: u.sin(),
        "cos": lambda u: u.cos(),
        "erf": lambda u: u.erf(),
        "erfc": lambda u: 1 - u.erf(),
    }
    reference["ndtr"] = lambda u: (1 + (u / flint.arb(2).sqrt()).erf()) / 2
    with flint.ctx.workprec(4000):
        for sign in (1, -1):
            f = far.tail(of, sign)
            for _ in range(40):
                low = 10 ** rng.uniform(-1, 1) * rng.choice([0, 1, 1])
                u = np.array([[low], [low * (1 + 10 ** rng.uniform(-6, 1)) + (low == 0)]])
                v = max(float(rng.uniform(u[0, 0], u[1, 0])), 0.05)
                box = Interval(u[:1], u[1:])
                value = f(box)
                if of == "j0":
                    exact = [(sign / flint.arb(v)).bessel_j(0) / flint.arb(v).sqrt()]
                else:
                    exact = reference[of](sign / flint.arb_series([flint.arb(v), 1], 4))
                each = (value, f.first(box, value), f.second(box, value), f.third(box, value))
                for n, found in enumerate(each[: 1 if of == "j0" else 4]):
                    assert found.lo.item() <= exact[n] * math.factorial(n) <= found.hi.item(), (of, sign, n, u, v)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: lsip.forall(t, z >= np.exp(t)), r"exp\(t\) grows faster than any power of the index"),
        (lambda: lsip.forall(t, z >= np.sin(t)), "a wave or a logarithm is not dominated by a power of the index"),
        (lambda: lsip.forall(t, z >= np.log(1 + t)), "a wave or a logarithm is not dominated"),
        (lambda: lsip.forall(t, z >= np.exp(np.sin(t))), r"it is not known what .* is there|not dominated"),
        (lambda: lsip.forall(QUADRANT, z >= np.exp(-QUADRANT[0])), "is not known what|not of one sign and size"),
        (lambda: lsip.forall(t, z >= np.where(t <= 2, t, 0)), "it is not known what .* is there"),
        (lambda: lsip.forall((t, lsip.Index("u", lsip.Interval(0, inf))), z >= t), "only one index may be unbounded"),
        (lambda: lsip.Interval(0, inf) * lsip.Ball([0, 0], 1), "must be finite, because index sets are bounded"),
        (lambda: lsip.forall(q, x[0] + x[1] * q == np.exp(q)), "matched coefficient by coefficient where both sides"),
        (lambda: lsip.forall(q, x[0] * q == q**2), "cannot hold for all index points: the power 2"),
        (lambda: lsip.forall(q, (x[0] - x[0]) * q == 0), "whatever the variables are: leave it out"),
        (lambda: lsip.forall((q, lsip.Index("q", lsip.Interval(0, 1))), x[0] >= q), "two of one name: q, q"),
        (lambda: lsip.forall((q, q), x[0] >= q), "same index twice"),
        (lambda: lsip.forall(q, x[0] >= 1), "does not depend on q: leave it outside of forall"),
        (lambda: OUTSIDE.domain.sample(3), "is unbounded"),
        (lambda: OUTSIDE.domain.spread(3), "is unbounded"),
        (lambda: lsip.Interval(0, inf).where(lambda t: t >= 1), "is unbounded"),
        (lambda: lsip.linsip([1.0], [lsip.Family(lsip.Interval(0, inf), lambda y: y, lambda y: y[:, 0])]), "unbounded"),
    ],
)
def test_what_cannot_be_proven_is_refused(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(LSIPError, match=message):
        attempt()
