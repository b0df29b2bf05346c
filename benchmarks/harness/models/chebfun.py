"""Minimax approximation: Chebfun's tests and examples, and Remez.jl."""

from __future__ import annotations

import numpy as np

from lsip import Index, Interval, Problem

from .claims import NOTHING, published, value
from .fits import best_fit, best_in_angle, chebyshev

TESTS, EXAMPLES = "Chebfun, tests/misc/test_minimax", "Chebfun, examples/approx"
ABS30 = value(0.0135210, 1e-3)  # a dense LP, without lsip, has 0.013532: the print is off


def _segment(lower: float = -1.0, upper: float = 1.0) -> Index:
    return Index("t", Interval(lower, upper))


@published("chebfun_absplus_d1", f"{TESTS} (1)", value(0.5, 1e-7))
def hinge() -> Problem:
    t = _segment()
    return best_fit(t, t ** np.arange(2), np.abs(t) + t)


@published("chebfun_abs_deg30_1e30", f"{TESTS} (12)", ABS30, "divided by 1e30")
def abs_on_skew_interval() -> Problem:
    t = _segment(-1, 2)
    return best_fit(t, chebyshev((2 * t - 1) / 3, 30), np.abs(t))


@published("chebfun_abs_deg30_raw1e30", f"{TESTS} (12)", value(0.0135210e30, 1e-3), "on 1e30 [-1, 2], as printed")
def abs_in_huge_units() -> Problem:
    t = _segment(-1e30, 2e30)
    return best_fit(t, chebyshev((2 * t / 1e30 - 1) / 3, 30), np.abs(t))


@published("chebfun_abs_deg30_theta", f"{TESTS} (12)", ABS30, "in the angle")
def abs_in_angle() -> Problem:
    return best_in_angle(np.abs, 30, -1.0, 2.0)


@published("chebfun_abs05_d16", f"{EXAMPLES}/BestApprox")
def shifted_abs() -> Problem:
    t = _segment()
    return best_fit(t, chebyshev(t, 16), np.abs(t - 0.5))


@published("chebfun_abs05_d16_theta", f"{EXAMPLES}/BestApprox", NOTHING, "in the angle")
def shifted_abs_in_angle() -> Problem:
    return best_in_angle(lambda x: np.abs(x - 0.5), 16, -1.0, 1.0)


@published("chebfun_abs025_d80", f"{EXAMPLES}/BestL1")
def abs_of_degree_80() -> Problem:
    t = _segment()
    return best_fit(t, chebyshev(t, 80), np.abs(t - 0.25))


@published("chebfun_abs025_d80_theta", f"{EXAMPLES}/BestL1", NOTHING, "in the angle")
def abs_of_degree_80_in_angle() -> Problem:
    return best_in_angle(lambda x: np.abs(x - 0.25), 80, -1.0, 1.0)


@published("chebfun_wiggly_d100", f"{EXAMPLES}/ResolutionWiggly")
def wiggly() -> Problem:
    t = _segment(0, 14)
    return best_fit(t, chebyshev(t / 7 - 1, 100), np.sin(t) ** 2 + np.sin(t**2))


@published("chebfun_wiggly_d100_theta", f"{EXAMPLES}/ResolutionWiggly", NOTHING, "in the angle")
def wiggly_in_angle() -> Problem:
    return best_in_angle(lambda x: np.sin(x) ** 2 + np.sin(x**2), 100, 0.0, 14.0)


@published("chebfun_gauss_d0", f"{EXAMPLES}/OddEven", value(0.5, 1e-7))
def narrow_bump() -> Problem:
    t = _segment()
    return best_fit(t, np.stack([np.ones_like(t)]), np.exp(-150 * (t - 0.5) ** 2))


@published("chebfun_camel_d1", f"{EXAMPLES}/OddEven")
def camel() -> Problem:
    t = _segment()
    return best_fit(t, t ** np.arange(2), np.exp(-300 * (t - 0.25) ** 2) + np.exp(-300 * (t - 0.75) ** 2))


@published("chebfun_sqrtabs_d5", f"{TESTS} (16)")
def cusp() -> Problem:
    t = _segment()
    return best_fit(t, chebyshev(t, 5), np.sqrt(np.abs(t - 0.1)))


@published("chebfun_expsinexp_d7", f"{TESTS} (2)")
def nested() -> Problem:
    t = _segment()
    return best_fit(t, chebyshev(t, 7), np.exp(np.sin(np.exp(t))))


@published("chebfun_exp_1e100", f"{TESTS} (10)", NOTHING, "1e100 exp(t), degree 7")
def gigantic() -> Problem:
    t = _segment()
    return best_fit(t, chebyshev(t, 7), 1e100 * np.exp(t))


@published("remezjl_exp4_rel", "simonbyrne/Remez.jl, test 3", NOTHING, "relative error, times 1e4")
def exp_relative() -> Problem:
    t = _segment(0, 1)
    return best_fit(t, t ** np.arange(5), 1e4 * np.exp(t), np.exp(t))
