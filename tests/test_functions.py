"""What elementary functions declare, against multiprecision arithmetic; and what everything else takes from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

import lsip
from lsip.cones import Cone, Exponential, Power
from lsip.errors import ModelError
from lsip.expressions import arithmetic, bessel, exprel, functions, sinc
from lsip.expressions import special as special_functions
from lsip.expressions.angle import ANGLE_ULPS
from lsip.expressions.elementary import EVERYWHERE, Function, increasing
from lsip.expressions.functions import FUNCTIONS
from lsip.expressions.graph import Irrational
from lsip.expressions.interval import EPS, NORMAL, Interval
from lsip.expressions.powers import POWER_ULPS, power
from lsip.expressions.sinc import WAVE_ULPS
from lsip.expressions.tape import Tape

flint = pytest.importorskip("flint")

from .extensions.function_checks import BITS, check_function, holds, near_turns, units  # noqa: E402

Array = NDArray[np.float64]
arb = flint.arb


def _sinh(u: Any) -> Any:
    return (u.exp() - (-u).exp()) / 2


def _expit(u: Any) -> Any:
    return 1 / (1 + (-u).exp()) if u > 0 else u.exp() / (1 + u.exp())


# The functions of a ball, and those of a power series, for which python-flint has fewer.
REFERENCES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (arb.sin, lambda u: u.sin()),
    "cos": (arb.cos, lambda u: u.cos()),
    "tan": (arb.tan, lambda u: u.tan()),
    "arcsin": (arb.asin, lambda u: u.asin()),
    "arccos": (arb.acos, lambda u: u.acos()),
    "arctan": (arb.atan, lambda u: u.atan()),
    "sinh": (arb.sinh, _sinh),
    "cosh": (arb.cosh, lambda u: (u.exp() + (-u).exp()) / 2),
    "tanh": (arb.tanh, lambda u: 1 - 2 / ((2 * u).exp() + 1)),
    "arcsinh": (arb.asinh, lambda u: (u + (u * u + 1).sqrt()).log()),
    "arccosh": (arb.acosh, lambda u: (u + (u * u - 1).sqrt()).log()),
    "arctanh": (arb.atanh, lambda u: ((1 + u) / (1 - u)).log() / 2),
    "exp": (arb.exp, lambda u: u.exp()),
    "exp2": (lambda u: (u * arb.const_log2()).exp(), lambda u: (u * arb.const_log2()).exp()),
    "expm1": (arb.expm1, lambda u: u.exp() - 1),
    "log": (arb.log, lambda u: u.log()),
    "log2": (lambda u: u.log() / arb.const_log2(), lambda u: u.log() / arb.const_log2()),
    "log10": (lambda u: u.log() / arb.const_log10(), lambda u: u.log() / arb.const_log10()),
    "log1p": (arb.log1p, lambda u: (1 + u).log()),
    "sqrt": (arb.sqrt, lambda u: u.sqrt()),
    "erf": (arb.erf, lambda u: u.erf()),
    "erfc": (arb.erfc, lambda u: 1 - u.erf()),
    "expit": (_expit, lambda u: 1 / (1 + (-u).exp())),
    "reciprocal": (lambda u: 1 / u, lambda u: 1 / u),
    "sinc": (arb.sinc, lambda u: u.sin() / u),
    "square": (lambda u: u * u, lambda u: u * u),
    "ndtr": (lambda u: (-u / arb(2).sqrt()).erfc() / 2, lambda u: (1 + (u / arb(2).sqrt()).erf()) / 2),
    "gamma": (arb.gamma, lambda u: u.gamma()),
    "gammaln": (arb.lgamma, lambda u: u.lgamma()),
    "entr": (lambda u: -u * u.log() if u != 0 else arb(0), lambda u: -u * u.log()),
    "exprel": (lambda u: u.expm1() / u if u != 0 else arb(1), lambda u: (u.exp() - 1) / u),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_keep_their_promises(name: str) -> None:
    """Twice what is measured here is declared: another machine's kernels may be worse."""
    function = FUNCTIONS[name]
    error = check_function(function, *REFERENCES[name])
    assert function.ulps >= 2 * error


@pytest.mark.parametrize("order", range(7))
def test_bessel_s_function_and_its_derivatives_are_enclosed(order: int) -> None:
    """Against balls: the absolute error is half of what is declared, at most, and enclosures hold what is between."""
    rng = np.random.default_rng(order)
    u = np.concatenate(
        [rng.uniform(-1000, 1000, 500), 10.0 ** rng.uniform(-300, 3, 100), special.jn_zeros(0, 60), [0.0]]
    )
    lower, upper = u, np.minimum(u + 10.0 ** rng.uniform(-12, 1, len(u)), 1000)
    box, between = bessel.j0(Interval(lower, upper), order), lower + rng.random(len(u)) * (upper - lower)
    with flint.ctx.workprec(BITS):

        def exact(v: float) -> Any:
            weights = {0: arb(1)}  # of J_n, by n: J_n' = (J_n-1 - J_n+1) / 2
            for _ in range(order):
                after: dict[int, Any] = defaultdict(arb)
                for n, w in weights.items():
                    after[n - 1] += w / 2
                    after[n + 1] -= w / 2
                weights = after
            return sum((w * (-1) ** (n if n < 0 else 0) * arb(v).bessel_j(abs(n)) for n, w in weights.items()), arb())

        for i, (v, w) in enumerate(zip(u.tolist(), between.tolist(), strict=True)):
            assert abs(arb(float(bessel.j0(np.asarray(v), order))) - exact(v)) <= bessel.ERROR / 2
            assert holds(box.lo[i], box.hi[i], exact(v))
            assert holds(box.lo[i], box.hi[i], exact(min(max(w, lower[i]), upper[i])))
    far = bessel.j0(Interval(np.array([0.0, 2000.0]), np.array([1001.0, 2000.0])), order)
    assert (far.lo == -1).all()
    assert (far.hi == 1).all()


@pytest.mark.parametrize("name", ["sinc", "exprel", "psi"])
def test_derivatives_up_to_the_sixth_are_enclosed(name: str) -> None:
    """The functions that models have as derivatives need three more, each, for their own enclosures: against balls."""
    rng = np.random.default_rng(0)
    series = {"sinc": lambda u: u.sin() / u, "exprel": lambda u: (u.exp() - 1) / u, "psi": lambda u: u.lgamma()}[name]
    kernel = {"sinc": sinc.sinc, "exprel": exprel.exprel, "psi": special_functions._polygamma}[name]
    points = np.concatenate([rng.uniform(0.01, 40.0, 60), 10.0 ** rng.uniform(-6, 0, 30), [0.999, 1.0, 1.001, 20.0]])
    with flint.ctx.workprec(2000):  # quotients of small numbers lose digits
        for u in points.tolist():
            found = series(flint.arb_series([arb(u), 1], 9))
            coefficients, factor = found.coeffs(), arb(1)
            for order in range(7):
                factor *= max(order, 1)
                k = order + 1 if name == "psi" else order  # digamma is the derivative of the logarithm of gamma
                exact = coefficients[k] * factor * (k if name == "psi" else 1)
                box = kernel(Interval(np.array([u]), np.array([u])), order)
                assert holds(box.lo[0], box.hi[0], exact), (name, order, u)
                assert box.hi[0] - box.lo[0] <= 1e-8 * (1 + abs(box.lo[0]))


def test_bessel_s_function_is_part_of_the_language() -> None:
    t, z = lsip.Index("t", lsip.Interval(1, 20)), lsip.Variable(name="z")
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= -special.j0(t))]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(-special.j0(special.jn_zeros(1, 1)[0]))  # where J₁, the slope, vanishes


# ---- the checks themselves -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"value": lambda u: np.sin(u) * (1 + 8 * EPS)}, "units, more than the 4"),
        ({"checked": EVERYWHERE}, "units, more than the 4"),
        ({"image": (-0.9, 0.9)}, "is not in"),
        ({"first": lambda u, f: functions.cos(u) * (1 + 1e-12)}, "derivative 1"),
        ({"second": lambda u, f: f}, "derivative 2"),
        ({"third": None}, "derivative 3 of sin does not vanish"),
        ({"shape": increasing}, "is not in"),
        ({"domain": (-1.0, 1.0), "checked": (-1.0, 1.0)}, "the slope of sin is bounded at -1"),
    ],
)
def test_checks_notice_a_broken_promise(change: dict[str, Any], broken: str) -> None:
    with pytest.raises(AssertionError, match=broken):
        check_function(replace(functions.sin, **change), *REFERENCES["sin"])


@pytest.mark.parametrize("declared", [{}, {"ulps": 4.0}, {"checked": (0.0, 1.0)}, {"ulps": -1.0, "checked": (0, 1)}])
def test_a_function_without_a_declared_error_is_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"needs a declared error: `ulps`.*check_function"):
        Function("half", lambda u: 0.5 * u, increasing, lambda u, f: 0.5, lambda u, f: 0.0, None, **declared)


def test_floats_beside_multiples_of_half_pi_are_known() -> None:
    """The hardest argument of all doubles, and the one at which cos was off by thousands of units."""
    turns = near_turns()
    assert 6381956970095103 * 2.0**797 in turns
    assert np.abs(turns - 205097628711448.4).min() == 0


# ---- beyond what is checked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "image"), [("sin", (-1, 1)), ("cos", (-1, 1)), ("tan", (-np.inf, np.inf))])
def test_beyond_the_checked_arguments_only_the_image_is_known(name: str, image: tuple[float, float]) -> None:
    u = np.array([1.1e8, -1e12, 205097628711448.4, 1e300, np.inf, -np.inf])
    with np.errstate(invalid="ignore"):
        box = FUNCTIONS[name](Interval(u, u))
    assert (box.lo == image[0]).all()
    assert (box.hi == image[1]).all()
    wide = FUNCTIONS[name](Interval(np.array([0.0]), np.array([1.1e8])))
    assert (wide.lo, wide.hi) == image


def test_a_cosine_of_a_huge_argument_is_not_believed() -> None:
    at = 205097628711448.4
    u, z = lsip.Index("u", lsip.Interval(at, at)), lsip.Variable(name="z")
    problem = lsip.Problem(lsip.maximize(z), [lsip.forall(u, z <= 2.0**56 * np.cos(u))])
    with flint.ctx.workprec(BITS):
        exact = -(arb(2) ** 56) * arb(at).cos()
        assert arb(problem.worst_violation([0.0]).bound) >= exact


# ---- powers and angles -----------------------------------------------------------------------------------------------

EXPONENTS = (2.0, 3.0, 7.0, 41.0, 1000.0, -1.0, -2.0, -3.0, 0.5, -0.5, 1.5, 0.3, -1.7, 1 / 3, 2.5, 1e-3, 123.4, 1e9)


def _bases(rng: np.random.Generator) -> Array:
    size = np.concatenate(
        [10.0 ** rng.uniform(-300, 300, 500), 10.0 ** rng.uniform(-2, 2, 500), rng.uniform(0, 3, 200)]
    )
    near = 1 + np.concatenate(
        [np.arange(-20, 21) * EPS, 10.0 ** rng.uniform(-16, -1, 60), -(10.0 ** rng.uniform(-16, -1, 60))]
    )
    return np.concatenate([size, near, [5e-324, 1e-310, NORMAL, 1.7e308]])


@pytest.mark.parametrize("k", EXPONENTS)
def test_powers_contain_the_exact_values(k: float) -> None:
    """Integers of either sign, also of negative bases, and others; those that overflow or vanish too."""
    u = _bases(np.random.default_rng(int(100 * abs(k)) % 1000))
    u = np.concatenate([u, -u]) if k == np.round(k) else u
    worst = 0.0
    with flint.ctx.workprec(BITS), np.errstate(all="ignore"):
        box, values = power(Interval(u, u), np.array([k])), u ** np.array([k])
        for base, value, lo, hi in zip(u.tolist(), values.tolist(), box.lo, box.hi, strict=True):
            ball = arb(base) ** (int(k) if k == np.round(k) else arb(k))
            assert holds(lo, hi, ball), (base, k, lo, hi)
            worst = max(worst, units(value, ball))
    assert 2 * worst <= POWER_ULPS


def test_a_table_of_powers_contains_the_exact_values() -> None:
    k, u = np.arange(60.0), np.random.default_rng(0).normal(size=(100, 1)) * 3
    box = power(Interval(u, u), k)
    with flint.ctx.workprec(BITS):
        for i in range(len(u)):
            assert all(holds(box.lo[i, j], box.hi[i, j], arb(float(u[i, 0])) ** j) for j in range(60))


def test_angles_contain_the_exact_values() -> None:
    rng = np.random.default_rng(0)
    size = 10.0 ** (rng.choice([0.0, 1.0, 30.0, 300.0], (2, 4000)) * rng.uniform(-1, 1, (2, 4000)))
    y, x = size * rng.choice([-1.0, 1.0], (2, 4000))
    x[:500] = y[:500] * (1 + rng.integers(-8, 9, 500) * EPS)
    index = lsip.Index("y", lsip.Box([-1, -1], [1, 1]))
    tape = Tape((np.arctan2(index[0], index[1]),), (index,))
    points = np.column_stack([y, x])
    box, values = tape.enclose(points, points), tape.values(points)
    worst = 0.0
    with flint.ctx.workprec(BITS):
        for i in range(len(y)):
            ball = arb.atan2(arb(y[i]), arb(x[i]))
            assert holds(box.lo[i, 0], box.hi[i, 0], ball), (y[i], x[i])
            worst = max(worst, units(values[i, 0], ball))
    assert 2 * worst <= ANGLE_ULPS


def test_the_sines_of_sinc_are_declared_like_sines() -> None:
    assert WAVE_ULPS == FUNCTIONS["sin"].ulps == FUNCTIONS["cos"].ulps


# ---- constants -------------------------------------------------------------------------------------------------------


def test_constants_are_the_floats_next_to_irrational_numbers() -> None:
    with flint.ctx.workprec(BITS):
        pi, log2, log10 = arb.pi(), arb.const_log2(), arb.const_log10()
        known = {"LOG_2": log2, "LOG2_E": 1 / log2, "LOG10_E": 1 / log10, "TWO_OVER_ROOT_PI": 2 / pi.sqrt()}
        for name, ball in known.items():
            assert units(getattr(functions, name), ball) < 1, name
        for above, ball in ((functions.PI_ABOVE, pi), (functions.HALF_PI_ABOVE, pi / 2)):
            assert arb(above) > ball > arb(float(np.nextafter(above, 0.0)))
        irrational = {node.name: node for node in vars(arithmetic).values() if isinstance(node, Irrational)}
        assert set(irrational) == {"pi", "pi / 180"}
        for name, ball in (("pi", pi), ("pi / 180", pi / 180)):
            assert units(float(irrational[name].value), ball) < 1


# ---- functions that used to be formulas ------------------------------------------------------------------------------

WIDE = {  # sources, arguments at which their formulas overflowed, cancelled or left their domain, and balls
    "np.arcsinh({})": ([-2e8, -1e300, 1e300, -1.0, 1e-300, 0.0], arb.asinh),
    "np.arccosh({})": ([1.0, 1 + EPS, 1e200, 1e308, 1.5], arb.acosh),
    "np.arctanh({})": ([-1 + EPS, 1 - EPS / 2, 1e-300, 0.5], arb.atanh),
    "expit({})": ([-1000.0, -745.0, -1e300, 40.0, 1e300, 0.0], _expit),
    "erfc({})": ([30.0, 27.0, 10.0, 1e300, -1e300, 1e-3, 2.0], arb.erfc),
    "np.exp2({})": ([-1074.0, -2000.0, 1023.0, 0.5], lambda u: (u * arb.const_log2()).exp()),
    "np.log2({})": ([1e-300, 1e308, 8.0, 1.0], lambda u: u.log() / arb.const_log2()),
    "np.log10({})": ([1e-300, 1e308, 1000.0, 1.0], lambda u: u.log() / arb.const_log10()),
}


@pytest.mark.parametrize("source", WIDE)
def test_functions_are_sharp_wherever_they_are_defined(source: str) -> None:
    index = lsip.Index("t", lsip.Interval(0, 1))
    name = source.partition("(")[0]
    function: Any = {"expit": special.expit, "erfc": special.erfc}.get(name) or getattr(np, name.removeprefix("np."))
    tape = Tape((function(index),), (index,))
    points, ball = WIDE[source]
    y = np.array(points)[:, None]
    values, box, slopes = tape.values(y), tape.enclose(y, y), tape.gradients(y, y)
    assert np.isfinite(values).all()
    with flint.ctx.workprec(BITS):
        for i, v in enumerate(points):
            assert holds(box.lo[i, 0], box.hi[i, 0], ball(arb(v)))
    size = np.maximum(np.abs(box.lo), np.abs(box.hi))
    assert (box.hi - box.lo <= 2200 * EPS * size + 3 * NORMAL).all()
    assert (box.hi - box.lo <= 32 * EPS * np.maximum(size, 1.0)).all()
    inner = (y > 1.0) if name == "np.arccosh" else np.ones_like(y, dtype=bool)
    assert np.isfinite(slopes.lo[0][inner]).all()
    assert np.isfinite(slopes.hi[0][inner]).all()


def test_a_large_negative_arcsinh_has_an_optimum() -> None:
    t, z = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="z")
    problem = lsip.Problem(lsip.maximize(z), [lsip.forall(t, z <= np.arcsinh(-1e8 * (1 + t)))])
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(np.arcsinh(-2e8), rel=1e-7)


def test_slopes_at_the_ends_of_arcsin_keep_their_digits() -> None:
    u = 1 - EPS * np.array([0.5, 1.0, 2.0, 1e3, 1e8])
    for name, sign in (("arcsin", 1.0), ("arccos", -1.0)):
        slope = sign * FUNCTIONS[name].first(Interval(u, u), FUNCTIONS[name](Interval(u, u)))
        exact = np.array([float(1 / ((1 - arb(v)) * (1 + arb(v))).sqrt()) for v in u])
        assert (slope.lo <= exact).all()
        assert (slope.hi >= exact).all()
        assert (slope.hi - slope.lo <= 1e-14 * exact).all()


# ---- cones -----------------------------------------------------------------------------------------------------------


def test_cones_use_the_declared_errors() -> None:
    rng = np.random.default_rng(0)
    with flint.ctx.workprec(BITS):
        for u, v in rng.normal(size=(300, 2)) * 10.0 ** rng.uniform(-3, 12, (300, 2)):
            u = -abs(u)
            need = -arb(u) * (arb(v) / arb(u) - 1).exp()
            for w in (float(need) * (1 + k * EPS) for k in range(-9, 10)):
                assert need <= arb(w) or not _in_dual(Exponential(), [u, v, w])
        for size in 10.0 ** rng.uniform(-300, 300, 200):
            a = float(rng.uniform(0.01, 0.99))
            u = [size, float(10.0 ** rng.uniform(-20, 20))]
            exact = (arb(u[0]) / arb(a)) ** arb(a) * (arb(u[1]) / arb(1 - a)) ** arb(1 - a)
            for w in (float(exact) * (1 + k * EPS) for k in range(-9, 10)):
                assert arb(w) <= exact or not _in_dual(Power((a, 1 - a)), [*u, w])


def _in_dual(cone: Cone, y: list[float]) -> bool:
    points = np.array([y])
    return bool(cone.dual_contains(Interval(points, points)).all())


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if not np.isnan(f.zero)])
def test_values_at_zero_are_exact(name: str) -> None:
    f, zero = FUNCTIONS[name], np.zeros(1)
    assert f.value(zero)[0] == f.zero
    box = f(Interval(zero, zero))
    assert (box.lo[0], box.hi[0]) == (f.zero, f.zero)
    ways = {"arcsin": "asin", "arctan": "atan", "arcsinh": "asinh", "arctanh": "atanh", "exp2": "exp"}
    exact = flint.arb(0) if name == "entr" else getattr(flint.arb(0), ways.get(name, name))()  # its limit
    assert exact == flint.arb(f.zero)


def test_columns_of_sines_of_nothing_are_left_out_of_a_proof() -> None:
    """np.sin(np.arange(n) * t) begins with one, whose coefficient is free."""
    t, a, e = lsip.Index("t", lsip.Interval(-0.3, 1.2)), lsip.Variable(3, name="a"), lsip.Variable(name="e")
    error = np.sin(np.arange(3) * t) @ a - np.abs(t - 0.45)
    solution = lsip.Problem(lsip.minimize(e), [lsip.forall(t, np.abs(error) <= e)]).solve(verbose=False)
    assert solution.certified
