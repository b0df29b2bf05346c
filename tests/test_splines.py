"""np.interp and splines of SciPy at an index: exact piecewise polynomials, enclosed across their knots."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, BSpline, CubicSpline, PchipInterpolator, PPoly, make_interp_spline

import lsip
from lsip.errors import LSIPError, ModelError
from lsip.expressions.tape import Tape

KNOTS = np.linspace(0, 3, 8)
VALUES = np.random.default_rng(0).normal(size=8)
T = lsip.Index("t", lsip.Interval(-1, 4))
JUMPING = PPoly(np.array([[1.0, -1.0, 0.5], [0.0, 3.0, 1.0]]), [0.0, 1.0, 2.0, 3.0])
SPLINES = {
    "cubic": CubicSpline(KNOTS, VALUES),
    "natural": CubicSpline(KNOTS, VALUES, bc_type="natural"),
    "pchip": PchipInterpolator(KNOTS, VALUES),
    "akima": Akima1DInterpolator(KNOTS, VALUES, extrapolate=True),
    "bspline": make_interp_spline(KNOTS, VALUES, k=3),
    "quintic": make_interp_spline(KNOTS, VALUES, k=5),
    "jumping": JUMPING,
}


def exactly(f: Any, u: float) -> list[Fraction]:
    """The values of the pieces that meet in u, in rational numbers."""
    poly = PPoly.from_spline(f) if isinstance(f, BSpline) else f
    proper = np.flatnonzero(np.diff(poly.x) > 0)
    starts, ends = poly.x[proper].copy(), poly.x[proper + 1].copy()
    starts[0], ends[-1] = -np.inf, np.inf
    found = []
    for i, a, b in zip(proper, starts, ends, strict=True):
        if a <= u <= b:
            w = Fraction(u) - Fraction(poly.x[i])
            found.append(sum(Fraction(c) * w ** (len(poly.c) - 1 - k) for k, c in enumerate(poly.c[:, i].tolist())))
    return found


def interpolated(u: float) -> list[Fraction]:
    if not KNOTS[0] < u < KNOTS[-1]:
        return [Fraction(VALUES[0] if u <= KNOTS[0] else VALUES[-1])]
    i = int(np.searchsorted(KNOTS, u, side="right")) - 1
    a, b, f, g = (Fraction(float(v)) for v in (KNOTS[i], KNOTS[i + 1], VALUES[i], VALUES[i + 1]))
    return [f + (g - f) * (Fraction(u) - a) / (b - a)]


CASES: list[Any] = [pytest.param(lsip.spline(f, T), lambda u, f=f: exactly(f, u), id=n) for n, f in SPLINES.items()]
CASES.append(pytest.param(np.interp(T, KNOTS, VALUES), interpolated, id="interp"))


@pytest.mark.parametrize(("e", "exact"), CASES)
def test_enclosures_and_expansions_hold_the_exact_values(e: Any, exact: Callable[[float], list[Fraction]]) -> None:
    rng, tape = np.random.default_rng(1), Tape((e,), (T,))
    ends = np.concatenate([rng.uniform(-1, 3.9, 150), np.repeat(KNOTS, 4), KNOTS - 1e-9, [0.0, 1.0, 2.0]])
    lower = np.clip(ends - 10.0 ** rng.uniform(-12, 0, len(ends)) * (rng.random(len(ends)) < 0.7), -1, 4)
    upper = np.clip(ends + 10.0 ** rng.uniform(-12, 0, len(ends)), -1, 4)
    box = tape.enclose(lower[:, None], upper[:, None])
    expansions = [tape.quadratics(lower[:, None], upper[:, None], order=k)[0] for k in (2, 3)]
    for i in range(len(ends)):
        centre = float(np.clip(0.5 * lower[i] + 0.5 * upper[i], lower[i], upper[i]))
        radius = Fraction(max(upper[i] - centre, centre - lower[i])) or Fraction(1)
        inside = [v for v in (*KNOTS, 1.0, 2.0) if lower[i] <= v <= upper[i]]
        for u in (lower[i], upper[i], centre, *rng.uniform(lower[i], upper[i], 2), *inside):
            for value in exact(float(u)):
                assert Fraction(box.lo[i, 0]) <= value <= Fraction(box.hi[i, 0])
                for q in expansions:
                    d = (Fraction(float(u)) - Fraction(centre)) / radius
                    levels = [q.value[i, 0], q.gradient[0, i, 0], q.hessian[0, i, 0] / 2]
                    levels += [q.third[0, i, 0] / 6] if len(q.third) else []
                    model = sum(Fraction(c) * d**k for k, c in enumerate(levels))
                    if np.isfinite(q.error[i, 0]):
                        assert abs(model - value) <= Fraction(q.error[i, 0]) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("name", SPLINES)
def test_values_are_those_of_scipy(name: str) -> None:
    f, u = SPLINES[name], np.linspace(-1, 4, 501)
    values = Tape((lsip.spline(f, T),), (T,)).values(u[:, None])[:, 0]
    np.testing.assert_allclose(values, f(u), atol=1e-12, rtol=1e-12)
    assert (lsip.spline(f, u) == f(u)).all(), "numbers go to SciPy"


@pytest.mark.parametrize("name", ["cubic", "pchip", "bspline", "interp"])
def test_the_largest_value_is_proven(name: str) -> None:
    t, z = lsip.Index("t", lsip.Interval(0, 3)), lsip.Variable(name="z")
    f = SPLINES.get(name, lambda u: np.interp(u, KNOTS, VALUES))
    e = np.interp(t, KNOTS, VALUES) if name == "interp" else lsip.spline(f, t)
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= e)]).solve(verbose=False)
    grid = np.concatenate([np.linspace(0, 3, 20_001), KNOTS])
    assert solution.certified
    assert solution.value >= f(grid).max() - 1e-12
    assert solution.value == pytest.approx(f(grid).max(), abs=1e-6)
    if name == "interp":
        assert solution.value == pytest.approx(VALUES.max())


def test_across_knots_an_expansion_is_as_smooth_as_the_spline() -> None:
    """A cubic spline is smooth up to rounding: no box has to be cut at its knots."""
    (tape,) = (Tape((lsip.spline(SPLINES["cubic"], T),), (T,)),)
    q = tape.quadratics(KNOTS[2:3, None] - 1e-3, KNOTS[2:3, None] + 1e-3)[0]
    assert q.error[0, 0] <= 1e-6
    kinked = Tape((np.interp(T, KNOTS, VALUES),), (T,)).gradients(KNOTS[2:3, None] - 1e-3, KNOTS[2:3, None] + 1e-3)
    assert np.isfinite(kinked.lo).all()


def test_a_spline_without_extrapolation_ends() -> None:
    short = CubicSpline(KNOTS, VALUES, extrapolate=False)
    z = lsip.Variable(name="z")
    with pytest.raises(ModelError, match="not defined"):
        lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= lsip.spline(short, T))]).solve(verbose=False)
    within = lsip.Index("t", lsip.Interval(0, 3))
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(within, z >= lsip.spline(short, within))]).solve(
        verbose=False
    )
    assert solution.certified


def test_splines_can_be_stored() -> None:
    e = lsip.spline(SPLINES["cubic"], T)
    again = pickle.loads(pickle.dumps(e))
    y = np.linspace(-1, 4, 11)[:, None]
    assert (Tape((again,), again.indices()).values(y) == Tape((e,), (T,)).values(y)).all()


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: SPLINES["cubic"](T), r"Write lsip.spline\(f, t\)"),
        (lambda: SPLINES["bspline"](T), r"Write lsip.spline\(f, t\)"),
        (lambda: lsip.spline(np.sin, T), "takes a spline of scipy.interpolate first"),
        (lambda: lsip.spline(CubicSpline(KNOTS, np.r_[VALUES[:-1], VALUES[0]], bc_type="periodic"), T), "% period"),
        (lambda: np.interp(T, [1, 0], [1, 2]), "increasing numbers `xp`"),
        (lambda: np.interp(T, [0, 1], [1, 2], left=0), "only x, xp and fp"),
        (lambda: np.interp(0.5, T, [1, 2]), "numbers `xp`, and numbers or variables `fp`"),
    ],
)
def test_what_is_no_spline_is_refused(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(LSIPError, match=message):
        attempt()
