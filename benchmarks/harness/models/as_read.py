"""Models that `published` rewrites, written as their sources read: rules, sets without ends, regions, norms, integrals.

`READ` has them by the names of `MODELS`; `BY_HAND` says of the others that are rewritten what the language lacks. What
is in neither is written in `MODELS` as its source reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import lsip
from lsip import Ball, Box, Ellipsoid, Index, Interval, Problem, Rule, Variable, forall, maximize, minimize

from .. import rules
from .claims import MODELS, Build, Claim, Model, value
from .codes import PACKINGS
from .polynomials import all_powers, goldstein_price, monomials, yalmip_quartic

READ: dict[str, Model] = {}
BY_HAND = {
    "cvx_line_array": "complex variables, as pairs of real ones",
    "cvx_broadband_array": "complex variables, as pairs of real ones; moduli are written",
    "rsome_satisficing": "for all points of a cone |z| <= u, which has no end: normalised to u = 1",
    "sos_barrier": "derivatives of polynomials in the index, by their formula",
}


def as_read(name: str, claim: Claim | None = None) -> Callable[[Build], Build]:
    """Put the decorated function on the list; what is claimed is what was published, unless it is in other units."""

    def register(build: Build) -> Build:
        model = MODELS[name]
        READ[name] = replace(model, claim=claim or model.claim, build=build)
        return build

    return register


# ---- rules -----------------------------------------------------------------------------------------------------------

as_read("yalmip_warehouse_affine1")(lambda: rules.warehouse(True))
as_read("yalmip_mpc_closed")(lambda: rules.control(True))
as_read("jumper_news_affine")(lambda: rules.newsvendor(True))
for _periods in (6, 10, 14):
    as_read(f"inventory_T{_periods}")(lambda periods=_periods: rules.inventory(periods))
for _sites in (5, 10):
    as_read(f"rsome_lotsizing_N{_sites}")(lambda sites=_sites: rules.lot_sizing(sites))


@as_read("pyros_cardinality_eq")
def second_stage() -> Problem:
    x, t, q = Variable(name="x", lower=-2, upper=2), Variable(name="t"), Index("q", Interval(2, 3))
    z = Rule(of=q, name="z")
    return Problem(maximize(t), [forall(q, [z == q, t <= x + z, z <= 10])])


# ---- sets ------------------------------------------------------------------------------------------------------------


@as_read("jumper_l2_2")
def ellipsoid() -> Problem:
    x = Variable(5, name="x", lower=0, upper=2 * np.arange(1, 6))
    y, e = Index("y", Box([0, 0], [6, 7])), Index("e", Ellipsoid([5 / 3, 5 / 2, 5], [1 / 3, 1 / 2, 1]))
    used = x[0] * e[0] + x[1:3] @ y + x[3:] @ e[1:]
    return Problem(maximize(np.arange(5.0, 0.0, -1.0) @ x), [forall((y, e), used <= 100)])


@as_read("romodel_knapsack_relaxed")
def knapsack() -> Problem:
    spread = 0.1 * np.eye(4)
    spread[0, 1] = spread[1, 0] = 0.01
    x, w = Variable(4, name="x", boolean=True), Index("w", Ellipsoid([5, 7, 4, 3], np.linalg.inv(spread)))
    return Problem(maximize(np.array([8.0, 3, 6, 11]) @ x), [forall(w, w @ x <= 14)])


def _floudas() -> Problem:
    def below(y: Any) -> list[Any]:
        x = y[0]
        quartics = 2 * x**4 - 8 * x**3 + 8 * x**2 + 2, 4 * x**4 - 32 * x**3 + 88 * x**2 - 96 * x + 36
        return [y[1] <= quartic for quartic in quartics]

    y, a = Index("y", Box([0, 0], [3, 4]).where(below)), Variable(name="a")
    return Problem(maximize(a), [forall(y, a <= -y.sum())])


as_read("floudas_min_univariate")(_floudas)
as_read("floudas_min_univariate_where")(_floudas)


@as_read("momenttools_mom3")
def cusp() -> Problem:
    y, a = Index("y", Ball([0, 0], 1).where(lambda y: y[0] ** 3 >= y[1] ** 2)), Variable(name="a")
    return Problem(maximize(a), [forall(y, a <= y[0])])


def _options(strike: float) -> Problem:
    """The dearest option on the best of three assets: a quadratic above its gain, for all prices."""
    mean, prices = 44.21, Index("x", Box([0] * 3, [np.inf] * 3))
    constant, slope, square = Variable(name="p0"), Variable(3, name="p1"), Variable((3, 3), name="p2")
    cover = constant + slope @ prices + prices @ square @ prices
    moments = np.where(np.eye(3), 184.04, 164.88) + mean**2
    rows = [forall(prices, cover >= 0), *(forall(prices, cover >= prices[i] - strike) for i in range(3))]
    return Problem(minimize(constant + mean * slope.sum() + (moments * square).sum()), [*rows, square == square.T])


for _strike in (30.0, 40.0):
    as_read(f"boyle_lin_K{_strike:.0f}")(lambda strike=_strike: _options(strike))


def _least(polynomial: Any) -> Problem:
    """The largest number below a polynomial on the plane."""
    y, g = Index("y", Box([-np.inf] * 2, [np.inf] * 2)), Variable(name="g")
    return Problem(maximize(g), [forall(y, polynomial(y[0], y[1]) >= g)])


as_read("goldstein_price")(lambda: _least(goldstein_price))
as_read("yalmip_sos_lower")(lambda: _least(yalmip_quartic))


@as_read("yalmip_sos_two")
def two_quartics() -> Problem:
    y, t = Index("y", Box([-np.inf] * 2, [np.inf] * 2)), Variable(name="t")
    a, b = y[0], y[1]
    rows = [t * (1 + a * b) ** 2 - a * b + (1 - b) ** 2 >= 0, (1 - a * b) ** 2 + a * b + t * (1 + b) ** 2 >= 0]
    return Problem(minimize(t), [forall(y, rows)])


@as_read("sos_lyap_switch")
def quartic_form() -> Problem:
    y, a = Index("y", Box([-np.inf] * 2, [np.inf] * 2)), Variable(name="a")
    return Problem(maximize(a), [forall(y, y[0] ** 4 - a * y[0] ** 2 * y[1] ** 2 + y[1] ** 4 >= 0)])


def _packing(dimension: int, degree: int, radius: float) -> Problem:
    """f <= 0 beyond the radius, its transform >= 0 everywhere: polynomials in w = pi |x|^2 over half lines."""
    order, b = dimension / 2 - 1, Variable(degree + 1, name="b")
    w, u = Index("w", Interval(math.pi * radius**2, np.inf)), Index("u", Interval(0, np.inf))

    def laguerre(k: int) -> Any:
        """1 at 0: the sum of (-w)^i binomial(k, i) / ((order + 1) ... (order + i))."""
        rising = math.gamma(order + 1)
        return sum((-1) ** i * math.comb(k, i) * rising / math.gamma(order + i + 1) * w**i for i in range(k + 1))

    def transform(k: int) -> Any:
        return math.gamma(order + 1) / math.gamma(k + order + 1) * u**k

    degrees = range(degree + 1)
    rows = [forall(w, sum(b[k] * laguerre(k) for k in degrees) <= 0)]
    rows += [forall(u, sum(b[k] * transform(k) for k in degrees) >= 0)]
    return Problem(minimize((radius / 2) ** dimension * b.sum()), [*rows, b[0] == 1])


for _name, _dimension, _degree, _radius, _ in PACKINGS:
    as_read(f"cohn_elkies_{_name}")(lambda d=_dimension, n=_degree, r=_radius: _packing(d, n, r))

# ---- convex pieces and integrals -------------------------------------------------------------------------------------


@as_read("sipr_sphere_cube", value(math.sqrt(0.75), 1e-5))
def sphere() -> Problem:
    c, r, t = Variable(3, name="c"), Variable(name="r"), Index("t", Box([0.5, 0, -1], [1.5, 1, 0]))
    return Problem(minimize(r), [forall(t, np.linalg.norm(t - c) <= r)])


@as_read("yalmip_lyapunov")
def lyapunov() -> Problem:
    p, t = Variable((2, 2), name="P"), Index("t", Interval(1, 2))
    system = np.array([[-1, 0], [0.2, -1]]) + t * np.array([[0.0, 1], [0, 0]])
    shrinks = lsip.psd(-system.T @ p - p @ system - np.eye(2))
    return Problem(minimize(np.trace(p)), [p == p.T, forall(t, shrinks)])


@as_read("julia_set_deg4")
def julia() -> Problem:
    c, powers = complex(-0.7, 0.2), all_powers(4)
    v, w = Variable(len(powers), name="v"), Variable(len(powers), name="w")
    y = Index("y", Ball([0, 0], 0.5 * (1 + math.sqrt(1 + 4 * abs(c)))))
    here, there = monomials(powers, y), monomials(powers, [y[0] ** 2 - y[1] ** 2 + c.real, 2 * y[0] * y[1] + c.imag])
    rows = [0.5 * (there @ v) <= here @ v, here @ w >= here @ v + 1, here @ w >= 0]
    return Problem(minimize(lsip.integral(here @ w, y)), [forall(y, rows)])


def _volume(degree: int) -> Problem:
    powers = [(i, j) for i in range(0, degree + 1, 2) for j in range(0, degree + 1 - i, 2)]
    q, d, b = Variable(len(powers), name="q"), Index("d", Ball([0, 0], 1)), Index("b", Box([-1, -1], [1, 1]))
    rows = [forall(d, monomials(powers, d) @ q >= 1), forall(b, monomials(powers, b) @ q >= 0)]
    return Problem(minimize(lsip.integral(monomials(powers, b) @ q, b)), rows)


for _degree in (8, 20):
    as_read(f"momentopt_volume_d{_degree}")(lambda degree=_degree: _volume(degree))


# ---- fits ------------------------------------------------------------------------------------------------------------


def _fit(lower: float, upper: float, basis: Callable[[Any], Any], target: Callable[[Any], Any], unit: float) -> Problem:
    """The least worst error on an interval, in a unit in which it is a number of ordinary size."""
    t = Index("t", Interval(lower, upper))
    c = Variable(basis(t).shape[0], name="c")
    return Problem(minimize(np.abs(unit * target(t) - basis(t) @ c), over=t), [])


def _powers(degree: int) -> Callable[[Any], Any]:
    return lambda t: t ** np.arange(degree + 1)


def _circular(t: Any) -> Any:
    return np.stack([np.exp(t), np.sin(t), np.cos(t) - 1, np.sin(t**3)])


def _quotient(t: Any) -> Any:
    return (2**t - 1) / t


as_read("sollya_exp5_rest")(lambda: _fit(0, 1, _powers(5), np.exp, 1e6))
for _degree in (9, 10):
    for _form in ("theta", "rest"):
        as_read(f"sollya_guess_deg{_degree}_{_form}")(lambda degree=_degree: _fit(-1, 1, _powers(degree), np.exp, 1e10))
as_read("sollya_2x_funcs_x1e8")(lambda: _fit(-1 / 16, 1 / 16, _circular, _quotient, 1e8))
for _name in ("sollya_2x_deg3_x1e9", "sollya_2x_deg3_rest"):
    as_read(_name)(lambda: _fit(-1 / 16, 1 / 16, _powers(3), _quotient, 1e9))

for _name, _other in {  # in other coordinates or units there, and as the source reads here
    "sollya_cos_rel8_shift": "sollya_cos_rel8_x1e10",
    "chebfun_abs_deg30_theta": "chebfun_abs_deg30_1e30",
    "chebfun_abs05_d16_theta": "chebfun_abs05_d16",
    "chebfun_abs025_d80_theta": "chebfun_abs025_d80",
    "chebfun_wiggly_d100_theta": "chebfun_wiggly_d100",
    "cvx_fir_mag_design_x1e4": "cvx_fir_mag_design",
}.items():
    as_read(_name, MODELS[_other].claim)(MODELS[_other].build)
